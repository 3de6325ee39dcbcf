"""The scores of every method on every series dataset, and mean ranks.

    python benchmarks/quality/series_summary.py results/quality/series.csv

Prints two tables in Markdown from the rows of `series/measure.py`: MASE, weighted quantile loss,
coverage of the 80 % intervals and CPU-seconds by dataset, and the mean ranks of the methods that
have all datasets.
"""

import argparse
from pathlib import Path

import pandas as pd
from summary import table_means

NAMES = {
    "default": "ours",
    "snaive": "seasonal naive",
    "theta": "AutoTheta",
    "ets": "AutoETS",
    "mean": "mean of AutoTheta and AutoETS",
    "arima": "AutoARIMA",
    "deepar": "DeepAR",
    "patchtst": "PatchTST",
    "nhits": "NHITS",
}
DIGITS = {"mase": 3, "wql": 3}
COVERED = (0.75, 0.85)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    rows = pd.read_csv(parser.parse_args().file)
    rows = rows[rows["method"].isin(NAMES)]
    print_scores(rows)
    print()
    print_ranks(rows)


def print_scores(rows: pd.DataFrame) -> None:
    """One line for each dataset and method; the lowest scores of a dataset are bold."""
    print("| | MASE | weighted quantile loss | 80 % cover | CPU-seconds |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for dataset, part in rows.groupby("dataset", sort=False):
        print(f"| **{dataset}** | | | | |")
        texts = {score: part[score].map(f"{{:.{n}g}}".format) for score, n in DIGITS.items()}
        for row in part.sort_values("wql").itertuples():
            cells = []
            for score in DIGITS:
                text = texts[score][row.Index]
                best = texts[score][part[score].idxmin()]
                cells.append(f"**{text}**" if text == best else text)
            cells += [f"{row.coverage:.0%}".replace("%", " %"), f"{row.cpu_seconds:.0f}"]
            print(f"| {NAMES[row.method]} | {' | '.join(cells)} |")


def mean_ranks(rows: pd.DataFrame) -> pd.DataFrame:
    """(methods, scores), of the methods that have all datasets."""
    n_datasets = rows["dataset"].nunique()
    counts = rows.groupby("method")["dataset"].nunique()
    whole = sorted(counts.index[counts == n_datasets])
    tables = rows.rename(columns={"dataset": "table"}).assign(split=0)
    ranks = {s: table_means(tables, s, whole).rank(axis=1).mean() for s in ("wql", "mase")}
    return pd.DataFrame(ranks).sort_values("wql")


def print_ranks(rows: pd.DataFrame) -> None:
    n_datasets = rows["dataset"].nunique()
    is_covered = rows["coverage"].between(*COVERED)
    covered = is_covered.groupby(rows["method"]).sum()
    lowest, highest = (rows.groupby("method")["coverage"].agg(f) for f in ("min", "max"))
    print(f"Mean ranks over {n_datasets} datasets\n")
    print("| | weighted quantile loss | MASE | 75 to 85 % cover on | coverage |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for method, ranks in mean_ranks(rows).iterrows():
        span = f"{100 * lowest[method]:.0f} to {100 * highest[method]:.0f} %"
        cells = [f"{ranks['wql']:.2f}", f"{ranks['mase']:.2f}", f"{covered[method]}", span]
        print(f"| {NAMES[method]} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
