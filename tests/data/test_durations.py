import datetime as dt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchensemble.data.durations import durations_in, seconds_of
from batchensemble.data.reading import open_table


def seconds(cells):
    return seconds_of(cells, "f.csv", "line")


@given(st.lists(st.timedeltas(dt.timedelta(0), dt.timedelta(99_999)), min_size=1, max_size=5))
def test_seconds_of_texts_are_those_of_what_was_written(spans):
    spans = pd.Series(spans, dtype="timedelta64[us]")
    found = seconds(spans.astype(str).astype(object))
    np.testing.assert_allclose(found, spans.dt.total_seconds(), rtol=1e-12)


@given(st.lists(st.times(), min_size=1, max_size=5))
def test_times_of_day_are_seconds_since_midnight(times):
    found = seconds(pd.Series([f" {time} " for time in times]))
    wanted = [
        (dt.datetime.combine(dt.date(1, 1, 1), time) - dt.datetime(1, 1, 1)).total_seconds()
        for time in times
    ]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_gaps_stay_gaps_and_seconds_may_be_left_out():
    found = seconds(pd.Series(["8:30", "", None, "NA", "1 day 00:00:01.5"]))
    np.testing.assert_array_equal(found, [30600, np.nan, np.nan, np.nan, 86401.5])


@pytest.mark.parametrize(
    "cells",
    [["1", "2"], [None, None], [], ["8h"], [1.0], ["8:30:1"], ["10:99"], ["9999999999 days"]],
)
def test_numbers_and_words_are_no_durations(cells):
    assert seconds(pd.Series(cells, dtype=object)) is None


def test_numbers_beside_durations_are_seconds():
    np.testing.assert_array_equal(
        seconds(pd.Series(["8:30", "5", 7, None, "1 day"], dtype=object)),
        [30600, 5, 7, np.nan, 86400],
    )


@pytest.mark.parametrize("odd", ["oops", "10:99", "1:2:3:4", "inf"])
def test_a_cell_among_durations_that_is_none_is_named(odd):
    cells = pd.Series(["8:30", odd], [2, 3], name="at")
    with pytest.raises(ValueError, match=rf"f.csv, line 3, column 'at': .* got '{odd}'"):
        seconds_of(cells, "f.csv", "line")


@pytest.mark.parametrize("form", ["parquet", "feather", "xlsx", "csv"])
def test_typed_files_tell_which_columns_have_durations(tmp_path, form):
    rows = pd.DataFrame({"at": [None, dt.time(8, 30)], "text": ["8:30", "9:30"], "n": [1, 2]})
    if form in ("parquet", "feather"):
        rows["span"] = pd.to_timedelta([1, 2], unit="h")
    path = tmp_path / f"rows.{form}"
    if form == "xlsx":  # pandas would write times of day as texts
        book = pytest.importorskip("openpyxl").Workbook()
        for cells in [[*rows], *rows.to_numpy(dtype=object).tolist()]:
            book.active.append(cells)
        book.save(path)
    else:
        getattr(rows, f"to_{form}")(path, **({"index": False} if form == "csv" else {}))
    with open_table(path) as file:
        found = durations_in(pd.concat(file.batches()), file)
    assert found == {"csv": set(), "xlsx": {"at"}}.get(form, {"at", "span"})
