"""Intervals of numbers: the error in units of the predicted standard deviation."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from batchensemble.conformal import interval_report
from batchensemble.conformal.abstention import largest_threshold
from batchensemble.conformal.adaptation import Adaptation
from batchensemble.conformal.deviations import latent_errors, scaled_errors, widened
from batchensemble.conformal.groups import quantiles_by_group
from batchensemble.conformal.last_coverage import remembered
from batchensemble.conformal.ranks import REPORTED, conformal_rank, stepwise_quantiles
from batchensemble.conformal.sides import FEWEST_TWO_SIDED, two_sided_reaches
from batchensemble.metrics import risk_curve
from batchensemble.metrics.calibration import CoverageCurve
from batchensemble.predictive import (
    Array,
    GaussianPredictive,
    SamplePredictive,
    Transform,
    TransformedPredictive,
    check_array,
)
from batchensemble.predictive.whole import rounded_to, to_whole

Dist = GaussianPredictive | TransformedPredictive | SamplePredictive


def predicted_interval(
    dist: Dist,
    coverage: float,
    calibration: "IntervalCalibration | None" = None,
    groups: NDArray[Any] | None = None,
    *,
    whole: bool = False,
) -> Array:
    """(..., 2), the calibrated interval; without a calibration the predicted distribution's own.

    With `whole`, its ends are rounded: of whole numbers it then holds all that it held, or more.
    """
    if calibration is None:
        ends = dist.interval(coverage)
    else:
        ends = calibration.interval(dist, coverage, groups)
    return to_whole(ends) if whole else ends


@dataclass(frozen=True, eq=False)
class IntervalCalibration:
    """Predictions and truths of rows that were not used for training.

    y, means, variances  (rows, steps); the rows of a table have one step
    lower, upper         (rows, steps, levels), the model's own intervals of the `REPORTED` levels
    transform            of the target, if it has one; then intervals are found before it, where
                         predictions are latent_means and latent_variances, (rows, steps)
    groups               (rows,), if each shall have a guarantee of its own
    cutoffs              (rows,), when each forecast was made, if a file says so
    adapts               whether intervals adapt to change, if they have cutoffs
    two_sided            whether errors below and above the mean are ranked apart, since the rows
                         of fit showed that they are skewed; too few rows are ranked together
    whole                whether truths are counts, and intervals rounded to whole numbers
    """

    y: Array
    means: Array
    variances: Array
    lower: Array
    upper: Array
    transform: Transform | None = None
    latent_means: Array | None = None
    latent_variances: Array | None = None
    groups: NDArray[Any] | None = None
    cutoffs: NDArray[np.int64] | None = None
    adapts: bool = True
    two_sided: bool = False
    whole: bool = False

    @classmethod
    def of(cls, y: ArrayLike, dist: Dist, *, whole: bool = False) -> "IntervalCalibration":
        """From truths (rows,) or (rows, steps) and the predictions for them."""
        truth = check_array("y", y, *dist.mean.shape)
        own = np.stack(  # (..., 2, levels)
            [predicted_interval(dist, level, whole=whole) for level in REPORTED], axis=-1
        )
        n, shape = len(dist), (len(dist), -1)
        latent: dict[str, Any] = {}
        if isinstance(dist, TransformedPredictive):
            latent = {
                "transform": dist.transform,
                "latent_means": dist.latent.mean.reshape(shape),
                "latent_variances": dist.latent.variance.reshape(shape),
            }
        return cls(
            truth.reshape(shape),
            dist.mean.reshape(shape),
            dist.variance.reshape(shape),
            own[..., 0, :].reshape(n, -1, len(REPORTED)),
            own[..., 1, :].reshape(n, -1, len(REPORTED)),
            **latent,
            whole=whole,
        )

    @classmethod
    def joined(cls, parts: Sequence["IntervalCalibration"]) -> "IntervalCalibration":
        """The rows of all parts, in order."""
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in parts[0]._by_row
        }
        return replace(parts[0], **joined)

    def only(self, rows: slice | NDArray[np.bool_ | np.int64]) -> "IntervalCalibration":
        """Some of the rows."""
        return replace(self, **{name: getattr(self, name)[rows] for name in self._by_row})

    def in_time(self) -> "IntervalCalibration":
        """Forecasts in the order in which they were made; unchanged if nothing says when."""
        if self.cutoffs is None:
            return self
        return self.only(self.cutoffs.argsort(kind="stable"))

    def newest(self, n: int, most: int) -> "IntervalCalibration":
        """So many forecasts, and up to `most` with those made at the same time as the first."""
        ordered = self.in_time()
        if len(ordered) <= n:
            return ordered
        if ordered.cutoffs is not None:
            n = len(ordered) - int(np.searchsorted(ordered.cutoffs, ordered.cutoffs[-n]))
        return ordered.only(slice(-min(n, most), None))

    @property
    def is_adaptive(self) -> bool:
        return self.adapts and self.cutoffs is not None

    @property
    def _by_row(self) -> list[str]:
        alike = ("transform", "adapts", "two_sided", "whole")
        names = [field.name for field in fields(self) if field.name not in alike]
        return [name for name in names if getattr(self, name) is not None]

    def __len__(self) -> int:
        return len(self.y)

    @property
    def stds(self) -> Array:
        """(rows, steps)."""
        return np.sqrt(self.variances)

    @property
    def deviations(self) -> Array:
        """(rows, steps), errors in standard deviations; before the transform, if there is one.

        A count is held as soon as an interval reaches what is rounded to it.
        """
        if self.transform is None:
            y = rounded_to(self.y, self.means) if self.whole else self.y
            return scaled_errors(y, self.means, self.stds)
        assert self.latent_means is not None
        y = rounded_to(self.y, self.transform(self.latent_means)) if self.whole else self.y
        return latent_errors(y, self.latent_means, self._latent_stds, self.transform)

    @property
    def scores(self) -> Array:
        """(rows, steps), how large deviations are."""
        return np.abs(self.deviations)

    def deviations_of(self, y: ArrayLike, dist: Dist) -> Array:
        """(rows, steps), of new truths and the predictions for them."""
        return IntervalCalibration.of(y, dist, whole=self.whole).deviations

    def factors(self, coverage: float, groups: NDArray[Any] | None = None) -> Array:
        """(steps,), by which to multiply the standard deviation; with groups (rows, 1)."""
        if self.is_adaptive:
            conformal_rank(self.fewest, coverage)  # are there enough rows?
            return self.adaptation.latest_factors(coverage)
        if self.groups is None:
            return stepwise_quantiles(self.scores, coverage)
        of = self._checked(groups)
        limits = quantiles_by_group(self.scores[:, 0], coverage, groups=self.groups, of=of)
        return limits[:, None]

    def reaches(self, coverage: float, groups: NDArray[Any] | None = None) -> tuple[Array, Array]:
        """How many standard deviations intervals reach below and above the mean; as `factors`."""
        if self.groups is None:
            return self._reaches(coverage)
        if not self.is_two_sided:
            factors = self.factors(coverage, groups)
            return factors, factors
        of = self._checked(groups)
        sides = quantiles_by_group(
            self.deviations[:, 0], coverage, groups=self.groups, of=of, quantile=two_sided_reaches
        )
        return sides[:, :1], sides[:, 1:]

    @remembered
    def _reaches(self, coverage: float) -> tuple[Array, Array]:
        if not self.is_two_sided:
            factors = self.factors(coverage)
            return factors, factors
        below, above = two_sided_reaches(self.deviations, coverage)
        return below, above

    @property
    def is_two_sided(self) -> bool:
        """Whether it is asked for, and there are enough rows, in each group if there are groups."""
        return self.two_sided and not self.is_adaptive and self.fewest >= FEWEST_TWO_SIDED

    @property
    def fewest(self) -> int:
        """Rows with a known truth: of each step, or of the smallest group, if there are groups."""
        if self.groups is None:
            return int((~np.isnan(self.y)).sum(axis=0).min())
        return int(np.unique(self.groups, return_counts=True)[1].min())

    def _checked(self, groups: NDArray[Any] | None) -> NDArray[Any]:
        if groups is None:
            raise ValueError("calibrated by groups; pass the groups of these rows, too")
        return groups

    @cached_property
    def adaptation(self) -> Adaptation:
        """These forecasts, in time."""
        assert self.cutoffs is not None
        nothing = np.empty((0, self.y.shape[1]))
        return self.followed_by(nothing, self.cutoffs[:0], self.cutoffs)[0]

    def followed_by(
        self, scores: Array, cutoffs: NDArray[np.int64], grid: NDArray[np.int64]
    ) -> tuple[Adaptation, NDArray[np.int64]]:
        """These forecasts and new ones, in time; and when the new ones were made.

        Times are counted in steps of the grid; scores are NaN where a truth is missing.
        """
        assert self.cutoffs is not None
        padded = np.full((len(scores), self.y.shape[1]), np.nan)
        padded[:, : scores.shape[1]] = scores[:, : padded.shape[1]]
        when = np.concatenate([self.cutoffs, cutoffs])
        # Where windows are missing here, time stood still, and shall do so for the new ones, too.
        later = grid[grid > self.cutoffs.max()]
        times = np.unique(np.concatenate([when, later]))
        order = when.argsort(kind="stable")
        both = np.concatenate([self.scores, padded])[order]
        return (
            Adaptation(both, np.searchsorted(times, when[order])),
            np.searchsorted(times, cutoffs),
        )

    def interval(self, dist: Dist, coverage: float, groups: NDArray[Any] | None = None) -> Array:
        """(..., 2), mean -+ factor * std; steps beyond the last calibrated one are as that one.

        With a transform, these are found before it: the interval ends where the target can be.
        """
        reaches = self.reaches(coverage, groups)
        latent = dist.latent if isinstance(dist, TransformedPredictive) else dist
        mean = latent.mean
        if self.groups is not None:
            below, above = (each[:, 0] for each in reaches)
        else:
            steps = np.arange(mean.shape[1] if mean.ndim == 2 else 1)
            below, above = (each[np.minimum(steps, len(each) - 1)] for each in reaches)
        ends = widened(mean, latent.std, below, above)
        return dist.transform(ends) if isinstance(dist, TransformedPredictive) else ends

    def coverage_curve(self, new: ArrayLike, groups: NDArray[Any] | None = None) -> CoverageCurve:
        """How often intervals contain new truths with these `deviations_of`, level by level."""
        return interval_report.coverage_curve(self, check_array("new", new), groups)

    @property
    def _latent_stds(self) -> Array:
        assert self.latent_variances is not None
        return np.sqrt(self.latent_variances)

    def widened_by(self, below: Array, above: Array) -> Array:
        """(rows, steps, 2), the intervals of these rows with other reaches."""
        if self.transform is None:
            ends = widened(self.means, self.stds, below, above)
        else:
            assert self.latent_means is not None
            ends = self.transform(widened(self.latent_means, self._latent_stds, below, above))
        return to_whole(ends) if self.whole else ends

    def abstain_threshold(self, max_error: float) -> float:
        """The largest variance up to which the root mean squared error is at most `max_error`."""
        known = ~np.isnan(self.y)
        squared = np.square(self.y - self.means)[known]
        curve = risk_curve(squared, uncertainty=self.variances[known])
        return largest_threshold(curve.thresholds, curve.kept, np.sqrt(curve.risks), max_error)

    def report(self) -> dict[str, Array]:
        """By level: coverage and mean width, each row of a table scored with all others."""
        return interval_report.by_row(self)

    def report_in_time(self) -> dict[str, Array]:
        """By level: coverage and mean width, the later half scored with the earlier half."""
        return interval_report.in_time(self)
