"""Does the uncertainty tell which rows are hard? Rows are taken from most to least certain.

Rows of equal uncertainty keep their order.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from batchensemble.metrics.classification import check_classes
from batchensemble.predictive import Array, check_array
from batchensemble.predictive.checks import as_given

COVERAGES: Array = np.arange(6, 21) / 20  # 0.30, 0.35, ..., 1.00
COVERAGES.setflags(write=False)
LARGEST_ERROR = 1e75  # larger ones are measured in larger units: squares must stay below 1e150


class SelectiveCurve(NamedTuple):
    """Shares of rows kept, and the metric on these rows."""

    coverages: Array
    values: Array


def selective_curve(
    risk: ArrayLike, *, uncertainty: ArrayLike, coverages: ArrayLike = COVERAGES
) -> SelectiveCurve:
    """Mean risk of the ceil(coverage * rows) most certain rows, in units of risk; lower is better.

    `risk` has one value per row.
    """
    ordered = _by_certainty(risk, uncertainty)
    shares = check_array("coverages", coverages, "coverages")
    if np.any((shares <= 0) | (shares > 1)):
        raise ValueError(f"coverages: expected shares in (0, 1], got {shares}; for 90 % pass 0.9")
    # 0.07 * 100 is 7.000000000000001 in floating point: shrink before rounding up.
    kept = [math.ceil(share * len(ordered) * (1 - 1e-12)) for share in shares]
    return SelectiveCurve(shares, np.array([ordered[:k].mean() for k in kept]))


class RiskCurve(NamedTuple):
    """Each uncertainty that occurs, the number of rows up to it, and their mean risk."""

    thresholds: Array
    kept: Array
    risks: Array


def risk_curve(risk: ArrayLike, *, uncertainty: ArrayLike) -> RiskCurve:
    """Mean risk of the rows up to each uncertainty, rising, in units of risk; lower is better."""
    ordered = _by_certainty(risk, uncertainty)
    values = np.sort(check_array("uncertainty", uncertainty))
    last = np.flatnonzero(np.append(values[1:] > values[:-1], True))  # of rows that are equal
    kept = (last + 1).astype(np.float64)
    return RiskCurve(values[last], kept, np.cumsum(ordered)[last] / kept)


def selective_rmse(
    y: ArrayLike, *, mean: ArrayLike, uncertainty: ArrayLike, coverages: ArrayLike = COVERAGES
) -> SelectiveCurve:
    """Root mean squared error of the most certain rows, in units of y; lower is better.

    y and mean (rows,) or (rows, horizon); uncertainty (rows,), for example the std.
    """
    truth = check_array("y", y)
    errors = check_array("mean", mean, *truth.shape) - truth
    unit = max(1.0, np.abs(errors).max(initial=0) / LARGEST_ERROR)
    squared = np.square(errors / unit)
    per_row = squared.reshape(len(squared), -1).mean(axis=1) if squared.size else squared
    curve = selective_curve(per_row, uncertainty=uncertainty, coverages=coverages)
    return SelectiveCurve(curve.coverages, unit * np.sqrt(curve.values))


def selective_accuracy(
    labels: ArrayLike,
    *,
    probabilities: ArrayLike,
    uncertainty: ArrayLike,
    coverages: ArrayLike = COVERAGES,
) -> SelectiveCurve:
    """Accuracy on the most certain rows, 0 to 1; higher is better."""
    truth, p = check_classes(labels, probabilities)
    return selective_curve(p.argmax(axis=1) == truth, uncertainty=uncertainty, coverages=coverages)


def aurc(risk: ArrayLike, *, uncertainty: ArrayLike) -> float:
    """Area under the risk-coverage curve, in units of the risk; lower is better.

    The mean over k = 1 .. rows of the mean risk of the k most certain rows.
    """
    ordered = _by_certainty(risk, uncertainty)
    return float(np.mean(np.cumsum(ordered) / np.arange(1, len(ordered) + 1)))


def shift_auroc(is_shifted: ArrayLike, *, score: ArrayLike) -> float:
    """Probability that a shifted row scores above one that is not, ties 1/2; higher is better.

    The area under the ROC curve: 0.5 is chance, 1 is perfect.
    """
    shifted = as_given("is_shifted", is_shifted)
    if shifted.ndim != 1 or not np.all((shifted == 0) | (shifted == 1)):
        raise ValueError(
            f"is_shifted: expected one True or False per row, got shape {shifted.shape} of "
            f"{shifted.dtype}; pass a mask (rows,)"
        )
    shifted = shifted.astype(bool)
    values = check_array("score", score, len(shifted))
    n_shifted, n_rest = np.count_nonzero(shifted), np.count_nonzero(~shifted)
    if n_shifted == 0 or n_rest == 0:
        raise ValueError(
            f"is_shifted: expected rows of both kinds, got {n_shifted} shifted and {n_rest} not; "
            "score both kinds together"
        )
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[which]  # the mean rank of equals
    above = ranks[shifted].sum() - n_shifted * (n_shifted + 1) / 2
    return float(above / n_shifted / n_rest)


def _by_certainty(risk: ArrayLike, uncertainty: ArrayLike) -> Array:
    risks = check_array("risk", risk, "rows")
    if len(risks) == 0:
        raise ValueError(
            "risk: expected at least one row, got none; the mean of nothing is undefined"
        )
    uncertainties = check_array("uncertainty", uncertainty, len(risks))
    return risks[np.argsort(uncertainties, kind="stable")]
