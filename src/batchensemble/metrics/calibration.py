"""Calibration: do events predicted with probability p happen in a share p of the cases?

Numbers: coverage of central intervals against their level. Classes: accuracy against confidence.
"""

import math
from numbers import Integral
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from batchensemble.metrics.classification import check_classes
from batchensemble.metrics.regression import pit as gaussian_pit
from batchensemble.predictive import (
    Array,
    GaussianPredictive,
    TransformedPredictive,
    check_array,
)

LEVELS: Array = np.arange(1, 40) / 40  # 0.025, 0.05, ..., 0.975
LEVELS.setflags(write=False)
ROUNDING = 1e-9  # by which two ways to find the same probability may differ


class CoverageCurve(NamedTuple):
    """Nominal levels of central intervals, and the share of truths inside each."""

    levels: Array
    empirical: Array

    def rmsce(self) -> float:
        """Root mean squared difference of the two shares, 0 to 0.57; lower is better."""
        return math.sqrt(np.mean(np.square(self.empirical - self.levels)))

    def miscalibration_area(self) -> float:
        """Area under |empirical - nominal| by trapezoids, below 0.5; lower is better."""
        gap = np.abs(self.empirical - self.levels)
        return float(np.sum(np.diff(self.levels) * (gap[1:] + gap[:-1]) / 2))


def pit_coverage_curve(
    pit: ArrayLike, *, below: ArrayLike | None = None, levels: ArrayLike = LEVELS
) -> CoverageCurve:
    """Coverage of central intervals from P(Y <= y), for any prediction; best on the diagonal.

    The central interval of level g contains y exactly if P(Y <= y) >= (1 - g) / 2 and
    P(Y < y) <= (1 + g) / 2. For a mixture, pass `dist.cdf(y)`; `below`, P(Y < y), is the same
    unless single values have a probability of their own, as a zero that is often right.
    """
    values = check_array("pit", pit).ravel()
    before = values if below is None else check_array("below", below, *np.shape(pit)).ravel()
    nominal = check_array("levels", levels, "levels")
    if values.size == 0 or values.min() < 0 or values.max() > 1:
        raise ValueError(
            f"pit: expected at least one value, each in [0, 1], got {values.size} from "
            f"{values.min(initial=np.inf):g} to {values.max(initial=-np.inf):g}; pass dist.cdf(y)"
        )
    if nominal.size == 0 or nominal[0] < 0 or nominal[-1] > 1 or np.any(np.diff(nominal) <= 0):
        raise ValueError(
            f"levels: expected rising shares in [0, 1], got {nominal}; for 90 % pass 0.9"
        )
    if before.min() < 0 or np.any(before > values + ROUNDING):
        raise ValueError(
            f"below: expected P(Y < y), each in [0, 1] and at most pit, got values from "
            f"{before.min():g} to {before.max():g}; omit it if no value is likely by itself"
        )
    reach = np.sort(np.maximum(1 - 2 * values, 2 * before - 1))
    return CoverageCurve(nominal, np.searchsorted(reach, nominal, side="right") / len(reach))


def probabilities_at(
    y: ArrayLike, dist: GaussianPredictive | TransformedPredictive, *, whole: bool = False
) -> tuple[Array, Array]:
    """(samples,) P(Y <= y) and P(Y < y); with `whole` those of Y rounded."""
    if whole:
        truth = check_array("y", y)
        return dist.cdf(np.floor(truth) + 0.5), dist.cdf(np.ceil(truth) - 0.5)
    return dist.cdf(y), -np.expm1(dist.log_survival(y))


def coverage_curve(
    y: ArrayLike, *, mean: ArrayLike, std: ArrayLike, levels: ArrayLike = LEVELS
) -> CoverageCurve:
    """Share of truths inside central intervals of N(mean, std^2), per level; best on the diagonal.

    Above the diagonal the intervals are too wide, below it too narrow.
    """
    return pit_coverage_curve(gaussian_pit(y, mean=mean, std=std), levels=levels)


def rmsce(y: ArrayLike, *, mean: ArrayLike, std: ArrayLike) -> float:
    """Root mean squared calibration error of N(mean, std^2) over the 39 `LEVELS`; lower is better.

    It compares shares, from 0 to 0.57.
    """
    return coverage_curve(y, mean=mean, std=std).rmsce()


def miscalibration_area(y: ArrayLike, *, mean: ArrayLike, std: ArrayLike) -> float:
    """Area between the coverage curve of N(mean, std^2) and the diagonal; lower is better.

    Below 0.5; trapezoidal rule on |empirical - nominal| over the `LEVELS`, 0.025 to 0.975.
    """
    return coverage_curve(y, mean=mean, std=std).miscalibration_area()


class ReliabilityCurve(NamedTuple):
    """Mean confidence, accuracy and number of rows per confidence bin; NaN where a bin is empty."""

    edges: Array
    confidence: Array
    accuracy: Array
    counts: Array


def reliability_curve(
    labels: ArrayLike, *, probabilities: ArrayLike, n_bins: int = 15
) -> ReliabilityCurve:
    """Accuracy against confidence (the largest probability), both 0 to 1; best on the diagonal.

    In uniform bins, which hold their lower edge, not their upper; the last one also holds 1.
    """
    if not isinstance(n_bins, Integral) or n_bins < 1:
        raise ValueError(
            f"n_bins: expected at least 1, a whole number, got {n_bins!r:.80}; the usual number "
            "is 15"
        )
    truth, p = check_classes(labels, probabilities)
    confidence = p.max(axis=1)
    edges = np.linspace(0, 1, n_bins + 1)
    bins = np.clip(np.searchsorted(edges, confidence, side="right") - 1, 0, n_bins - 1)
    counts = np.bincount(bins, minlength=n_bins).astype(np.float64)

    def mean_per_bin(values: Array) -> Array:
        sums = np.bincount(bins, weights=values, minlength=n_bins)
        return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)

    hits = (p.argmax(axis=1) == truth).astype(np.float64)
    return ReliabilityCurve(edges, mean_per_bin(confidence), mean_per_bin(hits), counts)


def ece(labels: ArrayLike, *, probabilities: ArrayLike, n_bins: int = 15) -> float:
    """Expected calibration error: |accuracy - confidence| weighted by bin size; lower is better.

    From 0 to 1; bins as in `reliability_curve`.
    """
    curve = reliability_curve(labels, probabilities=probabilities, n_bins=n_bins)
    gaps = np.nan_to_num(np.abs(curve.accuracy - curve.confidence))
    return float(np.sum(gaps * curve.counts) / np.sum(curve.counts))
