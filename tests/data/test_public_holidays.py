import builtins
from datetime import date

import numpy as np
import pandas as pd
import pytest

from batchensemble.data.columns import Column
from batchensemble.data.public_holidays import check_holidays, holiday_columns, holiday_names

holidays = pytest.importorskip("holidays")


def test_a_day_is_marked_and_so_are_the_days_around_it_also_over_the_turn_of_the_year():
    days = pd.date_range("2022-12-20", "2023-01-05", freq="D")
    on, before, after = (column.values for column in holiday_columns(days, "NO"))
    known = {date(2022, 12, 25), date(2022, 12, 26), date(2023, 1, 1)}
    listed = holidays.NO(years=[2022, 2023])
    assert [day.date() in listed for day in days] == on.astype(bool).tolist()
    assert {day.date() for day in days[on > 0]} == known
    assert np.array_equal(before[:-1], on[1:])
    assert np.array_equal(after[1:], on[:-1])


def test_hours_have_the_holiday_of_their_day_by_the_clock_on_the_wall():
    hours = pd.date_range("2023-05-16", periods=72, freq="h", tz="Europe/Oslo")
    on, before, after = (column.values for column in holiday_columns(hours, "NO"))
    assert on.reshape(3, 24)[:2].tolist() == [[0.0] * 24, [1.0] * 24]  # 17 May, and then Ascension
    assert before[:24].all()
    assert after[48:].all()


def test_a_part_of_a_country_has_its_own():
    day = pd.DatetimeIndex(["2023-11-01"])  # All Saints' Day
    values = [holiday_columns(day, word).columns[0].values[0] for word in ("DE", "DE-BY", "DE-BE")]
    assert values == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("freq", ["D", "B", "h", "15min"])
def test_days_and_shorter_steps_are_taken(freq):
    check_holidays("NO", pd.tseries.frequencies.to_offset(freq))


@pytest.mark.parametrize(
    ("freq", "words"),
    [
        (pd.offsets.Week(), "days or shorter steps, got the frequency 'W'"),
        (pd.offsets.MonthBegin(), "days or shorter steps, got the frequency 'MS'"),
        (pd.offsets.Day(2), "days or shorter steps, got the frequency '2D'"),
        (1, "needs series with dates, got numbered times"),
    ],
    ids=str,
)
def test_longer_steps_and_numbered_times_are_refused_in_one_line(freq, words):
    with pytest.raises(ValueError, match=words) as error:
        check_holidays("NO", freq)
    assert "\n" not in str(error.value)


def test_an_unknown_country_or_part_is_answered_with_the_closest():
    with pytest.raises(ValueError, match=r"the country of holidays.*got 'NOQ'.*did you mean 'NO'"):
        check_holidays("NOQ", pd.offsets.Day())
    with pytest.raises(ValueError, match=r"the part of DE.*got 'BYY'.*did you mean 'BY'"):
        check_holidays("DE-BYY", pd.offsets.Day())


@pytest.mark.parametrize(
    ("name", "code"), [("Germany", "DE"), ("united states", "US"), ("Germany-BY", "DE")]
)
def test_the_name_of_a_country_is_answered_with_its_code(name, code):
    with pytest.raises(ValueError, match=rf"expected the code of a country .*; write '{code}'"):
        check_holidays(name, pd.offsets.Day())


def test_without_the_package_the_error_says_what_to_install(monkeypatch):
    original = builtins.__import__

    def without(name, *rest):
        if name == "holidays":
            raise ImportError("no such package")
        return original(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'batchensemble\[holidays\]'"):
        check_holidays("NO", pd.offsets.Day())


def test_without_a_country_there_are_no_columns():
    assert holiday_names(None) == ()
    assert holiday_names("NO")[0] == "public holiday (NO)"


def test_a_column_of_the_user_that_is_called_like_a_holiday_is_refused():
    own = Column("day before a public holiday (NO)", "number", np.zeros(3))
    with pytest.raises(ValueError, match="and the data have one of this name; omit holidays"):
        check_holidays("NO", pd.offsets.Day(), [own])
    check_holidays("DE", pd.offsets.Day(), [own])
