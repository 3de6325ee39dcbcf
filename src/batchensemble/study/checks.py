"""The few kinds of statement claims are made of, each judged on evidence.

The interval of a number is mean ± standard error; touching intervals overlap. The best set is
everybody whose interval overlaps that of the best mean. A statement about a set holds if the set
found is the one claimed, and holds partly if the one claimed is inside a larger one.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from batchensemble.plots.sheets import MeanSE
from batchensemble.study.evidence import ALL, Evidence, Need, Place, Quantity, Reading, Sample

Word = Literal["holds", "partly", "does not hold"]
Extreme = Literal["best", "worst", "highest", "lowest"]
Samples = Mapping[str, Sample]
Numbers = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """One statement of a claim, its verdict if it has one, and the numbers behind it.

    counts   whether the verdict of the claim depends on it
    """

    text: str
    verdict: Word | None
    numbers: Numbers = field(default_factory=dict)
    counts: bool = True


class Statement(Protocol):
    """What a claim is a list of."""

    def parts(self, evidence: Evidence) -> list[Part]: ...

    def needs(self, evidence: Evidence) -> list[Need]:
        """What is missing for the verdicts that count."""
        ...


@dataclass(frozen=True)
class Check:
    """A statement about samples of the study; `judge` sees them by the labels of `reads`."""

    text: str
    reads: Mapping[str, Reading]
    judge: Callable[[Samples], tuple[Word, Numbers]]

    def parts(self, evidence: Evidence) -> list[Part]:
        read = {label: evidence.sample(reading) for label, reading in self.reads.items()}
        samples = {label: sample for label, sample in read.items() if sample is not None}
        numbers = {label: sample.as_json() for label, sample in samples.items()}
        word: Word | None = None
        if len(samples) == len(self.reads):
            word, more = self.judge(samples)
            numbers |= more
        return [Part(self.text, None if self.needs(evidence) else word, numbers)]

    def needs(self, evidence: Evidence) -> list[Need]:
        return [need for reading in self.reads.values() for need in evidence.needs(reading)]


def together(words: Iterable[Word]) -> Word:
    """Of several: holds if all do, does not hold if none does even partly, else partly."""
    found = set(words)
    return found.pop() if len(found) == 1 else "partly"


def overlap(a: MeanSE, b: MeanSE) -> bool:
    return a.mean - a.se <= b.mean + b.se and b.mean - b.se <= a.mean + a.se


def best_set(intervals: Mapping[str, MeanSE], *, highest: bool = False) -> list[str]:
    """Everybody whose interval overlaps that of the best mean, or of one of several equal ones."""
    best = (max if highest else min)(own.mean for own in intervals.values())
    leaders = [own for own in intervals.values() if own.mean == best]
    return [name for name, own in intervals.items() if any(overlap(own, one) for one in leaders)]


def set_word(claimed: Collection[str], found: Collection[str]) -> Word:
    if {*claimed} == {*found}:
        return "holds"
    return "partly" if {*claimed} < {*found} else "does not hold"


def tie(
    place: Place,
    quantity: Quantity,
    *claimed: str,
    among: Sequence[str] = ALL,
    extreme: Extreme = "best",
) -> Check:
    """The best set among some entrants; of a curve, at every point, which are judged together."""

    def judge(samples: Samples) -> tuple[Word, Numbers]:
        points = zip(*(samples[who].intervals for who in among), strict=True)
        sets = [
            best_set(dict(zip(among, own, strict=True)), highest=_is_up(quantity, extreme))
            for own in points
        ]
        word = together(set_word(claimed, found) for found in sets)
        if len(sets) == 1:
            return word, {f"{extreme}_set": sets[0]}
        return word, {f"{extreme}_sets": sets}

    whom = "" if among == ALL else f" among {{{_names(among, among)}}}"
    text = f"{place}: {extreme} set{whom} in {quantity.name} is {{{_names(claimed, among)}}}"
    return Check(text, {who: Reading(place, who, quantity) for who in among}, judge)


def beats(
    place: Place, quantity: Quantity, ours: str, other: str, extreme: Extreme = "best"
) -> Check:
    """Ours is better than one other: partly if intervals overlap, but only if its mean is better.

    Of a curve, at every point, which are judged together.
    """
    whole = tie(place, quantity, ours, among=(ours, other), extreme=extreme)

    def judge(samples: Samples) -> tuple[Word, Numbers]:
        _, numbers = whole.judge(samples)
        words: list[Word] = []
        for a, b in zip(samples[ours].intervals, samples[other].intervals, strict=True):
            ahead = a.mean > b.mean if _is_up(quantity, extreme) else a.mean < b.mean
            words.append("does not hold" if not ahead else "partly" if overlap(a, b) else "holds")
        return together(words), numbers

    return Check(whole.text, whole.reads, judge)


def ranking(
    place: Place,
    quantity: Quantity,
    *groups: str | tuple[str, ...],
    among: Sequence[str] = ALL,
    extreme: Extreme = "best",
) -> tuple[Check, ...]:
    """The first is best, the second next, and so on, each a statement of its own.

    Next is the best set among those left after taking away all that are claimed to come before.
    """
    checks, left = [], tuple(among)
    for group in groups:
        claimed = (group,) if isinstance(group, str) else group
        checks.append(tie(place, quantity, *claimed, among=left, extreme=extreme))
        left = tuple(who for who in left if who not in claimed)
    return tuple(checks)


def alike(place: Place, quantity: Quantity, a: str, b: str) -> Check:
    """Their intervals overlap, which is to say that each is in the best set of the two."""
    return tie(place, quantity, a, b, among=(a, b))


def not_worse(place: Place, quantity: Quantity, ours: str, other: str) -> Check:
    """Intervals overlap, or ours is better."""

    def judge(samples: Samples) -> tuple[Word, Numbers]:
        intervals = {who: sample.interval for who, sample in samples.items()}
        found = best_set(intervals, highest=quantity.up)
        return yes(ours in found), {"best_set": found}

    text = f"{place}: {ours} overlaps {other} in {quantity.name} or is better"
    return Check(text, {who: Reading(place, who, quantity) for who in (ours, other)}, judge)


def among_best(place: Place, quantity: Quantity, who: str, among: Sequence[str]) -> Check:
    """In the best set, alone or with others."""

    def judge(samples: Samples) -> tuple[Word, Numbers]:
        found = _found(samples, among, quantity)
        return yes(who in found), {"best_set": found}

    text = f"{place}: {who} is in the best set in {quantity.name}"
    return Check(text, {one: Reading(place, one, quantity) for one in among}, judge)


def not_among_best(
    place: Place, quantity: Quantity, whom: Sequence[str], among: Sequence[str]
) -> Check:
    """All of them are outside the best set; partly if some are."""

    def judge(samples: Samples) -> tuple[Word, Numbers]:
        found = _found(samples, among, quantity)
        return together(yes(who not in found) for who in whom), {"best_set": found}

    text = f"{place}: {_names(whom, among)} are outside the best set in {quantity.name}"
    return Check(text, {one: Reading(place, one, quantity) for one in among}, judge)


def not_always_best(
    where: Sequence[tuple[Place, Quantity]], who: str, among: Sequence[str]
) -> Check:
    """Outside the best set in some quantity at some place."""

    def label(place: Place, quantity: Quantity, one: str) -> str:
        return f"{place} {quantity.name} {one}"

    def judge(samples: Samples) -> tuple[Word, Numbers]:
        outside = []
        for place, quantity in where:
            own = {one: samples[label(place, quantity, one)] for one in among}
            if who not in _found(own, among, quantity):
                outside.append(f"{place} {quantity.name}")
        return yes(bool(outside)), {"outside": outside, "of": len(where)}

    reads = {
        label(place, quantity, one): Reading(place, one, quantity)
        for place, quantity in where
        for one in among
    }
    return Check(f"{who} is outside the best set somewhere", reads, judge)


def _found(samples: Samples, among: Sequence[str], quantity: Quantity) -> list[str]:
    return best_set({one: samples[one].interval for one in among}, highest=quantity.up)


def better_on_most(places: Sequence[Place], quantity: Quantity, ours: str, other: str) -> Check:
    """Better without overlap on more than half of the places."""
    label = "{} {}".format

    def judge(samples: Samples) -> tuple[Word, Numbers]:
        better = []
        for place in places:
            pair = {who: samples[label(place, who)].interval for who in (ours, other)}
            if best_set(pair, highest=quantity.up) == [ours]:
                better.append(str(place))
        return yes(2 * len(better) > len(places)), {"better": better, "of": len(places)}

    where = f"on over half of {len(places)} places"
    text = f"{ours} is better than {other} in {quantity.name}, without overlap, {where}"
    reads = {
        label(place, who): Reading(place, who, quantity)
        for place in places
        for who in (ours, other)
    }
    return Check(text, reads, judge)


def _is_up(quantity: Quantity, extreme: Extreme) -> bool:
    return {"best": quantity.up, "worst": not quantity.up, "highest": True, "lowest": False}[
        extreme
    ]


def yes(answer: bool) -> Word:
    """The verdict of a statement that nothing holds partly of."""
    return "holds" if answer else "does not hold"


def _names(entrants: Sequence[str], among: Sequence[str]) -> str:
    """Without the settings that all of them have in common."""
    settings = {who: who.partition(" ")[2].split(",") for who in among}
    common = set.intersection(*map(set, settings.values())) - {""}
    if not common:
        return ", ".join(entrants)
    own = (",".join(one for one in settings[who] if one not in common) for who in entrants)
    return ", ".join(own)
