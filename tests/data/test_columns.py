import datetime as dt

import numpy as np
import pandas as pd
import pytest

from batchensemble.data.frames import read_columns

NAN = float("nan")


def column(values):
    """The one column of a table of objects."""
    return read_columns(np.array([[value] for value in values], dtype=object))[0]


def test_columns_are_handed_back_and_know_their_names_kinds_and_rows():
    columns = read_columns(pd.DataFrame({"a": [1], "b": ["x"]}))
    assert read_columns(columns) is columns
    assert (columns.names, columns.kinds) == (["a", "b"], ["number", "category"])
    assert (columns.n_rows, len(columns)) == (1, 2)


@pytest.mark.parametrize("kind", ["number", "boolean", "category", "date"])
def test_a_column_without_values_is_of_every_kind(kind):
    for empty in ([None, None], [NAN, NAN]):
        read = column(empty).as_kind(kind)
        assert read.kind == kind
        assert read.missing.all()
        again = read.as_kind("number").as_kind(kind)
        assert again.kind == kind
        np.testing.assert_array_equal(again.values, read.values)


def test_numbers_and_booleans_can_be_read_as_categories_but_not_back():
    assert column([1.0, 2.5, None]).as_kind("category").values.tolist() == ["1", "2.5", None]
    flags = column([True, None, False])
    assert flags.as_kind("category").values.tolist() == ["True", None, "False"]
    np.testing.assert_array_equal(flags.as_kind("number").values, [1, NAN, 0])
    with pytest.raises(
        ValueError,
        match=r"'x0': expected a number column as in fit, got a category column \(row 1 is 'a'",
    ):
        column([None, "a"]).as_kind("number")
    for texts in (["3 days 12:00:00", None], ["18:57:10"], ["P3DT19H0M0S", "P1D"]):
        with pytest.raises(
            ValueError, match=r"durations, convert them: pd.to_timedelta\(X\['x0'\]"
        ):
            column(texts).as_kind("number")
    with pytest.raises(ValueError, match="make what is not a number missing"):
        column(["3 days 12:00:00", "a"]).as_kind("number")
    with pytest.raises(ValueError, match="all its strings read as numbers: convert the column"):
        column(["1", "2.5", None]).as_kind("number")


def test_numbers_are_booleans_only_if_all_are_0_or_1():
    assert column([1.0, 0.0, None]).as_kind("boolean").kind == "boolean"
    with pytest.raises(
        ValueError, match="expected True/False or 1/0 as in fit, got the number 7 in row 1"
    ):
        column([1.0, 7.0]).as_kind("boolean")


def test_dates_and_other_kinds_do_not_mix():
    date = column([dt.date(2020, 1, 1)])
    for kind in ("number", "boolean", "category"):
        with pytest.raises(
            ValueError, match=f"expected a {kind} column as in fit, got a date column"
        ):
            date.as_kind(kind)
    for other in ([1.0], ["2020-01-01"], [True]):
        with pytest.raises(
            ValueError, match=r"expected a date column .* convert it to the kind date"
        ):
            column(other).as_kind("date")
