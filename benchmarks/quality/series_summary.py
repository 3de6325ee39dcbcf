"""The scores of every method on every series dataset, and mean ranks.

    python benchmarks/quality/series_summary.py FILE ...

Prints tables in Markdown from the rows of `series/measure.py`. Mean ranks are those among the
methods that have all datasets. Of rows for the same dataset and method, the first counts.
"""

import argparse
from pathlib import Path

import pandas as pd
from summary import table_means

NAMES = {
    "default": "ours",
    "patchtst": "PatchTST",
    "nhits": "NHITS",
    "deepar": "DeepAR",
    "arima": "AutoARIMA",
    "theta": "AutoTheta",
    "ets": "AutoETS",
    "mean": "mean of the two",
    "snaive": "seasonal naive",
}
DATASETS = {
    "m3_monthly": "M3 monthly",
    "m3_quarterly": "M3 quarterly",
    "australian_tourism": "tourism",
    "us_gasoline": "gasoline",
    "etth1": "ETTh1",
    "exchange_rate": "exchange rates",
    "ny_taxi": "taxi",
}
LOWER_IS_BETTER = {"wql": ("Weighted quantile loss", "{:.4f}"), "mase": ("MASE", "{:.3f}")}
COVERED = (0.75, 0.85)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+", type=Path)
    rows = pd.concat([pd.read_csv(file) for file in parser.parse_args().files])
    rows = rows[rows["method"].isin(NAMES)].drop_duplicates(["dataset", "method"])
    ranks = mean_ranks(rows)
    for score, (title, form) in LOWER_IS_BETTER.items():
        print_table(title, wide(rows, score), form, ranks[score].map("{:.2f}".format), "mean rank")
    coverage = wide(rows, "coverage")
    held = coverage.apply(lambda shares: shares.between(*COVERED).sum(), axis=1).astype(str)
    print_table("80 % intervals cover", 100 * coverage, "{:.0f} %", held, "75 to 85 %", bold=False)
    seconds = wide(rows, "cpu_seconds")
    total = seconds.dropna().sum(axis=1).map("{:.0f}".format)
    print_table("CPU-seconds", seconds, "{:.0f}", total, "total", bold=False)


def wide(rows: pd.DataFrame, score: str) -> pd.DataFrame:
    """(methods, datasets), in the order of the names above."""
    scores = rows.pivot_table(index="method", columns="dataset", values=score, dropna=False)
    methods = [name for name in NAMES if name in scores.index]
    return scores.loc[methods, [name for name in DATASETS if name in scores]]


def mean_ranks(rows: pd.DataFrame) -> pd.DataFrame:
    """(methods, scores), of the methods that have all datasets."""
    counts = rows.groupby("method")["dataset"].nunique()
    whole = counts.index[counts == rows["dataset"].nunique()].tolist()
    tables = rows.rename(columns={"dataset": "table"}).assign(split=0)
    means = {score: table_means(tables, score, whole) for score in LOWER_IS_BETTER}
    return pd.DataFrame({score: own.rank(axis=1).mean() for score, own in means.items()})


def print_table(
    title: str, cells: pd.DataFrame, form: str, last: pd.Series, last_title: str, bold: bool = True
) -> None:
    """A line for each method; what is missing stays empty, the lowest of a dataset is bold."""
    texts = cells.map(lambda value: "" if pd.isna(value) else form.format(value))
    if bold:
        for dataset in texts:
            is_best = texts[dataset] == texts.loc[cells[dataset].idxmin(), dataset]
            texts.loc[is_best, dataset] = "**" + texts.loc[is_best, dataset] + "**"
    print(f"\n| {title} | {' | '.join(DATASETS[name] for name in texts)} | {last_title} |")
    print(f"| --- |{' ---: |' * (texts.shape[1] + 1)}")
    for method, line in texts.iterrows():
        print(f"| {NAMES[method]} | {' | '.join(line)} | {last.get(method, '')} |")


if __name__ == "__main__":
    main()
