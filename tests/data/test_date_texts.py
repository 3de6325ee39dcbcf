import datetime as dt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batchensemble.data.date_texts import (
    BY_NAME,
    NAMED,
    DateStyle,
    example,
    formats,
    has_zone,
    is_format,
    parse,
    recognise,
    written,
)

FORMS = ["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%d/%m/%Y %H:%M", "%m/%d/%Y %I:%M:%S %p"]


def array(*words):
    return np.array(words, dtype=object)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(FORMS), st.lists(st.dates(dt.date(1900, 1, 1)), min_size=1, max_size=8))
def test_dates_with_a_day_past_12_are_read_as_they_were_written(form, days):
    days = [*days, dt.date(2026, 1, 31)]
    words = array(*(day.strftime(form.replace("%Y", "%Y")) for day in days))
    style = recognise(words)
    assert style is not None
    assert (style.format, style.doubt) == (form, "")
    assert parse(words, form).astype("datetime64[D]").tolist() == days
    assert is_format(form)


TIMES = {"": "00:00:00", " 18:20": "18:20:00", " 9:05:07": "09:05:07", " 06:20 PM": "18:20:00"}
TIMES |= {" 6:20:14am": "06:20:14"}


@pytest.mark.parametrize(
    ("word", "date"),
    [
        ("19-Jun-24", "2024-06-19"),
        ("June 19, 2024", "2024-06-19"),
        ("19 June 2024", "2024-06-19"),
        ("19. Juni 2024", "2024-06-19"),
        ("19 févr. 2024", "2024-02-19"),
        ("19 déc. 2020", "2020-12-19"),
    ],
)
@pytest.mark.parametrize("time", TIMES)
def test_months_have_names_in_three_languages_and_days_may_have_a_time(word, date, time):
    style = recognise(array(word + time, word + time))
    assert style is not None
    assert str(parse(array(word + time), style.format)[0])[:19] == f"{date}T{TIMES[time]}"
    assert is_format(style.format)
    again = example(style.format)
    assert recognise(array(again, again)) == style


@pytest.mark.parametrize(
    ("word", "date"),
    [
        ("Jan 1949", "1949-01-01"),
        ("January 1949", "1949-01-01"),
        ("1949 Jan", "1949-01-01"),
        ("Jan-98", "1998-01-01"),
        ("Okt 2024", "2024-10-01"),
        ("März 2024", "2024-03-01"),
        ("déc. 2020", "2020-12-01"),
    ],
)
def test_months_of_a_year_have_no_time(word, date):
    style = recognise(array(word, word))
    assert style is not None
    assert str(parse(array(word), style.format)[0])[:10] == date
    assert is_format(style.format)
    assert recognise(array(word + " 18:20")) is None  # Mar 10 12:30 is a tenth, of any year


@pytest.mark.parametrize("mark", "-/")
@pytest.mark.parametrize("time", ["%I:%M %p", "%I:%M:%S %p", "%I:%M%p"])
def test_dates_that_start_with_the_year_may_have_am_and_pm(mark, time):
    form = f"%Y{mark}%m{mark}%d {time}"
    moments = pd.date_range("2026-01-28 22:30", periods=9, freq="5h30min")
    words = array(*moments.strftime(form))
    assert recognise(words) == DateStyle(form)
    assert (parse(words, form) == moments).all()
    assert is_format(form)
    assert recognise(array(words[0], "2026-01-28")) is None


@pytest.mark.parametrize(
    ("word", "moment", "is_zoned"),
    [
        ("2024/5/8", "2024-05-08T00:00", False),
        ("2024-5-18", "2024-05-18T00:00", False),
        ("2024/12/8 9:05", "2024-12-08T09:05", False),
        ("2024-05-08 10:00:00+00", "2024-05-08T10:00", True),
        ("2024-05-08 10:00:00.5+02", "2024-05-08T08:00:00.5", True),
        ("2024-05-08T10:00+0200", "2024-05-08T08:00", True),
        ("2024-05-08 10:00:00 UTC", "2024-05-08T10:00", True),
        ("2024/5/8 9:05-03", "2024-05-08T12:05", True),
    ],
)
def test_dates_that_start_with_the_year_need_no_zeros_and_zones_no_minutes(word, moment, is_zoned):
    assert recognise(array(word, "2024-05-08")) == DateStyle()
    assert parse(array(word))[0] == np.datetime64(moment)
    assert has_zone(word) == is_zoned


@pytest.mark.parametrize("word", ["2024/5", "2024-5", "2024/5-8", "2024-13-1", "2024-5-8 UTC"])
def test_what_only_begins_like_a_date_is_none(word):
    assert recognise(array(word, word)) is None


@pytest.mark.parametrize("word", ["May", "may be 12", "Janus 1949", "1.2.3", "12:30", "2024", "x"])
def test_other_words_are_no_dates(word):
    assert recognise(array(word)) is None
    assert formats(word) == []


def test_every_format_has_an_example_that_is_read_again():
    for form in ["", *FORMS, *(NAMED + one for one in BY_NAME)]:
        assert not np.isnat(parse(array(example(form)), form)).any(), form


@pytest.mark.parametrize("text", ["%s", "%d/%d/%Y", "named %s", "%d/%m.%Y", "%d/%m/%Y%f", None, 3])
def test_other_texts_are_no_formats(text):
    assert not is_format(text)


def test_dates_that_do_not_exist_are_missing():
    assert np.isnat(parse(array("31/02/2024", "x", ""), "%d/%m/%Y")).all()
    assert parse(array("29/02/2024"), "%d/%m/%Y")[0] == pd.Timestamp("2024-02-29")


def test_the_example_of_a_doubt_is_a_date_that_the_two_readings_tell_apart():
    style = recognise(np.array(["11/11/2024", "08/09/2023"], dtype=object))
    assert style is not None
    assert style.doubt.startswith("'08/09/2023' may be 2023-09-08 or 2023-08-09")


def test_days_that_are_their_month_are_asked_about_in_plain_words():
    doubt = recognise(array("01/01/2023", "02/02/2023")).doubt
    assert doubt.startswith("'01/01/2023' may be written with the day or the month first")


@pytest.mark.parametrize("texts", [("2024-01-31", "2024-02-01"), ("2024-01-31 08:30",)])
def test_dates_are_written_as_they_are_read(texts):
    moments = parse(array(*texts, ""))
    assert written(moments, "").tolist() == [*texts, None]
    assert written(parse(array("31/01/2024"), "%d/%m/%Y"), "%d/%m/%Y").tolist() == ["31/01/2024"]
