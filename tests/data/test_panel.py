"""Laws of `Panel`: series are cut, picked and continued, and answers look like the user's data."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from long_frames import FREQS, assert_same, exogenous, long

from batchensemble.data.panels import read_panel

NAN = float("nan")


def test_the_shortest_series_is_named_with_what_it_lacks():
    message = r"series 'b': expected at least 8 rows, got 3: it needs 5 more \(1 other series are"
    with pytest.raises(ValueError, match=message):
        read_panel(long([5, 3, 9]), fewest=8)
    assert len(read_panel(long([5, 3, 9]), fewest=3)) == 3
    assert len(read_panel(long([9]).drop([4]), fewest=9, fill="ffill").values) == 9


@settings(deadline=None, max_examples=40)
@given(
    lengths=st.lists(st.integers(4, 12), min_size=1, max_size=4),
    freq=st.sampled_from(FREQS),
    data=st.data(),
)
def test_a_head_extended_by_what_it_lacks_is_the_panel(lengths, freq, data):
    frame = long(lengths, freq, shift=1, x=np.arange, w=exogenous)
    panel = read_panel(frame, columns=["x", "w"], freq=freq)
    dropped = np.array([data.draw(st.integers(0, n - 1)) for n in lengths])
    head = panel.head(dropped)
    assert head.lengths.tolist() == (panel.lengths - dropped).tolist()
    rest = [frame[frame.unique_id == i].tail(d) for i, d in zip(panel.ids, dropped, strict=True)]
    if dropped.any():
        new = read_panel(pd.concat(rest[::-1]), columns=["x", "w"], freq=panel.freq)
        head = head.extended(new)
    assert_same(panel, head)


def test_a_tail_holds_the_last_rows_and_all_of_a_short_series():
    panel = read_panel(long([5, 2], x=np.arange), columns=["x"])
    tail = panel.tail(3)
    assert tail.lengths.tolist() == [3, 2]
    assert tail.columns[0].values.tolist() == [2, 3, 4, 5, 6]
    assert_same(panel.tail(9), panel)
    with pytest.raises(ValueError, match="n to be at least 1 row of each series, got 0"):
        panel.tail(0)
    for dropped, got in ((2, 2), ([0, -1], -1)):
        with pytest.raises(
            ValueError, match=f"series 'b': expected to drop .* its 2 rows, got {got}"
        ):
            panel.head(dropped)


def test_series_are_picked_by_id_in_the_order_asked_for():
    frame = long([3, 4, 5], x=np.arange)
    panel = read_panel(frame, columns=["x"])
    picked = panel.only(["c", "a"])
    assert picked.ids.tolist() == ["c", "a"]
    assert picked.columns[0].values.tolist() == [7, 8, 9, 10, 11, 0, 1, 2]
    assert_same(panel.only(panel.ids), panel)
    for ids, words in ((["z"], r"series 'a', 'b', 'c', got 'z'"), ([], "at least one series")):
        with pytest.raises(ValueError, match=words):
            panel.only(ids)


@pytest.mark.parametrize("odd", [[1], {"a": 1}, {1}, np.array([1])])
def test_an_id_that_cannot_be_one_is_refused_like_any_unknown_one(odd):
    with pytest.raises(ValueError, match="expected ids of the series 'a', 'b', got"):
        read_panel(long([5, 5])).only(["a", odd])


def test_new_rows_must_go_on_where_their_series_ends():
    frame = long([10, 10])
    panel = read_panel(frame).head(5)

    def extended(rows, freq="D", **changed):
        return panel.extended(read_panel(frame.iloc[rows].assign(**changed), freq=freq))

    assert extended([15]).lengths.tolist() == [5, 6]
    with pytest.raises(
        ValueError,
        match="series 'b': expected new rows after its end at 2020-01-05, got one at 2020-01-04",
    ):
        extended([5, 13, 14, 15])
    with pytest.raises(
        ValueError,
        match=r"series 'a': .*got none for 2020-01-06, 2020-01-07; add them, with NaN",
    ):
        extended([7])
    with pytest.raises(ValueError, match="got series 'z', which is not among them"):
        extended([5], unique_id="z")
    with pytest.raises(ValueError, match="frequency 'D', got 'h'"):
        extended([5], freq="h")
    noon = pd.to_datetime(["2020-01-06 12:00"])
    with pytest.raises(
        ValueError, match=r"series 'a': .*'D' from 2020-01-05 on, got 2020-01-06 12:00"
    ):
        extended([5], ds=noon)
    with pytest.raises(
        ValueError, match=r"times of the type datetime64\[.*\] as in fit, got .*UTC"
    ):
        extended([5], ds=pd.to_datetime(["2020-01-06"]).tz_localize("UTC"))


def test_new_rows_bring_the_columns_of_the_history_in_any_order():
    frame = long([6], x=np.arange, w=exogenous)
    panel = read_panel(frame, columns=["x", "w"])
    last = frame.tail(2)
    new = read_panel(last, columns=["w", "x"], freq="D")
    assert_same(panel, panel.head(2).extended(new))
    with pytest.raises(
        ValueError, match=r"expected the future and past columns of fit, \['x', 'w'\], got \['x'\]"
    ):
        panel.head(2).extended(read_panel(last.drop(columns="w"), columns=["x"], freq="D"))
    words = read_panel(last.assign(x="u"), columns=["x", "w"], freq="D")
    with pytest.raises(ValueError, match="column 'x': expected a number column as in fit"):
        panel.head(2).extended(words)


@settings(deadline=None, max_examples=60)
@given(
    freq=st.sampled_from(FREQS),
    starts=st.lists(st.dates(dt.date(1950, 1, 1), dt.date(2050, 1, 1)), min_size=1, max_size=4),
    zone=st.sampled_from([None, "UTC", "America/New_York"]),
    h=st.integers(1, 9),
)
def test_future_times_are_those_of_date_range(freq, starts, zone, h):
    grids = [pd.date_range(start, periods=3 + h, freq=freq, tz=zone) for start in starts]
    frame = pd.concat(
        [pd.DataFrame({"unique_id": i, "ds": g[:3], "y": 1.0}) for i, g in enumerate(grids)]
    )
    times = read_panel(frame, freq=freq).future_times(h)
    assert times.tolist() == [moment for grid in grids for moment in grid[3:]]


@pytest.mark.parametrize(
    "dtype", [pl.Date, pl.Datetime("ns"), pl.Datetime("ms", "Asia/Tokyo"), pl.Int32]
)
@pytest.mark.parametrize("words", [pl.String, pl.Categorical, pl.Enum(["u", "v"])])
def test_an_answer_in_polars_joins_the_users_frame(dtype, words):
    days = [dt.datetime(2020, 1, 1) + dt.timedelta(days=i) for i in range(6)]
    column = pl.Series(range(6) if dtype == pl.Int32 else days)
    zone = getattr(dtype, "time_zone", None)
    ds = column.dt.replace_time_zone(zone).cast(dtype) if zone else column.cast(dtype)
    ids = pl.Series(["u", "v"] * 3, dtype=words)
    # each series goes in steps of two days
    frame = pl.DataFrame({"unique_id": ids, "ds": ds, "y": [1.0] * 6})
    panel = read_panel(frame)
    answer = panel.head(1).frame(
        {"unique_id": panel.ids, "ds": panel.head(1).future_times(1), "mean": np.ones(2)}
    )
    assert isinstance(answer, pl.DataFrame)
    assert answer.columns == ["unique_id", "ds", "mean"]
    assert len(frame.join(answer, on=["unique_id", "ds"])) == 2


@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical])
def test_times_that_came_as_text_are_answered_as_times(dtype):
    days = pd.date_range("2024-01-01", periods=5)
    texts = pl.Series(days.strftime("%Y-%m-%d").tolist(), dtype=dtype)
    panel = read_panel(pl.DataFrame({"unique_id": "a", "ds": texts, "y": 1.0}))
    answer = panel.frame({"unique_id": ["a"] * 5, "ds": days})
    assert answer["ds"].dtype.is_temporal()
    assert answer["ds"].to_list() == days.to_pydatetime().tolist()
    assert answer["unique_id"].dtype == pl.String


def test_answers_come_in_the_library_the_data_came_in():
    table = pa.table({"ds": [1, 2, 3], "y": [1.0, 2.0, 3.0]})
    for data, kind in ((table, pa.Table), (long([5]), pd.DataFrame), ([1, 2], pd.DataFrame)):
        panel = read_panel(data)
        answer = panel.frame({"id": panel.ids, "ds": panel.future_times(1), "mean": [1.5]})
        assert isinstance(answer, kind)
        assert list(answer.columns if kind is pd.DataFrame else answer.column_names) == [
            "id",
            "ds",
            "mean",
        ]


def test_ids_of_a_type_that_only_arrow_knows_come_back_as_they_are():
    ids = pa.array([bytes(16)] * 3, pa.binary(16)).cast(pa.uuid())
    table = pa.table({"unique_id": ids, "ds": [1, 2, 3], "y": [1.0, 2.0, 3.0]})
    answer = read_panel(table).frame({"unique_id": np.array(ids.to_pylist()[:1], object)})
    assert answer.num_rows == 1


def test_marks_of_missing_values_travel_with_their_rows():
    frame = long([8, 6]).drop([2, 11])
    panel = read_panel(frame, marks_gaps=True)
    assert np.flatnonzero(panel.is_filled).tolist() == [2, 11]
    assert panel.tail(4).is_filled.tolist() == [False] * 5 + [True, False, False]
    assert panel.head(4).is_filled.tolist() == [False, False, True] + [False] * 3
    assert_same(panel.head(4).extended(panel.tail(4)), panel)
    assert panel.head(4).extended(panel.tail(4)).is_filled.tolist() == panel.is_filled.tolist()
    assert read_panel(long([8, 6]), marks_gaps=True).is_filled is None


def test_a_series_that_is_asked_for_twice_comes_once():
    panel = read_panel(long([5, 5]))
    names = panel.ids.tolist()
    assert panel.only([names[1], names[0], names[1]]).ids.tolist() == names[::-1]


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt8])
def test_times_that_outgrow_their_type_have_a_larger_one(dtype):
    limit = 127 if dtype == pl.Int8 else 255
    times = pl.Series(np.arange(limit - 39, limit + 1), dtype=dtype)
    panel = read_panel(pl.DataFrame({"unique_id": "a", "ds": times, "y": np.arange(40.0)}))
    frame = panel.frame({"ds": panel.future_times(3), "cutoff": panel.times[:3]})
    assert frame["ds"].to_list() == [limit + 1, limit + 2, limit + 3]
    assert frame["cutoff"].dtype == dtype  # as the times it is compared with


def test_dates_of_a_column_keep_their_zone_and_others_are_refused():
    moments = pd.Timestamp("2020-01-01", tz="Europe/Oslo") + pd.to_timedelta(range(44), unit="D")
    frame = long([44]).assign(c=moments)
    panel = read_panel(frame[:40], columns=["c"])
    assert panel.columns[0].is_zoned
    assert panel.extended(read_panel(frame[40:], columns=["c"], freq="D")).columns[0].is_zoned
    bare = frame[40:].assign(c=moments[40:].tz_localize(None))
    with pytest.raises(ValueError, match="'c': expected dates with a time zone as in fit"):
        panel.extended(read_panel(bare, columns=["c"], freq="D"))
