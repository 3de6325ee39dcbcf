"""What calibration changed: coverage and width of intervals before and after it, by level."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from batchensemble.conformal.groups import each_group
from batchensemble.conformal.ranks import (
    REPORTED,
    SLACK,
    assured_coverage,
    fewest_rows,
    left_out_quantiles,
    stepwise_quantiles,
)
from batchensemble.conformal.sides import left_out_reaches
from batchensemble.metrics import interval_coverage, interval_width
from batchensemble.metrics.calibration import LEVELS, CoverageCurve
from batchensemble.predictive import Array

if TYPE_CHECKING:
    from batchensemble.conformal.intervals import IntervalCalibration

Reaches = Callable[[float], tuple[Array, Array] | None]


def by_row(calibration: "IntervalCalibration") -> dict[str, Array]:
    """Each row of a table judged by all others."""
    deviations = calibration.deviations[:, 0]
    groups = np.zeros(len(calibration)) if calibration.groups is None else calibration.groups
    n = calibration.fewest

    def reaches(level: float) -> tuple[Array, Array] | None:
        if n <= fewest_rows(level):
            return None
        out = np.empty((2, len(calibration), 1))
        for own in each_group(groups):
            if calibration.is_two_sided:
                out[:, own, 0] = left_out_reaches(deviations[own], level)
            else:
                out[:, own, 0] = left_out_quantiles(np.abs(deviations[own]), level)
        return out[0], out[1]

    assured = [
        assured_coverage(n, level) if n >= fewest_rows(level) else np.nan for level in REPORTED
    ]
    return {**_compared(calibration, reaches), "assured_after": np.array(assured)}


def in_time(calibration: "IntervalCalibration") -> dict[str, Array]:
    """The later half of the forecasts judged by the earlier half."""
    calibration = calibration.in_time()
    half = len(calibration) // 2
    if calibration.cutoffs is not None:  # those made at the same time stay together
        half = int(np.searchsorted(calibration.cutoffs, calibration.cutoffs[half]))
    earlier = calibration.scores[:half]
    n_earlier = int((~np.isnan(earlier)).sum(axis=0).min())
    adaptation = calibration.adaptation if calibration.is_adaptive else None

    def factors(level: float) -> Array | None:
        if n_earlier < fewest_rows(level):
            return None
        static = stepwise_quantiles(earlier, level)
        if adaptation is None:
            return static
        return adaptation.factors(level, adaptation.times[half:], static)

    def reaches(level: float) -> tuple[Array, Array] | None:
        same = factors(level)
        return None if same is None else (same, same)

    return _compared(calibration.only(slice(half, None)), reaches)


def coverage_curve(
    calibration: "IntervalCalibration", deviations: Array, groups: NDArray[Any] | None
) -> CoverageCurve:
    """How often intervals contain new truths with these deviations, level by level."""
    levels = [level for level in LEVELS if calibration.fewest >= fewest_rows(level)]
    held = []
    for level in levels:
        below, above = calibration.reaches(level, groups)
        low, high = (reach + SLACK * np.abs(reach) for reach in (below, above))
        held.append(np.mean((-deviations <= low) & (deviations <= high)))
    return CoverageCurve(np.array(levels), np.array(held))


def _compared(calibration: "IntervalCalibration", reaches: Reaches) -> dict[str, Array]:
    """The model's own intervals, and those that the reaches give; NaN where there are none."""

    def judged(bounds: tuple[Array, Array] | None) -> tuple[float, float]:
        if bounds is None:
            return np.nan, np.nan
        known = ~np.isnan(calibration.y)
        if not known.any():
            return np.nan, np.nan
        lower, upper = (end[known] for end in bounds)
        coverage = interval_coverage(calibration.y[known], lower=lower, upper=upper)
        return coverage, interval_width(lower=lower, upper=upper)

    lines = []
    for i, level in enumerate(REPORTED):
        own = calibration.lower[..., i], calibration.upper[..., i]
        both = reaches(level)
        calibrated = None
        if both is not None:
            bounds = calibration.widened_by(*both)
            calibrated = bounds[..., 0], bounds[..., 1]
        lines.append([*judged(own), *judged(calibrated)])
    names = "coverage_before", "width_before", "coverage_after", "width_after"
    return dict(zip(names, np.array(lines).T, strict=True))
