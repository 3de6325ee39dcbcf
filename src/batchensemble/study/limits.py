"""Statements about one number against a limit: means, ratios, trends and seconds."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.stats import spearmanr

from batchensemble.metrics import COVERAGES, LEVELS
from batchensemble.study.checks import Check, Numbers, Part, Samples, Word, yes
from batchensemble.study.evidence import (
    ALL,
    CHANGE,
    EMPIRICAL,
    ID,
    SHIFT,
    Evidence,
    Need,
    Place,
    Quantity,
    Reading,
    kept,
)


def limited(
    text: str,
    reads: Mapping[str, Reading],
    name: str,
    number: Callable[[Samples], float],
    holds: Callable[[float], bool],
) -> Check:
    """A number made of samples, shown under its name, that holds or does not."""

    def judge(samples: Samples) -> tuple[Word, Numbers]:
        value = number(samples)
        return yes(holds(value)), {name: value if math.isfinite(value) else None}

    return Check(text, reads, judge)


def at_most(place: Place, quantity: Quantity, who: str, limit: float) -> Check:
    text = f"{place}: mean {quantity.name} of {who} is at most {limit}"
    reads = {who: Reading(place, who, quantity)}
    return limited(text, reads, "mean", _mean(who), lambda mean: mean <= limit)


def changes_within(dataset: str, quantity: Quantity, who: str, limit: float) -> Check:
    text = f"{dataset}: mean {quantity.name} of {who} changes by at most {limit} under shift"
    reads = {CHANGE: Reading(Place(dataset, CHANGE), who, quantity)}
    return limited(text, reads, "mean", _mean(CHANGE), lambda mean: abs(mean) <= limit)


def increases_by(dataset: str, quantity: Quantity, who: str, limit: float) -> Check:
    text = f"{dataset}: mean {quantity.name} of {who} increases by at least {limit} under shift"
    reads = {CHANGE: Reading(Place(dataset, CHANGE), who, quantity)}
    return limited(text, reads, "mean", _mean(CHANGE), lambda mean: mean >= limit)


def grows(
    dataset: str, quantity: Quantity, who: str, how: Literal["at least", "at most"], limit: float
) -> Check:
    """The mean under shift over the mean in distribution."""
    text = f"{dataset}: mean {quantity.name} of {who} under shift is {how} {limit} times that in id"
    reads = {variant: Reading(Place(dataset, variant), who, quantity) for variant in (ID, SHIFT)}
    return limited(
        text,
        reads,
        "ratio",
        _ratio(_mean(SHIFT), _mean(ID)),
        lambda ratio: ratio >= limit if how == "at least" else ratio <= limit,
    )


def is_most_of_growth(dataset: str, part: Quantity, whole: Quantity, who: str) -> Check:
    """The whole grows under shift, and over half of that is the part's growth."""
    text = f"{dataset}: growth of {part.name} of {who} is over half of that of its {whole.name}"
    reads = {q.name: Reading(Place(dataset, CHANGE), who, q) for q in (part, whole)}

    def share(samples: Samples) -> float:
        grown = _mean(whole.name)(samples)
        return _mean(part.name)(samples) / grown if grown > 0 else math.nan

    return limited(text, reads, "share", share, lambda share: share > 0.5)


def similar(place: Place, quantity: Quantity, limit: float) -> Check:
    text = f"{place}: largest mean {quantity.name} is at most {limit} times the smallest"
    reads = {who: Reading(place, who, quantity) for who in ALL}
    means = [_mean(who) for who in ALL]
    ratio = _ratio(
        lambda samples: max(mean(samples) for mean in means),
        lambda samples: min(mean(samples) for mean in means),
    )
    return limited(text, reads, "ratio", ratio, lambda ratio: ratio <= limit)


def fewer(place: Place, quantity: Quantity, ours: str, other: str, share: float) -> Check:
    text = f"{place.dataset}: {ours} has under {share} of the {quantity.name} of {other}"
    reads = {who: Reading(place, who, quantity) for who in (ours, other)}
    ratio = _ratio(_mean(ours), _mean(other))
    return limited(text, reads, "ratio", ratio, lambda ratio: ratio < share)


def trend(place: Place, quantity: Quantity, who: str, way: Literal["rises", "falls"]) -> Check:
    """By the rank correlation of coverage and the selective curve averaged over seeds."""
    text = f"{place}: {quantity.name} of {who} {way} with coverage (|Spearman| at least 0.9)"

    def spearman(samples: Samples) -> float:
        mean = samples[who].mean
        if np.ptp(mean) == 0:
            return 0.0
        return round(float(spearmanr(COVERAGES, mean).statistic), 9)  # 0.9 is met exactly by some

    return limited(
        text,
        {who: Reading(place, who, kept(quantity))},
        "spearman",
        spearman,
        lambda rank: (rank if way == "rises" else -rank) >= 0.9,
    )


def covers(place: Place, who: str, way: Literal["over", "under"]) -> Check:
    """Intervals are too wide, or too narrow, by the coverage averaged over seeds."""
    text = f"{place}: {who} {way}-covers at 90 % of the {len(LEVELS)} levels or more"

    def share(samples: Samples) -> float:
        excess = samples[who].mean - LEVELS
        return float(np.mean(excess > 0 if way == "over" else excess < 0))

    reads = {who: Reading(place, who, EMPIRICAL)}
    return limited(text, reads, "share", share, lambda share: share >= 0.9)


@dataclass(frozen=True)
class Faster:
    """Training and predicting take less time, on every device and dataset that was measured.

    other    as the costs name it; `method` is what it is a way to do
    note     stands behind its name
    counts   whether the verdict of the claim depends on it

    Judged only where the study's full runs of both methods are there, as everything else is.
    """

    ours: str
    other: str
    method: str
    datasets: tuple[str, ...]
    note: str = ""
    counts: bool = True

    def parts(self, evidence: Evidence) -> list[Part]:
        parts = []
        for device, dataset, costs in self._measured(evidence):
            is_judged = not self._needs_at(evidence, device, dataset, costs)
            for key, verb in (("train_seconds", "trains"), ("predict_seconds", "predicts")):
                text = (
                    f"{dataset} on {device}: {self.ours} {verb} faster than {self.other}{self.note}"
                )
                seconds = {who: float(cost[key]) for who, cost in costs.items()}
                word: Word | None = None
                if is_judged:
                    word = yes(seconds[self.ours] < seconds[self.other])
                parts.append(Part(text, word, {"seconds": seconds}, self.counts))
        return parts

    def needs(self, evidence: Evidence) -> list[Need]:
        if not self.counts:
            return []
        measured = list(self._measured(evidence))
        if not measured:
            return [Need("measured costs")]
        return [need for at in measured for need in self._needs_at(evidence, *at)]

    def _needs_at(
        self, evidence: Evidence, device: str, dataset: str, costs: Mapping[str, Any]
    ) -> list[Need]:
        needs = [
            need
            for method in (self.ours, self.method)
            for need in evidence.needs_runs(Place(dataset, ID), method)
        ]
        missing = (who for who in (self.ours, self.other) if who not in costs)
        return needs + [Need("costs of", f"{dataset} on {device}", who) for who in missing]

    def _measured(
        self, evidence: Evidence
    ) -> Iterator[tuple[str, str, dict[str, Mapping[str, Any]]]]:
        """Device, dataset, and the costs of the two."""
        found: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
        for cost in evidence.costs:
            if cost["dataset"] in self.datasets and cost["entrant"] in (self.ours, self.other):
                place = (cost["device"], cost["dataset"])
                found.setdefault(place, {})[cost["entrant"]] = cost
        for (device, dataset), costs in found.items():
            yield device, dataset, costs


def _mean(label: str) -> Callable[[Samples], float]:
    return lambda samples: samples[label].interval.mean


def _ratio(
    above: Callable[[Samples], float], below: Callable[[Samples], float]
) -> Callable[[Samples], float]:
    """Infinite over zero; 1 where both are zero."""

    def ratio(samples: Samples) -> float:
        a, b = above(samples), below(samples)
        if b:
            return a / b
        return math.inf if a else 1.0

    return ratio
