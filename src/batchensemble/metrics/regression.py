"""How good predictions of numbers are: truth first, everything else by name.

Arrays may have any shape, the same for truth and prediction; results average over all entries.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from batchensemble.predictive import (
    Array,
    GaussianPredictive,
    SamplePredictive,
    check_array,
    check_coverage,
)


def rmse(y: ArrayLike, *, mean: ArrayLike) -> float:
    """Root mean squared error, in units of y; lower is better."""
    return math.sqrt(np.mean(np.square(_error(y, mean))))


def mae(y: ArrayLike, *, mean: ArrayLike) -> float:
    """Mean absolute error, in units of y; lower is better."""
    return float(np.mean(np.abs(_error(y, mean))))


def gaussian_nll(y: ArrayLike, *, mean: ArrayLike, std: ArrayLike) -> float:
    """Mean negative log density of N(mean, std^2), in nats; lower is better, may be negative.

    With the constant 0.5 * log(2 * pi). A std of 0 counts as 1e-100.
    """
    truth = _truth(y)
    return float(-_gaussian(truth, mean, std).log_prob(truth.ravel()).mean())


def mixture_nll(y: ArrayLike, *, means: ArrayLike, variances: ArrayLike) -> float:
    """Mean negative log density of the members' mixture, in nats; lower is better.

    y (rows,); means and variances (rows, members), all members of equal weight.
    """
    truth = _truth(y)
    return float(-_mixture(means, variances).log_prob(truth).mean())


def crps_gaussian(y: ArrayLike, *, mean: ArrayLike, std: ArrayLike) -> float:
    """Mean continuous ranked probability score of N(mean, std^2), in units of y; lower is better.

    For std 0 the absolute error.
    """
    truth = _truth(y)
    return float(_gaussian(truth, mean, std).crps(truth.ravel()).mean())


def crps_mixture(y: ArrayLike, *, means: ArrayLike, variances: ArrayLike) -> float:
    """Mean continuous ranked probability score of the mixture, in units of y; lower is better.

    The closed form. y (rows,); means and variances (rows, members), of equal weight.
    """
    truth = _truth(y)
    return float(_mixture(means, variances).crps(truth).mean())


def crps_samples(y: ArrayLike, *, samples: ArrayLike) -> float:
    """Mean continuous ranked probability score of draws, in units of y; lower is better.

    y (rows,), samples (rows, draws). Scores the empirical distribution of the draws: the energy
    form E|X - y| - 1/2 E|X - X'| over all pairs, a draw and itself included (not the "fair" form).
    """
    truth = check_array("y", _truth(y), "rows")
    draws = check_array("samples", samples, len(truth), "draws")
    return float(SamplePredictive(draws[:, None, :, None]).crps(truth[:, None]).mean())


def interval_coverage(y: ArrayLike, *, lower: ArrayLike, upper: ArrayLike) -> float:
    """Share of truths in [lower, upper], ends included, 0 to 1; best near the nominal coverage."""
    truth = _truth(y)
    low, high = _interval(lower, upper, truth.shape)
    return float(np.mean((low <= truth) & (truth <= high)))


def interval_width(*, lower: ArrayLike, upper: ArrayLike) -> float:
    """Mean width upper - lower, in units of y; lower is sharper."""
    low, high = _interval(lower, upper)
    return float(np.mean(high - low))


def interval_score(y: ArrayLike, *, lower: ArrayLike, upper: ArrayLike, coverage: float) -> float:
    """Mean interval (Winkler) score of a central interval, in units of y; lower is better.

    Width plus 2 / (1 - coverage) times the distance by which the truth lies outside.
    """
    truth = _truth(y)
    low, high = _interval(lower, upper, truth.shape)
    outside = np.maximum(low - truth, 0) + np.maximum(truth - high, 0)
    return float(np.mean(high - low + 2 / (1 - check_coverage(coverage)) * outside))


def sharpness(*, std: ArrayLike) -> float:
    """Root of the mean predicted variance, in units of y; lower is sharper, not always better."""
    return math.sqrt(np.mean(np.square(check_std(std))))


def pit(y: ArrayLike, *, mean: ArrayLike, std: ArrayLike) -> Array:
    """Probability integral transform P(Y <= y) under N(mean, std^2), one value per entry.

    Uniform on [0, 1] if the prediction is calibrated. For a mixture: `dist.cdf(y)`.
    """
    truth = _truth(y)
    return _gaussian(truth, mean, std).cdf(truth.ravel()).reshape(truth.shape)


def check_std(std: ArrayLike, *axes: int) -> Array:
    """Standard deviations, none negative."""
    array = check_array("std", std, *axes)
    if array.size == 0 or array.min() < 0:
        raise ValueError(
            f"std: expected standard deviations >= 0, got {array.min(initial=np.inf):g} among "
            f"{array.size}; pass the square root of the variance"
        )
    return array


def _truth(y: ArrayLike) -> Array:
    truth = check_array("y", y)
    if truth.size == 0 or truth.ndim == 0:
        raise ValueError(
            f"y: expected at least one row, got shape {truth.shape}; pass an array with all rows"
        )
    return truth


def _error(y: ArrayLike, mean: ArrayLike) -> Array:
    truth = _truth(y)
    return check_array("mean", mean, *truth.shape) - truth


def _gaussian(truth: Array, mean: ArrayLike, std: ArrayLike) -> GaussianPredictive:
    means = check_array("mean", mean, *truth.shape).reshape(-1, 1)
    return GaussianPredictive(means, check_std(std, *truth.shape).reshape(-1, 1) ** 2)


def _mixture(means: ArrayLike, variances: ArrayLike) -> GaussianPredictive:
    return GaussianPredictive(means, variances)  # type: ignore[arg-type]  # it checks them


def _interval(
    lower: ArrayLike, upper: ArrayLike, shape: tuple[int, ...] | None = None
) -> tuple[Array, Array]:
    low = check_array("lower", lower, *(shape or ()))
    high = check_array("upper", upper, *low.shape)
    if low.size == 0 or np.any(low > high):
        raise ValueError(
            "lower, upper: expected rows with lower <= upper, got "
            f"{np.count_nonzero(low > high)} crossing of {low.size}; swap or sort the two"
        )
    return low, high
