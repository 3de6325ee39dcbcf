"""Statements about a number against a limit."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import spearmanr

from batchensemble.metrics import COVERAGES, LEVELS
from batchensemble.study.best_sets import Gap, Word, interval, yes
from batchensemble.study.results import CHANGE, Sample
from batchensemble.study.statements import Numbers, OnSamples, Reading

MEASURES: dict[str, Callable[[Sequence[Sample]], float]] = {
    "mean": lambda samples: samples[0].mean,
    "ratio": lambda samples: _ratio(samples[0].mean, samples[1].mean),
    "spread": lambda samples: _ratio(max(s.mean for s in samples), min(s.mean for s in samples)),
    "share": lambda samples: samples[0].mean / samples[1].mean if samples[1].mean > 0 else math.nan,
    "spearman": lambda samples: _spearman(samples[0]),
    "above": lambda samples: float(np.mean(samples[0].curve > LEVELS)),
    "below": lambda samples: float(np.mean(samples[0].curve < LEVELS)),
}
SIGNS: dict[str, Callable[[float, float], bool]] = {
    "at most": lambda number, limit: number <= limit,
    "under": lambda number, limit: number < limit,
    "at least": lambda number, limit: number >= limit,
    "over": lambda number, limit: number > limit,
    "within": lambda number, limit: abs(number) <= limit,
}


@dataclass(frozen=True)
class Bound(OnSamples):
    """A number against a limit.

    measure   what the number is: the mean of one reading, the ratio of two, the spread (largest
              over smallest) of several, the share of one growth in another; of a curve its rank
              correlation with coverage, or the share of levels at which it is above or below
    """

    of: tuple[Reading, ...]
    measure: str
    sign: str
    limit: float

    @property
    def text(self) -> str:
        place, who, quantity = self.of[0]
        what = f"mean {quantity.name} of {who}"
        match self.measure:
            case "mean" if place.variant == CHANGE:
                verb = "changes by at most" if self.sign == "within" else "increases by at least"
                return f"{place.dataset}: {what} {verb} {self.limit} under shift"
            case "mean":
                return f"{place}: {what} is {self.sign} {self.limit}"
            case "ratio":
                other = self.of[1]
                if other.place == place:
                    has = f"{who} has {self.sign} {self.limit} of the {quantity.name}"
                    return f"{place.dataset}: {has} of {other.entrant}"
                times = f"{self.limit} times that in {other.place.variant}"
                return f"{place.dataset}: {what} under shift is {self.sign} {times}"
            case "share":
                half = f"over half of that of its {self.of[1].quantity.name}"
                return f"{place.dataset}: growth of {quantity.name} of {who} under shift is {half}"
            case "spread":
                what = f"largest mean {quantity.name}"
                return f"{place}: {what} is {self.sign} {self.limit} times the smallest"
            case "spearman":
                way = "rises" if self.limit > 0 else "falls"
                rule = f"(|Spearman| at least {abs(self.limit)})"
                return f"{place}: {quantity.name} of {who} {way} with coverage {rule}"
        way = "over" if self.measure == "above" else "under"
        share = f"{100 * self.limit:.0f} % of the {len(LEVELS)} levels or more"
        return f"{place}: {who} {way}-covers at {share}"

    @property
    def reads(self) -> dict[str, Reading]:
        """By that in which they differ."""
        labels = [(place.variant, who, quantity.name) for place, who, quantity in self.of]
        alone = 0 if labels[0][0] == CHANGE else 1
        i = next((i for i in range(3) if len({own[i] for own in labels}) > 1), alone)
        return {own[i]: reading for own, reading in zip(labels, self.of, strict=True)}

    def judge(self, samples: Mapping[str, Sample], *, paired: bool = False) -> tuple[Word, Numbers]:
        """By paired seeds the 95 % interval of the number has to be on the side of the limit.

        It holds partly if the limit is inside; the interval is the jackknife's over seeds.
        """
        measure, read = MEASURES[self.measure], [samples[label] for label in self.reads]
        number = measure(read)
        name = {"spread": "ratio", "above": "share", "below": "share"}.get(self.measure)
        numbers = {name or self.measure: number if math.isfinite(number) else None}
        gap = jackknife(measure, read) if paired else None
        if gap is None:
            return yes(SIGNS[self.sign](number, self.limit)), numbers
        ends = [SIGNS[self.sign](end, self.limit) for end in (gap.low, gap.high)]
        is_around = self.sign == "within" and gap.low < 0 < gap.high
        word: Word = "partly" if is_around or ends[0] != ends[1] else yes(ends[0])
        return yes(True) if all(ends) else word, numbers


def jackknife(
    measure: Callable[[Sequence[Sample]], float], samples: Sequence[Sample]
) -> Gap | None:
    """Student's 95 % interval of a number over the seeds that all samples have.

    From what the number is without each seed in turn; None where that is not known.
    """
    n = min(len(sample.values) for sample in samples)
    if n < 3:
        return None
    values = [sample.values[:n] for sample in samples]
    whole = measure([Sample(own) for own in values])
    without = [measure([Sample(np.delete(own, i, axis=0)) for own in values]) for i in range(n)]
    return interval(n * whole - (n - 1) * np.array(without))


def _ratio(above: float, below: float) -> float:
    """Infinite over zero; 1 where both are zero."""
    if below:
        return above / below
    return math.inf if above else 1.0


def _spearman(sample: Sample) -> float:
    """Of coverage and the selective curve averaged over seeds."""
    if np.ptp(sample.curve) == 0:
        return 0.0
    return round(float(spearmanr(COVERAGES, sample.curve).statistic), 9)  # some are at 0.9 exactly
