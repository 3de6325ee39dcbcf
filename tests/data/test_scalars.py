"""Laws of single values: the same number is the same category, in whatever type it comes."""

import numpy as np
import pytest

from batchensemble.data.scalars import category_text


@pytest.mark.parametrize(
    ("value", "text"),
    [(10**400, "inf"), (2**63, str(2**63)), (1e300, "1e+300"), (-0.0, "0"), (np.int64(-7), "-7")],
)
def test_a_category_of_any_number_has_a_short_text(value, text):
    assert category_text(value) == text
