"""How much the members of an ensemble differ: measured, never assumed.

Pairs are all unordered pairs of different members; one member alone has none.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from batchensemble.predictive import Array, check_array, check_probabilities


def member_correlation(*, means: ArrayLike) -> float:
    """Mean Pearson correlation of two members' predictions over the rows; lower is more diverse.

    means (rows, members); -1 to 1. One member: 1. A constant member correlates 1 with a constant
    one and 0 with any other.
    """
    return _mean_correlation(_members(means))


def error_correlation(y: ArrayLike, *, means: ArrayLike) -> float:
    """Mean Pearson correlation of two members' errors over the rows; lower is more diverse.

    y (rows,), means (rows, members); conventions as in `member_correlation`.
    """
    predictions = _members(means)
    return _mean_correlation(predictions - check_array("y", y, len(predictions))[:, None])


def member_disagreement(*, means: ArrayLike) -> float:
    """Root mean squared difference of two members, in units of y; higher is more diverse.

    means (rows, members); the mean is over rows and pairs. One member: 0.
    """
    predictions = _members(means)
    k = predictions.shape[1]
    if k == 1:
        return 0.0
    # The mean squared difference of a pair is twice the unbiased variance across members.
    offsets = predictions - predictions[:, :1]
    return math.sqrt(2 * np.mean(offsets.var(axis=1, ddof=1)))


def class_disagreement(*, probabilities: ArrayLike) -> float:
    """Share of rows on which two members predict different classes; higher is more diverse.

    probabilities (rows, members, classes); averaged over pairs, 0 to 1. One member: 0.
    """
    p = check_probabilities("probabilities", probabilities, "rows", "members", "classes")
    _not_empty("probabilities", p)
    k, votes = p.shape[1], p.argmax(axis=2)
    if k == 1:
        return 0.0
    counts = np.stack([(votes == c).sum(axis=1) for c in range(p.shape[2])], axis=1)
    agreeing_pairs = (counts * (counts - 1)).sum(axis=1) / (k * (k - 1))
    return float(np.mean(1 - agreeing_pairs))


def epistemic_share(*, epistemic: ArrayLike, total: ArrayLike) -> float:
    """Mean epistemic over mean total uncertainty, 0 to 1; neither direction is better.

    Both in the same unit (variances, or nats). 0 if there is no uncertainty at all.
    """
    whole = check_array("total", total, largest=1e300)
    part = check_array("epistemic", epistemic, *whole.shape, largest=1e300)
    _not_empty("total", whole)
    return float(np.mean(part) / np.mean(whole)) if np.any(whole) else 0.0


def _members(means: ArrayLike) -> Array:
    predictions = check_array("means", means, "rows", "members")
    _not_empty("means", predictions)
    return predictions


def _not_empty(name: str, array: Array) -> None:
    if array.size == 0:
        raise ValueError(
            f"{name}: expected at least one row and one member, got shape {array.shape}; "
            "the mean of nothing is undefined"
        )


def _mean_correlation(values: Array) -> float:
    k = values.shape[1]
    if k == 1:
        return 1.0
    centred = values - values[:1]  # constants become exactly 0
    centred -= centred.mean(axis=0)
    scale = np.abs(centred).max(axis=0)
    varies = scale > 0
    unit = np.divide(centred, scale, out=np.zeros_like(centred), where=varies)
    unit[:, varies] /= np.linalg.norm(unit[:, varies], axis=0)
    correlation = np.clip(unit.T @ unit, -1, 1)
    correlation[np.ix_(~varies, ~varies)] = 1.0
    return float(correlation[np.triu_indices(k, 1)].mean())
