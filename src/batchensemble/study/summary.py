"""The four methods on every table that is here, and one printed table of metrics for each."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table as Sheet

from batchensemble.datasets import TABLES, load_table
from batchensemble.estimators.base import pick_device
from batchensemble.methods import METHODS
from batchensemble.metrics import summarise_classification, summarise_regression
from batchensemble.predictive import GaussianPredictive
from batchensemble.study.tabular import PAPER_TRAINING, Predictive, Split, compare, split_table
from batchensemble.words import one_of


@dataclass(frozen=True)
class Profile:
    """How thorough a comparison is."""

    seeds: int
    epochs: int
    most_rows: int | None
    note: str


PROFILES = {
    "full": Profile(5, PAPER_TRAINING.epochs, None, "the paper's setting"),
    "quick": Profile(2, 100, 3_000, "QUICK: fewer epochs, seeds and rows; draw no conclusions"),
}


def reproduce(
    *, profile: str, only: Sequence[str] | None, device: str, console: Console
) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Run and print; returns metric values by dataset, method and metric, one for each seed."""
    chosen = PROFILES[one_of(profile, PROFILES, "profile")]
    names = [one_of(name, TABLES, "dataset") for name in only or TABLES]
    where = pick_device(device)
    training = dataclasses.replace(PAPER_TRAINING, epochs=chosen.epochs)
    console.print(f"Profile {profile}: {chosen.seeds} seeds, {chosen.epochs} epochs.")
    results, left_out = {}, []
    for name in names:
        try:
            table = load_table(name)
        except FileNotFoundError as error:
            left_out.append(str(error))
            continue
        splits = [_shortened(split_table(table, seed), chosen) for seed in range(chosen.seeds)]
        with console.status(f"{name} ...") as status:
            answers = compare(splits, list(METHODS), training, device=where, tell=status.update)
        results[name] = {word: _metrics(splits, dists) for word, (_, dists) in answers.items()}
        sizes = {word: size for word, (size, _) in answers.items()}
        console.print(_sheet(name, chosen, results[name], sizes))
    for line in left_out:
        console.print(f"Left out: {line}", soft_wrap=True)
    if not results:
        console.print("Nothing was run: none of the datasets is here.")
    return results


def _shortened(split: Split, profile: Profile) -> Split:
    n = profile.most_rows
    return dataclasses.replace(split, x_train=split.x_train[:n], y_train=split.y_train[:n])


def _metrics(splits: Sequence[Split], dists: Sequence[Predictive]) -> dict[str, list[float]]:
    rows = []
    for split, dist in zip(splits, dists, strict=True):
        if isinstance(dist, GaussianPredictive):
            rows.append(summarise_regression(split.y_test.astype(np.float64), dist))
        else:
            rows.append(summarise_classification(split.y_test, dist))
    return {metric: [row[metric] for row in rows] for metric in rows[0]}


def _sheet(
    name: str, profile: Profile, results: dict[str, dict[str, list[float]]], sizes: dict[str, int]
) -> Sheet:
    sheet = Sheet(
        box=SIMPLE, title=f"{name}: mean ± standard error of {profile.seeds} seeds\n{profile.note}"
    )
    sheet.add_column("", no_wrap=True)
    for word in results:
        sheet.add_column(word, justify="right", no_wrap=True)
    sheet.add_row("parameters", *(f"{sizes[word]:,}" for word in results))
    for metric in next(iter(results.values())):
        values = [results[word][metric] for word in results]
        cells = (f"{np.mean(v):.3f}±{_standard_error(v):.3f}" for v in values)
        sheet.add_row(metric.removesuffix("_area").replace("_", " "), *cells)
    return sheet


def _standard_error(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else 0.0
