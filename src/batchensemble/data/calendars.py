"""What a frequency means: how long a season is, and where in the year, week and day a time lies."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

# How many steps make the season that people mean, by the first word of a pandas frequency.
_SEASONS = {
    "Y": 1,
    "A": 1,
    "Q": 4,
    "M": 12,
    "W": 52,
    "B": 5,
    "D": 7,
    "h": 24,
    "min": 60,
    "s": 60,
}
_DAY = pd.Timedelta(days=1)


def season_length(freq: pd.offsets.BaseOffset | int) -> int:
    """Steps in a season: 12 for months, 7 for days, 24 for hours, 96 for quarters of an hour.

    1, no season, for years, for plain integers, and where it would not be a whole number of steps.
    """
    if isinstance(freq, int):
        return 1
    if isinstance(freq, pd.offsets.Tick) and freq.n > 1 and pd.Timedelta(freq) < _DAY:
        steps = _DAY / pd.Timedelta(freq)
    else:
        steps = _SEASONS.get(_word(freq), 1) / freq.n
    return int(steps) if steps >= 1 and steps == int(steps) else 1


def calendar(times: pd.Index, freq: pd.offsets.BaseOffset | int) -> NDArray[np.float32]:
    """(times, features): sine and cosine of the position in each cycle longer than a step.

    The year for steps shorter than one, the week for days and less, the day for less than a day;
    none for integers.
    """
    if isinstance(freq, int):
        return np.empty((len(times), 0), dtype=np.float32)
    dates = pd.DatetimeIndex(times)
    hour = dates.hour + dates.minute / 60 + dates.second / 3600
    cycles = []
    word = _word(freq)
    is_shorter = isinstance(freq, pd.offsets.Tick) and pd.Timedelta(freq) < _DAY
    if word in ("Q", "M"):
        cycles.append((dates.month - 1) / 12)
    elif word in ("W", "B", "D") or is_shorter:
        cycles.append((dates.dayofyear - 1) / 365.25)
    if word in ("B", "D") or is_shorter:
        cycles.append((dates.dayofweek + hour / 24) / 7)
    if is_shorter:
        cycles.append(hour / 24)
    angles = 2 * np.pi * np.array(cycles, dtype=np.float64).reshape(len(cycles), len(times))
    return np.concatenate([np.sin(angles), np.cos(angles)]).T.astype(np.float32)


def _word(freq: pd.offsets.BaseOffset) -> str:
    """The kind of step: Y, Q, M, W, B, D, h, min, s; nothing for a DateOffset made by hand."""
    try:
        code = freq.rule_code
    except NotImplementedError:
        return ""
    name = code.split("-")[0].lstrip("B") if code != "B" else "B"
    return name.removesuffix("S").removesuffix("E") if name[:1] in "YAQM" else name
