"""Classes: calibrated probabilities, and sets that contain the truth.

A temperature above 1 makes every member less sure. The score of a class is one minus its mean
probability (LAC, Sadinle et al. 2019), which gives the smallest sets on average. Sets are no wider
for a hard kind of rows than for an easy one: rows of a hard kind are covered less often.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from scipy.special import entr, log_softmax, logsumexp
from scipy.stats import binom

from batchensemble.conformal.abstention import largest_threshold
from batchensemble.conformal.groups import each_group, quantiles_by_group
from batchensemble.conformal.last_coverage import remembered
from batchensemble.conformal.ranks import (
    REPORTED,
    SLACK,
    assured_coverage,
    conformal_quantile,
    fewest_rows,
    left_out_quantiles,
)
from batchensemble.metrics import categorical_nll, ece, risk_curve
from batchensemble.metrics.classification import check_classes
from batchensemble.predictive import Array, Labels, check_array, check_coverage, check_labels

LARGEST_LOG_TEMPERATURE = 3.0
CHANCE = 1e-3  # of a class that is held so rarely, if its sets were as good as they say

Sets = NDArray[np.bool_]


def fit_temperature(labels: ArrayLike, *, logits: ArrayLike) -> float:
    """The number that divides the logits (rows, members, classes) of all members best.

    Best is the smallest negative log-likelihood of the mean probabilities plus half the squared
    log-temperature: that counts where a few rows, all of them right, would ask for a temperature
    of 0, and is nothing among many.
    """
    z = check_array("logits", logits, "rows", "members", "classes")
    truth = check_labels("labels", labels, n_rows=len(z), n_classes=z.shape[2])
    of_truth = truth[:, None, None]

    def loss(log_temperature: float) -> float:
        logs = log_softmax(z * np.exp(-log_temperature), axis=2)
        own = np.take_along_axis(logs, of_truth, axis=2)[..., 0]
        log_likelihood = logsumexp(own, axis=1) - np.log(z.shape[1])
        return float(0.5 * log_temperature**2 - log_likelihood.sum())

    bounds = (-LARGEST_LOG_TEMPERATURE, LARGEST_LOG_TEMPERATURE)
    best = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-6})
    return float(np.exp(best.x))


def label_scores(labels: ArrayLike, *, probabilities: ArrayLike) -> Array:
    """(rows,), one minus the probability of the label."""
    truth, p = check_classes(labels, probabilities)
    scores: Array = 1 - p[np.arange(len(truth)), truth]
    return scores


def label_sets(probabilities: ArrayLike, limit: ArrayLike, *, allow_empty: bool = False) -> Sets:
    """(rows, classes), the classes whose score is at most the limit.

    One limit for all, one for each row, or (1, classes) one for each class. Where no class is
    within it, the most probable one, unless `allow_empty`.
    """
    p = check_array("probabilities", probabilities, "rows", "classes")
    limits = check_array("limit", limit)
    limits = limits if limits.ndim == 2 else limits.reshape(-1, 1)
    if any(n not in (1, of) for n, of in zip(limits.shape, p.shape, strict=True)):
        raise ValueError(
            f"limit: expected one number, one for each of {len(p)} rows, or one for each class, "
            f"(1, {p.shape[1]}), got shape {np.shape(limit)}"
        )
    sets = 1 - p <= limits + SLACK
    if not allow_empty:
        sets[np.arange(len(p)), p.argmax(axis=1)] = True
    return sets


def promised_sets(probabilities: ArrayLike, coverage: float) -> Sets:
    """(rows, classes), the fewest classes whose probabilities add up to the coverage."""
    check_coverage(coverage)
    p = check_array("probabilities", probabilities, "rows", "classes")
    order = np.argsort(-p, axis=1, kind="stable")
    ordered = np.take_along_axis(p, order, axis=1)
    needed = np.cumsum(ordered, axis=1) - ordered < coverage  # what came before is not enough
    sets = np.zeros(p.shape, dtype=bool)
    np.put_along_axis(sets, order, needed, axis=1)
    return sets


def neglected(sets: Sets, labels: Labels, coverage: float) -> dict[int, tuple[int, int]]:
    """Classes that sets (rows, classes) hardly ever hold: in how many of how many of their rows."""
    inside = sets[np.arange(len(labels)), labels]
    found = {}
    for label in np.unique(labels).tolist():
        held, n = int(inside[labels == label].sum()), int(np.count_nonzero(labels == label))
        if held < n / 2 and binom.cdf(held, n, coverage) < CHANCE:
            found[label] = (held, n)
    return found


def halves(
    labels: Labels, rng: np.random.Generator, *, per_class: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows to fit the temperature with, and rows for the sets, at random.

    `per_class`, rare classes keep as many for their sets as a coverage of 90 % needs.
    """
    order = rng.permutation(len(labels))
    if not per_class:
        first, rest = np.split(order, [len(order) // 2])
        return first, rest
    for_sets = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        own = order[labels[order] == label]
        n = len(own)
        for_sets[own[: max(n - n // 2, min(n - 1, fewest_rows(0.9)))]] = True
    return order[~for_sets[order]], order[for_sets[order]]


@dataclass(frozen=True, eq=False)
class SetCalibration:
    """A temperature, and its probabilities for rows that neither it nor the model was fitted to.

    labels         (rows,), columns of the probabilities
    probabilities  (rows, classes), with the temperature
    untempered     (rows, classes), without it
    per_class      whether every class has a guarantee of its own
    groups         (rows,), if each shall have a guarantee of its own
    """

    temperature: float
    labels: Labels
    probabilities: Array
    untempered: Array
    per_class: bool = False
    groups: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def scores(self) -> Array:
        """(rows,)."""
        return label_scores(self.labels, probabilities=self.probabilities)

    def sets(
        self,
        probabilities: ArrayLike,
        coverage: float,
        *,
        allow_empty: bool = False,
        groups: NDArray[Any] | None = None,
    ) -> Sets:
        """(rows, classes), of new rows with their tempered probabilities."""
        limits = self._limits(coverage, groups)
        return label_sets(probabilities, limits, allow_empty=allow_empty)

    def _limits(self, coverage: float, groups: NDArray[Any] | None) -> Array:
        """One for all; with groups one for each row; by class (1, classes)."""
        if self.groups is None:
            return self._limit(coverage)
        if groups is None:
            raise ValueError("calibrated by groups; pass the groups of these rows, too")
        return quantiles_by_group(self.scores, coverage, groups=self.groups, of=groups)

    @remembered
    def _limit(self, coverage: float) -> Array:
        if not self.per_class:
            return conformal_quantile(self.scores, coverage)
        every = np.arange(self.probabilities.shape[1])
        limits = quantiles_by_group(
            self.scores, coverage, groups=self.labels, of=every, what="class"
        )
        return limits[None]

    @property
    def _kinds(self) -> NDArray[Any]:
        """(rows,), the parts that have a guarantee of their own."""
        if self.per_class:
            return self.labels
        return np.zeros(len(self)) if self.groups is None else self.groups

    def _left_out_limits(self, level: float) -> Array:
        """Of each row, by all others: (rows,), or by class (rows, classes)."""
        limits = np.empty(len(self))
        for own in each_group(self._kinds):
            limits[own] = left_out_quantiles(self.scores[own], level)
        if not self.per_class:
            return limits
        by_class = np.tile(self._limits(level, None), (len(self), 1))
        by_class[np.arange(len(self)), self.labels] = limits
        return by_class

    def abstain_threshold(self, max_error: float) -> float:
        """The largest entropy up to which the share of wrong classes is at most `max_error`."""
        wrong = self.probabilities.argmax(axis=1) != self.labels
        curve = risk_curve(wrong, uncertainty=entr(self.probabilities).sum(axis=1))
        return largest_threshold(curve.thresholds, curve.kept, curve.risks, max_error)

    @property
    def fewest(self) -> int:
        """Rows; those of the smallest group or class, if each has its own guarantee."""
        return int(np.unique(self._kinds, return_counts=True)[1].min())

    def report(self) -> dict[str, Array]:
        """By level: coverage and mean size of sets, each row judged by all others; NLL and ECE."""
        lines, n = [], self.fewest
        for level in REPORTED:
            after, assured = (np.nan, np.nan), np.nan
            if n > fewest_rows(level):
                after = self._judged(label_sets(self.probabilities, self._left_out_limits(level)))
            if n >= fewest_rows(level):
                assured = assured_coverage(n, level)
            lines.append([*self._judged(promised_sets(self.untempered, level)), *after, assured])
        names = "coverage_before", "size_before", "coverage_after", "size_after"
        columns = dict(zip((*names, "assured_after"), np.array(lines).T, strict=True))
        for moment, p in (("before", self.untempered), ("after", self.probabilities)):
            columns[f"nll_{moment}"] = _everywhere(categorical_nll(self.labels, probabilities=p))
            columns[f"ece_{moment}"] = _everywhere(ece(self.labels, probabilities=p))
        return columns | {"temperature": _everywhere(self.temperature)}

    def _judged(self, sets: Sets) -> tuple[float, float]:
        """Share of sets with the label, and their mean size."""
        held = sets[np.arange(len(self)), self.labels]
        return float(held.mean()), float(sets.sum(axis=1).mean())


def _everywhere(value: float) -> Array:
    return np.full(len(REPORTED), value)
