"""Laws of `read_panel`: one set of series, one panel, whatever form, order or library."""

import datetime as dt
import os
import pickle
import time
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batchensemble.data.panels import Names, Panel, read_future, read_panel

NAN = float("nan")
FREQS = ["D", "h", "15min", "7h", "2D", "B", "W-SUN", "W-WED", "2W-SUN"]
FREQS += ["MS", "ME", "BME", "2MS", "QS-JAN", "QE-DEC", "YS-JAN", "YE-DEC"]
needs_data = pytest.mark.skipif(
    not os.environ.get("BATCHENSEMBLE_DATA"), reason="BATCHENSEMBLE_DATA names no folder"
)


def long(lengths=(5, 7), freq="D", start="2020-01-01", shift=0, seed=0, **extra):
    """A long frame of series "a", "b", ...; each starts `shift` steps after the one before."""
    rng = np.random.default_rng(seed)
    parts = []
    for i, n in enumerate(lengths):
        times = pd.date_range(start, periods=n + shift * i, freq=freq)[shift * i :]
        parts.append(pd.DataFrame({"unique_id": chr(97 + i), "ds": times, "y": rng.normal(size=n)}))
    frame = pd.concat(parts, ignore_index=True)
    return frame.assign(**{name: make(len(frame)) for name, make in extra.items()})


def as_polars(frame):
    dates = frame.dtypes.map(lambda dtype: dtype.kind == "M")
    return pl.DataFrame(
        {
            c: frame[c].to_numpy()
            if dates[c]
            else frame[c].astype(object).where(frame[c].notna(), None).tolist()
            for c in frame
        }
    )


def assert_same(a: Panel, b: Panel):
    assert a.ids.tolist() == b.ids.tolist()
    assert a.starts.tolist() == b.starts.tolist()
    assert a.times.tolist() == b.times.tolist()
    np.testing.assert_array_equal(a.values, b.values)
    assert a.freq == b.freq
    assert (a.columns is None) is (b.columns is None)
    for left, right in zip(a.columns or (), b.columns or (), strict=True):
        assert (left.name, left.kind) == (right.name, right.kind)
        assert str(left.values.tolist()) == str(right.values.tolist())


def exogenous(n):
    return [None if i % 4 == 3 else f"w{i}" for i in range(n)]


@settings(deadline=None, max_examples=30)
@given(
    lengths=st.lists(st.integers(3, 15), min_size=1, max_size=4),
    freq=st.sampled_from(FREQS),
    shift=st.integers(0, 3),
    order=st.randoms(use_true_random=False),
)
def test_the_order_of_rows_and_the_library_make_no_difference(lengths, freq, shift, order):
    frame = long(lengths, freq, shift=shift, x=np.arange, w=exogenous)
    rows = list(range(len(frame)))
    order.shuffle(rows)
    mixed = frame.iloc[rows]
    read = read_panel(frame, columns=["x", "w"], freq=freq)
    assert read.ids.tolist() == frame.unique_id.unique().tolist()
    assert read.lengths.tolist() == lengths
    np.testing.assert_array_equal(read.values, frame.y)
    by_id = mixed.sort_values("unique_id", kind="stable")
    assert_same(read, read_panel(by_id, columns=["x", "w"], freq=freq))
    pandas, polars = (
        read_panel(f, columns=["x", "w"], freq=freq) for f in (mixed, as_polars(mixed))
    )
    assert_same(pandas, polars)
    assert pandas.ids.tolist() == mixed.unique_id.unique().tolist()
    for i, name in enumerate(pandas.ids):
        expected = read.rows(read.ids.tolist().index(name))
        np.testing.assert_array_equal(pandas.values[pandas.rows(i)], read.values[expected])
        assert pandas.times[pandas.rows(i)].equals(read.times[expected])


def test_dates_with_a_time_zone_keep_it_and_days_follow_the_clock_on_the_wall():
    times = pd.date_range("2024-03-01", periods=300, freq="D", tz="Europe/Berlin")
    for frame in (
        pd.DataFrame({"ds": times, "y": 1.0}),
        pl.DataFrame({"ds": times.tz_convert(None).to_numpy(), "y": 1.0}).with_columns(
            pl.col("ds").dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Berlin")
        ),
    ):
        panel = read_panel(frame)
        assert panel.times.tolist() == times.tolist()
        assert str(panel.times.tz) == "Europe/Berlin"
        answer = panel.frame({"ds": panel.head(250).future_times(250)})
        assert answer["ds"].to_list() == times[50:].tolist()
    hours = pd.date_range("2024-03-30", periods=72, freq="h", tz="Europe/Berlin")
    panel = read_panel(pd.Series(1.0, index=hours))
    assert panel.head(48).future_times(48).tolist() == hours[24:].tolist()


def test_dates_of_python_polars_arrow_and_every_unit_are_the_same_dates():
    days = [dt.date(2020, 1, 30) + dt.timedelta(days=i) for i in range(5)]
    expected = read_panel(pd.DataFrame({"ds": pd.to_datetime(days), "y": range(5)}))
    frames = [pd.DataFrame({"ds": days, "y": range(5)}), pl.DataFrame({"ds": days, "y": range(5)})]
    frames.append(pa.table({"ds": days, "y": list(range(5))}))
    for unit in ("s", "ms", "us", "ns"):
        frames.append(pd.DataFrame({"ds": np.array(days, f"M8[{unit}]"), "y": range(5)}))
    for frame in frames:
        assert_same(expected, read_panel(frame))


@pytest.mark.parametrize(
    "data",
    [
        [1, 2.5, 3],
        (1, 2.5, 3),
        np.array([1, 2.5, 3], np.float32),
        np.array([1, Decimal("2.5"), np.int8(3)], object),
        np.ma.masked_array([7, 1, 2.5, 3], mask=[1, 0, 0, 0])[1:],
        pd.Series([1, 2.5, 3]),
        pd.Series([1, 2.5, 3], dtype="Float64"),
        pl.Series([1.0, 2.5, 3.0]),
        pl.DataFrame({"ds": [0, 1, 2], "y": [1.0, 2.5, 3.0]}),
        pd.DataFrame({"unique_id": "y", "ds": [2, 0, 1], "y": [3, 1, 2.5]}),
    ],
)
def test_an_array_a_list_and_a_series_without_dates_are_one_series_called_y(data):
    panel = read_panel(data)
    assert panel.ids.tolist() == ["y"]
    assert panel.times.tolist() == [0, 1, 2]
    assert panel.values.tolist() == [1, 2.5, 3]
    assert (panel.freq, panel.columns) == (1, None)
    assert panel.backend == ("polars" if type(data).__module__.startswith("polars") else "pandas")


def test_a_pandas_series_brings_its_name_and_its_dates():
    times = pd.date_range("2020", periods=4, freq="MS")
    panel = read_panel(pd.Series([3, 1, 2, 4], index=times[[2, 0, 1, 3]], name="sales"))
    assert panel.ids.tolist() == ["sales"]
    assert panel.times.equals(times)
    assert panel.values.tolist() == [1, 2, 3, 4]
    assert read_panel(pd.Series([1, 2, 3], index=range(0, 6, 2))).freq == 2
    assert read_panel(pd.Series([1.0, 2.0], index=[7, 4], name=5)).ids.tolist() == ["5"]


@pytest.mark.parametrize(
    ("period", "freq"),
    [("M", "MS"), ("2M", "2MS"), ("D", "D"), ("h", "h"), ("W-SUN", "W-MON"), ("Y-DEC", "YS-JAN")],
)
def test_periods_become_the_times_at_which_they_start(period, freq):
    index = pd.period_range("2020-01-06", periods=2, freq=period)
    frame = pd.DataFrame({"ds": index, "y": 1.0})
    for data in (pd.Series(1.0, index=index), frame):
        panel = read_panel(data)
        assert panel.freq == pd.tseries.frequencies.to_offset(freq)
        assert panel.times.tolist() == index.to_timestamp(how="start").tolist()


def test_ids_stay_as_they_were_written_in_order_of_first_appearance():
    for ids in ([7, 3, 7, 3], ["b", "a", "b", "a"], pd.Categorical(["b", "a", "b", "a"])):
        panel = read_panel(pd.DataFrame({"unique_id": ids, "ds": [1, 1, 2, 2], "y": 1.0}))
        assert panel.ids.tolist() == list(ids)[:2]


def test_flags_whole_numbers_and_gaps_before_the_first_value_are_read():
    assert read_panel([NAN, None, True, False, 3]).values.tolist() == [1, 0, 3]
    assert read_panel([NAN, None, True, False, 3]).times.tolist() == [2, 3, 4]
    frame = long(x=np.arange)
    frame.loc[[0, 5, 6], "y"] = NAN
    panel = read_panel(frame, columns=["x"])
    assert panel.columns[0].values.tolist() == [1, 2, 3, 4, 7, 8, 9, 10, 11]


def test_a_panel_is_handed_back_and_survives_a_pickle():
    panel = read_panel(as_polars(long(x=np.arange)), columns=["x"])
    assert read_panel(panel) is panel
    assert_same(panel, pickle.loads(pickle.dumps(panel)))


def test_reading_leaves_the_callers_data_alone():
    frame = long(x=np.arange).drop(2)
    frame.loc[3, "y"] = NAN
    before = frame.copy()
    read_panel(frame, columns=["x"], fill="interpolate")
    pd.testing.assert_frame_equal(frame, before)
    array = np.ones(4)
    read_panel(array).values[:] = 7
    assert (array == 1).all()


def test_missing_days_are_named_with_the_cure():
    frame = long([60]).drop([30, 45])
    for data in (frame, as_polars(frame)):
        with pytest.raises(
            ValueError, match=r"series 'a': .*'D', got none for 2020-01-31, 2020-02"
        ) as e:
            read_panel(data)
        assert "2020-01-31, 2020-02-15;" in str(e.value)
        assert 'choose a fill, "interpolate"' in str(e.value)


@needs_data
def test_the_two_missing_days_of_the_temperatures_are_named():
    source = Path(os.environ["BATCHENSEMBLE_DATA"]) / "daily-min-temperatures.csv"
    frame = pd.read_csv(source, parse_dates=["Date"])
    names = Names(time="Date", target="Temp")
    with pytest.raises(
        ValueError, match=r"series 'Temp'.* 'D', got none for 1984-12-31, 1988-12-31;"
    ):
        read_panel(frame, names=names)
    panel = read_panel(frame, names=names, fill="interpolate")
    assert panel.lengths.tolist() == [3652]
    day = panel.times.get_loc("1984-12-31")
    assert panel.values[day] == pytest.approx(panel.values[[day - 1, day + 1]].mean())


def test_at_most_five_missing_times_are_listed_and_other_series_counted():
    frame = long([20, 20, 20]).drop([*range(5, 12), 25])
    with pytest.raises(ValueError, match=r"2020-01-10 and 2 more \(and 1 other series have gaps\)"):
        read_panel(frame)


def test_interpolation_is_linear_in_steps_of_time_for_missing_rows_and_missing_values():
    times = pd.date_range("2020", periods=8, freq="MS")
    frame = pd.DataFrame({"ds": times, "y": [0, 1, 2, NAN, 4, 5, 6, NAN]}).drop([2, 5])
    panel = read_panel(frame, fill="interpolate", freq="MS")
    assert panel.values.tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert panel.times.equals(times[:7])
    assert read_panel(frame, fill="ffill", freq="MS").values.tolist() == [0, 1, 1, 1, 4, 4, 6]


def test_in_rows_that_are_added_numbers_are_filled_and_other_columns_missing():
    frame = long([6, 4], n=lambda n: np.arange(n) * 10.0, w=lambda n: ["u"] * n)
    frame = frame.assign(d=frame.ds, flag=True).drop([2, 8])
    frame.loc[[0, 9], "n"] = NAN
    panel = read_panel(frame, columns=["n", "w", "d", "flag"], fill="interpolate")
    number, word, date, flag = panel.columns
    np.testing.assert_array_equal(number.values, [NAN, *range(10, 80, 10), NAN, NAN])
    for column in (word, date, flag):
        assert np.flatnonzero(column.missing).tolist() == [2, 8]
    kept = (
        read_panel(frame[["unique_id", "ds", "y", "n"]], columns=["n"], fill="ffill")
        .columns[0]
        .values
    )
    np.testing.assert_array_equal(kept, [NAN, 10, 10, 30, 40, 50, 60, 70, 70, NAN])


@settings(deadline=None, max_examples=30)
@given(st.sets(st.integers(1, 28), max_size=12), st.sampled_from(["D", "MS", "B", "7h"]))
def test_interpolation_brings_back_a_straight_line(dropped, freq):
    times = pd.date_range("2020-01-01", periods=30, freq=freq)
    frame = pd.DataFrame({"ds": times, "y": np.arange(30.0)}).drop(list(dropped))
    panel = read_panel(frame, fill="interpolate", freq=freq)
    np.testing.assert_allclose(panel.values, np.arange(30), atol=1e-12)
    assert panel.times.tolist() == times.tolist()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            [1, NAN, 3, NAN, 5],
            r'series \'a\': .* got 2 missing, the first at 2020-01-02; choose a fill, "in',
        ),
        ([1, 2, 3, NAN, NAN], "got 2 missing, the first at 2020-01-04; .* end .* drop these rows"),
        ([1, np.inf, 3, NAN, 5], "series 'a' at 2020-01-02: expected a finite number .*, got inf"),
        ([1, -1e200, 3, 4, 5], "series 'a' at 2020-01-02: .* at most 1e\\+100, got -1e\\+200"),
        ([NAN] * 5, "series 'a': expected at least one value, got only missing values in its 5"),
    ],
)
def test_values_that_are_none_are_refused_by_series_and_time(values, message):
    with pytest.raises(ValueError, match=message):
        read_panel(long([5]).assign(y=values))


def test_filling_never_hides_an_infinite_value():
    with pytest.raises(ValueError, match=r"finite number .*, got -inf"):
        read_panel([1, 2, -np.inf, 4], fill="interpolate")


def test_missing_values_of_other_series_are_counted():
    frame = long([5, 5, 5])
    frame.loc[[1, 6], "y"] = NAN
    with pytest.raises(ValueError, match="also missing: values of 1 other series"):
        read_panel(frame)


def test_an_unknown_way_to_fill_is_answered_with_the_known_ones():
    with pytest.raises(ValueError, match="one of 'interpolate', 'ffill', got 'fill'"):
        read_panel([1, 2], fill="fill")


def test_a_daily_and_a_monthly_series_are_refused_together_with_both_names():
    months = long([12], "MS").assign(unique_id="months")
    for frame, fill in [
        (pd.concat([long([100]), months]), None),
        (pd.concat([months, long([100])]), "interpolate"),
    ]:
        message = (
            r"series 'months': .*'D', got .*mixed \(it looks like 'MS', and series 'a' like 'D'"
        )
        with pytest.raises(ValueError, match=message):
            read_panel(frame, fill=fill)
    ends = pd.concat([long([12], "ME").assign(unique_id="ends"), months])
    with pytest.raises(ValueError, match=r"series '.*' like 'M[ES]'\); resample to one frequency"):
        read_panel(ends)


def test_missing_and_unlisted_columns_are_named():
    frame = long(price=np.arange, shop=np.arange)
    with pytest.raises(
        ValueError, match=r"got also \['price', 'shop'\]; list them in future_columns= or past_col"
    ):
        read_panel(frame)
    with pytest.raises(ValueError, match=r"got also \['shop'\].* name the one that holds the ids"):
        read_panel(frame.drop(columns=["price", "unique_id"]))
    with pytest.raises(ValueError, match=r"got also \['shop'\]"):
        read_panel(as_polars(frame), columns=["price"])
    with pytest.raises(ValueError, match=r"got \['unique_id', 'ds', 'y'\] without \['holiday'\]"):
        read_panel(long(), columns=["holiday"])
    for gone in ("ds", "y"):
        with pytest.raises(ValueError, match=rf"got \['unique_id', .*\] without \['{gone}'\]"):
            read_panel(long().drop(columns=gone))
    with pytest.raises(ValueError, match=r"in the index: call \.reset_index\(names='ds'\)"):
        read_panel(long([5]).set_index("ds"))
    for hidden in (["unique_id"], ["unique_id", "ds"]):
        with pytest.raises(ValueError, match=r"they are in the index: call \.reset_index\(\)"):
            read_panel(long([5]).set_index(hidden))
    with pytest.raises(ValueError, match="expected a long frame, to find the columns"):
        read_panel([1, 2], columns=["x"])


def test_one_time_twice_in_a_series_is_refused():
    frame = pd.concat([long(), long().iloc[[6, 7]]])
    message = r"more than one for series 'b' at 2020-01-02 \(2 rows too many in all\)"
    for data in (frame, as_polars(frame)):
        with pytest.raises(ValueError, match=message):
            read_panel(data)


def test_a_row_without_id_or_time_is_refused():
    for name, word in (("unique_id", "an id"), ("ds", "a time")):
        frame = long()
        frame.loc[3, name] = None
        nulls = as_polars(long()).with_columns(
            pl.when(pl.int_range(pl.len()) != 3).then(pl.col(name)).alias(name)
        )
        for data in (frame, nulls):
            with pytest.raises(
                ValueError, match=f"expected {word} in every row, got none in row 3 "
            ):
                read_panel(data)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (["2020-01-01", "2020-01-02"], r"got '2020-01-01' \(str\); convert .*pd\.to_datetime"),
        ([0.0, 1.0], r"expected dates or whole numbers as times, got 0.0 \(float\)"),
        ([True, False], r"expected dates or whole numbers as times, got True \(bool\)"),
    ],
)
def test_times_that_are_no_dates_are_refused_with_the_cure(times, message):
    for make in (pd.DataFrame, pl.DataFrame):
        with pytest.raises(ValueError, match=message):
            read_panel(make({"ds": times, "y": [1, 2]}))
    with pytest.raises(ValueError, match=message):
        read_panel(pd.Series([1, 2], index=times))


@pytest.mark.parametrize(
    ("values", "got"),
    [
        (["1", "2"], r"'1' \(str\)"),
        (np.array([1, "x"], object), r"'x' \(str\)"),
        (np.array([1j, 2]), r"1j \(complex"),
        (pd.to_timedelta([1, 2], unit="D"), "86400"),
        (pd.to_datetime(["2020", "2021"]), "2020-01-01"),
        (pd.Categorical(["u", "v"]), "'u'"),
    ],
)
def test_a_target_that_is_no_number_is_refused_by_series_and_value(values, got):
    frame = pd.DataFrame({"unique_id": [7, 8], "ds": [1, 1], "y": values})
    with pytest.raises(
        ValueError, match=rf"series [78] at 1: expected a number in 'y', got .*{got}"
    ):
        read_panel(frame)


def test_words_in_polars_and_in_lists_are_no_target():
    for data in (pl.DataFrame({"ds": [1, 2], "y": ["u", "v"]}), ["u", "v"], pl.Series(["u", "v"])):
        with pytest.raises(
            ValueError, match=r"series 'y' at [01]: expected a number in 'y', got 'u'"
        ):
            read_panel(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.ones((4, 1)), r"shape \(4, 1\); call \.ravel\(\)"),
        (np.ones((4, 2)), r"shape \(4, 2\); several series need a long frame"),
        ([[1, 2], [3, 4]], r"shape \(2, 2\); several series need a long frame"),
        ([], "the data are empty"),
        (np.array([]), "the data are empty"),
        (pd.Series([], dtype=float), "the data are empty"),
        (long().head(0), "the data are empty"),
        (pl.DataFrame({"ds": [], "y": []}), "the data are empty"),
        (long().set_index(["unique_id", "ds"])["y"], r"got several levels; .*reset_index\(\)"),
        (pd.DataFrame([[1, 2]], columns=["y", "y"]), "must be unique"),
    ],
)
def test_what_holds_no_series_is_refused(data, message):
    with pytest.raises(ValueError, match=message):
        read_panel(data)


def test_things_that_are_no_data_are_refused():
    for thing in (None, 3, "abc", {"y": [1]}, iter([1])):
        with pytest.raises(TypeError, match=f"expected a long frame, .*got {type(thing).__name__}"):
            read_panel(thing)
    with pytest.raises(TypeError, match=r"got a lazy one: call \.collect\(\)"):
        read_panel(as_polars(long()).lazy())


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
        match=r"series 'a': .*got none for 2020-01-06, 2020-01-07; add them .*not filled",
    ):
        extended([7])
    with pytest.raises(ValueError, match="got series 'z': fit has not seen it"):
        extended([5], unique_id="z")
    with pytest.raises(ValueError, match="frequency 'D', got 'h'"):
        extended([5], freq="h")
    noon = pd.to_datetime(["2020-01-06 12:00"])
    with pytest.raises(
        ValueError, match=r"series 'a': .*'D' from 2020-01-05 on, got 2020-01-06 12:00"
    ):
        extended([5], ds=noon)
    with pytest.raises(
        ValueError, match=r"times of the type datetime64\[.*\] as at fit, got .*UTC"
    ):
        extended([5], ds=pd.to_datetime(["2020-01-06"]).tz_localize("UTC"))


def test_new_rows_bring_the_columns_of_the_history_in_any_order():
    frame = long([6], x=np.arange, w=exogenous)
    panel = read_panel(frame, columns=["x", "w"])
    last = frame.tail(2)
    new = read_panel(last, columns=["w", "x"], freq="D")
    assert_same(panel, panel.head(2).extended(new))
    with pytest.raises(
        ValueError, match=r"expected the exogenous columns \['x', 'w'\] as at fit, got \['x'\]"
    ):
        panel.head(2).extended(read_panel(last.drop(columns="w"), columns=["x"], freq="D"))
    words = read_panel(last.assign(x="u"), columns=["x", "w"], freq="D")
    with pytest.raises(ValueError, match="column 'x': expected a number column as at fit"):
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
    with pytest.raises(ValueError, match=r"times of the type datetime64.* as at fit, got int64"):
        read_future(panel, frame.assign(ds=range(16)), 3, ["x"])
    with pytest.raises(ValueError, match="rows for the next 3 times of each series, got none"):
        read_future(panel, frame.head(0), 3, ["x"])
    with pytest.raises(TypeError, match=r"expected a frame with the next 3 times .*got NoneType"):
        read_future(panel, None, 3, ["x"])


def test_a_thousand_series_are_read_in_a_moment():
    n, m = 1000, 500
    for freq in ("h", "MS"):
        times = np.tile(pd.date_range("1990-01-01", periods=m, freq=freq), n)
        ids = np.repeat([f"s{i}" for i in range(n)], m)
        frame = pd.DataFrame({"unique_id": ids, "ds": times, "y": 1.0})
        start = time.perf_counter()
        panel = read_panel(frame)
        panel.future_times(24)
        assert time.perf_counter() - start < 5, "about half a second alone on a core"
        assert panel.lengths.tolist() == [m] * n
