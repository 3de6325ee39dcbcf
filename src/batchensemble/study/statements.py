"""What claims are made of: who is best, and a number against a limit; `faster` has the third."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from scipy.stats import spearmanr

from batchensemble.metrics import COVERAGES, LEVELS
from batchensemble.plots.sheets import MeanSE
from batchensemble.study.best_sets import (
    Gap,
    Word,
    best_set,
    interval,
    names,
    paired_best_set,
    set_word,
    together,
    yes,
)
from batchensemble.study.results import CHANGE, Place, Quantity, Sample, Study

Extreme = Literal["best", "worst", "highest", "lowest"]
Numbers = dict[str, Any]

BE, DE, MC, S = ALL = ("batch_ensemble", "deep_ensemble", "mc_dropout", "single")


@dataclass(frozen=True)
class Part:
    """One statement of a claim, its verdict if it has one, and the numbers behind it.

    counts   whether the verdict of the claim depends on it
    """

    text: str
    verdict: Word | None
    numbers: Numbers = field(default_factory=dict)
    counts: bool = True


class Need(NamedTuple):
    """What a verdict waits for, such as full runs, at a place, of somebody."""

    what: str
    where: str = ""
    who: str = ""


class Statement(Protocol):
    """What a claim is a list of."""

    def parts(self, study: Study) -> list[Part]: ...

    def needs(self, study: Study) -> list[Need]:
        """What is missing for the verdicts that count."""
        ...


class Reading(NamedTuple):
    """What is read of whom; an entrant is a method, and what is changed about it if anything is."""

    place: Place
    entrant: str
    quantity: Quantity

    def needs(self, study: Study) -> list[Need]:
        """What is missing for a verdict; empty if nothing is."""
        needs = needs_runs(study, self.place, self.entrant)
        if not needs and study.sample(*self) is None:
            return [
                Need(f"finite {self.quantity.name} in every seed of", str(self.place), self.entrant)
            ]
        return needs


def needs_runs(study: Study, place: Place, entrant: str) -> list[Need]:
    """The full five-seed runs that are not there."""
    missing = (part for part in place.parts if not study.is_full(part, entrant))
    return [Need("full runs of five seeds of", str(part), entrant) for part in missing]


class OnSamples(ABC):
    """A statement about numbers of the study: how it is read and put together."""

    @property
    @abstractmethod
    def text(self) -> str: ...

    @property
    @abstractmethod
    def reads(self) -> dict[str, Reading]: ...

    @abstractmethod
    def judge(self, samples: Mapping[str, Sample], *, paired: bool = False) -> tuple[Word, Numbers]:
        """The verdict on samples, by the labels of `reads`, and further numbers to show."""

    def parts(self, study: Study) -> list[Part]:
        read = {label: study.sample(*reading) for label, reading in self.reads.items()}
        samples = {label: sample for label, sample in read.items() if sample is not None}
        numbers = {label: sample.as_json() for label, sample in samples.items()}
        word: Word | None = None
        if len(samples) == len(self.reads):
            word, more = self.judge(samples, paired=study.paired)
            numbers |= more
        return [Part(self.text, None if self.needs(study) else word, numbers)]

    def needs(self, study: Study) -> list[Need]:
        return [need for reading in self.reads.values() for need in reading.needs(study)]


@dataclass(frozen=True)
class Best(OnSamples):
    """A comparison of entrants: who is in the best set among some of them.

    where    places and quantities; of a curve every point is judged on its own
    rule     of one place: the set "is" the claimed one; the claimed one "beats" the other, partly
             if intervals overlap and its mean is better; it is "in" the set; all claimed are "out"
    count    how many places it must hold at: "all" of them, "some", or "most"
    """

    where: tuple[tuple[Place, Quantity], ...]
    claimed: tuple[str, ...]
    among: tuple[str, ...] = ALL
    rule: Literal["is", "beats", "in", "out"] = "is"
    extreme: Extreme = "best"
    count: Literal["all", "some", "most"] = "all"

    @property
    def text(self) -> str:
        (place, quantity), *others = self.where
        who, one_of = names(self.claimed, self.among), f"among {{{names(self.among, self.among)}}}"
        if self.count == "some":
            return f"{', '.join(self.claimed)} is outside the best set somewhere"
        if self.count == "most":
            rival = names([one for one in self.among if one not in self.claimed], self.among)
            return (
                f"{who} is better than {rival} in {quantity.name}, without overlap, on over half "
                f"of {len(others) + 1} places"
            )
        if self.rule == "in" and len(self.among) == 2:
            return (
                f"{place}: {who} is better than {self.among[1]} in {quantity.name} or overlaps it"
            )
        if self.rule in ("in", "out"):
            verb = "is in" if self.rule == "in" else "are outside"
            return f"{place}: {who} {verb} the best set in {quantity.name}"
        whom = "" if self.among == ALL else f" {one_of}"
        return f"{place}: {self.extreme} set{whom} in {quantity.name} is {{{who}}}"

    @property
    def reads(self) -> dict[str, Reading]:
        return {
            self._label(place, quantity, who): Reading(place, who, quantity)
            for place, quantity in self.where
            for who in self.among
        }

    def _label(self, place: Place, quantity: Quantity, who: str) -> str:
        if len(self.where) == 1:
            return who
        several = len({quantity.name for _, quantity in self.where}) > 1
        return f"{place} {quantity.name} {who}" if several else f"{place} {who}"

    def judge(self, samples: Mapping[str, Sample], *, paired: bool = False) -> tuple[Word, Numbers]:
        sets, words, places = [], [], []
        for place, quantity in self.where:
            up = {"best": quantity.up, "worst": not quantity.up, "highest": True, "lowest": False}
            highest = up[self.extreme]
            own = [samples[self._label(place, quantity, who)] for who in self.among]
            n_seeds = min(len(sample.values) for sample in own)  # of all of them
            for i, point in enumerate(zip(*(sample.intervals for sample in own), strict=True)):
                intervals = dict(zip(self.among, point, strict=True))
                if paired:
                    columns = [sample.values[:n_seeds, i] for sample in own]
                    values = dict(zip(self.among, columns, strict=True))
                    sets.append(paired_best_set(values, highest=highest))
                else:
                    sets.append(best_set(intervals, highest=highest))
                words.append(self._word(sets[-1], intervals, highest=highest))
            places.append(f"{place} {quantity.name}" if self.count == "some" else str(place))
        if self.count == "all":
            name = f"{self.extreme}_set"
            numbers = {name: sets[0]} if len(sets) == 1 else {f"{name}s": sets}
            return together(words), numbers
        there = [place for place, word in zip(places, words, strict=True) if word == "holds"]
        if self.count == "some":
            return yes(bool(there)), {"outside": there, "of": len(places)}
        return yes(2 * len(there) > len(places)), {"better": there, "of": len(places)}

    def _word(
        self, best: Collection[str], intervals: Mapping[str, MeanSE], *, highest: bool
    ) -> Word:
        match self.rule:
            case "in":
                return yes({*self.claimed} <= {*best})
            case "out":
                return together(yes(who not in best) for who in self.claimed)
            case "is":
                return set_word(self.claimed, best)
        ours, other = (intervals[who].mean for who in self.among)
        ahead = ours > other if highest else ours < other
        return set_word(self.claimed, best) if ahead else "does not hold"


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
