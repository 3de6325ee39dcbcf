"""Laws of single values: the same number is the same category, in whatever type it comes."""

import numpy as np
import pytest

from batchensemble.data.scalars import category_text, microseconds


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (10**400, "inf"),
        (2**63, str(2**63)),
        (1e300, "1e+300"),
        (-0.0, "0"),
        (np.int64(-7), "-7"),
        (np.timedelta64(5, "D"), "5 days"),
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
