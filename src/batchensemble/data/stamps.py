"""Times that are regular but for the day or the hour at which they were stamped."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.data.clocks import localized

REGULAR = 0.8  # of the steps lead to the next month, day or hour
KINDS = {  # by pandas' word for the period: how it is called, and what differs
    "Y": ("yearly, but on different days", "YS"),
    "Q": ("quarterly, but on different days", "QS"),
    "M": ("monthly, but on different days", "MS"),
    "W": ("weekly, but on different days", "W-MON"),
    "D": ("daily, but at different hours", "D"),
    "h": ("hourly, but at different minutes", "h"),
}


def starts_of_periods(times: Any, freq: Any) -> Any:
    """Each time at the start of its month, day, ..., as `freq` has it; None if it has no such."""
    if not isinstance(times, pd.DatetimeIndex):
        return None
    for word, (_, start) in KINDS.items():
        if freq == pd.tseries.frequencies.to_offset(start):
            shown = times.tz_localize(None)
            start = shown.as_unit("s").to_period(word).start_time.as_unit(times.unit)
            moved = times - (shown - start)
            # Where clocks were changed in between, the start is another moment.
            is_there = moved.tz_localize(None) == start
            return moved if is_there.all() else moved.where(is_there, localized(start, times.tz))
    return None


def moved_to_start(times: Any, starts: NDArray[np.int64], freq: Any) -> Any:
    """The same, unless two times of a series are in the same month, day, ..."""
    moved = starts_of_periods(times, freq)
    if moved is None:
        return None
    later = np.diff(moved.asi8) > 0
    later[starts[1:-1] - 1] = True  # the next series
    return moved if later.all() else None


def are_at_start(times: Any, freq: Any) -> bool:
    """Whether none of them lies inside of a month, day, ..."""
    moved = starts_of_periods(times, freq)
    return moved is not None and bool((moved == times).all())


def rounding_advice(times: Any) -> str:
    """What times that are on no grid look like, and how to put them on one; "" if unclear."""
    if not isinstance(times, pd.DatetimeIndex) or len(times) < 3:
        return ""
    plain = times.tz_localize(None).as_unit("s")  # the end of a period may lie behind nanoseconds
    day, last = plain.day.max(), plain.days_in_month  # 30, say, and 28 in February
    is_inside = day > 1 and bool((plain.day == np.minimum(day, last)).all())  # no grid has it
    is_inside = is_inside and not plain.is_month_end.all()
    for word, (looks, freq) in KINDS.items():
        periods = plain.to_period(word)
        steps, ends = np.diff(periods.asi8), (periods.start_time, periods.end_time)
        differ = all((plain - end).value_counts(normalize=True).max() < 0.5 for end in ends)
        if is_inside and word in "YQM":
            differ, looks = True, f"{looks.partition(',')[0]}, on day {day} of a month"
        if differ and (steps > 0).all() and (steps == 1).mean() >= REGULAR:
            return (
                f"the times are {looks}: pass freq={freq!r} (--freq {freq} on the command line), "
                "which takes the start of each"
            )
    return ""
