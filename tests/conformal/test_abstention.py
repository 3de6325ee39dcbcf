import numpy as np
import pytest

from batchensemble.conformal.abstention import FEWEST_KEPT, largest_threshold

KEPT = np.arange(1.0, 21)
THRESHOLDS = np.linspace(0.1, 2, 20)


def test_the_largest_threshold_that_fits_is_taken_even_behind_one_that_does_not():
    errors = np.full(20, 0.5)
    errors[[12, 15]] = 0.1
    assert largest_threshold(THRESHOLDS, KEPT, errors, 0.2) == THRESHOLDS[15]
    assert largest_threshold(THRESHOLDS, KEPT, errors, 0.5) == THRESHOLDS[-1]


def test_a_few_sure_rows_do_not_decide():
    errors = np.where(KEPT < FEWEST_KEPT, 0.0, 0.5)
    with pytest.raises(
        ValueError, match=r"at least 0.5, the smallest error .* of the 20 .*, got 0.2; allow"
    ):
        largest_threshold(THRESHOLDS, KEPT, errors, 0.2)


@pytest.mark.parametrize("max_error", [-0.1, np.nan, np.inf, "0.1", None])
def test_an_error_that_is_none_is_refused(max_error):
    with pytest.raises(ValueError, match="expected a number of at least 0"):
        largest_threshold(THRESHOLDS, KEPT, np.zeros(20), max_error)
