"""Which of n calibration scores a new one stays below with a given probability."""

import math
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import beta

from batchensemble.predictive import Array, check_array, check_coverage

REPORTED = (0.5, 0.8, 0.9, 0.95)  # the coverages of a calibration report

# Of scores: the same row comes out a little different among other rows, and with it a tie.
SLACK = 1e-9

# 100 * 0.07 is 7.000000000000001 in floating point: shrink before rounding up.
_SHRINK = 1 - 1e-12


def fewest_rows(coverage: float) -> int:
    """The smallest n of which the n-th smallest score is enough: 9 for 0.9, 19 for 0.95."""
    share = check_coverage(coverage)
    return max(1, math.ceil(share / (1 - share) * _SHRINK))


def conformal_rank(n: int, coverage: float) -> int:
    """k = ceil((n + 1) coverage), so that k / (n + 1) is at least the coverage; k <= n."""
    if not isinstance(n, Integral) or n < 0:
        raise ValueError(f"expected n as a whole number of calibration cases, got {n!r:.80}")
    if n < fewest_rows(coverage):
        most = math.floor(1000 * n / (n + 1)) / 1000
        raise ValueError(
            f"coverage: expected at least {fewest_rows(coverage)} calibration cases for "
            f"{coverage:.12g}, got {n}; calibrate with more, or ask for at most {most:g}"
        )
    return min(n, math.ceil((n + 1) * coverage * _SHRINK))


def conformal_quantile(scores: ArrayLike, coverage: float) -> Array:
    """The k-th smallest score along the first axis: (rows, ...) -> (...)."""
    values = np.atleast_1d(check_array("scores", scores))
    k = conformal_rank(len(values), coverage)
    quantile: Array = np.partition(values, k - 1, axis=0)[k - 1]
    return quantile


def stepwise_quantiles(scores: Array, coverage: float) -> Array:
    """The same of each step, among its scores that are known: (rows, steps) -> (steps,)."""
    known = [own[~np.isnan(own)] for own in scores.T]
    return np.array([float(conformal_quantile(own, coverage)) for own in known])


def left_out_quantiles(scores: ArrayLike, coverage: float) -> Array:
    """For each row the quantile of the other rows' scores: (rows,) -> (rows,)."""
    values = check_array("scores", scores, "rows")
    k = conformal_rank(max(0, len(values) - 1), coverage)
    ordered = np.sort(values)
    # Without one of the k smallest, the next one moves up.
    quantiles: Array = np.where(values <= ordered[k - 1], ordered[k], ordered[k - 1])
    return quantiles


def assured_coverage(n: int, coverage: float, probability: float = 0.95) -> float:
    """The coverage that a share `probability` of calibrations with n rows exceed.

    It depends on the n rows that were drawn: Beta(k, n + 1 - k), and with ties more.
    """
    k = conformal_rank(n, coverage)
    return float(beta.ppf(1 - check_coverage(probability), k, n + 1 - k))
