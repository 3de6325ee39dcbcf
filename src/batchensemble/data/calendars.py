"""What a frequency means: how long a season is, and where in the year, week and day a time lies."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

# How many steps make the season that people mean, by the first word of a pandas frequency.
_SEASONS = {"Y": 1, "A": 1, "Q": 4, "M": 12, "W": 52, "B": 5, "REQ": 4}
_SEASONS |= dict.fromkeys(("WOM", "LWOM", "CBMS", "CBME"), 12)
_SEASONS |= dict.fromkeys(("SMS", "SME"), 24) | dict.fromkeys(("HYS", "HYE"), 2)
_SHORT_SEASONS = {pd.Timedelta(minutes=1): 60, pd.Timedelta(seconds=1): 60}
_BY_HAND = {"years": "YS", "months": "MS", "weeks": "W", "days": "D", "hours": "h"}
_BY_HAND |= {"minutes": "min", "seconds": "s"}
_DAY = pd.Timedelta(days=1)
LONGEST = 10**6  # steps in a season: of shorter ones than a tenth of a second, nobody has days


def season_length(freq: pd.offsets.BaseOffset | int) -> int:
    """Steps in a season: 12 for months, 7 for days, 24 for hours, 96 for quarters of an hour.

    1, no season, for years, for plain integers, and where it would not be a whole number of steps
    or more than a million.
    """
    steps = 1.0 if isinstance(freq, int) else float(_steps_in_season(freq))
    return int(steps) if 1 <= steps <= LONGEST and steps == int(steps) else 1


def _steps_in_season(freq: Any) -> Any:
    """A day, a week or a year, of 52 weeks, divided by the step."""
    if type(freq) is pd.DateOffset:  # made by hand
        unit = next((unit for unit in freq.kwds if unit in _BY_HAND), "")
        n = freq.n * freq.kwds.get(unit, 0)
        has_more = any(word.endswith("s") for word in freq.kwds.keys() - {unit})
        if has_more or n < 1 or n != int(n):
            return 1
        return _steps_in_season(pd.tseries.frequencies.to_offset(f"{int(n)}{_BY_HAND[unit]}"))
    if isinstance(freq, pd.offsets.Tick) and pd.Timedelta(freq) < _DAY:
        return _SHORT_SEASONS.get(pd.Timedelta(freq), _DAY / pd.Timedelta(freq))
    if isinstance(freq, pd.offsets.Tick | pd.offsets.Day):
        days = freq.n if isinstance(freq, pd.offsets.Day) else pd.Timedelta(freq) / _DAY
        return 7 / days if days % 7 else 52 * 7 / days
    if isinstance(freq, pd.offsets.BusinessHour):
        opened = zip(freq.start, freq.end, strict=True)
        return sum((b.hour - a.hour + (b.minute - a.minute) / 60) % 24 for a, b in opened) / freq.n
    if isinstance(freq, pd.offsets.CustomBusinessDay):
        return _workdays(freq) / freq.n
    return _SEASONS.get(_word(freq), 1) / freq.n


def _workdays(freq: Any) -> int:
    """Of a week; those of `BusinessHour` are the usual ones."""
    return 5 if freq.calendar is None else int(freq.calendar.weekmask.sum())


def seasons_of(freq: pd.offsets.BaseOffset | int, season: int) -> tuple[int, ...]:
    """The season and, for steps within a day whose season is the day, the week."""
    days = 0
    if isinstance(freq, pd.offsets.Tick) and season * pd.Timedelta(freq) == _DAY:
        days = 7
    elif isinstance(freq, pd.offsets.BusinessHour) and season == season_length(freq):
        days = _workdays(freq)
    return (season, days * season) if days and season > 1 else (season,)


def calendar(
    times: pd.Index, freq: pd.offsets.BaseOffset | int, period: int = 1
) -> NDArray[np.float32]:
    """(times, features) of series: the sines of all cycles longer than a step, then the cosines.

    The year for steps shorter than one, the week for days and less, the day for less than a day.
    For integers, one cycle of `period` steps if it is above 1.
    """
    cycles: Sequence[str | int] = ()
    if isinstance(freq, int):
        times, cycles = times // freq, [period] if period > 1 else []
    else:
        word = _word(freq)
        is_shorter = isinstance(freq, pd.offsets.Tick) and pd.Timedelta(freq) < _DAY
        if word in ("Q", "M"):
            cycles = ["months"]
        elif word in ("W", "B", "D") or is_shorter:
            cycles = ["year", "week", "day"][: 3 if is_shorter else 1 if word == "W" else 2]
    waves = cycle_waves(times, cycles, exact=False)
    return waves.reshape(2 * len(cycles), len(times)).T.astype(np.float32)


def cycle_waves(times: Any, cycles: Sequence[str | int], *, exact: bool) -> NDArray[np.float64]:
    """(2, cycles, times): sine and cosine of the position in each cycle; 0 for a missing time.

    A cycle is "year", "months" (of a year), "week" (from Monday), "day", or, for integers, a number
    of steps. A position is the part of its cycle that has passed, from 0 to 1, by the clock on the
    wall. There are two conventions, since saved models have learned from either:

    exact=True   dates of tables: of this very year, 365 or 366 days, and to the microsecond
    exact=False  times of series: whole days out of 365.25, and week and day to the second
    """
    passed = np.array(_passed(times, cycles, exact), dtype=np.float64)
    lengths = np.array([cycle if isinstance(cycle, int) else 1.0 for cycle in cycles])
    angles = 2 * np.pi * passed.reshape(len(cycles), len(times)) / lengths[:, None]
    waves = np.array([np.sin(angles), np.cos(angles)])
    waves[np.isnan(waves)] = 0.0
    return waves


def days_since_1970(moments: NDArray[np.datetime64]) -> NDArray[np.float64]:
    days: NDArray[np.float64] = (moments - np.datetime64(0, "us")) / np.timedelta64(1, "D")
    return days


def _passed(times: Any, cycles: Sequence[str | int], exact: bool) -> list[Any]:
    """What has passed of each cycle: a part of 1, or a number of steps if the cycle is one."""
    if all(isinstance(cycle, int) for cycle in cycles):
        return [times % cycle for cycle in cycles]
    parts: dict[Any, Callable[[], Any]]
    if exact:
        days, years = days_since_1970(times), times.astype("datetime64[Y]")
        start, end = (
            years.astype("datetime64[us]"),
            (years + np.timedelta64(1, "Y")).astype("datetime64[us]"),
        )
        parts = {
            "year": lambda: (times - start) / (end - start),
            "week": lambda: (days + 3) % 7 / 7,  # 1970 began on a Thursday
            "day": lambda: days % 1,
        }
    else:
        dates = pd.DatetimeIndex(times)
        hour = dates.hour + dates.minute / 60 + dates.second / 3600
        parts = {
            "months": lambda: (dates.month - 1) / 12,
            "year": lambda: (dates.day_of_year - 1) / 365.25,
            "week": lambda: (dates.day_of_week + hour / 24) / 7,
            "day": lambda: hour / 24,
        }
    return [parts[cycle]() for cycle in cycles]


def _word(freq: pd.offsets.BaseOffset) -> str:
    """The kind of step: Y, Q, M, W, B, D, h, min, s; nothing for a DateOffset made by hand."""
    try:
        code = freq.rule_code
    except NotImplementedError:
        return ""
    name = code.split("-")[0].lstrip("B") if code != "B" else "B"
    return name.removesuffix("S").removesuffix("E") if name[:1] in "YAQM" else name
