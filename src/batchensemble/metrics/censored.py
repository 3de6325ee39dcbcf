"""How good predictions are where some truths are only known to be at least so large."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from batchensemble.metrics.calibration import LEVELS, CoverageCurve
from batchensemble.predictive import (
    GaussianPredictive,
    TransformedPredictive,
    check_array,
)
from batchensemble.predictive.checks import as_given

Dist = GaussianPredictive | TransformedPredictive


def censored_nll(y: ArrayLike, *, censored: ArrayLike, dist: Dist) -> float:
    """Mean negative log-likelihood, in nats; lower is better.

    Minus the log density at y or, where `censored` is True, minus log P(Y >= y).
    """
    mask = _mask(censored, len(dist))
    return -float(np.where(mask, dist.log_survival(y), dist.log_prob(y)).mean())


def censored_coverage(
    y: ArrayLike, *, censored: ArrayLike, dist: Dist, lower: ArrayLike, upper: ArrayLike
) -> float:
    """Expected share of truths in [lower, upper], 0 to 1; best near the nominal coverage.

    A censored row counts with the probability, by `dist` itself, that its truth is in the interval
    given that it is at least y.
    """
    mask, truth = _mask(censored, len(dist)), check_array("y", y, len(dist))
    low, high = (check_array("interval", end, len(dist)) for end in (lower, upper))
    is_inside = (low <= truth) & (truth <= high)
    above = dist.log_survival(truth)
    with np.errstate(invalid="ignore"):  # no truth can be above: -inf less -inf
        # Of what is above the truth, all above one end and not above the other; in logs, since far
        # out there is little of it.
        from_low, beyond = (
            np.exp(dist.log_survival(np.maximum(end, truth)) - above)
            for end in (low, np.nextafter(high, np.inf))
        )
    chance = np.where(np.isneginf(above) | (high < truth), 0.0, from_low - beyond)
    return float(np.where(mask, np.clip(chance, 0.0, 1.0), is_inside).mean())


def censored_coverage_curve(y: ArrayLike, *, censored: ArrayLike, dist: Dist) -> CoverageCurve:
    """The same for central intervals of many levels, as `pit_coverage_curve`.

    Where the truth is at least y, its probability integral transform is taken as uniform above
    that of y.
    """
    mask, from_ = _mask(censored, len(dist)), dist.cdf(y)
    shares = []
    for level in LEVELS:
        low, high = (1 - level) / 2, (1 + level) / 2
        is_inside = (low <= from_) & (from_ <= high)
        room = np.maximum(1 - from_, 1e-12)
        chance = np.clip(high - np.maximum(low, from_), 0.0, None) / room
        shares.append(float(np.where(mask, np.minimum(chance, 1.0), is_inside).mean()))
    return CoverageCurve(LEVELS, np.array(shares))


def _mask(censored: ArrayLike, n: int) -> NDArray[np.bool_]:
    mask = as_given("censored", censored)
    if mask.shape != (n,) or mask.dtype.kind not in "biuf" or not np.isin(mask, (0, 1)).all():
        raise ValueError(
            f"censored: expected True or False for {n} rows, got shape {mask.shape} of {mask.dtype}"
        )
    return mask.astype(bool)
