"""What recognising the target brings: scores relative to target="real", as a table.

    BATCHENSEMBLE_DATA=FOLDER python benchmarks/targets.py [--scaling log] [--preset fast]
        [--splits 3] [NAME ...]

Made-up targets of known kinds and, from the folder of real tables, `diamonds` and `keggdirected`
(whose target is a logarithm: here its exponential). One thread; NLL is left out where targets lie
on a bound, since a probability and a density cannot be compared.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from batchensemble import Regressor

sys.path.insert(0, str(Path(__file__).parent / "quality"))
import loader

TRAIN, TEST = 2400, 2000  # rows
MADE = {
    "log-normal noise": lambda r, f: np.exp(f + 0.5 * r.normal(size=len(f))),
    "mild log-normal noise": lambda r, f: np.exp(0.4 * f + 0.2 * r.normal(size=len(f))),
    "gamma noise": lambda r, f: r.gamma(2, np.exp(0.5 * f)),
    "exponential noise": lambda r, f: r.exponential(1, len(f)) * np.exp(0.3 * f),
    "skewed signal, additive noise": lambda r, f: np.exp(f) + 0.5 * np.abs(r.normal(size=len(f))),
    "half of them 0": lambda r, f: (r.random(len(f)) < 0.5) * np.exp(f + r.normal(size=len(f)) / 2),
    "Poisson counts, mean near 1": lambda r, f: r.poisson(np.exp(0.7 * f)).astype(float),
    "Poisson counts, mean near 20": lambda r, f: r.poisson(np.exp(3 + 0.7 * f)).astype(float),
    "negative binomial counts": lambda r, f: r.negative_binomial(
        1.0, 1 / (1 + np.exp(0.5 + 0.7 * f))
    ).astype(float),
    "shares": lambda r, f: r.beta(4 / (1 + np.exp(-2 * f)) + 0.1, 4 / (1 + np.exp(2 * f)) + 0.1),
}
REAL = {"diamonds": lambda y: y, "keggdirected": np.exp}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--scaling", choices=["standard", "log"], default="standard")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("names", nargs="*", default=[*REAL, *MADE])
    args = parser.parse_args()
    torch.set_num_threads(1)
    print("| target | recognised as | CRPS | RMSE | NLL | coverage of 90 % |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in args.names:
        X, y = table(name)
        real, auto = ([], [])
        for split in range(args.splits):
            for target, scores in (("real", real), ("auto", auto)):
                scaling = args.scaling if target == "auto" else "standard"
                model, values = fitted(X, y, split, target, args.preset, scaling)
                scores.append(values)
        before, after = np.mean(real, axis=0), np.mean(auto, axis=0)
        on_bound = np.isin(y, (model.transform_.low, model.transform_.high)).mean() > 0.01
        nll = "" if on_bound else f"{after[2] - before[2]:+.2f}"
        crps, rmse = after[:2] / before[:2]
        kind = f"{model.target_kind_}{', logarithmic' if any(model.transform_.rates) else ''}"
        print(f"| {name} | {kind} | {crps:.3f} | {rmse:.3f} | {nll} | {after[3]:.1%} |", flush=True)


def table(name: str) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    random = np.random.default_rng(0)
    if name in REAL:
        X, y, _ = loader.load(name)
        some = random.permutation(len(y))[: 2 * (TRAIN + TEST)]
        return X.iloc[some].reset_index(drop=True), REAL[name](y[some])
    X = random.normal(size=(TRAIN + TEST, 6))
    signal = X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * X[:, 2] * X[:, 3]
    return pd.DataFrame(X, columns=[*"abcdef"]), MADE[name](random, signal)


def fitted(
    X: pd.DataFrame, y: NDArray[np.float64], split: int, target: str, preset: str, scaling: str
) -> tuple[Regressor, list[float]]:
    """The model, and its CRPS, RMSE, NLL and coverage on other rows."""
    order = np.random.default_rng(1000 + split).permutation(len(y))
    train, test = order[:TRAIN], order[TRAIN : TRAIN + TEST]
    model = Regressor(
        preset=preset, target=target, target_scaling=scaling, random_state=split, device="cpu"
    )
    dist, truth = model.fit(X.iloc[train], y[train]).predict_dist(X.iloc[test]), y[test]
    low, high = dist.interval(0.9).T
    return model, [
        float(dist.crps(truth).mean()),
        float(np.sqrt(np.mean((dist.mean - truth) ** 2))),
        -float(dist.log_prob(truth).mean()),
        float(np.mean((low <= truth) & (truth <= high))),
    ]


if __name__ == "__main__":
    main()
