"""Score the forecasts of every rival.

    python benchmarks/peers/scores.py FOLDER

Reads `FOLDER/forecasts/<dataset>/<rival>.npz`, prints one Markdown table per dataset and writes
`FOLDER/scores.csv`. Files `<rival>-seed<N>.npz` are one row of a table: the mean over the seeds.
"""

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd

COLUMNS = {
    "crps": "CRPS",
    "crps_scaled": "CRPS / scale",
    "coverage80": "coverage 80 %",
    "coverage95": "coverage 95 %",
    "energy": "energy score",
    "energy_scaled": "energy / scale",
    "variogram_scaled": "variogram / scale",
    "coverage80_sum": "coverage 80 % of sum",
    "mase": "MASE (median)",
    "seconds_fit": "fit s",
    "seconds_predict": "predict s",
}


def crps(paths: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the CRPS (windows, horizon) of the draws, without their finite-sample bias."""
    m = paths.shape[1]
    weights = (2 * np.arange(m) - m + 1) / (m * (m - 1))
    spread = np.einsum("m,wmh->wh", weights, np.sort(paths, axis=1))
    return np.abs(paths - y[:, None]).mean(axis=1) - spread


def energy(paths: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the energy score (windows,) of the draws, without their finite-sample bias."""
    m, out = paths.shape[1], []
    for draws, truth in zip(paths, y, strict=True):
        x = draws - draws.mean(axis=0)
        norms = (x**2).sum(axis=1)
        squares = norms[:, None] + norms - 2 * x @ x.T
        np.fill_diagonal(squares, 0.0)
        spread = np.sqrt(np.maximum(squares, 0.0)).sum() / (2 * m * (m - 1))
        out.append(np.linalg.norm(draws - truth, axis=1).mean() - spread)
    return np.array(out)


def variogram(paths: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the variogram score (windows,) of order 0.5, every pair of steps counted twice."""
    expected = np.mean([np.abs(d[..., None] - d[:, None, :]) ** 0.5 for d in paths], axis=1)
    return np.square(np.abs(y[:, :, None] - y[:, None, :]) ** 0.5 - expected).sum(axis=(1, 2))


def coverage(paths: np.ndarray, y: np.ndarray, level: float) -> float:
    """Return the share of values within the central interval of the draws."""
    low, high = np.quantile(paths, [(1 - level) / 2, (1 + level) / 2], axis=1)
    return float(((low <= y) & (y <= high)).mean())


def score(file: Path) -> dict[str, float]:
    """Return every metric of one file: means over the windows and steps."""
    with np.load(file) as stored:
        paths, y, scale = stored["paths"].astype(float), stored["y"], stored["scale"]
        seconds = {key: float(stored[key]) for key in ("seconds_fit", "seconds_predict")}
    marginal, joint = crps(paths, y), energy(paths, y)
    error = np.abs(np.median(paths, axis=1) - y)
    return {
        "crps": marginal.mean(),
        "crps_scaled": (marginal / scale[:, None]).mean(),
        "coverage80": coverage(paths, y, 0.8),
        "coverage95": coverage(paths, y, 0.95),
        "energy": joint.mean(),
        "energy_scaled": (joint / scale).mean(),
        "variogram_scaled": (variogram(paths, y) / scale).mean(),
        "coverage80_sum": coverage(paths.sum(axis=2, keepdims=True), y.sum(axis=1)[:, None], 0.8),
        "mase": (error / scale[:, None]).mean(),
        **seconds,
    }


def text(metric: str, value: float) -> str:
    """Format one cell."""
    if metric.startswith("seconds"):
        return f"{value:.1f}"
    return f"{value:.2f}" if metric.startswith("coverage") else f"{value:.4g}"


def main(folder: Path) -> None:
    """Print the tables and write the CSV file."""
    rows = [
        {"dataset": file.parent.name, "rival": file.stem, "metric": metric, "value": value}
        for file in sorted((folder / "forecasts").glob("*/*.npz"))
        for metric, value in score(file).items()
    ]
    frame = pd.DataFrame(rows)
    frame.to_csv(folder / "scores.csv", index=False)
    frame["rival"] = [re.sub(r"-seed\d+$", "", rival) for rival in frame["rival"]]
    for dataset, part in frame.groupby("dataset"):
        table = part.pivot_table(index="rival", columns="metric", values="value")
        print(f"\n### {dataset}\n")
        print("| rival | " + " | ".join(COLUMNS.values()) + " |")
        print("| --- |" + " ---: |" * len(COLUMNS))
        for rival, row in table.sort_values("crps_scaled").iterrows():
            print(f"| {rival} | " + " | ".join(text(key, row[key]) for key in COLUMNS) + " |")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: scores.py FOLDER")
    main(Path(sys.argv[1]))
