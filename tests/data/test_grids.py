"""Laws of grids: a frequency is found from times with gaps, and a grid goes on as pandas' does."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batchensemble.data.grids import (
    check_grid,
    grid,
    infer_freq,
    positions,
    read_freq,
    series_of,
    starts_of,
)

FREQS = ["D", "h", "15min", "7h", "2D", "B", "W-SUN", "W-WED", "2W-SUN"]
FREQS += ["MS", "ME", "BME", "2MS", "QS-JAN", "QE-DEC", "YS-JAN", "YE-DEC"]
ZONES = st.sampled_from([None, "UTC", "America/New_York"])
DAYS = st.dates(dt.date(1950, 1, 1), dt.date(2050, 1, 1))


def days(n, freq="D", start="2020-01-01"):
    return pd.date_range(start, periods=n, freq=freq)


def lined_up(*series):
    """Series one after the other -> times, starts and ids "a", "b", ..."""
    times = series[0].append(list(series[1:]))
    return times, starts_of([len(s) for s in series]), np.array([*"abcdefgh"])[: len(series)]


def read(*series, freq=None):
    """-> the frequency, given or inferred, and the positions, if every time is on the grid."""
    times, starts, ids = lined_up(*series)
    step = infer_freq(times, starts, ids) if freq is None else read_freq(freq, times)
    at = positions(times, starts, step)
    check_grid(times, starts, ids, step, at, inferred=freq is None)
    return step, at.tolist()


def test_starts_and_the_series_of_each_row_say_the_same():
    assert starts_of([2, 0, 3]).tolist() == [0, 2, 2, 5]
    assert series_of(starts_of([2, 0, 3])).tolist() == [0, 0, 2, 2, 2]


@pytest.mark.parametrize("freq", FREQS)
@pytest.mark.parametrize("gaps", [[], [5, 17]])
def test_the_frequency_is_found_also_where_times_are_missing(freq, gaps):
    step, at = read(days(40, freq, "2020-01-03").delete(gaps))
    # QS-JAN and QS-OCT are two names of one frequency
    assert step.rule_code[:2] == read_freq(freq, days(3)).rule_code[:2]
    assert at == [i for i in range(40) if i not in gaps]


@settings(deadline=None, max_examples=60)
@given(
    freq=st.sampled_from(FREQS),
    starts=st.lists(DAYS, min_size=1, max_size=4),
    zone=ZONES,
    counts=st.lists(st.integers(1, 9), min_size=4, max_size=4),
)
def test_a_grid_is_that_of_date_range_and_positions_count_its_steps(freq, starts, zone, counts):
    series = [
        pd.date_range(start, periods=n, freq=freq, tz=zone)
        for start, n in zip(starts, counts, strict=False)
    ]
    times, begins, _ = lined_up(*series)
    step = read_freq(freq, times)
    firsts, lengths = times[begins[:-1]], np.diff(begins)
    assert grid(firsts, lengths, step).tolist() == times.tolist()
    assert positions(times, begins, step).tolist() == [i for n in lengths for i in range(n)]


def test_days_follow_the_clock_on_the_wall_and_hours_do_not():
    zone = "Europe/Berlin"
    for freq, n in (("D", 300), ("h", 72)):
        times = pd.date_range("2024-03-30", periods=n, freq=freq, tz=zone)
        step, at = read(times)
        assert at == list(range(n))
        assert grid(times[:1], np.array([n]), step).tolist() == times.tolist()


def test_an_hour_that_comes_twice_is_the_first_of_the_two():
    naive = pd.date_range("2024-10-20 02:30", periods=10, freq="D")
    times = naive.tz_localize("Europe/Berlin", ambiguous=np.ones(10, dtype=bool))
    step, at = read(times)
    assert at == list(range(10))
    assert grid(times[:1], np.array([10]), step).tolist() == times.tolist()


def test_grids_of_different_phase_live_side_by_side():
    for freq, shift in (("7h", 2), ("2W-SUN", 1), ("2MS", 1)):
        a = days(9, freq, "2020-01-05")
        start = a[0] + shift * pd.tseries.frequencies.to_offset(freq.lstrip("72"))
        b = days(5, freq, start)
        step, at = read(a, b)
        assert at == [*range(9), *range(5)]
        assert grid(a[:1].append(b[:1]), np.array([9, 5]), step).tolist() == [*a, *b]


def test_integers_go_in_their_most_common_step():
    assert read(pd.Index([0, 5, 10, 20]), pd.Index([3, 8])) == (5, [0, 1, 2, 4, 0, 1])
    assert read(pd.Index([7])) == (1, [0])
    assert grid(pd.Index([5, 8]), np.array([3, 2]), 5).tolist() == [5, 10, 15, 8, 13]
    message = r"series 'a': .*frequency 5 from 0 on, got 7; frequencies"
    with pytest.raises(ValueError, match=message):
        read(pd.Index([0, 5, 7, 10, 15, 20, 25]))


def test_a_daily_and_a_monthly_series_are_refused_together_with_both_names():
    months, daily = days(12, "MS"), days(100)
    for series, first, second in (((daily, months), "b", "a"), ((months, daily), "a", "b")):
        message = rf"series '{first}': .*'D', got .*mixed \(it looks like 'MS', and series "
        with pytest.raises(ValueError, match=rf"{message}'{second}' like 'D'"):
            read(*series)
    with pytest.raises(ValueError, match=r"series '.*' like 'M[ES]'\); resample to one frequency"):
        read(days(12, "ME"), months)


def test_a_time_off_the_grid_is_named_with_the_frequency():
    late = days(20, "h").delete(7).insert(7, pd.Timestamp("2020-01-01 07:20"))
    message = r"'h' from 2020-01-01 on, got 2020-01-01 07:20:00; frequencies may be mixed.*resample"
    with pytest.raises(ValueError, match=message):
        read(late, freq="h")
    with pytest.raises(ValueError, match=r"'W-SUN', got 2020-01-01; .*it looks like 'W-WED'"):
        read(days(20, "W-WED"), freq="W")


def test_steps_that_change_within_a_series_are_refused():
    times = pd.Timestamp("2020-01-01") + pd.to_timedelta([0, 1, 2, 4, 6, 8, 10, 12], unit="D")
    with pytest.raises(
        ValueError, match="got times that are 2 steps apart; frequencies may be mixed"
    ):
        read(times)


def test_times_without_any_rule_are_refused():
    times = pd.to_datetime(["2020-01-01", "2020-01-02", "2020-02-07", "2020-06-11"])
    with pytest.raises(
        ValueError, match="expected times at a regular frequency, found none in ser"
    ):
        read(times)


def test_two_times_ask_for_the_frequency_which_may_be_an_offset_a_word_or_a_number():
    two = days(2), days(1)
    with pytest.raises(ValueError, match=r"expected freq=, .* at least 3 times .* got at most 2"):
        read(*two)
    for freq in ("D", pd.offsets.Day()):
        assert read(*two, freq=freq) == (pd.offsets.Day(), [0, 1, 0])
    assert read(pd.Index([1, 2]), freq=1) == (1, [0, 1])
    middles = pd.to_datetime(["2020-01-15", "2020-02-15", "2020-03-15"])
    assert read(middles, freq=pd.DateOffset(months=1))[1] == [0, 1, 2]


@pytest.mark.parametrize(
    ("freq", "message"),
    [
        ("XYZ", r"expected freq= such as 'D', 'h' or 'MS', got 'XYZ'"),
        (1, "the times are dates, which the frequency 1 does not fit; pass times as in fit"),
        ("-1D", "to go forward in time, got '-1D'"),
        (1.5, "expected freq= such as"),
    ],
)
def test_a_frequency_that_does_not_fit_dates_is_refused(freq, message):
    with pytest.raises(ValueError, match=message):
        read(days(5), freq=freq)


@pytest.mark.parametrize(
    ("freq", "message"),
    [
        ("D", "the times are whole numbers, which the frequency 'D' does not fit"),
        (True, "the times are whole numbers, which the frequency True does not fit"),
        (0, "expected freq= to go forward in time, got 0"),
    ],
)
def test_a_frequency_that_does_not_fit_integers_is_refused(freq, message):
    with pytest.raises(ValueError, match=message):
        read(pd.Index([1, 2, 3]), freq=freq)


def test_words_that_pandas_will_forget_are_read_without_its_warning():
    times = pd.date_range("2024-01-07", periods=5, freq="W")
    assert read_freq("w", times) == pd.offsets.Week(weekday=6)  # a warning would be an error
