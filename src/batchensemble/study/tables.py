"""Results as tables: one row a number, and mean with standard error over the seeds."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from batchensemble.study.store import Result

COLUMNS = ("dataset", "variant", "method", "seed", "metric", "value")


class MeanSE(NamedTuple):
    """Over seeds: the mean, and sd / sqrt(seeds) with ddof 1 (0 for a single seed)."""

    mean: float
    se: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "MeanSE":
        spread = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else 0.0
        return cls(float(np.mean(values)), float(spread))


def write_runs(results: Iterable[Result], path: Path) -> None:
    """`runs.csv`: one row for each run and metric."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(COLUMNS)
        for result in results:
            run = result.run
            for metric, value in result.metrics.items():
                rows.writerow([run.dataset, run.variant, run.method, run.seed, metric, repr(value)])


def over_seeds(results: Iterable[Result], metric: str) -> dict[str, MeanSE]:
    """By method; only those that have the metric."""
    values: dict[str, list[float]] = {}
    for result in results:
        if metric in result.metrics:
            values.setdefault(result.run.method, []).append(result.metrics[metric])
    return {method: MeanSE.of(own) for method, own in values.items()}
