"""The four methods on every dataset that is here, and one printed table of metrics for each."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table as Sheet

from batchensemble.datasets import SERIES, TABLES, load_series, load_table
from batchensemble.estimators.base import pick_device
from batchensemble.methods import METHODS
from batchensemble.metrics import (
    summarise_classification,
    summarise_paths,
    summarise_regression,
)
from batchensemble.predictive import GaussianPredictive
from batchensemble.study.comparison import Tell
from batchensemble.study.series import compare_on_series, split_series
from batchensemble.study.tabular import (
    PAPER_TRAINING,
    Predictive,
    Split,
    compare_on_table,
    split_table,
)
from batchensemble.training import Training
from batchensemble.words import one_of


@dataclass(frozen=True)
class Profile:
    """How thorough a comparison is."""

    seeds: int
    epochs: int
    most_rows: int | None
    most_windows: int | None
    note: str

    @property
    def training(self) -> Training:
        return dataclasses.replace(PAPER_TRAINING, epochs=self.epochs)


PROFILES = {
    "full": Profile(5, PAPER_TRAINING.epochs, None, None, "the paper's setting"),
    "quick": Profile(
        2, 100, 3_000, 200, "QUICK: fewer epochs, seeds and rows; draw no conclusions"
    ),
}


Results = dict[str, tuple[int, list[Mapping[str, float]]]]
"""By method: the parameters of one seed's networks, and each seed's metrics."""


def reproduce(
    *, profile: str, only: Sequence[str] | None, device: str, console: Console
) -> dict[str, Results]:
    """Run and print; returns what came out for each dataset."""
    chosen = PROFILES[one_of(profile, PROFILES, "profile")]
    names = [one_of(name, (*TABLES, *SERIES), "dataset") for name in only or (*TABLES, *SERIES)]
    where = pick_device(device)
    console.print(f"Profile {profile}: {chosen.seeds} seeds, {chosen.epochs} epochs.")
    results, left_out = {}, []
    for name in names:
        judge = _judge_table if name in TABLES else _judge_series
        try:
            with console.status(f"{name} ...") as status:
                results[name] = judge(name, chosen, where, status.update)
        except FileNotFoundError as error:
            left_out.append(str(error))
            continue
        console.print(_sheet(name, chosen, results[name]))
    for line in left_out:
        console.print(f"Left out: {line}", soft_wrap=True)
    if not results:
        console.print("Nothing was run: none of the datasets is here.")
    return results


def _judge_table(name: str, profile: Profile, device: torch.device, tell: Tell) -> Results:
    table = load_table(name)
    splits = [_shortened(split_table(table, seed), profile) for seed in range(profile.seeds)]
    answers = compare_on_table(splits, list(METHODS), profile.training, device=device, tell=tell)
    return {
        word: (size, [_metrics(s, dist) for s, dist in zip(splits, dists, strict=True)])
        for word, (size, dists) in answers.items()
    }


def _judge_series(name: str, profile: Profile, device: torch.device, tell: Tell) -> Results:
    split = split_series(load_series(name))
    if profile.most_windows is not None:
        kept, tested = split.train[-profile.most_windows :], split.test[: profile.most_windows]
        split = dataclasses.replace(split, train=kept, test=tested)
    answers = compare_on_series(
        split,
        range(profile.seeds),
        list(METHODS),
        profile.training,
        device=device,
        tell=tell,
    )
    return {
        word: (size, [summarise_paths(split.y_test, dist) for dist in dists])
        for word, size, dists in answers
    }


def _shortened(split: Split, profile: Profile) -> Split:
    n = profile.most_rows
    return dataclasses.replace(split, x_train=split.x_train[:n], y_train=split.y_train[:n])


def _metrics(split: Split, dist: Predictive) -> dict[str, float]:
    if isinstance(dist, GaussianPredictive):
        return summarise_regression(split.y_test.astype(np.float64), dist)
    return summarise_classification(split.y_test, dist)


def _sheet(name: str, profile: Profile, results: Results) -> Sheet:
    sheet = Sheet(
        box=SIMPLE, title=f"{name}: mean ± standard error of {profile.seeds} seeds\n{profile.note}"
    )
    sheet.add_column("", no_wrap=True)
    for word in results:
        sheet.add_column(word, justify="right", no_wrap=True)
    sheet.add_row("parameters", *(f"{size:,}" for size, _ in results.values()))
    for metric in next(iter(results.values()))[1][0]:
        values = [[row[metric] for row in rows] for _, rows in results.values()]
        cells = (f"{np.mean(v):.3f}±{_standard_error(v):.3f}" for v in values)
        sheet.add_row(_short(metric), *cells)
    return sheet


def _short(metric: str) -> str:
    """A metric's name as the narrow first column shows it."""
    for ending in ("_area", "_score"):
        metric = metric.removesuffix(ending)
    return metric.replace("coverage", "cover").replace("_", " ")


def _standard_error(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else 0.0
