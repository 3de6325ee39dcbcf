"""Intervals that reach less far to one side: errors below and above the mean are ranked apart.

Each side may miss half of what the coverage leaves, so both together miss no more than all of it:
the guarantee stays (the asymmetric intervals of Romano et al. 2019). Where errors are skewed, as
those of prices, equal sides would miss above alone, and often begin where the target does.
"""

from collections.abc import Callable

import numpy as np

from batchensemble.conformal.deviations import widened
from batchensemble.conformal.ranks import conformal_quantile, fewest_rows, left_out_quantiles
from batchensemble.metrics import interval_score
from batchensemble.predictive import Array

FEWEST_TWO_SIDED = 40  # fewer rows say too little about one side alone
FEWEST_COMPARED = 100  # and fewer than these about which are better
USUAL = (0.8, 0.9, 0.95)  # the coverages that people ask for
BETTER = 0.98  # equal sides are simpler: with two, the score must be lower by this factor


def two_sides_are_better(
    y: Array, mean: Array, std: Array, transform: Callable[[Array], Array]
) -> bool:
    """Whether the intervals of these rows have a lower interval score, in the user's units.

    Each row is judged by all others. The score (Winkler 1972) is the width, and how far a truth
    is outside.
    """
    if len(y) < FEWEST_COMPARED:
        return False
    deviations, truth = (y - mean) / std, transform(y)

    def score(level: float, below: Array, above: Array) -> float:
        lower, upper = transform(widened(mean, std, below, above)).T
        return interval_score(truth, lower=lower, upper=upper, coverage=level)

    two = same = 0.0
    for level in USUAL:
        reach = left_out_quantiles(np.abs(deviations), level)
        same += score(level, reach, reach)
        two += score(level, *left_out_reaches(deviations, level))
    return two < BETTER * same


def two_sided_reaches(deviations: Array, coverage: float) -> Array:
    """(2, ...), how far to reach below and above, by signed deviations (rows, ...).

    With too few rows for one side alone, each reaches as far as any row does, and at least as far
    as both together would: the interval of a higher coverage holds that of a lower one.
    """
    sides = np.stack([-deviations, deviations], axis=1)  # (rows, 2, ...)
    one = (1 + coverage) / 2
    if len(sides) >= fewest_rows(one):
        return conformal_quantile(sides, one)
    both = conformal_quantile(np.abs(deviations), coverage)
    reaches: Array = np.maximum(sides.max(axis=0), both)
    return reaches


def left_out_reaches(deviations: Array, coverage: float) -> Array:
    """(2, rows), for each row those that the other rows give; deviations (rows,)."""
    one, sides = (1 + coverage) / 2, (-deviations, deviations)
    if len(deviations) - 1 >= fewest_rows(one):
        return np.stack([left_out_quantiles(side, one) for side in sides])
    both = left_out_quantiles(np.abs(deviations), coverage)
    furthest = []
    for side in sides:
        second, first = np.partition(side, -2)[-2:]
        others = np.full(len(side), first)
        others[side.argmax()] = second
        furthest.append(others)
    reaches: Array = np.maximum(np.stack(furthest), both)
    return reaches
