import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batchensemble.data import date_texts
from batchensemble.data.zones import FIRST, zone_of_texts


def found(times):
    words = np.array([time.isoformat() for time in times], dtype=object)
    return zone_of_texts(words, date_texts.parse(words))


@given(
    zone=st.sampled_from([*FIRST, "America/St_Johns", "Asia/Kathmandu", "Pacific/Chatham"]),
    start=st.dates(pd.Timestamp("1990-01-01").date(), pd.Timestamp("2030-01-01").date()),
    step=st.sampled_from(["D", "MS", "h", "W", "7h"]),
)
@settings(max_examples=60, deadline=None)
def test_every_time_has_its_own_offset_in_the_zone_that_is_found(zone, start, step):
    times = pd.date_range(str(start), periods=400, freq=step)
    times = times.tz_localize(zone, nonexistent="shift_forward", ambiguous=np.arange(400) % 2 == 0)
    there = times.tz_convert(found(times))
    assert [time.isoformat() for time in there] == [time.isoformat() for time in times]


@pytest.mark.parametrize("zone", FIRST)
def test_of_zones_with_the_same_clock_that_of_most_people_is_found(zone):
    assert found(pd.date_range("2020-01-01", periods=800, freq="D", tz=zone)) == zone


@pytest.mark.parametrize(
    ("words", "zone"),
    [
        (["2026-01-01T00:00Z", "2026-07-01T00:00+00:00"], "UTC"),
        (["2026-01-01T00:00+0100", "2026-07-01 00:00 +01:00"], "Etc/GMT-1"),
        (["2026-01-01T00:00-05:00"], "Etc/GMT+5"),
        (["2026-01-01 00:00:00.5-05", "2026-07-01 00:00-05"], "Etc/GMT+5"),
        (["2026-01-01 00:00 UTC", "2026-07-01 00:00+00"], "UTC"),
        (["2026-01-01T00:00+01:00", "2026-01-02T00:00+09:00"], "UTC"),  # of no one clock
        (["2026-01-01T00:00+17:00"], "UTC"),
    ],
)
def test_one_offset_is_the_same_all_year_and_a_mixture_is_of_no_zone(words, zone):
    words = np.array(words, dtype=object)
    assert zone_of_texts(words, date_texts.parse(words)) == zone
