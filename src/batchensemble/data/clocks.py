"""Clocks of time zones, which skip an hour in spring and show one twice in autumn.

A grid of days goes by the clock on the wall. Where it skips midnight, as in Chile or Egypt, the day
begins at one o'clock, and all others still at midnight.
"""

from typing import Any

import numpy as np
import pandas as pd

_TICK = pd.Timedelta(1, unit="us")


def localized(walls: pd.DatetimeIndex, zone: Any) -> pd.DatetimeIndex:
    """Moments at which clocks show that: the first of two, or the next where it is skipped."""
    summer = np.ones(len(walls), dtype=bool)
    return walls.tz_localize(zone, ambiguous=summer, nonexistent="shift_forward")


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
    """Times in the time zone of others, and in their unit; integers and dates do not mix."""
    zones = [getattr(each, "tz", None) for each in (times, like)]
    is_dated, *others = [isinstance(each, pd.DatetimeIndex) for each in (times, like)]
    if others != [is_dated] or (zones[0] is None) is not (zones[1] is None):
        raise ValueError(
            f"expected times of the type {like.dtype} as at fit, got {times.dtype}; convert them"
        )
    times = times if zones[1] is None else times.tz_convert(zones[1])
    return times.as_unit(like.unit) if is_dated and in_unit else times
