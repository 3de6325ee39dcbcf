"""The time zone that times of a file are of, which have an offset from UTC each.

Days and months are those of a clock: midnights of Berlin are 22 or 23 o'clock in UTC, of the day
before.
"""

import re
from functools import cache
from zoneinfo import available_timezones

import numpy as np
import pandas as pd
from numpy.typing import NDArray

# Of zones with the same clock, that of most people.
FIRST = (
    *("Europe/Berlin", "Europe/London", "Europe/Athens", "America/New_York", "America/Chicago"),
    *("America/Denver", "America/Los_Angeles", "Australia/Sydney", "Asia/Kolkata"),
)
TRIED = 500  # times, before all of them
_OFFSET = re.compile(r":.*([+-])(\d{2}):?(\d{2})?$")


def zone_of_texts(words: NDArray[np.object_], moments: NDArray[np.datetime64]) -> str:
    """The zone whose clock has the offsets of all words; `moments` are theirs in UTC."""
    words, places = np.unique(words.astype(str), return_index=True)
    times = pd.DatetimeIndex(moments[places]).tz_localize("UTC")
    offsets = np.array([_seconds(word) for word in words])
    hours, seconds = np.divmod(offsets[0], 3600)
    if not offsets.any():
        return "UTC"
    # The same all year, as far as is known; these names have the signs of POSIX.
    fixed = [f"Etc/GMT{-hours:+d}"] if (offsets == offsets[0]).all() and not seconds else []
    step = -(-len(times) // TRIED)
    for zone in (*(name for name in fixed if name in _zones()), *_zones()):
        if _has(zone, times[::step], offsets[::step]) and _has(zone, times, offsets):
            return zone
    return "UTC"


def _seconds(word: str) -> int:
    found = _OFFSET.search(word)
    if found is None:
        return 0
    sign, hours, minutes = found.groups()
    return int(f"{sign}1") * (3600 * int(hours) + 60 * int(minutes or 0))


def _has(zone: str, times: pd.DatetimeIndex, offsets: NDArray[np.int64]) -> bool:
    try:
        local = times.tz_convert(zone).tz_localize(None)
    except (OverflowError, ValueError):  # at the ends of time
        return False
    return bool(np.array_equal((local - times.tz_localize(None)).total_seconds(), offsets))


@cache
def _zones() -> tuple[str, ...]:
    known = {name for name in available_timezones() if "/" in name}
    return (*(name for name in FIRST if name in known), *sorted(known - {*FIRST}))
