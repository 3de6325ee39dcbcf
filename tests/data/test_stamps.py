import numpy as np
import pandas as pd
import pytest

from batchensemble.data.panels import read_panel
from batchensemble.data.stamps import are_at_start, rounding_advice


def stamped(freq, unit, most, n=24):
    """The n-th period, and a different number of units after its start."""
    late = np.random.default_rng(0).integers(0, most, n)
    return pd.date_range("2020-01-06", periods=n, freq=freq) + pd.to_timedelta(late, unit)


def on_day(day, freq):
    """Or, in months without that day, on the last."""
    firsts = pd.date_range("2020-02-01", periods=24, freq=freq)
    return firsts + pd.to_timedelta(np.minimum(day, firsts.days_in_month) - 1, "D")


@pytest.mark.parametrize(
    ("times", "words"),
    [
        (stamped("MS", "D", 20), "monthly, but on different days: pass freq='MS' "),
        (stamped("QS", "D", 80), "quarterly, but on different days"),
        (stamped("W-MON", "D", 6), "weekly, but on different days: pass freq='W-MON' "),
        (
            pd.date_range("2020-01-01", periods=24, freq="MS") + pd.Timedelta(14, "D"),
            "monthly, on day 15 of a month: pass freq='MS' ",
        ),
        (
            pd.date_range("2020-01-01", periods=24, freq="QS") + pd.Timedelta(1, "D"),
            "quarterly, on day 2 of a month",
        ),
        (on_day(30, "MS"), "monthly, on day 30 of a month: pass freq='MS' "),
        (on_day(29, "MS"), "monthly, on day 29 of a month: pass freq='MS' "),
        (on_day(30, "QS-FEB"), "quarterly, on day 30 of a month: pass freq='QS' "),
        (stamped("D", "h", 20), "daily, but at different hours"),
        (stamped("h", "min", 50).tz_localize("Europe/Berlin"), "hourly, but at different minutes"),
    ],
)
def test_times_that_differ_within_their_month_week_day_or_hour_are_named_with_the_cure(
    times, words
):
    frame = pd.DataFrame({"unique_id": "a", "ds": times, "y": 1.0})
    with pytest.raises(ValueError, match=f"series 'a'.*the times are {words}"):
        read_panel(frame)


@pytest.mark.parametrize(
    ("freq", "unit", "most"),
    [("YS", "D", 300), ("QS", "D", 80), ("MS", "D", 20), ("W-MON", "D", 6), ("D", "h", 20)],
)
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_the_cure_cures(freq, unit, most, zone):
    late = stamped(freq, unit, most).tz_localize(zone)
    both = pd.concat(
        pd.DataFrame({"unique_id": name, "ds": late, "y": np.arange(24.0)}) for name in "ab"
    )
    panel = read_panel(both, freq=freq)
    assert panel.lengths.tolist() == [24, 24]
    starts = pd.date_range("2020-01-06", periods=24, freq=freq, tz=zone)
    assert panel.times[:24].tolist() == starts.tolist()


def test_two_times_in_one_month_are_still_off_the_grid():
    times = stamped("MS", "D", 20).insert(1, pd.Timestamp("2020-02-27"))
    with pytest.raises(ValueError, match="series 'a'"):
        read_panel(pd.DataFrame({"unique_id": "a", "ds": times, "y": 1.0}), freq="MS")


@pytest.mark.parametrize("freq", ["MS", "ME", "D", "W-TUE", "B"])
def test_regular_times_get_no_advice(freq):
    assert rounding_advice(pd.date_range("2020-01-05 06:00", periods=30, freq=freq)) == ""


def test_times_at_the_end_of_time_get_no_error_of_their_own():
    times = pd.date_range("2262-03-01", periods=5, freq="us").as_unit("ns")
    assert rounding_advice(times[[0, 1, 4]]) == ""


def test_times_without_a_pattern_get_no_advice():
    days = np.cumsum(np.random.default_rng(0).integers(1, 90, 30))
    assert rounding_advice(pd.Timestamp("2020-01-01") + pd.to_timedelta(days, "D")) == ""
    assert rounding_advice(pd.Index([1, 2, 4])) == ""


@pytest.mark.parametrize("freq", ["D", "h", "MS"])
def test_times_at_the_start_of_their_period_are_told_from_others(freq):
    times = pd.date_range("2020-01-01", periods=5, freq=freq)
    offset = pd.tseries.frequencies.to_offset(freq)
    assert are_at_start(times, offset)
    assert not are_at_start(times.insert(5, times[-1] + pd.Timedelta(minutes=8)), offset)
    assert not are_at_start(pd.Index([1, 2]), 1)
    assert not are_at_start(times, pd.offsets.BusinessDay())
