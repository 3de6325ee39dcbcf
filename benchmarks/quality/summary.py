"""Ranks, ratios and pictures from the rows of `measure.py`.

    python benchmarks/quality/summary.py FILE ... [--pictures FOLDER]

Prints tables in Markdown: mean ranks, ratios to each rival (geometric mean over tables, with a
bootstrap interval over tables), coverage, and the UCI tables beside published numbers. A score of
a table is the mean over its splits. Ranks are those on the splits that all methods have, ratios
and differences those on the splits that both have.
"""

import argparse
from pathlib import Path

import loader
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from published import PUBLISHED

OURS = ["ours_default", "ours_best", "ours_fast"]
LOWER_IS_BETTER = {"crps": "CRPS", "nll": "NLL", "rmse": "RMSE", "log_loss": "log-loss"}
NAMES = {
    "ours_default": "ours, default",
    "ours_best": "ours, best",
    "ours_fast": "ours, fast",
    "catboost": "CatBoost",
    "lightgbm": "LightGBM",
    "ngboost": "NGBoost",
    "quantile_forest": "quantile forest",
    "tabm": "TabM",
    "deep_ensemble": "our deep ensemble",
    "single": "our single network",
}
DRAWS, SEED = 2_000, 0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--pictures", type=Path)
    args = parser.parse_args()
    rows = pd.concat([pd.read_csv(file) for file in args.files])
    rows = rows.drop_duplicates(["table", "split", "method"], keep="last")
    is_uci = rows["table"].isin(loader.GROUPS["uci"])
    chosen, uci = rows[~is_uci], rows[is_uci]
    for title, part in (("Tables to choose by", chosen), ("UCI tables", uci)):
        print(f"\n# {title}")
        for preset in ("ours_default", "ours_best", "ours_fast"):
            for score in LOWER_IS_BETTER:
                print_comparison(part, score, preset)
        print_coverage(part)
    print_uci(uci)
    if args.pictures:
        plt.rcParams["svg.fonttype"] = "none"  # letters, not their outlines
        draw_ranks(chosen, args.pictures / "quality-ranks.svg")
        draw_cost(chosen, args.pictures / "quality-cost.svg")


def table_means(rows: pd.DataFrame, score: str, methods: list[str]) -> pd.DataFrame:
    """(tables, methods), over the splits that all of these methods have."""
    by_split = rows.pivot_table(index=["table", "split"], columns="method", values=score)
    whole = by_split.reindex(columns=methods).dropna()
    return whole.groupby("table").mean()


def compared(rows: pd.DataFrame, score: str, ours: str) -> pd.DataFrame:
    """One of ours among the rivals that have this score; where some lack tables, fewer tables."""
    there = rows.dropna(subset=[score])["method"].unique()
    rivals = sorted(method for method in there if method not in OURS)
    return table_means(rows, score, [ours, *rivals]) if ours in there else pd.DataFrame()


def ratio(means: pd.DataFrame, ours: str, rival: str) -> tuple[float, float, float]:
    """Ours over the rival's, and a 90 % bootstrap interval over tables."""
    logs = np.log(means[ours] / means[rival]).to_numpy()
    random = np.random.default_rng(SEED)
    draws = random.choice(logs, (DRAWS, len(logs))).mean(axis=1)
    low, high = np.quantile(draws, [0.05, 0.95])
    return float(np.exp(logs.mean())), float(np.exp(low)), float(np.exp(high))


def print_comparison(rows: pd.DataFrame, score: str, ours: str) -> None:
    means = compared(rows, score, ours)
    if means.empty:
        return
    ranks = means.rank(axis=1).mean().sort_values()
    print(f"\n{LOWER_IS_BETTER[score]}, {ours} among rivals, {len(means)} tables\n")
    print("| method | mean rank | ours / method | 90 % interval | splits |")
    print("| --- | --- | --- | --- | --- |")
    for method, rank in ranks.items():
        words = "| | |"
        if method != ours:
            both = table_means(rows, score, [ours, method])
            if score == "nll":
                words = f"{(both[ours] - both[method]).mean():+.3f} nats | |"
            else:
                middle, low, high = ratio(both, ours, method)
                words = f"{middle:.3f} | {low:.3f} to {high:.3f} |"
            words += f" {splits_of(rows, score, [ours, method])} |"
        print(f"| {method} | {rank:.2f} | {words}")


def splits_of(rows: pd.DataFrame, score: str, methods: list[str]) -> str:
    """How many splits of a table all of these methods have."""
    has = rows[rows["method"].isin(methods)].dropna(subset=[score])
    common = has.groupby(["table", "split"])["method"].nunique() == len(methods)
    counts = common[common].groupby("table").size()
    return f"{counts.min()} to {counts.max()}" if counts.min() < counts.max() else f"{counts.min()}"


def print_coverage(rows: pd.DataFrame) -> None:
    """On how many tables 90 % intervals hold 87 to 93 % of the truths."""
    means = rows.dropna(subset=["coverage"]).groupby(["method", "table"])["coverage"].mean()
    print(
        "\n| method | tables with 87 to 93 % | coverage, lowest to highest |\n| --- | --- | --- |"
    )
    for method, shares in means.groupby("method"):
        good = int(shares.between(0.87, 0.93).sum())
        span = f"{shares.min():.3f} to {shares.max():.3f}"
        print(f"| {method} | {good} of {len(shares)} | {span} |")


def print_uci(rows: pd.DataFrame) -> None:
    """NLL and RMSE, mean and standard error over splits, beside what papers report."""
    if rows.empty:
        return
    tables = [name for name in loader.GROUPS["uci"] if name in set(rows["table"])]
    print(f"\n| NLL | {' | '.join(tables)} |\n| --- |{' --- |' * len(tables)}")
    for name, numbers in PUBLISHED.items():
        print(f"| {name} (published) | {' | '.join(numbers.get(t, '') for t in tables)} |")
    for score in ("nll", "crps", "rmse", "coverage"):
        for method, own in rows.groupby("method"):
            groups = own.groupby("table")[score]
            cells = [
                f"{groups.mean()[t]:.3g} ± {groups.sem()[t]:.2g}" if t in groups.groups else ""
                for t in tables
            ]
            print(f"| {method}, {score} | {' | '.join(cells)} |")


def draw_ranks(rows: pd.DataFrame, path: Path) -> None:
    """Mean ranks of the default and of the best preset among the rivals, for each score."""
    scores = [s for s in LOWER_IS_BETTER if not compared(rows, s, "ours_default").empty]
    size = (7, 1.7 * len(scores))
    figure, axes = plt.subplots(len(scores), 1, figsize=size, squeeze=False, layout="constrained")
    for axis, score in zip(axes[:, 0], scores, strict=True):
        for height, ours in enumerate(("ours_best", "ours_default")):
            means = compared(rows, score, ours)
            if means.empty:
                continue
            ranks = means.rank(axis=1).mean().sort_values()
            for place, (method, rank) in enumerate(ranks.items()):
                mine = method == ours
                axis.plot(
                    rank, height, "o", color="tab:blue" if mine else "0.6", zorder=3 if mine else 2
                )
                axis.annotate(
                    NAMES.get(method, method),
                    (rank, height),
                    xytext=(0, 7 if place % 2 else -13),
                    textcoords="offset points",
                    ha="center",
                    fontsize=7,
                    weight="bold" if mine else "normal",
                )
        axis.set(yticks=[], ylim=(-0.6, 1.6), xlabel=f"mean rank by {LOWER_IS_BETTER[score]}")
        axis.spines[["left", "right", "top"]].set_visible(False)
    save(figure, path)


def draw_cost(rows: pd.DataFrame, path: Path) -> None:
    """CRPS relative to the default preset's against CPU-seconds of a fit, on one thread.

    Of methods that were measured so on every table.
    """
    own = rows[(rows["device"] == "cpu") & rows["crps"].notna()]
    methods = [m for m in own["method"].unique() if m in OURS or m != "linear"]
    whole = len(table_means(own, "crps", ["ours_default"]))
    figure, axis = plt.subplots(figsize=(6, 4))
    for method in methods:
        both = table_means(own, "crps", list(dict.fromkeys([method, "ours_default"])))
        seconds = table_means(own, "cpu_seconds", [method])
        if len(both) < whole:
            continue
        height = np.exp(np.log(both[method] / both["ours_default"]).mean())
        width = np.exp(np.log(seconds[method]).mean())
        axis.plot(width, height, "o", color="tab:blue" if method in OURS else "0.5")
        axis.annotate(
            method, (width, height), xytext=(5, 4), textcoords="offset points", fontsize=8
        )
    axis.set(xscale="log", xlabel="CPU-seconds of a fit (geometric mean over tables)")
    ticks = [1, 2, 5, 10, 20, 50]
    axis.set_xticks(ticks, [str(tick) for tick in ticks])
    axis.minorticks_off()
    axis.set(ylabel="CRPS relative to the default preset")
    axis.spines[["right", "top"]].set_visible(False)
    save(figure, path)


def save(figure: object, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
