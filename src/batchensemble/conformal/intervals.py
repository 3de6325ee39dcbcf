"""Intervals of numbers: the error in units of the predicted standard deviation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from batchensemble.conformal.abstention import largest_threshold
from batchensemble.conformal.ranks import (
    REPORTED,
    SLACK,
    assured_coverage,
    conformal_quantile,
    fewest_rows,
    left_out_quantiles,
)
from batchensemble.metrics import interval_coverage, interval_width, risk_curve
from batchensemble.metrics.calibration import LEVELS, CoverageCurve
from batchensemble.predictive import Array, GaussianPredictive, SamplePredictive, check_array

NARROWEST_STD = 1e-100  # a zero is treated as this
ROUNDING = 4 * np.finfo(np.float64).eps


def interval_scores(y: ArrayLike, *, mean: ArrayLike, std: ArrayLike) -> Array:
    """|y - mean| / std, of any shape."""
    truth = check_array("y", y)
    error = truth - check_array("mean", mean, *truth.shape)
    return np.abs(error) / np.maximum(check_array("std", std, *truth.shape), NARROWEST_STD)


def widened(mean: Array, std: Array, factor: Array) -> Array:
    """(..., 2), mean -+ factor * std, and so much more that a score of `factor` is inside."""
    reach = factor * np.maximum(std, NARROWEST_STD) * (1 + SLACK) + ROUNDING * np.abs(mean)
    return np.stack([mean - reach, mean + reach], axis=-1)


def predicted_interval(
    dist: GaussianPredictive | SamplePredictive,
    coverage: float,
    calibration: "IntervalCalibration | None" = None,
) -> Array:
    """(..., 2), the calibrated interval; without a calibration the predicted distribution's own."""
    return dist.interval(coverage) if calibration is None else calibration.interval(dist, coverage)


@dataclass(frozen=True, eq=False)
class IntervalCalibration:
    """Predictions for rows that the model had not learned from, beside the truth.

    y, means, variances  (rows, steps); the rows of a table have one step
    lower, upper         (rows, steps, levels), the model's own intervals of the `REPORTED` levels
    """

    y: Array
    means: Array
    variances: Array
    lower: Array
    upper: Array

    @classmethod
    def of(cls, y: ArrayLike, dist: GaussianPredictive | SamplePredictive) -> "IntervalCalibration":
        """From truths (rows,) or (rows, steps) and the predictions for them."""
        truth = check_array("y", y, *dist.mean.shape)
        own = np.stack([dist.interval(level) for level in REPORTED], axis=-1)  # (..., 2, levels)
        n, shape = len(dist), (len(dist), -1)
        return cls(
            truth.reshape(shape),
            dist.mean.reshape(shape),
            dist.variance.reshape(shape),
            own[..., 0, :].reshape(n, -1, len(REPORTED)),
            own[..., 1, :].reshape(n, -1, len(REPORTED)),
        )

    @classmethod
    def joined(cls, parts: Sequence["IntervalCalibration"]) -> "IntervalCalibration":
        """The rows of all parts, in order."""
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def latest(self, n: int) -> "IntervalCalibration":
        """The last n rows."""
        kept = slice(len(self) - n, None)
        return IntervalCalibration(*(getattr(self, field.name)[kept] for field in fields(self)))

    def __len__(self) -> int:
        return len(self.y)

    @property
    def stds(self) -> Array:
        """(rows, steps)."""
        return np.sqrt(self.variances)

    @property
    def scores(self) -> Array:
        """(rows, steps)."""
        return interval_scores(self.y, mean=self.means, std=self.stds)

    def factors(self, coverage: float) -> Array:
        """(steps,), by which to multiply the standard deviation."""
        return conformal_quantile(self.scores, coverage)

    def interval(self, dist: GaussianPredictive | SamplePredictive, coverage: float) -> Array:
        """(..., 2), mean -+ factor * std; steps beyond the last calibrated one are as that one."""
        factors = self.factors(coverage)
        steps = np.arange(dist.mean.shape[1] if dist.mean.ndim == 2 else 1)
        return widened(dist.mean, dist.std, factors[np.minimum(steps, len(factors) - 1)])

    def coverage_curve(self, new: ArrayLike) -> CoverageCurve:
        """How often intervals hold new truths with these `interval_scores`, level by level.

        Of `LEVELS`, as far as the calibration reaches.
        """
        levels = [level for level in LEVELS if len(self) >= fewest_rows(level)]
        scores = check_array("new", new)
        held = [np.mean(scores <= (1 + SLACK) * self.factors(level)) for level in levels]
        return CoverageCurve(np.array(levels), np.array(held))

    def abstain_threshold(self, max_error: float) -> float:
        """The largest variance up to which the root mean squared error is at most `max_error`."""
        squared = np.square(self.y - self.means).ravel()
        curve = risk_curve(squared, uncertainty=self.variances.ravel())
        return largest_threshold(curve.thresholds, curve.kept, np.sqrt(curve.risks), max_error)

    def report(self) -> dict[str, Array]:
        """By level: coverage and mean width, each row of a table judged by all others."""
        scores, n = self.scores[:, 0], len(self)

        def factors(level: float) -> Array | None:
            enough = n > fewest_rows(level)
            return left_out_quantiles(scores, level)[:, None] if enough else None

        assured = [
            assured_coverage(n, level) if n >= fewest_rows(level) else np.nan for level in REPORTED
        ]
        return {**self._compared(factors), "assured_after": np.array(assured)}

    def report_in_time(self) -> dict[str, Array]:
        """By level: coverage and mean width, the later half judged by the earlier half."""
        half = len(self) // 2
        earlier = self.scores[:half]

        def factors(level: float) -> Array | None:
            return conformal_quantile(earlier, level) if half >= fewest_rows(level) else None

        return self.latest(len(self) - half)._compared(factors)

    def _compared(self, factors: Callable[[float], Array | None]) -> dict[str, Array]:
        """The model's own intervals, and those that the factors give; NaN where there are none."""
        lines = []
        for i, level in enumerate(REPORTED):
            own = self.lower[..., i], self.upper[..., i]
            factor = factors(level)
            calibrated = None
            if factor is not None:
                bounds = widened(self.means, self.stds, factor)
                calibrated = bounds[..., 0], bounds[..., 1]
            lines.append([*self._judged(own), *self._judged(calibrated)])
        names = "coverage_before", "width_before", "coverage_after", "width_after"
        return dict(zip(names, np.array(lines).T, strict=True))

    def _judged(self, bounds: tuple[Array, Array] | None) -> tuple[float, float]:
        if bounds is None:
            return np.nan, np.nan
        lower, upper = bounds
        coverage = interval_coverage(self.y, lower=lower, upper=upper)
        return coverage, interval_width(lower=lower, upper=upper)
