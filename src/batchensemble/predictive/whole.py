"""Counts: whole numbers, to which predictions are rounded."""

import numpy as np

from batchensemble.predictive.checks import Array

MIDDLE = 1e-4  # so near to the middle of two numbers, digits of float32 would decide


def to_whole(ends: Array) -> Array:
    """(..., 2), rounded; outwards from the middle of two numbers, and where that is near.

    Calibrated bounds of counts often lie in the middle, but for their last digits.
    """
    rounded: Array = np.rint(ends + np.array([-MIDDLE, MIDDLE])) + 0.0  # no -0.0
    return rounded


def rounded_to(y: Array, near: Array) -> Array:
    """Of the numbers that are rounded to the counts y, those nearest to `near`."""
    return np.clip(near, np.ceil(y) - 0.5, np.floor(y) + 0.5)
