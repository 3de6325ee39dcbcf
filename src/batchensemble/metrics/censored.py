"""Scores for rows whose truth may be known only to be at least some value."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from batchensemble.metrics.calibration import LEVELS, CoverageCurve, probabilities_at
from batchensemble.predictive import (
    Array,
    GaussianPredictive,
    TransformedPredictive,
    check_array,
)
from batchensemble.predictive.checks import LARGEST, as_given
from batchensemble.predictive.whole import to_whole

Dist = GaussianPredictive | TransformedPredictive


def censored_nll(y: ArrayLike, *, censored: ArrayLike, dist: Dist, whole: bool = False) -> float:
    """Mean negative log-likelihood, in nats; lower is better.

    Minus the log density at y or, where `censored` is True, minus log P(Y >= y). With `whole`, y
    are counts, to which all within a half is rounded.
    """
    return -float(censored_logs(y, censored=censored, dist=dist, whole=whole).mean())


def censored_logs(y: ArrayLike, *, censored: ArrayLike, dist: Dist, whole: bool) -> Array:
    """(rows,), the logarithms whose mean that is."""
    mask, truth = _mask(censored, dist), check_array("y", y, len(dist))
    above = dist.log_survival(truth - 0.5 if whole else truth)
    return np.where(mask, above, dist.log_prob(truth))


def censored_coverage(
    y: ArrayLike,
    *,
    censored: ArrayLike,
    dist: Dist,
    lower: ArrayLike,
    upper: ArrayLike,
    whole: bool = False,
) -> float:
    """Expected share of truths in [lower, upper], 0 to 1; best near the nominal coverage.

    A censored row counts with the probability, by `dist` itself, that its truth is in the interval
    given that it is at least y. With `whole`, y and the ends are counts, to which all within a
    half is rounded.
    """
    mask, truth = _mask(censored, dist), check_array("y", y, len(dist))
    low, high = (check_array("interval", end, len(dist)) for end in (lower, upper))
    is_inside = (low <= truth) & (truth <= high)
    half = 0.5 if whole else 0.0
    low, high, truth = low - half, high + half, truth - half
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


def censored_coverage_curve(
    y: ArrayLike, *, censored: ArrayLike, dist: Dist, whole: bool = False
) -> CoverageCurve:
    """The same for central intervals of many levels, as `pit_coverage_curve`.

    Where the truth is at least y, its probability integral transform is taken as uniform above
    P(Y < y). With `whole`, y are counts, and so are the ends of intervals.
    """
    mask, shares = _mask(censored, dist), []
    if whole and mask.any():  # rounded intervals hold more than their level
        for level in LEVELS:
            lower, upper = to_whole(dist.interval(level)).T
            ends = {"lower": lower, "upper": upper, "whole": True}
            shares.append(censored_coverage(y, censored=censored, dist=dist, **ends))
        return CoverageCurve(LEVELS, np.array(shares))
    up_to, below = probabilities_at(y, dist, whole=whole)
    at_lowest, before_highest = _ends(dist)
    for level in LEVELS:
        low, high = (1 - level) / 2, (1 + level) / 2
        is_inside = (low <= up_to) & (below <= high)
        # An interval that reaches an end holds all of that end's own probability.
        start = np.where(low <= at_lowest, 0.0, np.minimum(low, before_highest))
        stop = np.where(high >= before_highest, 1.0, np.maximum(high, at_lowest))
        room = np.maximum(1 - below, 1e-12)
        chance = np.clip(stop - np.maximum(start, below), 0.0, None) / room
        shares.append(float(np.where(mask, np.minimum(chance, 1.0), is_inside).mean()))
    return CoverageCurve(LEVELS, np.array(shares))


def _ends(dist: Dist) -> tuple[Array, Array]:
    """(samples,) the probability of the smallest value, and that of all but the largest."""
    if not isinstance(dist, TransformedPredictive):
        return np.full(len(dist), -np.inf), np.full(len(dist), np.inf)
    ends = np.clip([dist.transform.low, dist.transform.high], -LARGEST, LARGEST)
    (lowest, _), (_, before_highest) = (probabilities_at(y, dist) for y in ends)
    return lowest, before_highest


def _mask(censored: ArrayLike, dist: Dist) -> NDArray[np.bool_]:
    if not isinstance(dist, Dist):
        raise TypeError(
            f"expected dist as a Regressor's predict_dist returns it, got a {type(dist).__name__}"
        )
    n, mask = len(dist), as_given("censored", censored)
    if mask.shape != (n,) or mask.dtype.kind not in "biuf" or not np.isin(mask, (0, 1)).all():
        raise ValueError(
            f"censored: expected True or False for {n} rows, got shape {mask.shape} of {mask.dtype}"
        )
    if not n:
        raise ValueError("censored: expected at least one row, got none")
    return mask.astype(bool)
