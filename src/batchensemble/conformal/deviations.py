"""Errors in units of the predicted standard deviation, and intervals that reach so far."""

import numpy as np
from numpy.typing import ArrayLike

from batchensemble.conformal.ranks import SLACK
from batchensemble.predictive import Array, Transform, check_array
from batchensemble.predictive.checks import LARGEST

NARROWEST_STD = 1e-100  # a zero is treated as this
ROUNDING = 4 * np.finfo(np.float64).eps
IMPOSSIBLE = LARGEST  # the score of a truth that no interval can hold


def interval_scores(y: ArrayLike, *, mean: ArrayLike, std: ArrayLike) -> Array:
    """|y - mean| / std, of any shape."""
    truth = check_array("y", y)
    error = truth - check_array("mean", mean, *truth.shape)
    return np.abs(error) / np.maximum(check_array("std", std, *truth.shape), NARROWEST_STD)


def widened(mean: Array, std: Array, factor: Array, above: Array | None = None) -> Array:
    """(..., 2), mean -+ factor * std, and so much more that a score of `factor` is inside.

    With `above`, that is the factor above the mean, and `factor` the one below it.
    """
    above = factor if above is None else above
    unit, rounding = np.maximum(std, NARROWEST_STD), ROUNDING * np.abs(mean)
    below, above = (
        each * unit + SLACK * np.abs(each) * unit + rounding for each in (factor, above)
    )
    ends: Array = np.clip(np.stack([mean - below, mean + above], axis=-1), -LARGEST, LARGEST)
    return ends


def scaled_errors(y: Array, mean: Array, std: Array) -> Array:
    """(y - mean) / std."""
    scaled: Array = (y - mean) / np.maximum(std, NARROWEST_STD)
    return scaled


def latent_errors(y: Array, mean: Array, std: Array, transform: Transform) -> Array:
    """The same before the transform, where all beyond an end stands for that end."""
    z = transform.inverse(y)
    z = np.where(y <= transform.low, np.minimum(z, mean), z)
    z = np.where(y >= transform.high, np.maximum(z, mean), z)
    scaled = scaled_errors(z, mean, std)
    scaled = np.where(y < transform.low, -IMPOSSIBLE, scaled)
    return np.where(y > transform.high, IMPOSSIBLE, scaled)
