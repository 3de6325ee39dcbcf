"""Results as tables: one row a number, and mean with standard error over the seeds."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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


Cell = str | int | float | MeanSE | None


@dataclass(frozen=True)
class Sheet:
    """A table for people: cells keep their numbers, `show` writes them."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""


def show(cell: Cell) -> str:
    """A cell as people read it."""
    match cell:
        case None:
            return ""
        case MeanSE(mean, se):
            return f"{mean:.3f} ± {se:.3f}"
        case float():
            return f"{cell:.3f}"
        case int():
            return f"{cell:,}"
        case _:
            return cell


def write_runs(results: Iterable[Result], path: Path) -> None:
    """`runs.csv`: one row for each run and metric."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(COLUMNS)
        for result in results:
            run = result.run
            own = (run.dataset, run.variant, run.entrant, run.seed)
            for metric, value in result.metrics.items():
                rows.writerow([*own, metric, repr(value)])


def over_seeds(results: Iterable[Result], metric: str) -> dict[str, MeanSE]:
    """By entrant; only those that have the metric."""
    values: dict[str, list[float]] = {}
    for result in results:
        if metric in result.metrics:
            values.setdefault(result.run.entrant, []).append(result.metrics[metric])
    return {entrant: MeanSE.of(own) for entrant, own in values.items()}
