import numpy as np
import pandas as pd
import pytest

from batchensemble.data.time_words import (
    CLOCKS,
    freq_word,
    refuse_written_dates,
    shown,
    some,
    when,
)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([3], "3"),
        ([2.5], "2.5"),
        (["a"], "'a'"),
        ([True], "True"),
        (["a" * 999], "'" + 99 * "a" + "..."),
    ],
)
def test_an_id_is_shown_as_python_writes_it(values, text):
    assert shown(np.array(values), 0) == text


def test_midnight_is_left_out_of_a_date():
    assert when(pd.Timestamp("2024-02-29")) == "2024-02-29"
    assert when(pd.Timestamp("2024-02-29 12:00")) == "2024-02-29 12:00:00"
    assert when(7) == "7"


def test_a_time_that_its_zone_moves_out_of_the_years_of_python_has_a_name():
    time = pd.Series(["9999-12-31T23:00"]).astype("M8[s]").dt.tz_localize("UTC")
    assert when(time.dt.tz_convert("Etc/GMT-2")[0]) == "9999-12-31T23:00:00"


def test_of_many_times_five_are_named_and_the_others_counted():
    times = pd.Index(range(5))
    assert some(times) == "0, 1, 2, 3, 4"
    assert some(times, 1204) == "0, 1, 2, 3, 4 and 1,199 more"


def test_a_frequency_is_written_as_the_user_may_pass_it():
    assert (freq_word(2), freq_word(pd.offsets.MonthBegin())) == ("2", "'MS'")


@pytest.mark.parametrize(
    "times",
    [
        pd.date_range("2020-10-01", periods=150).strftime("%Y%m%d"),
        pd.date_range("2019-01-01", periods=30, freq="MS").strftime("%Y%m"),
    ],
)
def test_dates_without_marks_are_no_numbers(times):
    with pytest.raises(ValueError, match="dates without separators; convert them"):
        refuse_written_dates(times.astype(int).to_numpy())


def parts_of_years(unit, n):
    return np.array([unit * year + part for year in (2019, 2020, 2021) for part in range(1, n + 1)])


@pytest.mark.parametrize(
    ("times", "parts"),
    [
        (parts_of_years(100, 52), "weeks"),
        (parts_of_years(100, 53), "weeks"),
        (parts_of_years(100, 52)[20:45], "weeks"),
        (np.delete(parts_of_years(100, 52), [51, 52, 103]), "weeks"),
        (parts_of_years(10, 4), "quarters"),
        (parts_of_years(1000, 365), "days"),
        (np.delete(parts_of_years(10, 4), [3, 8]), "quarters"),
    ],
)
def test_weeks_and_quarters_of_years_are_no_numbers(times, parts):
    with pytest.raises(ValueError, match=f"are years and {parts}; write the first day"):
        refuse_written_dates(times)


@pytest.mark.parametrize(
    "times",
    [
        parts_of_years(100, 54),
        np.arange(20191, 20220),
        np.arange(201901, 202999, 50),
        np.arange(20191, 20999, 10),
    ],
)
def test_numbers_that_count_on_are_no_parts_of_years(times):
    refuse_written_dates(times)


@pytest.mark.parametrize(("unit", "name"), CLOCKS.items())
@pytest.mark.parametrize("freq", ["min", "h", "MS"])
def test_ticks_since_1970_are_no_numbers_unless_they_are_no_minutes_apart(unit, name, freq):
    times = pd.date_range("2024-01-01", periods=9, freq=freq).as_unit(unit).asi8
    with pytest.raises(ValueError, match=f"look like {name} since 1970.*or write 2024-01-01; if"):
        refuse_written_dates(times)
    refuse_written_dates(times[:2])
    refuse_written_dates(times + np.arange(9))
    refuse_written_dates(times - times[0])


@pytest.mark.parametrize(
    "numbers", [np.arange(50), np.arange(20201001, 20201050), np.arange(202000, 202030), [20201001]]
)
def test_numbers_that_count_are_numbers(numbers):
    refuse_written_dates(np.array(numbers))
