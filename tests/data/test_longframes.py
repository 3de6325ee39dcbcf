"""Laws of long frames: ids, times and values are read alike from every library."""

import datetime as dt
from decimal import Decimal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from long_frames import as_polars, assert_same, long

from batchensemble.data import longframes
from batchensemble.data.panels import read_panel

NAN = float("nan")


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


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%d %b %Y"])
def test_times_may_be_texts(form):
    days = pd.date_range("2020-01-01", periods=40)
    expected = read_panel(pd.DataFrame({"ds": days, "y": range(40)}))
    texts = days.strftime(form).tolist()
    for data in (
        pd.DataFrame({"ds": texts, "y": range(40)}),
        pl.DataFrame({"ds": texts, "y": range(40)}),
        pd.Series(range(40), index=texts),
    ):
        panel = read_panel(data)
        assert panel.times.tolist() == expected.times.tolist()
        assert panel.freq == expected.freq


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (["soon", "later"], r"got 'soon' \(str\); convert .*pd\.to_datetime"),
        (["01/02/2020", "02/02/2020"], r"got '01/02/2020' \(str\); convert .*pd\.to_datetime"),
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


@pytest.mark.parametrize("odd", [[1], ("a", [1]), {"a": 1}])
def test_ids_that_cannot_be_compared_are_refused_by_name(odd):
    frame = pd.DataFrame({"unique_id": [odd] * 9, "ds": range(9), "y": 1.0})
    with pytest.raises(TypeError, match="as ids of series, got other values in the column 'uniq"):
        read_panel(frame)


@pytest.mark.parametrize(
    "ids",
    [
        pd.to_timedelta([1, 1, 2], "D"),
        pd.to_datetime(["2021-01-01"] * 3).tz_localize("Europe/Oslo"),
        pl.Series([1, 1, 2**100], dtype=pl.Int128),
    ],
)
def test_ids_that_would_come_back_as_others_are_refused(ids):
    make = pl.DataFrame if isinstance(ids, pl.Series) else pd.DataFrame
    with pytest.raises(TypeError, match="column 'unique_id'; convert them to texts"):
        read_panel(make({"unique_id": ids, "ds": [0, 1, 0], "y": [1.0, 2.0, 3.0]}))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_ids_that_pandas_would_read_in_part_are_refused(make):
    frame = {"unique_id": ["a\0b", "a\0c"], "ds": [0, 1], "y": [1.0, 2.0]}
    with pytest.raises(ValueError, match=r"without the character NUL, got 'a.x00"):
        read_panel(make(frame))


def test_an_array_of_records_is_refused():
    with pytest.raises(TypeError, match=r"array of records; use pd\.DataFrame\(data\)"):
        read_panel(pd.DataFrame({"ds": [0, 1], "y": [1.0, 2.0]}).to_records(index=False))


def test_times_that_nobody_can_read_are_refused_in_words():
    zoned = pa.array([0, 86_400], pa.timestamp("s", tz="Mars/Base"))
    with pytest.raises(ValueError, match="expected times of a known time zone, got 'Mars/Base'"):
        read_panel(pa.table({"ds": zoned, "y": [1.0, 2.0]}))
    far = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([[2**30, 0]], pa.date32())))
    with pytest.raises(ValueError, match="times: expected one value for each row, got a Series"):
        read_panel(pd.DataFrame({"ds": far, "y": [1.0, 2.0]}))
    with pytest.raises(ValueError, match="values of 'y': expected one value for each row"):
        read_panel(far)


def test_integers_and_gaps_that_polars_alone_knows_are_refused_in_words():
    far = pl.DataFrame({"ds": pl.Series([10**30, 10**30 + 1], dtype=pl.Int128), "y": [1.0, 2.0]})
    with pytest.raises(ValueError, match="times: expected one value for each row, got a Series"):
        read_panel(far)
    gap = pl.DataFrame({"ds": pl.Series([pd.NA, 1, 2], dtype=pl.Object), "y": [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match="expected a time in every row, got none in row 0"):
        read_panel(gap)


@pytest.mark.parametrize(
    ("zone", "moment"),
    [("Etc/GMT-2", "9999-12-31T23:00"), ("America/New_York", "0001-01-01T02:00")],
)
def test_times_that_a_clock_of_their_zone_cannot_show_are_refused_in_words(zone, moment):
    times = pd.DatetimeIndex(np.array([moment], "M8[us]")).tz_localize("UTC").tz_convert(zone)
    with pytest.raises(ValueError, match="between the years 1 and 9999, got one before or after"):
        read_panel(pd.DataFrame({"unique_id": "a", "ds": times, "y": [1.0]}))


@pytest.mark.parametrize(
    ("zone", "freq"), [("Europe/Berlin", "D"), ("Europe/Berlin", "h"), ("UTC", "h")]
)
def test_texts_of_times_with_a_zone_are_times_in_a_zone_with_that_clock(zone, freq):
    times = pd.date_range("2024-02-01", "2024-04-20", freq=freq, tz=zone)
    y = np.arange(len(times), dtype=float)
    typed = read_panel(pd.DataFrame({"ds": times, "y": y}))
    ends = ["", "Z"] if zone == "UTC" else [""]
    for end in ends:
        words = [f"{time:%Y-%m-%dT%H:%M:%S}Z" if end else time.isoformat() for time in times]
        for frame in (pd.DataFrame, pl.DataFrame):
            found = read_panel(frame({"ds": words, "y": y}))
            assert found.freq == typed.freq
            pd.testing.assert_index_equal(
                found.times.tz_convert("UTC"), typed.times.tz_convert("UTC"), check_names=False
            )
            assert (found.times.tz_localize(None) == typed.times.tz_localize(None)).all()


def test_texts_of_which_only_some_have_a_zone_are_refused():
    words = ["2024-02-01T00:00:00Z", "2024-02-02T00:00:00"]
    with pytest.raises(ValueError, match="expected dates or whole numbers as times"):
        read_panel(pd.DataFrame({"ds": words, "y": [1.0, 2.0]}))


@pytest.mark.parametrize(("odd", "read"), [(10**400, np.inf), (Decimal("sNaN"), np.nan)])
def test_values_that_python_has_and_floats_lack_are_infinite_or_missing(odd, read):
    series = nw.from_native(pd.Series([1, odd], dtype=object), series_only=True)
    found = longframes.read_target(series, np.array(["a", "a"]), np.arange(2))
    np.testing.assert_array_equal(found, [1, read])
