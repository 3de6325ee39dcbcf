"""Times, frequencies and ids as people read them, for messages."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

LONGEST = 100  # letters of an id in a message
PARTS_OF_YEARS = {"weeks": (100, 53), "quarters": (10, 4), "days": (1000, 366)}  # and the last one
FEWEST_PARTS = 3  # numbers that go by tens or fifties have fewer ends
CLOCKS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
FIRST_SECOND, LAST_SECOND = 631_152_000, 4_102_444_800  # since 1970: of the years 1990 to 2099


def shown(values: NDArray[Any], i: int) -> str:
    """As Python writes it: 3, not np.int64(3); of a long text the start."""
    word = repr(values[i : i + 1].tolist()[0])
    return word if len(word) <= LONGEST else f"{word[:LONGEST]}..."


def when(time: Any) -> str:
    if not isinstance(time, pd.Timestamp):
        return str(time)
    try:
        shown = time.tz_localize(None)  # a clock may have skipped midnight
        return str(time.date()) if shown == shown.normalize() else str(time)
    except (NotImplementedError, OverflowError):  # its zone moves it out of Python's years
        return str(time.to_datetime64())


def some(times: pd.Index, n: int | None = None) -> str:
    """The first of n times."""
    n = len(times) if n is None else n
    more = f" and {n - 5:,} more" if n > 5 else ""
    return ", ".join(map(when, times[:5])) + more


def freq_word(freq: pd.offsets.BaseOffset | int) -> str:
    return repr(freq if isinstance(freq, int) else freq.freqstr)


def refuse_written_dates(numbers: NDArray[np.int64]) -> None:
    """Such as 20240131, which 20240132 would follow, 202401, or minutes in seconds since 1970."""
    for digits, form in ((8, "%Y%m%d"), (6, "%Y%m")):
        years = numbers // 10 ** (digits - 4)
        if len(numbers) < 3 or not ((years >= 1900) & (years < 2200)).all():
            continue
        dates = pd.to_datetime(pd.Series(numbers.astype(str)), format=form, errors="coerce")
        if dates.notna().all():
            raise ValueError(
                f"expected times, got the numbers {numbers[0]}, {numbers[1]}, ..., which are dates "
                f'without separators; convert them: pd.to_datetime(times, format="{form}"), or '
                f"write {dates[0]:%Y-%m-%d}; if they are numbers, say so with freq=1"
            )
    for i, (unit, name) in enumerate(CLOCKS.items()):
        in_years = (numbers >= FIRST_SECOND * 1000**i) & (numbers < LAST_SECOND * 1000**i)
        if len(numbers) > 2 and in_years.all() and not (np.diff(numbers) % (60 * 1000**i)).any():
            raise ValueError(
                f"expected times, got the numbers {numbers[0]}, {numbers[1]}, ..., which look like "
                f'{name} since 1970; convert them: pd.to_datetime(times, unit="{unit}"), or write '
                f"{when(pd.Timestamp(int(numbers[0]), unit=unit))}; if they are numbers, say so "
                f"with freq={np.diff(numbers).min()}"
            )
    for parts, (size, last) in PARTS_OF_YEARS.items():
        if _are_parts_of_years(numbers, size, last):
            raise ValueError(
                f"expected times, got the numbers {numbers[0]}, {numbers[1]}, ..., which are years "
                f"and {parts}; write the first day of each instead, such as 2024-01-01; if they "
                "are numbers, say so with freq=1"
            )


def _are_parts_of_years(numbers: NDArray[np.int64], unit: int, most: int) -> bool:
    """Whether all end like the parts of a year, in different ones: what counts has other ends."""
    years, parts = np.divmod(numbers, unit)
    are_known = (years >= 1900) & (years < 2200) & (parts >= 1) & (parts <= most)
    return bool(are_known.all()) and len(np.unique(parts)) >= FEWEST_PARTS
