"""What claims are judged on: quantities over the seeds, and whether all the runs are there."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from batchensemble.metrics import COVERAGES, LEVELS
from batchensemble.plots.sheets import MeanSE
from batchensemble.study.spec import VARIANTS, Settings
from batchensemble.study.store import Result
from batchensemble.study.tables import N_SEEDS

Floats = NDArray[np.float64]

FULL, SEEDS = Settings(), tuple(range(N_SEEDS))  # verdicts come from these alone
BE, DE, MC, S = ALL = ("batch_ensemble", "deep_ensemble", "mc_dropout", "single")
ID, SHIFT = VARIANTS
CHANGE = "shift - id"


class Place(NamedTuple):
    """A dataset and its variant, or CHANGE: shifted less in-distribution, seed by seed."""

    dataset: str
    variant: str

    @property
    def variants(self) -> tuple[str, ...]:
        return (SHIFT, ID) if self.variant == CHANGE else (self.variant,)

    def __str__(self) -> str:
        return f"{self.dataset} {self.variant}"


@dataclass(frozen=True)
class Quantity:
    """A number or a curve read off a result; `read` raises KeyError where there is none.

    up   whether more is better
    """

    name: str
    read: Callable[[Result], ArrayLike]
    up: bool = False


def metric(key: str, name: str, *, up: bool = False) -> Quantity:
    return Quantity(name, lambda result: result.metrics[key], up)


def curve(key: str, at: Floats) -> Callable[[Result], Floats]:
    """Reads a curve, refusing one that has other points than `at`."""

    def read(result: Result) -> Floats:
        values = np.asarray(result.curves[key], dtype=np.float64)
        if values.shape != at.shape:
            raise ValueError(
                f"expected {at.size} points of the curve {key!r} in {result.run.name}, got "
                f"{values.size}; delete that result and run it again with this version"
            )
        return values

    return read


_selective = curve("selective", COVERAGES)

RMSE = metric("rmse", "RMSE")
NLL = metric("nll", "NLL")
RMSCE = metric("rmsce", "RMSCE")
MISCALIBRATION = metric("miscalibration_area", "miscalibration area")
ACCURACY = metric("accuracy", "accuracy", up=True)
BRIER = metric("brier", "Brier score")
ECE = metric("ece", "ECE")
TOTAL = metric("total", "total uncertainty")
ALEATORIC = metric("aleatoric", "aleatoric uncertainty")
EPISTEMIC = metric("epistemic", "epistemic uncertainty")
N_PARAMETERS = Quantity("parameters", lambda result: result.about["n_parameters"])
EMPIRICAL = Quantity("empirical coverage", curve("coverage", LEVELS))


def kept(of: Quantity, low: int = 30, high: int = 100) -> Quantity:
    """The selective curve of RMSE or accuracy, from `low` to `high` per cent of rows kept."""
    percents = np.rint(100 * COVERAGES)
    inside = (percents >= low) & (percents <= high)
    name = f"{of.name} at every coverage from {low} to {high} %"
    return Quantity(name, lambda result: _selective(result)[inside], of.up)


def area(of: Quantity) -> Quantity:
    """The area under the whole selective curve, by trapezoids."""

    def read(result: Result) -> float:
        values = _selective(result)
        return float(np.sum(np.diff(COVERAGES) * (values[1:] + values[:-1]) / 2))

    return Quantity(f"area under the curve of {of.name} by coverage", read, of.up)


class Reading(NamedTuple):
    """What is read of whom; an entrant is a method, and what is changed about it if anything is."""

    place: Place
    entrant: str
    quantity: Quantity


@dataclass(frozen=True)
class Sample:
    """values (seeds, points), all finite."""

    values: Floats

    @cached_property
    def intervals(self) -> list[MeanSE]:
        """One for each point."""
        return [MeanSE.of(column) for column in self.values.T]

    @property
    def interval(self) -> MeanSE:
        """Of a quantity that is one number."""
        (only,) = self.intervals
        return only

    @property
    def mean(self) -> Floats:
        """(points,)."""
        mean: Floats = self.values.mean(axis=0)
        return mean

    def as_json(self) -> Any:
        """[mean, se], or both for every point."""
        means, errors = zip(*self.intervals, strict=True)
        if len(means) == 1:
            return [means[0], errors[0]]
        return {"mean": list(means), "se": list(errors)}


class Need(NamedTuple):
    """What a verdict waits for, such as full runs, at a place, of somebody."""

    what: str
    where: str = ""
    who: str = ""


class Evidence:
    """Results by place and entrant, and measured costs.

    Of an entrant's runs at a place those with full settings are taken, and of these the five seeds
    if they are all there; without any, those of the first settings.
    """

    def __init__(self, results: Iterable[Result], costs: Sequence[Mapping[str, Any]] = ()) -> None:
        cells: dict[tuple[str, str, str], dict[Settings, dict[int, Result]]] = {}
        for result in results:
            run = result.run
            cell = cells.setdefault((run.dataset, run.variant, run.entrant), {})
            cell.setdefault(run.settings, {})[run.seed] = result
        self._runs = {key: _chosen(cell) for key, cell in cells.items()}
        self._samples: dict[Reading, Sample | None] = {}
        self.costs = tuple(costs)

    def sample(self, reading: Reading) -> Sample | None:
        """None if there are no runs, or one of them has no finite number."""
        if reading not in self._samples:
            self._samples[reading] = self._sample(*reading)
        return self._samples[reading]

    def needs_runs(self, place: Place, entrant: str) -> list[Need]:
        """The full five-seed runs that are not there."""
        return [
            Need("full runs of five seeds of", f"{place.dataset} {variant}", entrant)
            for variant in place.variants
            if not _is_full(self._runs.get((place.dataset, variant, entrant), {}))
        ]

    def needs(self, reading: Reading) -> list[Need]:
        """What is missing for a verdict; empty if nothing is."""
        place, entrant, quantity = reading
        needs = self.needs_runs(place, entrant)
        if not needs and self.sample(reading) is None:
            return [Need(f"finite {quantity.name} in every seed of", str(place), entrant)]
        return needs

    def _sample(self, place: Place, entrant: str, quantity: Quantity) -> Sample | None:
        first, *rest = (
            self._values((place.dataset, variant, entrant), quantity) for variant in place.variants
        )
        with np.errstate(over="ignore", invalid="ignore"):
            for other in rest:
                first = {seed: first[seed] - other[seed] for seed in first if seed in other}
            if not first:
                return None
            sample = Sample(np.stack([first[seed] for seed in sorted(first)]))
            return sample if np.isfinite(sample.intervals).all() else None

    def _values(self, key: tuple[str, str, str], quantity: Quantity) -> dict[int, Floats]:
        try:
            return {
                seed: np.atleast_1d(np.asarray(quantity.read(result), dtype=np.float64))
                for seed, result in self._runs.get(key, {}).items()
            }
        except KeyError:  # such as a run that was lost in training
            return {}


def write_needs(needs: Iterable[Need]) -> str:
    """One sentence; entrants are named where not all four methods are missing."""
    whats: dict[str, dict[str, list[str]]] = {}
    for what, where, who in dict.fromkeys(needs):
        whats.setdefault(what, {}).setdefault(where, []).append(who)
    parts = []
    for what, places in whats.items():
        named = [
            where if {*who} >= {*ALL} else f"{where} ({', '.join(who)})"
            for where, who in places.items()
            if where
        ]
        parts.append(f"{what}: {', '.join(named)}" if named else what)
    return f"needs {'; '.join(parts)}" if parts else ""


def _chosen(cell: Mapping[Settings, Mapping[int, Result]]) -> Mapping[int, Result]:
    runs = cell.get(FULL) or next(iter(cell.values()))
    if _is_full(runs):
        return {seed: runs[seed] for seed in SEEDS}
    return runs


def _is_full(runs: Mapping[int, Result]) -> bool:
    return all(seed in runs and runs[seed].run.settings == FULL for seed in SEEDS)
