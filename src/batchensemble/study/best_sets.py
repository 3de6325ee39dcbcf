"""Best sets, and the words of a verdict.

The interval of a number is mean ± standard error; touching intervals overlap. The best set is
everybody whose interval overlaps that of the best mean. A statement about a set holds if the set
found is the one claimed, and holds partly if the one claimed is inside a larger one.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

from batchensemble.plots.sheets import MeanSE

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
