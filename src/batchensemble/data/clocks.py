"""Clocks of time zones, which skip an hour in spring and show one twice in autumn.

A grid of days goes by the clock on the wall. Where it skips midnight, as in Chile or Egypt, the day
begins at one o'clock, and all others still at midnight.
"""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

SUMMER = "with daylight saving, the offset from UTC is different in summer"
_TICK = pd.Timedelta(1, unit="us")


def localized(walls: pd.DatetimeIndex, zone: Any) -> pd.DatetimeIndex:
    """Moments at which clocks show that: the first of two, or the next where it is skipped."""
    summer = np.ones(len(walls), dtype=bool)
    return walls.tz_localize(zone, ambiguous=summer, nonexistent="shift_forward")


def check_no_day_is_skipped(times: pd.DatetimeIndex, goes_on: NDArray[np.bool_]) -> None:
    """Samoa had no 30 December 2011: what belongs there would be moved behind the next time."""
    for row in np.flatnonzero((np.diff(times.asi8) <= 0) & goes_on[1:])[:1]:
        raise ValueError(
            f"expected a time zone in which every day exists, got {times.tz}, which skipped one "
            f"before {times[row + 1]:%Y-%m-%d}; convert the times to UTC"
        )


def walls(times: Any, rows: Any, beside: Any) -> Any:
    """What clocks show at the times in `rows`; times without a zone are that already.

    Where a clock has just skipped some time, a row stands for any of it: for the time of day of the
    row `beside` it, if that was skipped.
    """
    here = times[rows]
    if getattr(times, "tz", None) is None:
        return here
    shown, before = here.tz_localize(None), (here - _TICK).tz_localize(None) + _TICK
    if (before >= shown).all():
        return shown
    other = times[beside].tz_localize(None)
    meant = shown.normalize() + (other - other.normalize())
    return shown.where(~((before <= meant) & (meant < shown)), meant)


def alike(times: Any, like: Any, *, in_unit: bool = True) -> Any:
    """Times in the time zone of others, and in their unit; integers and dates do not mix.

    Days that begin at midnight, say, in both zones must not be those of different clocks.
    """
    zones = [getattr(each, "tz", None) for each in (times, like)]
    is_dated, *others = [isinstance(each, pd.DatetimeIndex) for each in (times, like)]
    if others != [is_dated] or (zones[0] is None) is not (zones[1] is None):
        raise ValueError(
            f"expected times of the type {like.dtype} as in fit, got {times.dtype}; convert them"
        )
    if zones[1] is not None:
        own, times = times, times.tz_convert(zones[1])
        rows = strays(times, like)
        if len(rows) and not len(strays(own, like)):
            raise ValueError(
                f"expected times on the local clock of the training data, such as {like[-1]}, got "
                f"{own[rows[0]]}, "
                f"which is {times[rows[0]]} there: {SUMMER}; fit again with times of summer and "
                "winter in one file (in Python, in the zone of the clock: .dt.tz_convert), or with "
                "dates alone"
            )
    return times.as_unit(like.unit) if is_dated and in_unit else times


def strays(times: Any, like: Any) -> NDArray[np.int64]:
    """The rows at another time of day than the others have; none if those have several."""
    usual = _time_of_day(like)[~_has_just_skipped(like)].unique()
    if len(usual) != 1:
        return np.array([], dtype=np.int64)
    return np.flatnonzero((_time_of_day(times) != usual[0]) & ~_has_just_skipped(times))


def _time_of_day(times: Any) -> Any:
    shown = times.tz_localize(None)
    return shown - shown.normalize()


def _has_just_skipped(times: Any) -> Any:
    return (times - _TICK).tz_localize(None) + _TICK < times.tz_localize(None)


def summer_advice(time: Any, first: Any, freq: Any) -> str:
    """What to do about days, weeks, ... of which one begins an hour off; "" if it does not."""
    is_of_hours = isinstance(freq, pd.offsets.Tick) and not isinstance(freq, pd.offsets.Day)
    if getattr(time, "tz", None) is None or is_of_hours:
        return ""
    apart = (time.tz_localize(None) - first.tz_localize(None)) % pd.Timedelta("1D")
    if apart not in (pd.Timedelta("1h"), pd.Timedelta("23h")):
        return ""
    return f"{SUMMER}; use times in the zone of their clock (.dt.tz_convert), or dates alone"
