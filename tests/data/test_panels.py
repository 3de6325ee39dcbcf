"""Laws of `read_panel`: one set of series, one panel, whatever form, order or library."""

import os
import pickle
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from long_frames import FREQS, as_polars, assert_same, exogenous, long

from batchensemble.data.grids import ticks
from batchensemble.data.panels import Names, check_static, read_panel

NAN = float("nan")
needs_data = pytest.mark.skipif(
    not os.environ.get("BATCHENSEMBLE_DATA"), reason="BATCHENSEMBLE_DATA names no folder"
)


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
        ValueError, match=r"got also \['price', 'shop'\]; list them in future_columns=, past_col"
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
    with pytest.raises(ValueError, match=r"expected a long frame with .*'x'.*, got list"):
        read_panel([1, 2], columns=["x"])


def test_one_time_twice_in_a_series_is_refused():
    frame = pd.concat([long(), long().iloc[[6, 7]]])
    message = r"more than one for series 'b' at 2020-01-02 \(2 rows too many in all\)"
    for data in (frame, as_polars(frame)):
        with pytest.raises(ValueError, match=message):
            read_panel(data)


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


def ahead(times, h=3, **how):
    """The times that follow, in ticks."""
    frame = pd.DataFrame({"ds": times, "y": np.arange(float(len(times)))})
    panel = read_panel(frame, **how)
    future = panel.future_times(h)
    assert (np.diff(ticks(future)) > 0).all()
    assert future[0] > panel.times[-1]
    return future


@pytest.mark.parametrize(
    "times",
    [
        pd.date_range("2262-04-01", "2262-04-10", unit="ns"),
        pd.date_range("2262-04-01", "2262-04-10", unit="ns", tz="Asia/Tokyo"),
        pd.date_range("2261-04-01", "2262-04-01", freq="MS", unit="ns"),
        pd.date_range("2262-04-11", "2262-04-11 22:00", freq="h", unit="ns"),
        pd.date_range("9999-12-01", "9999-12-29", unit="us"),
        pd.date_range("9999-01-01", "9999-12-01", freq="MS", unit="us"),
        np.arange(2**63 - 10, 2**63 - 1),
        pd.Index([0, 2**62]),
    ],
)
def test_a_forecast_beyond_the_last_time_is_refused(times):
    with pytest.raises(ValueError, match="beyond the last time that their type can hold; ask for"):
        ahead(times)


def test_the_last_times_that_can_be_held_are_forecast():
    end = pd.date_range("2262-04-01", "2262-04-07", unit="ns")
    assert ahead(end)[-1] == pd.Timestamp("2262-04-10")
    assert ahead(np.arange(2**63 - 10, 2**63 - 4))[-1] == 2**63 - 2


@pytest.mark.parametrize(
    ("times", "words"),
    [
        (np.arange(2**63 - 2, 2**63 + 8, dtype=np.uint64), "within 63 bits, got 92233720368547758"),
        (np.array([2**70, 2**70 + 1], dtype=object), "within 63 bits"),
        (np.array([5 - 2**63, 0, 2**63 - 5]), "within 63 bits"),
        (
            np.arange(9).astype("M8[D]") + np.timedelta64(10**7, "D"),
            "between the years 1 and 9999, got 29349-01-26",
        ),
        (np.array([0, 10**17]).astype("M8[s]"), "between the years 1 and 9999: Out of bounds"),
    ],
)
def test_times_that_do_not_fit_are_refused(times, words):
    with pytest.raises(ValueError, match=words):
        ahead(times)


@pytest.mark.parametrize("freq", ["100ns", "1500ns"])
def test_a_frequency_finer_than_the_unit_of_the_times_is_refused(freq):
    times = pd.date_range("2024", periods=9, freq="us", unit="us")
    with pytest.raises(ValueError, match=f"whole steps of the times, .* in us, got '{freq}'"):
        ahead(times, freq=freq)
    assert len(ahead(times.as_unit("ns"), freq="100ns", fill="ffill")) == 3


@pytest.mark.parametrize("freq", ["99999999999D", "99999999999MS", pd.DateOffset(years=9000)])
def test_a_frequency_of_endless_steps_is_refused_in_our_words(freq):
    with pytest.raises(ValueError, match=r"too long a step|are beyond the last time"):
        ahead(pd.date_range("2024", periods=9), freq=freq)
    with pytest.raises(ValueError, match="too long a step"):
        ahead(np.arange(9), freq=2**80)


def test_a_frequency_far_too_fine_takes_no_memory():
    times = pd.date_range("2020", periods=300)
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"got none for 2020-01-01 00:00:00.001000, .* more; choo"):
        ahead(times, freq="ms")
    with pytest.raises(ValueError, match="these 300 rows would be filled up to 25,833,600,001"):
        ahead(times, freq="ms", fill="ffill")
    assert tracemalloc.get_traced_memory()[1] < 10**7
    tracemalloc.stop()


def test_times_with_and_without_a_zone_do_not_mix():
    zoned, plain = pd.Timestamp("2024-01-01", tz="UTC"), pd.Timestamp("2024-01-02")
    for times in ([zoned, plain], [plain, zoned], [zoned, plain.tz_localize("Asia/Tokyo")]):
        with pytest.raises(ValueError, match="one time zone, or all without, got a mixture"):
            ahead(pd.Series(times, dtype=object))


def test_a_column_that_is_no_name_is_refused_in_words():
    with pytest.raises(ValueError, match=r"expected the frame to have the columns .* without"):
        read_panel(long([5]), columns=[["x"]])


def test_times_to_be_like_others_are_moved_only_where_those_were():
    starts = pd.date_range("2020-01-01", periods=12, freq="MS")
    ends = long([12], "MS").assign(ds=starts + pd.offsets.MonthEnd(0))
    moved = read_panel(ends, freq="MS", like=starts, at_start=True)
    assert moved.times.tolist() == read_panel(ends, freq="MS").times.tolist() == starts.tolist()
    with pytest.raises(ValueError, match=r"frequency 'MS', got 2020-01-31;.*looks like 'ME'"):
        read_panel(ends, freq="MS", like=starts)


def test_names_of_columns_are_texts():
    frame = pd.DataFrame({"ds": [0, 1, 2], "y": [1.0, 2.0, 3.0], 0: 1.0})
    with pytest.raises(TypeError, match=r"columns as texts, got 0; rename them"):
        read_panel(frame, columns=[0])


@pytest.mark.parametrize("fill", ["ffill", "interpolate"])
def test_a_column_that_does_not_change_is_the_same_in_rows_that_are_added(fill):
    days = pd.date_range("2024-01-01", periods=40)
    sizes = np.random.default_rng(0).random(20).round(3)
    frame = pd.concat(
        pd.DataFrame({"unique_id": f"s{i}", "ds": days, "y": 1.0, "size": size})
        for i, size in enumerate(sizes)
    )
    frame = frame[~frame["ds"].isin(days[20:25])]
    panel = read_panel(frame, columns=["size"], fill=fill)
    assert np.array_equal(panel.columns[0].values, np.repeat(sizes, 40))
    check_static(panel, ["size"])


def test_static_numbers_may_differ_in_their_last_digit():
    days = pd.date_range("2024-01-01", periods=4)
    frame = pd.DataFrame({"unique_id": "a", "ds": days, "y": 1.0, "size": 4057.0})
    frame.loc[2, "size"] = 4057.0000000000005
    check_static(read_panel(frame, columns=["size"]), ["size"])
    frame.loc[2, "size"] = 4057.000001
    with pytest.raises(ValueError, match="the static column 'size' to be the same"):
        check_static(read_panel(frame, columns=["size"]), ["size"])


def test_rows_without_times_may_begin_with_missing_values_and_not_end_with_them():
    values = [1.0, NAN, 3.0, 4.0]
    for form in (np.array, list, pl.Series):
        with pytest.raises(
            ValueError, match=r"end of data without times, got 2 missing.*begin the"
        ):
            read_panel(form([*values, NAN, NAN]), marks_gaps=True)
        ahead = read_panel(form([NAN, *values]), marks_gaps=True, goes_on=True)
        assert ahead.lengths.tolist() == [5]
    dated = pd.Series([*values, NAN], index=pd.date_range("2024-01-01", periods=5))
    assert read_panel(dated, marks_gaps=True).lengths.tolist() == [4]
