import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from batchensemble.conformal import read_groups
from batchensemble.estimators.targets import check_weight, read_censored, read_target, read_targets


def test_masked_targets_are_missing():
    y = np.ma.masked_array([1.0, 1e6, 2.0], mask=[False, True, False])
    with pytest.raises(ValueError, match=r"missing value \(NaN or None\) in row 1 and 0 more"):
        read_target(y, 3)
    assert read_target(y[[0, 2]], 2).tolist() == [1.0, 2.0]
    assert read_target(np.ma.masked_array(["a", "b"]), 2).tolist() == ["a", "b"]


@pytest.mark.parametrize("y", [[2**53 + 1, 1.0, 2**53], [2**63 + 1, -1, 3]])
def test_numbers_that_would_become_others_are_refused(y):
    with pytest.raises(ValueError, match=r"the targets mix types: \d+ would become"):
        read_target(y, 3)


@pytest.mark.parametrize("y", [[2**53 + 1, 1, 2**53], [1, 2.5, True], ["a", "bc", "d"]])
def test_lists_keep_their_values(y):
    assert read_target(y, 3).tolist() == y


@pytest.mark.parametrize("values", [["a", "bc", "d"], [1.5, 2.0, 3.0], [True, False, True]])
@pytest.mark.parametrize(
    "made",
    [pd.DataFrame, lambda column: pd.DataFrame(column, dtype=object), pl.DataFrame, pa.table, list],
)
def test_one_column_is_read_as_its_values_are(values, made):
    y = [[value] for value in values] if made is list else made({"y": values})
    with pytest.warns(DataConversionWarning):
        found = read_target(y, 3)
    expected = read_target(values, 3)
    assert found.tolist() == values
    assert found.dtype == expected.dtype


def test_complex_targets_are_refused_in_one_line():
    with pytest.raises(ValueError, match=r"supported, but y holds \(1\+2j\); pass"):
        read_target(np.full(500, 1 + 2j), 500)


def test_targets_whose_sum_is_no_number_are_read_without_a_warning():
    y = np.array([1.7e308, 1.7e308, -1.7e308, -1.7e308])
    assert read_target(y, 4).tolist() == y.tolist()
    with pytest.raises(ValueError, match="contains infinity"):
        read_target([np.inf, -np.inf], 2)


def test_a_mask_says_which_targets_are_lower_bounds():
    assert read_censored([0, 1, 0], 3).tolist() == [False, True, False]
    assert read_censored(np.array([False, False]), 2) is None
    assert read_censored(None, 2) is None


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        ([True], "True or False for each of 2 rows, got an array of shape"),
        ([0, 2], r"True \(the true value is at least y\) or False \(it is y\), got 2"),
        (["a", "b"], "got 'a'"),
        ([np.nan, 0], "got nan"),
        (pd.array([None, True], dtype="boolean"), "got <NA>"),
        ([True, True], "every target is censored.* not where an event was seen"),
    ],
)
def test_a_mask_that_makes_no_sense_is_refused(mask, words):
    with pytest.raises(ValueError, match=words):
        read_censored(mask, 2)


@pytest.mark.parametrize("dtype", ["boolean", "Int64", "string", object])
def test_a_gap_of_any_type_of_pandas_is_refused_in_words(dtype):
    values = {"boolean": True, "Int64": 3, "string": "a"}.get(dtype, dt.date(2020, 1, 1))
    with pytest.raises(ValueError, match=r"contains NaN|got a missing value"):
        read_target(pd.Series([values, None, values], dtype=dtype), 3)


def test_a_tensor_that_numpy_cannot_read_is_refused_with_the_cure():
    assert read_target(torch.ones(3), 3).tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match=r"Use tensor\.detach\(\)"):
        read_target(torch.ones(3, requires_grad=True), 3)


def test_sparse_targets_are_read_and_one_column_is_refused_by_its_shape():
    table = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
    read = read_targets(sparse.csr_matrix(table), 3)
    assert {name: values.tolist() for name, values in read.items()} == {
        "y0": [1.0, 0.0, 3.0],
        "y1": [0.0, 2.0, 0.0],
    }


@pytest.mark.parametrize("odd", ["a", [1.0], dt.date(2020, 1, 1), dt.time(1)])
def test_weights_that_are_no_numbers_are_refused_whatever_holds_them(odd):
    values = np.empty(3, dtype=object)
    values[:] = [1.0, odd, 2.0]
    for weight in (values, pd.Series(values)):
        with pytest.raises(ValueError, match="expected sample_weight to be numbers"):
            check_weight(weight, 3)
    assert check_weight(pd.Series([1, 2, 3], dtype="Int64"), 3).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="contains NaN"):
        check_weight(pd.Series([1, None, 3], dtype="Int64"), 3)


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("s", tz="Mars/Base")])
def test_dates_of_arrow_that_nobody_can_read_are_refused_by_name(kind):
    days = pa.chunked_array([pa.array([2**30, 0], pa.int64()).cast(_stored(kind)).view(kind)])
    values = pd.Series(pd.arrays.ArrowExtensionArray(days))
    for name, read in {"y": read_target, "sample_weight": check_weight}.items():
        with pytest.raises(ValueError, match=f"{name}: expected one value for each row, got a Ser"):
            read(values, 2)
    with pytest.raises(ValueError, match="censored: expected one value for each row, got a Ser"):
        read_censored(values, 2)
    with pytest.raises(ValueError, match="groups: expected one value for each row, got a Series"):
        read_groups(values, 2)


def _stored(kind):
    return pa.int32() if kind.bit_width == 32 else pa.int64()


def test_one_weight_for_all_rows_is_refused_with_a_cure():
    with pytest.raises(ValueError, match=r"one for each of 3 rows, got the one number 2.0; omit"):
        check_weight(2.0, 3)


@pytest.mark.parametrize("make", [list, pd.Series, lambda y: pl.Series(y, dtype=pl.Decimal(10, 2))])
def test_decimals_of_a_database_are_numbers(make):
    y = [Decimal("1.25"), Decimal("-3"), Decimal("0.5")]
    read = read_target(make(y), 3)
    assert read.dtype == np.float64
    assert read.tolist() == [1.25, -3.0, 0.5]
    with pytest.raises(ValueError, match="missing value"):
        read_target([*y[:2], None], 3)


def test_decimals_that_floats_would_merge_are_whole_numbers():
    long = [10**16, 10**16 + 1, 5]
    assert read_target([*map(Decimal, long)], 3).tolist() == long
    assert read_target([Decimal(10**16), Decimal("0.5")], 2).tolist() == [1e16, 0.5]
    with pytest.raises(ValueError, match="contains infinity"):
        read_target([Decimal("Infinity"), Decimal(10**16)], 2)


def test_a_decimal_that_signals_is_missing():
    with pytest.raises(ValueError, match="sample_weight contains NaN"):
        check_weight([Decimal("sNaN"), Decimal(1)], 2)
