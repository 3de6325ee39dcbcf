import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from batchensemble.predictive.whole import rounded_to, to_whole


@given(st.integers(-9, 9), st.floats(-12, 12))
def test_a_count_is_as_near_as_what_is_rounded_to_it(y, near):
    found = rounded_to(np.array(float(y)), np.array(near))
    grid = np.linspace(y - 0.5, y + 0.5, 100_001)
    assert abs(abs(found - near) - np.abs(grid - near).min()) <= 1e-5
    assert abs(found - y) <= 0.5


def test_between_two_counts_an_interval_must_hold_both():
    assert rounded_to(np.array([2.3, 2.3]), np.array([0.0, 7.0])).tolist() == [2.5, 2.5]


def test_the_middle_of_two_counts_is_rounded_outwards_however_its_last_digits_are():
    for noise in (-1e-6, 0.0, 1e-6):
        found = to_whole(np.array([[0.5, 2.5], [1.5, 3.5], [1.2, 1.6]]) + noise)
        assert found.tolist() == [[0.0, 3.0], [1.0, 4.0], [1.0, 2.0]]
    assert not np.signbit(to_whole(np.array([0.0, 0.0]))).any()
