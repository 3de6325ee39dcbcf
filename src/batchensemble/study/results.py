"""The results of a study, and the one way to ask them for means over seeds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.plots.looks import LOOKS
from batchensemble.plots.sheets import MeanSE
from batchensemble.study.published import SHAPES
from batchensemble.study.spec import PLAIN, VARIANTS, Settings
from batchensemble.study.store import Result, Store
from batchensemble.study.tidy import numbers_of, points, tidy

Floats = NDArray[np.float64]

N_SEEDS = 5  # of the full study
FULL, SEEDS = Settings(), frozenset(range(N_SEEDS))
QUICK = "QUICK: fewer epochs, seeds and rows; draw no conclusions"
UNFINISHED = "UNFINISHED: not all five seeds; draw no conclusions"
ID, SHIFT = VARIANTS
CHANGE = "shift - id"


class Place(NamedTuple):
    """A dataset and its variant, or CHANGE: shifted less in-distribution, seed by seed."""

    dataset: str
    variant: str

    @property
    def parts(self) -> tuple["Place", ...]:
        """Where the runs are."""
        if self.variant != CHANGE:
            return (self,)
        return Place(self.dataset, SHIFT), Place(self.dataset, ID)

    def __str__(self) -> str:
        return f"{self.dataset} {self.variant}"


@dataclass(frozen=True)
class Quantity:
    """Rows of the frame by their names: one, or the points of a curve.

    up   whether more is better
    """

    name: str
    keys: tuple[str, ...]
    up: bool = False


@dataclass(frozen=True)
class Sample:
    """values (seeds, points), all finite."""

    values: Floats

    @cached_property
    def intervals(self) -> list[MeanSE]:
        """One for each point."""
        return [MeanSE.of(column) for column in self.values.T]

    @property
    def mean(self) -> float:
        """Of a quantity that is one number."""
        (only,) = self.intervals
        return only.mean

    @property
    def curve(self) -> Floats:
        """(points,): the means over seeds."""
        mean: Floats = self.values.mean(axis=0)
        return mean

    def as_json(self) -> Any:
        """[mean, se], or both for every point."""
        means, errors = zip(*self.intervals, strict=True)
        if len(means) == 1:
            return [means[0], errors[0]]
        return {"mean": list(means), "se": list(errors)}


class Study:
    """The frame of a study's results, and what is asked of it; and the rows of `costs.json`.

    Of an entrant's runs at a place those with full settings are taken; without any, those of the
    first settings.

    paired   False: the paper's reading, five seeds if they are all there, and claims judged by
             overlapping intervals. True: all seeds there are, and claims judged by differences
             seed by seed
    """

    def __init__(
        self,
        results: Iterable[Result],
        costs: Sequence[Mapping[str, Any]] = (),
        *,
        paired: bool = False,
    ) -> None:
        every = list(results)
        self.paired = paired
        groups: dict[tuple[str, str, str], list[Result]] = {}
        for result in every:
            run = result.run
            groups.setdefault((run.dataset, run.variant, run.entrant), []).append(result)
        self.note = label_of(every)
        self.costs = tuple(costs)
        self.runs = {key: _chosen(own, every_seed=paired) for key, own in groups.items()}
        self._methods: dict[Place, list[str]] = {}  # of the main study
        for (dataset, variant, entrant), own in self.runs.items():
            if own[0].run.change == PLAIN:
                self._methods.setdefault(Place(dataset, variant), []).append(entrant)
        self._cells: dict[tuple[str, ...], dict[str, dict[int, float]]] = {}

    @cached_property
    def frame(self) -> pd.DataFrame:
        """All that can be asked for, a number a row."""
        return tidy(self.results)

    def _cell(self, place: Place, entrant: str) -> dict[str, dict[int, float]]:
        """The frame's rows of an entrant at a place: values by quantity and seed."""
        key = (*place, entrant)
        if key not in self._cells:
            cell = self._cells[key] = {}
            for result in sorted(self.runs.get(key, ()), key=lambda r: r.run.seed):
                for quantity, value in numbers_of(result).items():
                    cell.setdefault(quantity, {})[result.run.seed] = float(value)
        return self._cells[key]

    @property
    def results(self) -> list[Result]:
        return [result for own in self.runs.values() for result in own]

    def values(self, place: tuple[str, str], entrant: str, quantity: str) -> dict[int, float]:
        """By seed, of the runs that have the quantity."""
        first, *rest = (self._cell(part, entrant).get(quantity, {}) for part in Place(*place).parts)
        for other in rest:
            first = {seed: first[seed] - other[seed] for seed in first if seed in other}
        return first

    def mean(self, place: tuple[str, str], entrant: str, quantity: str) -> MeanSE | None:
        """Over the seeds that have the quantity; None if there are none."""
        values = list(self.values(place, entrant, quantity).values())
        return MeanSE.of(values) if values else None

    def means(
        self, place: tuple[str, str], quantity: str, entrants: Iterable[str] | None = None
    ) -> dict[str, MeanSE]:
        """By entrant, of those that have it; the methods of the main study if none are named."""
        asked = self.methods(place) if entrants is None else entrants
        cells = {entrant: self.mean(place, entrant, quantity) for entrant in asked}
        return {entrant: cell for entrant, cell in cells.items() if cell is not None}

    def curve(self, place: tuple[str, str], entrant: str, curve: str) -> list[MeanSE]:
        """Empty where there is none."""
        cells = (self.mean(place, entrant, key) for key in points(curve))
        return [cell for cell in cells if cell is not None]

    def sample(self, place: Place, entrant: str, quantity: Quantity) -> Sample | None:
        """None if there are no runs, or one of them has no finite number."""
        is_whole = all(
            self._cell(part, entrant).get(key, {}).keys() == self._seeds(part, entrant)
            for part in place.parts
            for key in quantity.keys
        )
        columns = [list(self.values(place, entrant, key).values()) for key in quantity.keys]
        if not is_whole or not all(columns):
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            sample = Sample(np.array(columns).T)
            return sample if np.isfinite(sample.intervals).all() else None

    def is_full(self, place: tuple[str, str], entrant: str) -> bool:
        """Whether there are the five seeds of the full settings; verdicts come from these alone."""
        return _is_full(self.runs.get((*place, entrant), []))

    def places(self) -> list[Place]:
        """Datasets and variants of the main study, in the order of the results."""
        return list(self._methods)

    def methods(self, place: tuple[str, str] | None = None) -> list[str]:
        """Of the main study, there or anywhere: the paper's in its order, then others."""
        places = self._methods if place is None else [Place(*place)]
        known = {method for each in places for method in self._methods.get(each, ())}
        return [m for m in LOOKS if m in known] + sorted(known - {*LOOKS})

    def about(self, place: tuple[str, str], entrant: str | None = None) -> Mapping[str, Any]:
        """Facts that an entrant's runs share; without one, all runs of the main study there."""
        name = self.methods(place)[0] if entrant is None else entrant
        return self.runs[(*place, name)][0].about

    def facts(self) -> dict[str, Mapping[str, Any]]:
        """Of the datasets of the main study."""
        return {place.dataset: self.about(place) for place in self.places()}

    def tasks(self) -> dict[str, str]:
        """Of every dataset that has runs, of the main study or not."""
        return {
            key[0]: str(own[0].about.get("task", "regression")) for key, own in self.runs.items()
        }

    def n_seeds(self, place: tuple[str, str]) -> int:
        """Of the main study."""
        return len(set[int]().union(*(self._seeds(place, m) for m in self.methods(place))))

    def metrics(self, place: tuple[str, str], names: Iterable[str], prefix: str = "") -> list[str]:
        """Those that some method of the main study has there."""
        return [name for name in names if self.means(place, prefix + name)]

    def n_diverged(self, place: tuple[str, str], entrant: str) -> int:
        """Runs whose training diverged and left no numbers."""
        return sum(value > 0 for value in self.values(place, entrant, "diverged").values())

    def _seeds(self, place: tuple[str, str], entrant: str) -> set[int]:
        return {result.run.seed for result in self.runs.get((*place, entrant), [])}


def read_results(folder: Path) -> list[Result]:
    """All results of a folder of the study: the paper's datasets in its order, then others."""
    order = {name: i for i, name in enumerate(SHAPES)}
    results = sorted(Store(folder / "runs"), key=lambda r: order.get(r.run.dataset, len(order)))
    if not results:
        raise ValueError(
            f"expected results in {folder / 'runs'}, got none; make some with "
            f"`batchensemble reproduce -o {folder}`, or name the folder that has them"
        )
    return results


def label_of(results: Sequence[Result]) -> str:
    """What must stand on everything made from these results; nothing if they are a full study.

    The main study decides; where there is none of it, all results do.
    """
    runs = [r.run for r in results if r.run.change == PLAIN] or [r.run for r in results]
    if not runs or any(run.settings != FULL for run in runs):
        return QUICK
    seeds: dict[tuple[str, str, str], set[int]] = {}
    for run in runs:
        seeds.setdefault((run.dataset, run.variant, run.entrant), set()).add(run.seed)
    return "" if all(own >= SEEDS for own in seeds.values()) else UNFINISHED


def write_runs(results: Iterable[Result], path: Path) -> None:
    """`runs.csv`: one row for each run and metric."""
    every = list(results)
    frame = tidy(every)
    is_metric = frame["quantity"].isin({name for result in every for name in result.metrics})
    path.parent.mkdir(parents=True, exist_ok=True)
    names = {"entrant": "method", "quantity": "metric"}
    frame[is_metric].rename(columns=names).to_csv(
        path, index=False, na_rep="nan", lineterminator="\r\n"
    )


def _chosen(runs: Sequence[Result], *, every_seed: bool) -> list[Result]:
    settings = FULL if any(r.run.settings == FULL for r in runs) else runs[0].run.settings
    same = [r for r in runs if r.run.settings == settings]
    if every_seed:
        return same
    return [r for r in same if r.run.seed in SEEDS] if _is_full(same) else same


def _is_full(runs: Sequence[Result]) -> bool:
    return {r.run.seed for r in runs if r.run.settings == FULL} >= SEEDS
