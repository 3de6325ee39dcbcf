"""How good predicted classes are: labels first, probabilities (rows, classes) by name.

Labels are class indices, counted from 0 in the order of the columns.
"""

import math
from numbers import Real
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from batchensemble.predictive import (
    Array,
    Labels,
    check_array,
    check_labels,
    check_probabilities,
)

SMALLEST_PROBABILITY = float(np.finfo(np.float64).tiny)  # 2.2e-308, or 708 nats


def accuracy(labels: ArrayLike, *, probabilities: ArrayLike) -> float:
    """Share of rows whose most probable class is the label, 0 to 1; higher is better.

    Among equal probabilities the first class counts.
    """
    truth, p = check_classes(labels, probabilities)
    return float(np.mean(p.argmax(axis=1) == truth))


def categorical_nll(labels: ArrayLike, *, probabilities: ArrayLike) -> float:
    """Mean negative log probability of the label, in nats; lower is better.

    A probability below 2.2e-308 counts as 2.2e-308, so that a row costs at most 708 nats.
    """
    truth, p = check_classes(labels, probabilities)
    of_truth = p[np.arange(len(truth)), truth]
    return float(-np.log(np.maximum(of_truth, SMALLEST_PROBABILITY)).mean())


def brier(labels: ArrayLike, *, probabilities: ArrayLike) -> float:
    """Squared distance to the one-hot label, summed over classes, mean over rows; lower is better.

    0 to 2, also for two classes (twice the one-column form).
    """
    truth, p = check_classes(labels, probabilities)
    return float(np.square(p - np.eye(p.shape[1])[truth]).sum(axis=1).mean())


class Threshold(NamedTuple):
    """Say "yes" from this probability on, and the mean cost of a row if you do."""

    threshold: float
    cost: float


def cheapest_threshold(
    labels: ArrayLike, *, probability: ArrayLike, miss: float, false_alarm: float
) -> Threshold:
    """The probability of class 1 from which on "yes" costs least on these rows; best is cost 0.

    Labels are 0 and 1. `miss` is the cost of a "no" for a 1, `false_alarm` of a "yes" for a 0, in
    any unit. With good probabilities it is near false_alarm / (false_alarm + miss). A threshold of
    infinity never says "yes".
    """
    p = check_array("probability", probability, "rows")
    if np.any((p < 0) | (p > 1)):
        raise ValueError(
            f"probability: expected values in [0, 1], got some from {p.min():g} to {p.max():g}; "
            "pass predict_proba(X)[:, 1]"
        )
    truth = check_labels("labels", labels, n_rows=len(p), n_classes=2)
    are_costs = (isinstance(cost, Real) and 0 <= cost < math.inf for cost in (miss, false_alarm))
    if not len(p) or not all(are_costs):
        raise ValueError(
            f"expected rows, and costs of at least 0, got {len(p)} rows, miss={miss!r:.80} and "
            f"false_alarm={false_alarm!r:.80}"
        )
    order = np.argsort(-p, kind="stable")
    change = np.where(truth[order] == 1, -miss, false_alarm)  # of saying "yes" to one more row
    costs = miss * truth.sum() + np.concatenate([[0.0], np.cumsum(change)])
    ordered = np.concatenate([[math.inf], p[order]])
    # Rows of one probability get the same answer.
    is_last = np.append(ordered[1:] < ordered[:-1], True)
    best = np.flatnonzero(is_last)[costs[is_last].argmin()]
    return Threshold(float(ordered[best]), float(costs[best] / len(p)))


def check_classes(labels: ArrayLike, probabilities: ArrayLike) -> tuple[Labels, Array]:
    """Labels (rows,) and probabilities (rows, classes) that fit each other, at least one row."""
    p = check_probabilities("probabilities", probabilities, "rows", "classes")
    if p.size == 0:
        raise ValueError(
            f"probabilities: expected at least one row and one class, got shape {p.shape}; "
            "the mean of nothing is undefined"
        )
    return check_labels("labels", labels, n_rows=p.shape[0], n_classes=p.shape[1]), p
