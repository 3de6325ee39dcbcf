import math

import numpy as np
import pytest

from batchensemble.estimators.requirements import is_count, is_number, is_positive, require


def test_what_does_not_hold_is_refused_by_what_was_expected():
    require(1 < 2, "numbers in order")
    with pytest.raises(ValueError, match="expected numbers in order"):
        require(2 < 1, "numbers in order")


@pytest.mark.parametrize(
    ("value", "counts", "measures"),
    [
        (1, True, True),
        (np.int64(7), True, True),
        (0, False, False),
        (-1, False, False),
        (0.5, False, True),
        (math.inf, False, False),
        (math.nan, False, False),
        (True, False, False),
        ("1", False, False),
        (None, False, False),
    ],
)
def test_flags_texts_and_what_is_not_finite_are_no_numbers(value, counts, measures):
    assert is_count(value) == counts
    assert is_positive(value) == measures
    assert not measures or is_number(value)


def test_nothing_may_be_a_count_where_it_is_allowed():
    assert is_count(0, least=0)
    assert not is_count(-1, least=0)
    assert is_number(-1.5)
