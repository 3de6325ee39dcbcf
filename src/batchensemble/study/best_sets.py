"""Best sets, and the words of a verdict.

The interval of a number is mean ± standard error; touching intervals overlap. The best set is
everybody whose interval overlaps that of the best mean. A statement about a set holds if the set
found is the one claimed, and holds partly if the one claimed is inside a larger one.

By paired differences the best set is everybody who is not worse than the best mean beyond doubt: by
Student's 95 % interval of the difference on the same seeds.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from batchensemble.plots.sheets import MeanSE

Floats = NDArray[np.float64]
Word = Literal["holds", "partly", "does not hold"]
WORDS: tuple[Word, ...] = ("holds", "partly", "does not hold")


def together(words: Iterable[Word]) -> Word:
    """Of several: holds if all do, does not hold if none does even partly, else partly."""
    different = set(words)
    return different.pop() if len(different) == 1 else "partly"


def overlap(a: MeanSE, b: MeanSE) -> bool:
    return a.mean - a.se <= b.mean + b.se and b.mean - b.se <= a.mean + a.se


def best_set(intervals: Mapping[str, MeanSE], *, highest: bool = False) -> list[str]:
    """Everybody whose interval overlaps that of the best mean, or of one of several equal ones."""
    best = (max if highest else min)(own.mean for own in intervals.values())
    leaders = [own for own in intervals.values() if own.mean == best]
    return [name for name, own in intervals.items() if any(overlap(own, one) for one in leaders)]


def paired_best_set(values: Mapping[str, Floats], *, highest: bool = False) -> list[str]:
    """Everybody whose difference to the best mean, seed by seed, has 0 in its 95 % interval.

    values   (seeds,) each, of the same seeds in the same order
    """
    means = {name: own.mean() for name, own in values.items()}
    leader = values[(max if highest else min)(means, key=lambda name: means[name])]
    gaps = {name: interval(own - leader) for name, own in values.items()}
    return [name for name, gap in gaps.items() if gap is None or gap.low <= 0 <= gap.high]


class Gap(NamedTuple):
    """The mean of paired differences, and Student's 95 % interval of it."""

    mean: float
    low: float
    high: float


def paired_gap(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Gap | None:
    """Theirs - ours on the seeds that both have; None with fewer than two."""
    return interval(np.array([theirs[seed] - ours[seed] for seed in ours if seed in theirs]))


def interval(values: Floats) -> Gap | None:
    """Of a mean; None with fewer than two values, or one that is not finite."""
    if len(values) < 2 or not np.isfinite(values).all():
        return None
    mean, se = MeanSE.of(values.tolist())
    reach = se * float(t.ppf(0.975, len(values) - 1))
    return Gap(mean, mean - reach, mean + reach)


def set_word(claimed: Collection[str], found: Collection[str]) -> Word:
    if {*claimed} == {*found}:
        return "holds"
    return "partly" if {*claimed} < {*found} else "does not hold"


def yes(answer: bool) -> Word:
    """The verdict of a statement that nothing holds partly of."""
    return "holds" if answer else "does not hold"


def names(entrants: Sequence[str], among: Sequence[str]) -> str:
    """Without the settings that all of them have in common."""
    settings = {who: who.partition(" ")[2].split(",") for who in among}
    common = set.intersection(*map(set, settings.values())) - {""}
    if not common:
        return ", ".join(entrants)
    return ", ".join(
        ",".join(one for one in settings[who] if one not in common) for who in entrants
    )
