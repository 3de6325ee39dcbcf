import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from long_frames import as_polars, exogenous, long

from batchensemble.data.future_rows import doubts_about_future, read_future
from batchensemble.data.panels import read_panel


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 3), st.sampled_from(["D", "MS", "7h"]), st.permutations(range(24)))
def test_future_columns_are_found_whatever_the_order_and_the_library(h, freq, order):
    frame = long([8, 8, 8], freq, shift=1, x=np.arange, w=exogenous)
    whole = read_panel(frame, columns=["x", "w"])
    expected = whole.tail(h).columns
    panel = whole.head(h)
    mixed = frame.iloc[list(order)]
    unknown = mixed.head(2).assign(unique_id="unknown")
    for future in (mixed.drop(columns="y"), as_polars(mixed), pd.concat([unknown, mixed])):
        read = read_future(panel, future, h, ["x", "w"])
        assert read.names == ["x", "w"]
        assert [c.values.tolist() for c in read] == [c.values.tolist() for c in expected]


def test_the_future_of_one_series_needs_no_id():
    frame = long([8], x=np.arange).drop(columns="unique_id")
    panel = read_panel(frame, columns=["x"]).head(3)
    assert read_future(panel, frame, 3, ["x"])[0].values.tolist() == [5, 6, 7]


def test_a_future_with_holes_doubles_or_missing_columns_is_refused():
    frame = long([8, 8], x=np.arange)
    panel = read_panel(frame, columns=["x"]).head(3)
    with pytest.raises(
        ValueError, match=r"none for series 'b' at 2020-01-07 \(2 of 6 rows are missing\)"
    ):
        read_future(panel, frame.drop([14, 15]), 3, ["x"])
    with pytest.raises(ValueError, match=r"more than one for series 'a' at 2020-01-06"):
        read_future(panel, pd.concat([frame, frame.iloc[[1, 5]]]), 3, ["x"])
    assert len(read_future(panel, pd.concat([frame, frame.iloc[[1]]]), 3, ["x"])[0].values) == 6
    with pytest.raises(ValueError, match=r"the frame of the future to have .* without \['x'\]"):
        read_future(panel, long([8, 8]), 3, ["x"])
    with pytest.raises(ValueError, match=r"without \['unique_id'\]"):
        read_future(panel, frame.drop(columns="unique_id"), 3, ["x"])
    with pytest.raises(ValueError, match=r"times of the type datetime64.* as in fit, got int64"):
        read_future(panel, frame.assign(ds=range(16)), 3, ["x"])
    with pytest.raises(ValueError, match="the next 3 times of each series, got an empty frame"):
        read_future(panel, frame.head(0), 3, ["x"])
    with pytest.raises(TypeError, match=r"expected a frame with the next 3 times .*got NoneType"):
        read_future(panel, None, 3, ["x"])


def test_a_row_belongs_to_its_period_where_times_were_moved_to_its_start():
    months = pd.date_range("2020-01-01", periods=30, freq="MS")
    panel = read_panel(pd.DataFrame({"unique_id": "a", "ds": months[:27], "y": np.arange(27.0)}))
    ahead = pd.DataFrame({"unique_id": "a", "ds": months[27:], "x": [1.0, 2.0, 3.0]})
    later = ahead.assign(ds=ahead["ds"] + pd.to_timedelta([3, 20, 11], "D"))
    expected, found = (
        read_future(panel, rows, 3, ["x"], at_start=True)[0].values for rows in (ahead, later)
    )
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="3 of 3 rows are missing"):
        read_future(panel, later, 3, ["x"])


def test_gaps_ahead_are_doubtful_where_there_were_none():
    frame = long([8, 8], x=np.arange, w=exogenous).astype({"x": float})
    known, ahead = read_panel(frame, columns=["x", "w"]).columns, frame.copy()
    ahead.loc[[14, 15], "x"] = np.nan
    gappy = read_panel(ahead, columns=["x", "w"]).columns
    assert not [*doubts_about_future(known, known)]
    assert not [*doubts_about_future(gappy, gappy)]
    (doubt,) = doubts_about_future(gappy, known)
    start = "column 'x': 2 of 16 values ahead are missing, though none was missing in training"
    assert doubt.startswith(start)


def test_a_future_of_which_no_row_is_wanted_is_told_where_it_begins():
    months = long([9], "MS", x=np.arange)
    panel = read_panel(months, columns=["x"]).head(3)
    ends = months.assign(ds=months["ds"] + pd.offsets.MonthEnd(0))[6:]
    with pytest.raises(ValueError, match=r"3 of 3 rows are missing; the rows begin at \d+-07-31\)"):
        read_future(panel, ends, 3, ["x"])
