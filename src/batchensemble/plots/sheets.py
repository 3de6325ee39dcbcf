"""Tables for people: cells that keep their numbers, and how they are written."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

FAR = 10


class MeanSE(NamedTuple):
    """Over seeds: the mean, and sd / sqrt(seeds) with ddof 1 (0 for a single seed)."""

    mean: float
    se: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "MeanSE":
        if len(values) == 1:
            return OneRun(float(values[0]), 0.0)
        spread = np.std(values, ddof=1) / len(values) ** 0.5
        return cls(float(np.mean(values)), float(spread))


class OneRun(MeanSE):
    """Its standard error is not known, and is not written as if it were 0."""


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
        case OneRun(mean, _):
            return f"{_short(mean)} (one run)"
        case MeanSE(mean, se):
            return f"{_short(mean)} ± {_short(se)}"
        case float():
            return _short(cell)
        case int():
            return f"{cell:,}"
        case _:
            return cell


def _short(number: float) -> str:
    return f"{number:.3f}" if abs(number) < 1e4 else f"{number:.1e}"


def brief(number: float) -> str:
    """Four digits that count, without an exponent where people would not write one."""
    if not math.isfinite(number) or number == 0 or not 1e-4 <= abs(number) < 1e9:
        return f"{number:.4g}"
    digits = max(0, 3 - math.floor(math.log10(abs(number))))
    return f"{number:,.{digits}f}"


def near_range(summaries: Sequence[MeanSE]) -> tuple[float, float] | None:
    """What to draw of them if one in four is so far out that it would hide the rest; else None."""
    if not summaries:
        return None
    middle = np.median([mean for mean, _ in summaries])
    by_reach = sorted(summaries, key=lambda one: abs(one.mean - middle) + one.se)
    low, high = _ends(by_reach)
    for n in range(len(by_reach) - 1, math.ceil(0.75 * len(by_reach)) - 1, -1):
        inner_low, inner_high = _ends(by_reach[:n])
        if high - low > FAR * (inner_high - inner_low) > 0:
            pad = 0.25 * (inner_high - inner_low)
            return inner_low - pad, inner_high + pad
    return None


def _ends(summaries: Sequence[MeanSE]) -> tuple[float, float]:
    return min(m - se for m, se in summaries), max(m + se for m, se in summaries)
