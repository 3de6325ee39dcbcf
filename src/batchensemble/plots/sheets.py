"""Tables for people: cells that keep their numbers, and how they are written."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
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


PAGE = 118  # characters across a page of 1,280 pixels beside its contents
GAP = 2.2  # characters between columns


def fold(sheet: Sheet) -> list[Sheet]:
    """Tables of a sheet that fit a page: rows that lack the same columns, and columns in turns.

    The first column and further leading ones of words stand in each of them; names after the first
    end in a number.
    """
    words = next(
        (
            max(1, i)
            for i, cell in enumerate(sheet.rows[0] if sheet.rows else ())
            if not isinstance(cell, str)
        ),
        len(sheet.columns),
    )
    if len(sheet.columns) <= 2 or words == len(sheet.columns):
        return [sheet]
    groups: dict[frozenset[int], list[tuple[Cell, ...]]] = {}
    for row in sheet.rows:
        key = frozenset(i for i, cell in enumerate(row) if cell is not None and i >= words)
        same = next((own for own in groups if own <= key or key <= own), key)
        groups.setdefault(same, []).append(row)
    if _width(sheet.columns, sheet.rows, range(len(sheet.columns))) <= PAGE:
        return [sheet]
    made: list[Sheet] = []
    for rows in groups.values():
        columns: list[int] = []
        shown = [i for i in range(words, len(sheet.columns)) if any(r[i] is not None for r in rows)]
        for i in (*shown, -1):
            if i < 0 or _width(sheet.columns, rows, [*range(words), *columns, i]) > PAGE:
                at = [*range(words), *columns]
                made.append(
                    Sheet(
                        sheet.name + (f"-{len(made) + 1}" if made else ""),
                        sheet.title + (" (continued)" if made else ""),
                        tuple(sheet.columns[c] for c in at),
                        tuple(tuple(row[c] for c in at) for row in rows),
                    )
                )
                columns = []
            columns.append(i)
    made[-1] = replace(made[-1], note=sheet.note)
    return made


def _width(names: Sequence[str], rows: Sequence[tuple[Cell, ...]], columns: Sequence[int]) -> float:
    """In characters, where titles of columns may be broken between words."""
    widest = (
        max(
            *(len(show(row[i])) for row in rows),
            *(len(word) + 2 for word in names[i].split()),  # an arrow for sorting
            0,
        )
        for i in columns
    )
    return sum(widest) + GAP * len(columns)


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
    if abs(number) < 1e4:
        return f"{number:.3f}"
    if abs(number) < 1e9 or not math.isfinite(number):
        return f"{number:,.0f}"
    digits, power = f"{number:.1e}".split("e")
    return f"{digits} × 10^{int(power)}"


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
