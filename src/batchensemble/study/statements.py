"""What claims are made of, and the first kind: who is best. `limits` and `faster` have others."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

from batchensemble.plots.sheets import MeanSE
from batchensemble.study.best_sets import (
    Word,
    best_set,
    names,
    paired_best_set,
    set_word,
    together,
    yes,
)
from batchensemble.study.results import Place, Quantity, Sample, Study

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
