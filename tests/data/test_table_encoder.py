"""Laws of `TableEncoder`: any table ends in finite float32, or in an error of ours."""

import datetime as dt
import pickle
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import (
    MinMaxScaler,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from batchensemble.data.frames import read_columns
from batchensemble.data.table_encoder import SCALINGS, TableEncoder

NAN = float("nan")
RNG = np.random.default_rng(0)


def mixed(n=40, seed=0):
    """A table with every kind of column and gaps in each."""
    rng = np.random.default_rng(seed)
    day = dt.datetime(2021, 3, 4, 5, 6)
    table = {
        "size": rng.normal(5, 3, n).tolist(),
        "count": rng.integers(0, 9, n).tolist(),
        "flag": rng.choice([True, False], n).tolist(),
        "colour": rng.choice(["red", "green", "blue"], n).tolist(),
        "when": [day + dt.timedelta(days=int(d)) for d in rng.integers(0, 900, n)],
    }
    for j, values in enumerate(table.values()):
        values[j + 1 :: 11] = [None] * len(values[j + 1 :: 11])
    return table


def check_matrix(matrix, n_rows, encoder):
    assert matrix.dtype == np.float32
    assert matrix.flags.c_contiguous
    assert matrix.shape == (n_rows, encoder.n_features_out_)
    assert np.isfinite(matrix).all()
    assert len(encoder.get_feature_names_out()) == encoder.n_features_out_
    assert sum(column.n_outputs for column in encoder.columns_) == encoder.n_features_out_


# ------------------------------------------------------------------------------------ one table


@pytest.mark.parametrize("scaling", SCALINGS)
def test_pandas_polars_and_numpy_of_one_table_give_the_same_matrix(scaling):
    table = mixed()
    tables = [
        pd.DataFrame(table),
        pd.DataFrame(table).convert_dtypes(),
        pd.DataFrame(table).astype({"colour": "category"}),
        pl.DataFrame(table),
        pl.DataFrame(table).with_columns(pl.col("colour").cast(pl.Categorical)),
        np.array(list(table.values()), dtype=object).T,
    ]
    encoders = [TableEncoder(scaling).fit(t) for t in tables]
    first = encoders[0].transform(tables[0])
    check_matrix(first, 40, encoders[0])
    for t, encoder in zip(tables, encoders, strict=True):
        np.testing.assert_array_equal(encoder.transform(t), first)
        np.testing.assert_array_equal(encoders[0].transform(t), first)
        np.testing.assert_array_equal(TableEncoder(scaling).fit_transform(t), first)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_the_transform_of_a_row_does_not_depend_on_the_rows_around_it(scaling):
    table = pd.DataFrame(mixed(60))
    encoder = TableEncoder(scaling).fit(table)
    whole = encoder.transform(table)
    pieces = [encoder.transform(table.iloc[i:j]) for i, j in ((0, 1), (1, 2), (2, 30), (30, 60))]
    np.testing.assert_array_equal(np.vstack(pieces), whole)
    order = RNG.permutation(60)
    np.testing.assert_array_equal(encoder.transform(table.iloc[order]), whole[order])
    singles = [encoder.transform(table.iloc[[i]].astype(object)) for i in range(60)]
    np.testing.assert_array_equal(np.vstack(singles), whole)


def test_what_is_learned_does_not_depend_on_the_order_of_the_rows():
    table = pd.DataFrame(mixed(60))
    shuffled = table.sample(frac=1, random_state=1)
    for scaling in SCALINGS:
        a, b = (TableEncoder(scaling).fit(t).transform(table) for t in (table, shuffled))
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


def test_the_same_rows_give_equal_bits_also_where_quantiles_are_estimated_from_a_part():
    rows = RNG.normal(size=(12_000, 3))
    a, b = (TableEncoder("quantile", random_state=3).fit_transform(rows) for _ in range(2))
    assert a.tobytes() == b.tobytes()
    other = TableEncoder("quantile", random_state=4).fit_transform(rows)
    assert a.tobytes() != other.tobytes()


@pytest.mark.parametrize("scaling", SCALINGS)
def test_plain_numbers_are_scaled_exactly_as_scikit_learn_does(scaling):
    rows = RNG.normal(3, 100, (50, 4))
    new = RNG.normal(3, 200, (20, 4))
    oracle = {
        "minmax": MinMaxScaler(),
        "standard": StandardScaler(),
        "robust": RobustScaler(unit_variance=True),
        "quantile": QuantileTransformer(n_quantiles=10, output_distribution="normal"),
    }[scaling].fit(rows)
    ours = TableEncoder(scaling).fit(rows).transform(new)
    theirs = oracle.transform(new)
    if scaling == "robust":
        theirs = theirs / np.sqrt(1 + (theirs / 4) ** 2)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)


def test_robust_numbers_keep_their_order_and_stay_within_4():
    rows = np.concatenate([RNG.normal(size=500), [1e3, 1e6, -1e12]])[:, None]
    ours = TableEncoder("robust").fit_transform(rows)[:, 0]
    assert np.abs(ours).max() <= 4
    assert (np.diff(ours[np.argsort(rows[:, 0])]) >= 0).all()
    assert 0.9 < ours[:500].std() < 1.1


def test_names_kinds_and_counts_tell_what_was_recognised():
    encoder = TableEncoder().fit(pd.DataFrame(mixed()))
    assert [tuple(column) for column in encoder.columns_] == [
        ("size", "number", 2),
        ("count", "number", 2),
        ("flag", "boolean", 2),
        ("colour", "category", 4),
        ("when", "date", 8),
    ]
    cycles = [f"when_{c}_{w}" for c in ("year", "week", "day") for w in ("sin", "cos")]
    assert encoder.get_feature_names_out().tolist() == [
        *("size", "count", "flag", "when_days"),
        *("size_missing", "count_missing", "flag_missing", "when_missing"),
        *cycles,
        *("colour_blue", "colour_green", "colour_red", "colour_None"),
    ]


# ------------------------------------------------------------------------------------- numbers


def test_a_gap_becomes_the_median_and_raises_its_flag():
    encoder = TableEncoder("minmax").fit([[0.0], [2.0], [10.0], [None]])
    expected = np.array([[0, 0], [0.2, 0], [1, 0], [0.2, 1]], np.float32)
    np.testing.assert_allclose(encoder.transform([[0.0], [2.0], [10.0], [None]]), expected)


def test_a_gap_at_predict_only_becomes_the_median_without_a_flag():
    encoder = TableEncoder("minmax").fit([[0.0], [2.0], [10.0]])
    assert encoder.n_features_out_ == 1
    np.testing.assert_allclose(encoder.transform([[NAN], [None]]), [[0.2], [0.2]])


def test_minmax_extrapolates_until_the_clip():
    encoder = TableEncoder("minmax", clip=1e6).fit([[0.0], [2.0]])
    matrix = encoder.transform([[4.0], [-2.0], [1e5], [1e30], [-1e300], [1.7e308]])
    np.testing.assert_allclose(matrix[:, 0], [2, -1, 5e4, 1e6, -1e6, 1e6])


def test_quantiles_saturate():
    encoder = TableEncoder("quantile").fit(RNG.normal(size=(100, 1)))
    assert np.abs(encoder.transform([[1e300], [-1e300]])).max() < 6


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize(
    "values",
    [
        [1e300, 2e300, 3e300],
        [-1.7e308, 1.7e308, 0.0],
        [1e-300, 2e-300, 4e-300],
        [5e-324, 0.0, 1e-323],
        [1e30, -1e30, None],
        [1e-18, 3e-18, 2e-18],
    ],
)
def test_a_column_of_any_magnitude_keeps_its_information(scaling, values):
    table = [[value] for value in values]
    encoder = TableEncoder(scaling).fit(table)
    matrix = encoder.transform(table)
    check_matrix(matrix, 3, encoder)
    seen = [i for i, value in enumerate(values) if value is not None]
    assert np.array_equal(np.argsort(matrix[seen, 0]), np.argsort([values[i] for i in seen]))
    assert np.ptp(matrix[:, 0]) > 0.9
    check_matrix(encoder.transform([[1.0], [1.7e308], [-1e-320]]), 3, encoder)


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, -7e9, 1e300, True])
def test_a_constant_column_is_zero_and_stays_zero_when_it_moves(scaling, value):
    encoder = TableEncoder(scaling).fit([[value]] * 7)
    other = not value if value is True else value + 3.0
    assert encoder.transform([[value], [other], [None]]).tolist() == [[0.0], [0.0], [0.0]]


def test_a_constant_column_with_gaps_keeps_only_the_flag():
    encoder = TableEncoder().fit([[3.0], [None]])
    assert encoder.transform([[3.0], [None], [9.0]]).tolist() == [[0, 0], [0, 1], [0, 0]]


@pytest.mark.parametrize("scaling", SCALINGS)
def test_a_column_without_any_value_at_fit_is_one_zero_whatever_comes_later(scaling):
    date = pd.Series([pd.NaT, pd.NaT])
    for nothing in ([None, None], [NAN, NAN], date, pd.Categorical([None, None])):
        encoder = TableEncoder(scaling).fit(pd.DataFrame({"a": nothing, "b": [1.0, 2.0]}))
        assert encoder.columns_[0].n_outputs == 1
        for later in (5.0, "word", dt.date(2020, 1, 1), None):
            assert encoder.transform(pd.DataFrame({"a": [later], "b": [1.5]}))[0, 0] == 0


@pytest.mark.parametrize("scaling", SCALINGS)
def test_one_row_is_enough(scaling):
    table = pd.DataFrame(mixed(1))
    encoder = TableEncoder(scaling).fit(table)
    check_matrix(encoder.transform(table), 1, encoder)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_zeros_and_ones_and_flags_are_left_as_they_are(scaling):
    table = [[0, True], [1, False], [0, False], [0, True]]
    encoder = TableEncoder(scaling).fit(table)
    assert encoder.transform(table).tolist() == [[0, 1], [1, 0], [0, 0], [0, 1]]


# ---------------------------------------------------------------------------------- categories


def test_an_unknown_category_is_all_zeros():
    encoder = TableEncoder().fit([["a"], ["b"]])
    assert encoder.transform([["b"], ["c"], [None]]).tolist() == [[0, 1], [0, 0], [0, 0]]


def test_missing_is_a_category_of_its_own_if_it_occurs_at_fit():
    encoder = TableEncoder().fit([["a"], [None]])
    assert encoder.transform([["a"], [NAN], ["c"]]).tolist() == [[1, 0], [0, 1], [0, 0]]


def test_rare_and_unknown_categories_share_a_column_when_there_are_too_many():
    words = [["a"]] * 5 + [["b"]] * 4 + [["c"]] * 2 + [["d"]]
    encoder = TableEncoder(max_categories=3).fit(words)
    names = ["x0_a", "x0_b", "x0_infrequent_sklearn"]
    assert encoder.get_feature_names_out().tolist() == names
    assert encoder.columns_[0].n_outputs == 3
    expected = [[1, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, 1]]
    assert encoder.transform([["a"], ["c"], ["d"], ["new"]]).tolist() == expected
    assert TableEncoder(max_categories=None).fit(words).n_features_out_ == 4


def test_numbers_in_a_category_column_are_read_as_its_words():
    encoder = TableEncoder().fit([["1"], ["2"], ["x"]])
    assert encoder.transform([[1], [2.0]]).tolist() == [[1, 0, 0], [0, 1, 0]]


def test_a_given_vocabulary_fixes_the_outputs_and_their_order():
    vocabulary = {"c": ["z", "y", "x", None], "k": [3, 1]}
    table = pd.DataFrame({"c": ["x", None], "n": [1.0, 2.0], "k": [1, 3], "free": ["u", "v"]})
    encoder = TableEncoder("minmax", categories=vocabulary, max_categories=3).fit(table)
    names = ["n", "free_u", "free_v", "c_z", "c_y", "c_x", "c_None", "k_3", "k_1"]
    assert encoder.get_feature_names_out().tolist() == names
    expected = [[0, 1, 0, 0, 0, 1, 0, 0, 1], [1, 0, 1, 0, 0, 0, 1, 1, 0]]
    assert encoder.transform(table).tolist() == expected
    assert [column.n_outputs for column in encoder.columns_] == [4, 1, 2, 2]


def test_adult_has_108_columns_in_every_split():
    sizes = [9, 16, 7, 15, 6, 5, 2, 42]  # 102 in all
    rng = np.random.default_rng(5)
    vocabulary = {f"c{j}": [f"w{i}" for i in range(size)] for j, size in enumerate(sizes)}
    words = {name: rng.choice(known, 300) for name, known in vocabulary.items()}
    table = pd.DataFrame({f"n{j}": rng.integers(0, 90, 300) for j in range(6)} | words)
    for split in (table, table.iloc[:20], table.iloc[:1], pl.from_pandas(table)):
        encoder = TableEncoder("minmax", categories=vocabulary, max_categories=4).fit(split)
        matrix = encoder.transform(table)
        check_matrix(matrix, 300, encoder)
        assert encoder.n_features_out_ == 108
        assert (matrix[:, 6:].sum(axis=1) == 8).all()


# --------------------------------------------------------------------------------------- dates


def test_dates_become_days_and_positions_in_year_and_week():
    days = ["2024-01-01", "2024-07-01", "2025-01-01", None]  # the first is a Monday
    table = pd.DataFrame({"t": pd.to_datetime(days)})
    encoder = TableEncoder("minmax").fit(table)
    names = ["t_days", "t_missing", "t_year_sin", "t_year_cos", "t_week_sin", "t_week_cos"]
    assert encoder.get_feature_names_out().tolist() == names
    matrix = encoder.transform(table)
    np.testing.assert_allclose(matrix[:3, 0], [0, 182 / 366, 1], rtol=1e-6)
    turn = 2 * np.pi * np.array([0, 182 / 366, 0])
    np.testing.assert_allclose(matrix[:3, 2:4].T, [np.sin(turn), np.cos(turn)], atol=1e-6)
    turn = 2 * np.pi * np.array([0, 0, 2 / 7])
    np.testing.assert_allclose(matrix[:3, 4:].T, [np.sin(turn), np.cos(turn)], atol=1e-6)
    np.testing.assert_allclose(matrix[3], [182 / 366, 1, 0, 0, 0, 0], rtol=1e-6)


def test_the_time_of_day_counts_only_if_there_is_one_at_fit():
    noon, midnight = "2024-01-01 12:00", "2024-01-02 00:00"
    with_time = TableEncoder().fit(pd.DataFrame({"t": pd.to_datetime([noon, midnight])}))
    assert with_time.get_feature_names_out()[-2:].tolist() == ["t_day_sin", "t_day_cos"]
    later = pd.DataFrame({"t": pd.to_datetime(["2024-03-01 06:00"])})
    np.testing.assert_allclose(with_time.transform(later)[0, -1], 0, atol=1e-6)
    without = TableEncoder().fit(
        pd.DataFrame({"t": pd.to_datetime([midnight, "2024-01-03 00:00"])})
    )
    assert not any("day_" in name for name in without.get_feature_names_out())
    check_matrix(without.transform(later), 1, without)


def test_the_same_moment_in_two_time_zones_is_the_same_row():
    utc = pd.to_datetime(["2024-05-01 03:00", "2024-05-02 04:00", None]).tz_localize("UTC")
    encoder = TableEncoder().fit(pd.DataFrame({"t": utc}))
    tables = [pd.DataFrame({"t": utc.tz_convert(zone)}) for zone in ("UTC", "Asia/Tokyo")]
    tables += [pl.DataFrame({"t": pl.Series(utc.tz_convert("America/New_York"))})]
    first, *others = (encoder.transform(t) for t in tables)
    for other in others:
        np.testing.assert_array_equal(other, first)


def test_dates_that_fall_on_one_weekday_say_nothing_about_the_week():
    mondays = np.datetime64("2000-01-03") + 7 * np.arange(1000).astype("m8[D]")
    encoder = TableEncoder().fit(mondays[:, None])
    weekday = encoder.transform(mondays[:, None] + np.timedelta64(2, "D"))[:, -2:]
    assert (weekday == 0).all()


# -------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("at_fit", "later", "message"),
    [
        ([1.0, 2.0], ["a"], "'c': expected a number column as in fit, got a category column"),
        ([1.0, 2.0], ["1.5"], "'c': .*all its strings read as numbers: convert the column first"),
        ([1.0, 2.0], [dt.date(2020, 1, 1)], "'c': expected a number column .* got a date column"),
        ([True, False], [7.0], "'c': expected True/False or 1/0 as in fit, got the number 7"),
        (["a", "b"], [dt.date(2020, 1, 1)], "'c': expected a category column .* got a date"),
        ([dt.date(2020, 1, 1)], ["soon"], "'c': expected a date column .* kind date"),
        ([dt.date(2020, 1, 1)], [5.0], "'c': expected a date column .* got a number column"),
        ([1.0, 2.0], [np.inf], r"infinity.*column 'c', row 0 "),
    ],
)
def test_a_column_whose_kind_changed_is_refused_by_name(at_fit, later, message):
    encoder = TableEncoder().fit(pd.DataFrame({"c": at_fit}))
    with pytest.raises(ValueError, match=message):
        encoder.transform(pd.DataFrame({"c": later}))


def test_another_number_of_columns_is_refused():
    encoder = TableEncoder().fit(np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"X has 3 features, .* is expecting 2 .*\['x0', 'x1'\]"):
        encoder.transform(np.ones((3, 3)))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"scaling": "min-max"},
            "expected scaling to be one of .*'min-max'; did you mean 'minmax'",
        ),
        ({"max_categories": 0}, "max_categories must be None or an integer of at least 1, got 0"),
        ({"max_categories": 2.5}, "max_categories must be"),
        ({"clip": 0}, r"clip must be a number in \(0, 1e30\], got 0"),
        ({"clip": np.inf}, "clip must be"),
        ({"clip": "1"}, "clip must be"),
    ],
)
def test_wrong_settings_are_refused_at_fit(parameters, message):
    with pytest.raises(ValueError, match=message):
        TableEncoder(**parameters).fit(np.ones((2, 2)))


def test_an_encoder_that_is_not_fitted_says_so():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        TableEncoder().transform(np.ones((2, 2)))
    with pytest.raises(NotFittedError, match="not fitted yet"):
        TableEncoder().get_feature_names_out()


# ------------------------------------------------------------------------------- good manners


def test_the_callers_data_is_left_alone_also_when_it_is_read_only():
    array = RNG.normal(size=(20, 3))
    array[3, 1] = NAN
    before = array.copy()
    array.flags.writeable = False
    for scaling in SCALINGS:
        TableEncoder(scaling).fit(array).transform(array)[:] = 7
    np.testing.assert_array_equal(array, before)
    frame = pd.DataFrame(mixed())
    copy = frame.copy(deep=True)
    TableEncoder().fit_transform(frame)
    pd.testing.assert_frame_equal(frame, copy)


def test_a_global_wish_for_frames_does_not_reach_inside():
    table = pd.DataFrame(mixed())
    expected = TableEncoder().fit_transform(table)
    with sklearn.config_context(transform_output="pandas"):
        np.testing.assert_array_equal(TableEncoder().fit_transform(table), expected)


def test_an_encoder_can_be_cloned_pickled_and_fitted_again():
    table = pd.DataFrame(mixed())
    encoder = TableEncoder("quantile", categories={"colour": ["red", "green", "blue"]}).fit(table)
    expected = encoder.transform(table)
    again = pickle.loads(pickle.dumps(encoder))
    np.testing.assert_array_equal(again.transform(table), expected)
    np.testing.assert_array_equal(clone(encoder).fit_transform(table), expected)
    encoder.set_params(categories=None, scaling="minmax").fit(np.eye(3))
    assert encoder.n_features_out_ == 3
    assert encoder.transform(np.eye(3)).tolist() == np.eye(3).tolist()


def cities(n=60):
    """Columns for embeddings: two numbers with gaps, a date, a flag, few and many categories."""
    table = pd.DataFrame(mixed(n))
    table["city"] = np.random.default_rng(1).choice([f"c{i}" for i in range(9)], n).astype(object)
    table.loc[::9, "city"] = None
    return table


def test_embedded_outputs_stand_behind_the_others_and_say_where_they_come_from():
    table = cities()
    plain = TableEncoder(max_categories=4).fit(table.drop(columns="city"))
    encoder = TableEncoder(max_categories=4, bins=5).fit(table)
    before = plain.get_feature_names_out().tolist()
    names = encoder.get_feature_names_out().tolist()
    assert names == [*before, "size_position", "count_position", "when_position", "city_number"]
    assert encoder.embedding == {
        "n_positions": 3,
        "counts": encoder.codes_.counts,
        "n_bins": 5,
    }
    matrix = encoder.transform(table)
    check_matrix(matrix, len(table), encoder)
    ours = plain.transform(table.drop(columns="city"))
    np.testing.assert_array_equal(matrix[:, : len(before)], ours)
    outputs = {column.name: column.n_outputs for column in encoder.columns_}
    assert outputs["city"] == 1
    assert outputs["size"] == 3  # the number, its gap and its position
    assert sum(outputs.values()) == encoder.n_features_out_ == len(names)


def test_a_position_is_that_of_the_number_among_quantiles_and_of_a_gap_that_of_the_median():
    table = cities()
    encoder = TableEncoder(max_categories=4, bins=5).fit(table)
    position = encoder.transform(table)[:, encoder.get_feature_names_out() == "size_position"][:, 0]
    size = table["size"].to_numpy(float)
    edges = np.quantile(
        np.where(np.isnan(size), np.nanmedian(size), size), np.linspace(0, 1, 6), method="nearest"
    )
    filled = np.where(np.isnan(size), np.nanmedian(size), size)
    np.testing.assert_allclose(position, np.interp(filled, edges, range(6)), atol=1e-5)


def test_without_bins_there_are_no_embedded_outputs():
    encoder = TableEncoder(max_categories=4).fit(cities())
    assert not any(
        name.endswith(("_position", "_number")) for name in encoder.get_feature_names_out()
    )
    assert encoder.embedding == {"n_positions": 0, "counts": (), "n_bins": 0}
    assert "city_infrequent_sklearn" in encoder.get_feature_names_out()


def test_given_categories_few_categories_and_no_limit_stay_one_hot_beside_bins():
    table, words = cities(), [*(f"c{i}" for i in range(9)), None]
    given = TableEncoder(max_categories=4, bins=5, categories={"city": words}).fit(table)
    unlimited = TableEncoder(max_categories=None, bins=5).fit(table)
    for encoder in (given, unlimited):
        assert encoder.coded_ == []
        assert sum(name.startswith("city_") for name in encoder.get_feature_names_out()) == 10


def test_zeros_and_ones_constants_and_empty_columns_have_no_position():
    table = pd.DataFrame({"flag": [0.0, 1, 1, 0], "same": 3.0, "none": np.nan, "x": range(4)})
    encoder = TableEncoder(bins=3).fit(table)
    assert encoder.get_feature_names_out().tolist() == ["flag", "same", "none", "x", "x_position"]


def test_an_encoder_with_bins_can_be_cloned_pickled_and_fitted_again():
    table = cities()
    encoder = TableEncoder(max_categories=4, bins=5).fit(table)
    expected = encoder.transform(table)
    twin = pickle.loads(pickle.dumps(encoder))
    np.testing.assert_array_equal(twin.transform(table), expected)
    assert twin.embedding == encoder.embedding
    fresh = clone(encoder)
    assert fresh.get_params() == encoder.get_params()
    np.testing.assert_array_equal(fresh.fit(table).transform(table), expected)
    encoder.set_params(bins=None).fit(table)
    assert encoder.embedding["n_positions"] == 0
    assert encoder.coded_ == []


def test_an_encoder_of_a_time_before_bins_has_none():
    table = cities()
    encoder = TableEncoder(max_categories=4).fit(table)
    expected = encoder.transform(table)
    for name in ("bins", "binned_", "coded_", "codes_"):
        vars(encoder).pop(name)
    old = pickle.loads(pickle.dumps(encoder))
    np.testing.assert_array_equal(old.transform(table), expected)
    assert old.embedding["n_positions"] == 0
    with pytest.raises(AttributeError, match="no attribute 'bin_'"):
        _ = old.bin_


@pytest.mark.parametrize("bins", [0, -1, 2.5, "many"])
def test_bins_that_are_no_count_are_refused_at_fit(bins):
    with pytest.raises(ValueError, match="bins must be None or an integer of at least 1"):
        TableEncoder(bins=bins).fit([[1.0], [2.0]])


def test_columns_already_read_give_the_same_as_the_table():
    table = pd.DataFrame(mixed())
    columns = read_columns(table)
    np.testing.assert_array_equal(
        TableEncoder().fit(columns).transform(columns), TableEncoder().fit_transform(table)
    )


# ---------------------------------------------------------------------------------------- fuzz

HUGE = [0.0, -0.0, 1.0, 1e30, -1e30, 1e300, 1.7e308, -1.7e308, 5e-324, 2.0**-1030, NAN]
FLOATS = st.one_of(st.sampled_from(HUGE), st.floats(), st.floats(-10, 10))
SCALARS = [
    FLOATS,
    st.integers(-(10**20), 10**400) | st.integers(0, 3),
    st.booleans(),
    st.text(max_size=3),
    st.datetimes() | st.dates(),
    st.datetimes(timezones=st.timezones()),
    st.timedeltas(),
    st.decimals() | st.just(Decimal("sNaN")),
    st.sampled_from([None, NAN, pd.NA, pd.NaT, np.datetime64("NaT", "us")]),
    st.binary(max_size=2),
    st.sampled_from([{}, [1], 1j, object, np.float32(0.1), np.int8(-3), np.bool_(True)]),
]
DTYPES = st.one_of(
    hnp.floating_dtypes(),
    hnp.integer_dtypes(),
    hnp.unsigned_integer_dtypes(),
    hnp.boolean_dtypes(),
    hnp.unicode_string_dtypes(max_len=3),
    hnp.byte_string_dtypes(max_len=3),
    hnp.datetime64_dtypes(),
    hnp.timedelta64_dtypes(),
    hnp.complex_number_dtypes(),
)
SHAPES = hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5)


@st.composite
def object_columns(draw, n_rows):
    kinds = draw(st.lists(st.sampled_from(SCALARS), min_size=1, max_size=2))
    gaps = st.none() if draw(st.booleans()) else st.nothing()
    return draw(st.lists(st.one_of(*kinds, gaps), min_size=n_rows, max_size=n_rows))


@st.composite
def typed_columns(draw, n_rows):
    dtype = draw(DTYPES)
    if dtype.kind == "f" and draw(st.booleans()):
        return np.array(draw(st.lists(FLOATS, min_size=n_rows, max_size=n_rows)), np.float64)
    return draw(hnp.arrays(dtype, n_rows))


@st.composite
def tables(draw):
    form = draw(st.sampled_from(["array", "objects", "rows", "pandas", "polars"]))
    if form == "array":
        return draw(hnp.arrays(DTYPES, SHAPES))
    n_rows = draw(st.integers(0, 6))
    objects = st.lists(object_columns(n_rows), max_size=4)
    if form in ("objects", "rows"):
        columns = draw(objects)
        array = np.empty((n_rows, len(columns)), dtype=object)
        for j, column in enumerate(columns):
            for i, value in enumerate(column):
                array[i, j] = value
        return array if form == "objects" else array.tolist()
    either = st.one_of(typed_columns(n_rows), object_columns(n_rows))
    columns = draw(st.lists(either, max_size=4))
    names = draw(st.lists(st.sampled_from("abcdefgh"), min_size=4, max_size=4))
    try:
        if form == "polars":
            return pl.DataFrame({n: pl.Series(c) for n, c in zip(names, columns, strict=False)})
        series = [pd.Series(column) for column in columns]
        frame = pd.concat(series, axis=1) if series else pd.DataFrame(index=range(n_rows))
        frame.columns = names[: len(columns)]
    except (Exception, pl.exceptions.PanicException):  # the frame library cannot hold these values
        return pd.DataFrame({"a": [1.0, 2.0]})
    return frame


OURS = re.compile(r"column|expected|Expected 2D|Found a table|Complex data|X has \d+ features")


def attempt(action):
    """What the action returns, or None after an error of ours."""
    try:
        return action()
    except (ValueError, TypeError) as caught:
        error = caught
    assert type(error) in (ValueError, TypeError), error
    assert OURS.search(str(error)), error
    assert len(str(error)) > 30
    return None


FUZZ = settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@FUZZ
@given(
    st.sampled_from(SCALINGS),
    tables(),
    tables(),
    st.sampled_from([None, 1, 2, 64]),
    st.sampled_from([None, 1, 3]),
)
def test_any_table_ends_in_finite_numbers_or_in_an_error_of_ours(scaling, table, other, most, bins):
    encoder = TableEncoder(scaling, max_categories=most, bins=bins)
    matrix = attempt(lambda: encoder.fit_transform(table))
    if matrix is None:
        return
    check_matrix(matrix, len(matrix), encoder)
    assert encoder.transform(table).tobytes() == matrix.tobytes()
    attempt(lambda: encoder.transform(other))


@FUZZ
@example("quantile", np.array([[1.7e308, 1], [-3, 1], [0, 1], [0.25, 1]]), np.zeros((1, 2)), 2)
@given(
    st.sampled_from(SCALINGS),
    hnp.arrays(np.float64, st.tuples(st.integers(1, 6), st.just(2)), elements=FLOATS),
    hnp.arrays(np.float64, st.tuples(st.integers(1, 6), st.just(2)), elements=FLOATS),
    st.sampled_from([None, 1, 4]),
)
def test_any_finite_numbers_are_encoded_whatever_was_learned(scaling, rows, new, bins):
    rows, new = (np.where(np.isinf(values), 3.0, values) for values in (rows, new))
    encoder = TableEncoder(scaling, bins=bins).fit(rows)
    matrix = encoder.transform(new)
    check_matrix(matrix, len(new), encoder)
    assert np.abs(matrix).max() <= 1e6


@pytest.mark.parametrize("library", [pd, pl])
def test_dates_with_a_zone_at_fit_and_without_one_later_are_an_error(library):
    days = pd.date_range("2024-01-01", periods=9)
    plain = library.DataFrame({"d": days.to_numpy()})
    zoned = pd.DataFrame({"d": days.tz_localize("Asia/Tokyo")})
    zoned = zoned if library is pd else pl.from_pandas(zoned)
    for fitted, new, words in (
        (zoned, plain, "expected dates with a time zone as in fit, got dates without one"),
        (plain, zoned, "expected dates without a time zone as in fit, got dates with one"),
    ):
        encoder = TableEncoder().fit(fitted)
        assert len(encoder.transform(fitted)) == 9
        with pytest.raises(ValueError, match=words):
            encoder.transform(new)
    elsewhere = pd.DataFrame({"d": days.tz_localize("Asia/Tokyo").tz_convert("UTC")})
    encoder = TableEncoder().fit(zoned)
    assert np.array_equal(encoder.transform(zoned), encoder.transform(elsewhere))


def test_dates_of_fit_may_later_be_written_as_texts():
    days = pd.DataFrame({"d": pd.date_range("2024-01-01", periods=9), "x": np.arange(9.0)})
    encoder = TableEncoder().fit(days)
    texts = days.assign(d=days["d"].dt.strftime("%Y-%m-%d"))
    assert np.array_equal(encoder.transform(texts), encoder.transform(days))
    with pytest.raises(ValueError, match="expected a date column as in fit, got a category"):
        encoder.transform(texts.assign(d="soon"))
