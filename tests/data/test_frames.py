"""Laws of `read_columns`: one table, one reading, whatever library or dtype it came in."""

import datetime as dt
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from batchensemble.data.columns import Column
from batchensemble.data.frames import read_columns

NAN = float("nan")
TOKYO = dt.timezone(dt.timedelta(hours=9))


def column(values, **kwargs):
    """The one column of a numpy array of shape (n, 1)."""
    array = np.empty(len(values), dtype=kwargs.pop("dtype", object))
    array[:] = values
    return read_columns(array[:, None])[0]


def same(a: Column, b: Column) -> bool:
    if a.kind == "category":
        return a.kind == b.kind and a.values.tolist() == b.values.tolist()
    return a.kind == b.kind and np.array_equal(a.values, b.values, equal_nan=True)


def test_pandas_polars_and_an_object_array_of_one_table_give_the_same_columns():
    moments = [dt.datetime(2020, 2, 29, 13, 5), None, dt.datetime(1969, 1, 1)]
    table = {
        "int": [1, None, 3],
        "float": [0.5, None, -2.0],
        "flag": [True, None, False],
        "word": ["a", None, "b"],
        "when": moments,
        "day": [dt.date(2020, 1, 2), None, dt.date(2021, 1, 2)],
        "lasts": [dt.timedelta(hours=1), None, dt.timedelta(seconds=-1)],
        "money": [Decimal("1.25"), None, Decimal("3")],
        "clock": [dt.time(1, 2, 3), None, dt.time(0)],
        "nothing": [None, None, None],
    }
    objects = read_columns(np.array(list(table.values()), dtype=object).T)
    polars = read_columns(pl.DataFrame(table))
    pandas = read_columns(pd.DataFrame(table))
    nullable = read_columns(pd.DataFrame(table).convert_dtypes())
    arrow = read_columns(pl.DataFrame(table).to_arrow())
    rows = read_columns([list(row) for row in zip(*table.values(), strict=True)])
    assert (
        objects.kinds == ["number"] * 2 + ["boolean", "category", "date", "date"] + ["number"] * 4
    )
    for other in (polars, pandas, nullable, arrow, rows):
        for a, b in zip(objects, other, strict=True):
            assert same(a, b), (a, b)
    assert polars.names == pandas.names == list(table)
    assert objects.names == [f"x{j}" for j in range(10)]
    assert polars[6].values.tolist()[::2] == [3600.0, -1.0]
    assert polars[8].values.tolist()[::2] == [3723.0, 0.0]


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([1, 2.5, None, NAN], "number", [1, 2.5, NAN, NAN]),
        ([Fraction(1, 2), Decimal("2"), np.float32(3), pd.NA], "number", [0.5, 2, 3, NAN]),
        ([Decimal("sNaN"), Decimal("NaN"), np.int8(1)], "number", [NAN, NAN, 1]),
        ([True, None, np.bool_(False), NAN], "boolean", [1, NAN, 0, NAN]),
        ([None, NAN], "number", [NAN, NAN]),
        ([np.timedelta64(2, "m"), np.timedelta64("NaT", "m")], "number", [120, NAN]),
        ([pd.Timedelta(days=1), pd.NaT, dt.timedelta(seconds=1)], "number", [86400, NAN, 1]),
    ],
)
def test_objects_that_are_all_numbers_or_gaps_are_numbers(values, kind, expected):
    read = column(values)
    assert read.kind == kind
    np.testing.assert_array_equal(read.values, expected)
    assert read.values.dtype == np.float64


def test_words_and_mixtures_of_words_and_numbers_are_categories_with_one_sign_for_missing():
    read = column(["a", np.str_("b"), 1, 1.0, "1", 1.5, True, None, NAN, pd.NA, pd.NaT, b"c"])
    assert read.kind == "category"
    assert read.values.tolist() == [*"ab111", "1.5", "True", None, None, None, None, "c"]


def test_a_truth_among_numbers_is_the_same_word_whatever_rows_are_beside_it():
    values = [True, 7, "unknown", np.False_, None]
    whole = column(values).as_kind("category").values.tolist()
    for rows in ([0], [0, 1], [0, 1, 4], [3, 1], [3, 4], [1]):
        part = column([values[i] for i in rows]).as_kind("category")
        assert part.values.tolist() == [whole[i] for i in rows]


def test_texts_of_polars_take_their_own_room_and_keep_what_ends_them():
    texts = ["a", "a\0", "q" * 20_000] * 100
    read = read_columns(pl.DataFrame({"c": texts}))[0]
    assert read.values.tolist() == texts
    assert read.values.nbytes == 8 * len(texts)


@pytest.mark.parametrize("n", [1, 32, 33])
def test_sparse_columns_of_several_kinds_are_read_in_batches_of_any_size(n):
    dense = pd.DataFrame({"a": np.arange(40) % 2 == 0, "b": np.arange(40.0), "c": np.ones(40, int)})
    mixed = dense.assign(
        a=pd.arrays.SparseArray(dense.a, fill_value=False),
        c=pd.arrays.SparseArray(dense.c, fill_value=1),
    )
    pairs = zip(read_columns(mixed[:n]), read_columns(dense[:n]), strict=True)
    assert all(same(a, b) for a, b in pairs)


def test_strings_stay_categories_even_if_they_read_as_numbers():
    assert column(["1", "2"]).kind == "category"
    for dtype in ("U3", "S3", np.dtypes.StringDType()):
        assert column(["1", "2"], dtype=dtype).values.tolist() == ["1", "2"]


def test_a_gap_does_not_rename_the_categories_of_a_pandas_categorical_of_integers():
    whole = read_columns(pd.DataFrame({"c": pd.Categorical([1, 2])}))[0]
    gap = read_columns(pd.DataFrame({"c": pd.Categorical([1, None, 2])}))[0]
    assert whole.kind == gap.kind == "category"
    assert whole.values.tolist() == ["1", "2"]
    assert gap.values.tolist() == ["1", None, "2"]


def test_categoricals_enums_and_bins_are_categories():
    words = ["lo", None, "hi"]
    for dtype in (pl.Categorical, pl.Enum(["hi", "lo"]), pl.String):
        read = read_columns(pl.DataFrame({"c": pl.Series(words, dtype=dtype)}))[0]
        assert (read.kind, read.values.tolist()) == ("category", words)
    bins = read_columns(pd.DataFrame({"c": pd.cut([1.0, 2.0, 3.0], [0, 1.5, 3])}))[0]
    assert bins.values.tolist() == ["(0.0, 1.5]", "(1.5, 3.0]", "(1.5, 3.0]"]


def test_dates_with_a_time_zone_are_read_in_utc():
    noon = dt.datetime(2024, 5, 1, 12, tzinfo=TOKYO)
    expected = np.datetime64("2024-05-01T03:00:00", "us")
    aware = pd.DataFrame(
        {"t": pd.to_datetime(["2024-05-01 12:00", None]).tz_localize("Asia/Tokyo")}
    )
    polars = pl.DataFrame({"t": pl.Series([dt.datetime(2024, 5, 1, 12), None])}).with_columns(
        pl.col("t").dt.replace_time_zone("Asia/Tokyo")
    )
    objects = np.array([[noon], [None]], dtype=object)
    for table in (aware, polars, objects):
        (read,) = read_columns(table)
        assert read.kind == "date"
        assert read.values[0] == expected
        assert np.isnat(read.values[1])


def test_all_units_of_datetime64_are_the_same_date():
    for unit in ("D", "h", "s", "ms", "us", "ns"):
        dates = np.array([["2024-05-01"], ["NaT"]], dtype=f"datetime64[{unit}]")
        (read,) = read_columns(dates)
        assert read.values.dtype == np.dtype("datetime64[us]")
        assert read.values[0] == np.datetime64("2024-05-01")
        assert same(read, column([dates[0, 0], None]))


@pytest.mark.parametrize(
    "values",
    [
        np.array([np.datetime64(10**12, "D")], dtype="datetime64[D]"),
        [dt.datetime.min.replace(tzinfo=TOKYO)],
        [np.datetime64(10**17, "s")],
    ],
)
def test_a_date_that_no_calendar_has_is_refused(values):
    table = np.asarray(values, dtype=None if isinstance(values, np.ndarray) else object)[:, None]
    with pytest.raises(ValueError, match=r"column 'x0': .* years 1 and 9999 in UTC, got \d"):
        read_columns(table)


@pytest.mark.parametrize("value", [np.inf, -np.inf, 10**400, np.longdouble("1e4000")])
def test_an_infinite_value_is_refused_with_its_column_and_row(value):
    with pytest.raises(ValueError, match=r"infinity.*column 'x0', row 1 "):
        column([1.0, value])
    if isinstance(value, float):
        frame = pd.DataFrame({"a": [1.0, 2.0], "speed": [NAN, value]})
        for table in (frame, pl.from_pandas(frame)):
            with pytest.raises(ValueError, match=r"infinity.*column 'speed', row 1 "):
                read_columns(table)


def test_periods_are_the_dates_on_which_they_begin():
    months = pd.PeriodIndex(["2024-02", None, "2023-12"], freq="M")
    read = column(months.astype(object))
    assert read.kind == "date"
    dates = np.array(["2024-02-01", "NaT", "2023-12-01"], "M8[us]")
    np.testing.assert_array_equal(read.values, dates)
    np.testing.assert_array_equal(read_columns(pd.DataFrame({"m": months}))[0].values, dates)
    for bad in ([pd.Period("2024-02"), pd.Period("2024")], [pd.Period(ordinal=10**9, freq="M")]):
        with pytest.raises(ValueError, match="'x0': expected periods of one length in the years"):
            column(bad)


@pytest.mark.parametrize("bad", [{"foo": "bar"}, [1, 2], (1,), object(), {1}])
def test_an_object_that_is_no_value_is_refused_with_its_column_and_row(bad):
    with pytest.raises(
        TypeError, match=r"column 'x0', row 1 .*argument must be .* string.* number"
    ):
        column([1.0, bad])


def test_mixtures_that_have_no_kind_are_refused():
    with pytest.raises(TypeError, match=r"column 'x0', row 1 .*date among str"):
        column(["a", dt.date(2020, 1, 1)])
    with pytest.raises(TypeError, match=r"column 'x0', row 0 .*date among float"):
        column([dt.date(2020, 1, 1), 3.5])
    with pytest.raises(TypeError, match="have no fixed length"):
        column([np.timedelta64(1, "M")])
    with pytest.raises(TypeError, match=r"column 'x0'.*have no fixed length"):
        read_columns(np.ones((2, 1), dtype="timedelta64[Y]"))


def test_nested_frame_columns_are_refused_by_name():
    nested = {
        "st": pl.Series([{"a": 1}] * 2),
        "li": pl.Series([[1], [2]]),
        "ar": pl.Series([[1, 2]] * 2, dtype=pl.Array(pl.Int64, 2)),
    }
    for name, series in nested.items():
        with pytest.raises(TypeError, match=f"column '{name}', row 0 .*string or a number"):
            read_columns(pl.DataFrame({name: series}))


def test_complex_numbers_are_refused():
    for table in (
        np.ones((2, 1), complex),
        np.array([[1j], [2]], object),
        pd.DataFrame({"x": [1j]}),
    ):
        with pytest.raises(ValueError, match=r"Complex data not supported.*column 'x"):
            read_columns(table)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((0, 3), r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required\."),
        ((3, 0), r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required\."),
        ((3,), "got 1D .*Reshape your data"),
        ((), "expected a table .*, got a ndarray; read a file first"),
        ((2, 2, 2), "got 3D .*Reshape your data"),
    ],
)
def test_what_is_no_table_is_refused(shape, message):
    with pytest.raises(ValueError, match=message):
        read_columns(np.ones(shape))


def test_empty_frames_are_refused_like_empty_arrays():
    for table in (pd.DataFrame({"a": []}), pl.DataFrame({"a": []})):
        with pytest.raises(ValueError, match=r"0 sample\(s\) \(shape=\(0, 1\)\)"):
            read_columns(table)
    with pytest.raises(ValueError, match=r"0 feature\(s\) \(shape=\(3, 0\)\)"):
        read_columns(pd.DataFrame(index=range(3)))


def test_duplicate_names_are_refused_and_listed():
    frame = pd.DataFrame([[1, 2, 3, 4]], columns=["a", "b", "a", "c"])
    with pytest.raises(ValueError, match=r"must be unique, got more than once: \['a'\]"):
        read_columns(frame)
    with pytest.raises(ValueError, match=r"got more than once: \['1'\]"):
        read_columns(pd.DataFrame([[1, 2]], columns=[1, "1"]))
    with pytest.raises(ValueError, match=r"got more than once: \['a'\]"):
        read_columns(pa.table([[1], [2]], names=["a", "a"]))


def test_lazy_frames_and_series_are_refused_with_the_cure():
    frame = pl.DataFrame({"a": [1, 2]})
    with pytest.raises(TypeError, match=r"got a lazy one: call \.collect\(\)"):
        read_columns(frame.lazy())
    for series in (frame["a"], pd.Series([1, 2])):
        with pytest.raises(ValueError, match=r"got a series.*X\.to_frame\(\)"):
            read_columns(series)


def test_a_record_batch_is_refused_since_numpy_would_lose_its_names():
    batch = pa.RecordBatch.from_pydict({"a": [1, 2], "b": ["x", "y"]})
    with pytest.raises(TypeError, match=r"use pyarrow\.Table\.from_batches\(\[X\]\)"):
        read_columns(batch)
    assert read_columns(pa.Table.from_batches([batch])).names == ["a", "b"]


def test_a_sparse_matrix_is_read_as_the_dense_one():
    matrix = np.array([[0, 1.5, 0], [2, np.nan, 0]])
    expected = read_columns(matrix)
    for kind in (sparse.csr_array, sparse.csc_matrix, sparse.coo_matrix, sparse.dok_array):
        columns = read_columns(kind(matrix))
        assert columns.names == expected.names
        for ours, theirs in zip(columns, expected, strict=True):
            np.testing.assert_array_equal(ours.values, theirs.values)


def test_other_things_that_are_no_table_are_refused():
    for thing in ("abc", None, 3, object(), iter([[1]])):
        with pytest.raises(ValueError, match=f"got a {type(thing).__name__}; read a file first"):
            read_columns(thing)
    with pytest.raises(ValueError, match="rows of equal length"):
        read_columns([[1, 2], [3]])
    with pytest.raises(TypeError, match=r"string or a number, .* not data of type"):
        read_columns(np.ones((2, 2), dtype=[("a", float)]))


def test_a_row_that_is_no_table_is_answered_with_what_to_write():
    row = pd.DataFrame({"a": [1.5], "b": ["x"]}).iloc[0]
    for thing, cure in (
        (row, r"for one row, df.iloc\[\[0\]\] or pd.DataFrame\(\[row\]\)"),
        ({"a": 1.5, "b": "x"}, r"got a dict; for one row: pd.DataFrame\(\[row\]\)"),
        ({"a": [1.5, 2], "b": [1, 2]}, r"got a dict; use pd.DataFrame\(X\)"),
        ([{"a": 1.5, "b": "x"}], r"got a list of dicts; use pd.DataFrame\(X\)"),
    ):
        with pytest.raises(ValueError, match=cure):
            read_columns(thing)
    assert read_columns(pd.DataFrame([row])).kinds == ["number", "category"]  # the advice works


def test_a_list_of_rows_keeps_words_and_numbers_apart():
    assert read_columns([[1, "a", True], [2, "b", False]]).kinds == [
        "number",
        "category",
        "boolean",
    ]


def test_masked_values_are_missing():
    masked = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 1], [0, 0]])
    first, second = read_columns(masked)
    np.testing.assert_array_equal(first.values, [1, 3])
    np.testing.assert_array_equal(second.values, [NAN, 4])
    dates = np.ma.masked_array(np.array([["2020"], ["2021"]], "datetime64[ns]"), [[0], [1]])
    assert read_columns(dates)[0].missing.tolist() == [False, True]


def test_integers_of_128_bits_are_numbers():
    frame = pl.DataFrame({"a": pl.Series([2**100, None], dtype=pl.Int128)})
    np.testing.assert_array_equal(read_columns(frame)[0].values, [2.0**100, NAN])


def test_reading_leaves_the_callers_data_alone_also_when_it_is_read_only():
    array = np.array([[1, "a", None], [2.5, "b", True]], dtype=object)
    before = array.copy()
    array.flags.writeable = False
    read = read_columns(array)
    numbers = np.ones((2, 2))
    read_columns(numbers)[0].values[:] = 7
    words = np.array([["a"], ["b"]], dtype=object)
    read_columns(words)[0].values[:] = "z"
    assert words.ravel().tolist() == ["a", "b"]
    assert np.array_equal(array, before)
    assert read.kinds == ["number", "category", "boolean"]
    assert (numbers == 1).all()


def test_importing_the_module_imports_no_data_frame_library_by_itself():
    # scikit-learn and scipy are imported first: what they bring along is theirs
    code = (
        "import sys, narwhals, scipy.sparse, sklearn.base; before = set(sys.modules)\n"
        "import batchensemble.data.frames\n"
        "new = set(sys.modules) - before\n"
        "assert not {'pandas', 'polars', 'torch'} & new, new"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_gap_among_categories_is_a_gap_in_every_library():
    words = ["x", None, "y", "x"]
    for table in (
        pa.table({"a": pa.array(words).dictionary_encode()}),
        pl.DataFrame({"a": pl.Series(words, dtype=pl.Categorical)}),
        pd.DataFrame({"a": pd.Categorical(words)}),
    ):
        (column,) = read_columns(table)
        assert column.kind == "category"
        assert column.values.tolist() == words


def test_dates_with_and_without_a_zone_do_not_mix():
    plain, zoned = pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-02", tz="UTC")
    for values in ([plain, zoned], [zoned, None, plain], [np.datetime64("2024-01-01"), zoned]):
        frame = pd.DataFrame({"d": pd.Series(values, dtype=object)})
        with pytest.raises(ValueError, match="column 'd': expected all times with a zone or all"):
            read_columns(frame)
    (column,) = read_columns(pd.DataFrame({"d": pd.Series([None, zoned], dtype=object)}))
    assert column.is_zoned
    assert column.values[1] == np.datetime64("2024-01-02")


def test_names_that_are_equal_though_they_look_different_are_refused():
    for labels in ([1, True], [1, 1.0]):
        frame = pd.DataFrame(np.zeros((3, 2)), columns=pd.Index(labels, dtype=object))
        with pytest.raises(ValueError, match=r"names that are equal: \[1, .*; make all of them"):
            read_columns(frame)


def test_a_few_rows_are_read_as_among_many():
    n = 50
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "float": random.normal(size=n),
            "int": random.integers(-5, 5, n),
            "small": random.normal(size=n).astype(np.float32),
            "bool": random.random(n) > 0.5,
            "word": random.choice(["a", "b"], n),
            "object": pd.Series(["x", "y"] * (n // 2), dtype=object),
            "date": pd.date_range("2026-01-01", periods=n),
            "moment": pd.date_range("1969-12-31 23:59:59.123456789", periods=n, unit="ns"),
            "coded": pd.Categorical(random.choice(["u", "v"], n)),
            "grade": pd.Categorical(random.integers(0, 3, n)),
            "large": random.integers(2**62, 2**63, n),
            "larger": random.integers(2**63, 2**64, n, dtype=np.uint64),
            "far": np.array(["5000-01-01"] * n, "datetime64[s]"),
            "long": np.arange(n).astype("timedelta64[s]"),
        }
    )
    frame.loc[[1, 40], ["float", "word", "date"]] = None
    some = ["float", "word", "date", "moment"]
    alike = [["float", "int"], ["large", "int"], ["large", "larger"], ["bool", "int"]]
    alike += [["far", "moment"], ["far", "long"], ["grade", "grade2"], ["word", "object"]]
    frame["grade2"] = frame["grade"]  # a categorical of numbers is none
    for names in (list(frame), some, *alike, *([name] for name in frame)):
        whole = read_columns(frame[names])
        for rows in (slice(0, 1), slice(1, 2), slice(0, 7)):
            few = read_columns(frame[names].iloc[rows])
            for one, other in zip(few, whole.take(rows), strict=True):
                if one.missing.all():
                    one = one.as_kind(other.kind)
                assert (one.name, one.kind) == (other.name, other.kind)
                np.testing.assert_array_equal(one.values, other.values)
                assert one.values.dtype == other.values.dtype


@pytest.mark.parametrize("n_rows", [1, 50])
@pytest.mark.parametrize("day", ["-0500-01-01", "20000-01-01"])
def test_years_that_python_does_not_know_are_refused_in_few_rows_and_many(day, n_rows):
    frame = pd.DataFrame({"n": np.zeros(n_rows), "d": np.full(n_rows, day, "datetime64[s]")})
    for table in (frame, frame.astype({"d": object})):
        with pytest.raises(ValueError, match=r"column 'd': .* years 1 and 9999 in UTC, got -?\d"):
            read_columns(table)


def test_an_infinite_number_in_a_block_is_named_by_column_and_row():
    values = np.zeros((3, 2))
    values[2, 1] = np.inf
    for table in (values, pd.DataFrame(values, columns=["x0", "x1"])):
        with pytest.raises(ValueError, match=r"column 'x1', row 2"):
            read_columns(table)


def test_what_is_read_does_not_change_with_the_table_that_it_came_from():
    values = np.arange(6.0).reshape(3, 2)
    columns = read_columns(values)
    values[:] = -1
    assert columns[1].values.tolist() == [1, 3, 5]


VIEWS = {
    "string_view": pa.array(["a", "b"], pa.string_view()),
    "binary_view": pa.array([b"a", b"b"], pa.binary_view()),
    "list_view": pa.array([[1], [2]], pa.list_view(pa.int64())),
    "run_end_encoded": pa.compute.run_end_encode(pa.array([1, 1])),
    "month_day_nano_interval": pa.array([(1, 2, 3)] * 2, pa.month_day_nano_interval()),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_type_of_arrow_that_pandas_holds_but_cannot_read_is_refused_by_name(name):
    held = pd.Series(pd.arrays.ArrowExtensionArray(VIEWS[name]), name="odd")
    with pytest.raises(TypeError, match=f"column 'odd': pandas cannot read its type, {name}"):
        read_columns(pd.DataFrame({"x": [1, 2], "odd": held}))


def test_a_date_of_arrow_beyond_python_is_refused_by_name():
    far = pd.Series(pd.arrays.ArrowExtensionArray(pa.array([10**9], pa.date32())))
    with pytest.raises(TypeError, match=r"column 'far', row 0 .* not data of type Date"):
        read_columns(pd.DataFrame({"far": far}))


def test_times_of_day_are_the_same_seconds_in_every_library():
    for unit, step in (("ns", 1), ("us", 1000)):
        ticks = [time // step for time in (1, 2_500, 86_399_999_999_999)]
        table = pa.table({"t": pa.array([*ticks, None], pa.time64(unit))})
        frames = table, pl.from_arrow(table), table.to_pandas(types_mapper=pd.ArrowDtype)
        for column in (read_columns(frame)[0] for frame in frames):
            assert column.is_span
            np.testing.assert_array_equal(column.values, [0, 2e-6, 86_399.999_999, np.nan])


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York", "Etc/GMT+5"])
def test_times_with_a_zone_have_it_in_every_frame(zone):
    times = pd.Series(pd.date_range("2024-01-01", periods=3, tz=zone))
    alone = pd.DataFrame({"t": times.astype(object)})
    beside = alone.assign(c=pd.Categorical(["a", "b", "a"]))
    for frame in (alone, beside, beside.assign(t=times), pl.DataFrame({"t": times.tolist()})):
        assert read_columns(frame)[0].is_zoned
    assert not read_columns(beside.assign(t=times.dt.tz_localize(None).astype(object)))[0].is_zoned
