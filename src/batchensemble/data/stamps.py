"""Times that are regular but for the day or the hour at which they were stamped."""

from typing import Any

import numpy as np
import pandas as pd

REGULAR = 0.8  # of the steps lead to the next month, day or hour
KINDS = {  # by pandas' word for the period: how it is called, and what differs
    "Y": ("yearly, but on different days", "YS"),
    "Q": ("quarterly, but on different days", "QS"),
    "M": ("monthly, but on different days", "MS"),
    "W": ("weekly, but on different days", "W-MON"),
    "D": ("daily, but at different hours", "D"),
    "h": ("hourly, but at different minutes", "h"),
}


def rounding_advice(times: Any, time_col: str = "ds") -> str:
    """What times that are on no grid look like, and how to put them on one; "" if unclear."""
    if not isinstance(times, pd.DatetimeIndex) or len(times) < 3:
        return ""
    plain = times.tz_localize(None).as_unit("s")  # the end of a period may lie behind nanoseconds
    for word, (looks, freq) in KINDS.items():
        periods = plain.to_period(word)
        steps, ends = np.diff(periods.asi8), (periods.start_time, periods.end_time)
        differ = all((plain - end).value_counts(normalize=True).max() < 0.5 for end in ends)
        if differ and (steps > 0).all() and (steps == 1).mean() >= REGULAR:
            start = f"df[{time_col!r}].dt.to_period({word!r}).dt.start_time"
            return f"the times are {looks}: use df[{time_col!r}] = {start}, and freq={freq!r}"
    return ""
