"""Laws of single values: the same number is the same category, in whatever type it comes."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from batchensemble.data.scalars import category_text, in_microseconds, microseconds, real


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (10**400, "inf"),
        (2**63, str(2**63)),
        (1e300, "1e+300"),
        (-0.0, "0"),
        (np.int64(-7), "-7"),
        (np.timedelta64(5, "D"), "5 days"),
        (2**70 + 1, str(2**70 + 1)),
        (Decimal("12345678901234568"), "12345678901234568"),
        (Decimal("1.50"), "1.5"),
        (Decimal("3.00"), "3"),
        (Decimal("1E+400"), "inf"),
    ],
)
def test_a_category_of_any_number_has_a_short_text(value, text):
    assert category_text(value) == text


@pytest.mark.parametrize("unit", ["ns", "ps", "fs", "as"])
def test_times_of_the_finest_units_are_read(unit):
    values = np.array([3, "NaT"], dtype=f"datetime64[{unit}]")
    found = microseconds("when", values)
    assert found.dtype == "datetime64[us]"
    assert found[0] == np.datetime64("1970-01-01")
    assert np.isnat(found[1])


def test_the_first_nanosecond_is_in_its_year():
    first = np.array([pd.Timestamp.min.value, "NaT"], dtype="datetime64[ns]")
    found = microseconds("when", first)
    assert found[0] == np.datetime64("1677-09-21T00:12:43.145224")
    assert np.isnat(found[1])
    np.testing.assert_array_equal(in_microseconds(first), found)


def test_a_duration_of_pandas_has_all_its_nanoseconds():
    assert real(pd.Timedelta(123, "ns")) == 123 * 1e-9
