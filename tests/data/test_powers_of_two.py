import numpy as np

from batchensemble.data.powers_of_two import exponents_of, in_units


def test_the_largest_value_of_a_column_comes_to_lie_between_a_half_and_one_exactly():
    numbers = np.array([[3.0, 1e300, 1e-300, np.nan], [-5.0, 7e299, 4e-301, -0.3]])
    exponents = exponents_of(numbers)
    units = in_units(numbers, exponents)
    largest = np.nanmax(np.abs(units), axis=0)
    assert ((largest >= 0.5) & (largest < 1)).all()
    np.testing.assert_array_equal(np.ldexp(units, exponents), numbers)  # nothing was rounded


def test_a_column_of_zeros_stays_zero_and_what_is_far_off_is_cut_where_squares_are_finite():
    assert exponents_of(np.zeros((3, 1))).tolist() == [0]
    exponents = np.array([0, 0], dtype=np.int32)
    units = in_units(np.array([[1e308, 1e-308]]), exponents)
    assert units.tolist() == [[2.0**500, 0.0]]
    assert np.isfinite(np.square(units)).all()
