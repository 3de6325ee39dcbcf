"""Times, frequencies and types of other libraries, through a file and back."""

import datetime as dt
import json

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batchensemble.estimators.forms import CODEC, UNITS, shown
from batchensemble.modelfile.codec import NotKept
from batchensemble.training.history import History

ZONES = [None, "UTC", "Europe/Berlin", "America/St_Johns", "UTC+01:00"]


def through(value):
    arrays = {}
    tree = json.loads(json.dumps(CODEC.encode(value, "it", arrays), allow_nan=False))
    return CODEC.decode(tree, arrays)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(-(2**30), 2**31), max_size=4),
    st.sampled_from(UNITS),
    st.sampled_from(ZONES),
)
def test_dates_keep_their_unit_and_zone(seconds, unit, zone):
    times = pd.DatetimeIndex(np.array(seconds, "M8[s]")).as_unit(unit)
    times = times if zone is None else times.tz_localize("UTC").tz_convert(zone)
    found = through(times)
    pd.testing.assert_index_equal(found, times, exact=True)
    assert (found.unit, str(found.tz)) == (unit, str(times.tz))
    for time in times:
        again = through(time)
        assert (again, again.unit, str(again.tz)) == (time, unit, str(time.tz))
        assert (str(again), again.utcoffset()) == (str(time), time.utcoffset())


def test_the_hour_that_comes_twice_stays_the_one_it_is():
    first = pd.Timestamp("2024-10-27 00:30", tz="UTC").tz_convert("Europe/Berlin")
    second = first + pd.Timedelta(hours=1)
    assert (first.hour, first.minute) == (second.hour, second.minute)
    assert through([first, second]) == [first, second]
    assert str(through(second)) == str(second) != str(first)


def test_nanoseconds_are_kept():
    time = pd.Timestamp(1_700_000_000_123_456_789)
    assert through(time) == time
    assert through(time).nanosecond == 789


@pytest.mark.parametrize(
    "freq",
    ["D", "MS", "ME", "W-TUE", "2W", "QS-OCT", "BQE-MAR", "15min", "B", "YE-JUN", "h", "90s"],
)
def test_frequencies_are_kept(freq):
    offset = pd.tseries.frequencies.to_offset(freq)
    assert through(offset) == offset
    assert type(through(offset)) is type(offset)


def test_a_frequency_made_by_hand_is_kept_and_one_with_holidays_is_refused():
    assert through(pd.DateOffset(months=2, days=3)) == pd.DateOffset(months=2, days=3)
    assert through(pd.DateOffset(3)) == pd.DateOffset(3)
    holidays = pd.offsets.CustomBusinessDay(holidays=["2024-12-24"])
    with pytest.raises(NotKept, match=r"freq to be .* got CustomBusinessDay"):
        CODEC.encode(holidays, "freq", {})


def test_a_zone_that_has_no_name_is_refused_and_one_that_is_a_file_is_never_opened():
    with pytest.raises(NotKept, match="time zone"):
        through(pd.Timestamp(0, tz=dt.timezone(dt.timedelta(hours=1), "mine")))
    for zone in ("dateutil//etc/localtime", "../../etc/passwd", 3):
        with pytest.raises(ValueError, match=r"zone|TZPATH"):
            CODEC.decode({"timestamp": ["2024-01-01T00:00:00+00:00", "us", zone]}, {})


def test_types_of_columns_are_kept():
    frame = pl.DataFrame(
        {
            "id": pl.Series(["a"], dtype=pl.Enum(["a", "b"])),
            "word": pl.Series(["a"], dtype=pl.Categorical),
            "day": [dt.date(2024, 1, 1)],
            "time": pl.Series([dt.datetime(2024, 1, 1)], dtype=pl.Datetime("ms", "Asia/Tokyo")),
            "span": [dt.timedelta(1)],
            "small": pl.Series([1], dtype=pl.UInt8),
            "text": ["a"],
            "flag": [True],
        }
    )
    dtypes = dict(nw.from_native(frame).schema)
    assert through(dtypes) == dtypes
    with pytest.raises(KeyError):
        CODEC.decode({"dtype": ["system"]}, {})


@pytest.mark.parametrize("value", [pd.NA, pd.NaT])
def test_gaps_are_themselves(value):
    assert through(value) is value


@pytest.mark.parametrize("value", [dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 1, 2, 3, 4)])
def test_dates_of_python_are_kept(value):
    assert (through(value), type(through(value))) == (value, type(value))


def test_an_index_of_whole_numbers_is_kept():
    index = pd.Index([3, 5, 7], name="n")
    pd.testing.assert_index_equal(through(index), index, exact=True)


@pytest.mark.parametrize("scores", [[], [[0.1, float("nan")], [0.3, 1e-300]]])
def test_a_history_is_kept(scores):
    history = History([[1.5, 2.5], [0.1, 0.2]], scores, [1, 0], "patience", 0.25)
    assert repr(through(history)) == repr(history)


def test_what_people_see_is_plain_json():
    seen = shown({1: (np.float64(0.5), float("inf"), pd.offsets.Day()), "c": np.array(["a"])})
    assert json.loads(json.dumps(seen, allow_nan=False)) == seen
    assert seen == {"1": [0.5, "inf", "<Day>"], "c": ["a"]}
