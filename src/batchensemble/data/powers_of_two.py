"""Columns of numbers divided by powers of two, which is exact, however large or small they are."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def exponents_of(numbers: Floats) -> NDArray[np.int32]:
    """(columns,), by which the largest value of each column comes to lie in [0.5, 1).

    Then no sum or square can overflow, and no column is constant for being tiny. numbers (rows,
    columns): no column is all NaN.
    """
    largest = np.nanmax(np.abs(numbers), axis=0, initial=0.0)
    return np.asarray(np.frexp(largest)[1])


def in_units(numbers: Floats, exponents: NDArray[np.int32]) -> Floats:
    """Each column divided by the power of two with its exponent."""
    with np.errstate(over="ignore"):
        units = np.ldexp(numbers, -exponents)
    # Room for the scaler to multiply and divide, far beyond any clip and below any rounding.
    units[np.abs(units) < 2.0**-500] = 0.0
    return np.minimum(np.maximum(units, -(2.0**500)), 2.0**500)
