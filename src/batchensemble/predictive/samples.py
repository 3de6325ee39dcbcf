"""Forecasts as sample paths; uncertainties are variances."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from batchensemble.predictive.base import Predictive, average, chunks, read_only
from batchensemble.predictive.checks import Array, central_levels, check_array, check_levels


@dataclass(frozen=True, eq=False, repr=False)
class SamplePredictive(Predictive):
    """Sample paths of a forecast, S of them from every member; all draws weigh the same.

    paths (samples, members, paths, horizon).
    """

    paths: Array
    _by_row = ("paths",)

    def __post_init__(self) -> None:
        paths = check_array("paths", self.paths, "samples", "members", "paths", "horizon")
        self._freeze(paths=paths)

    @property
    def horizon(self) -> int:
        return int(self.paths.shape[3])

    @cached_property
    def mean(self) -> Array:
        """(samples, horizon) mean of all draws."""
        first = self.paths[:, 0, 0]
        return read_only(first + average(self.paths - first[:, None, None], (1, 2)))

    @cached_property
    def variance(self) -> Array:
        """(samples, horizon) variance of all draws (divided by their number)."""
        return read_only(average(np.square(self.paths - self.mean[:, None, None]), (1, 2)))

    @property
    def total(self) -> Array:
        """(samples, horizon) the same as `variance`."""
        return self.variance

    @property
    def std(self) -> Array:
        """(samples, horizon) square root of `variance`."""
        return np.sqrt(self.variance)

    @property
    def aleatoric(self) -> Array:
        """(samples, horizon) mean variance within the members (divided by S - 1).

        Where `epistemic` is held at 0, the whole variance.
        """
        return np.maximum(self.variance - self.epistemic, 0.0)

    @cached_property
    def epistemic(self) -> Array:
        """(samples, horizon) variance of the members' means less their sampling noise, within/S.

        Never below 0.
        """
        if self.n_members == 1:
            return read_only(np.zeros_like(self.variance))
        n_paths = self.paths.shape[2]
        if n_paths < 2:
            raise ValueError(
                f"paths: expected at least 2 paths per member to tell noise from disagreement, got "
                f"shape {self.paths.shape}; draw more paths"
            )
        # With within divided by S - 1, total = within + (between - within / S) holds exactly.
        deviations = self.paths - self.mean[:, None, None]
        own = average(deviations, 2)
        between = average(np.square(own), 1)
        within = average(np.square(deviations - own[:, :, None]), (1, 2)) * n_paths / (n_paths - 1)
        return read_only(np.maximum(between - within / n_paths, 0.0))

    def quantile(self, q: ArrayLike) -> Array:
        """Empirical quantiles: one q -> (samples, horizon), several -> (samples, horizon, len(q)).

        Between two draws linear.
        """
        levels = check_levels(q)
        out: Array = np.quantile(self._draws, levels, axis=1)
        return out if levels.ndim == 0 else np.moveaxis(out, 0, -1)

    def interval(self, coverage: float = 0.9) -> Array:
        """(samples, horizon, 2) central interval, step by step."""
        return self.quantile(central_levels(coverage))

    def crps(self, y: ArrayLike) -> Array:
        """(samples, horizon) CRPS of the empirical distribution, in units of y; lower is better.

        E|X - y| - 1/2 E|X - X'| with X, X' over all pairs of draws, a draw and itself included.
        """
        truth = check_array("y", y, len(self), self.horizon)
        draws = self._draws
        n = draws.shape[1]
        # Sorted, the sum of |X - X'| over all pairs is 2 sum (2i - n - 1) X_(i).
        weights = ((2 * np.arange(1, n + 1) - n - 1) / n**2)[:, None]
        out = np.empty_like(truth)
        for rows in chunks(len(self), n * self.horizon):
            error = np.sort(draws[rows] - truth[rows, None], axis=1)
            out[rows] = np.abs(error).mean(axis=1) - (weights * error).sum(axis=1)
        return np.maximum(out, 0.0)

    @property
    def _draws(self) -> Array:
        """(samples, members * paths, horizon)."""
        samples, members, paths, horizon = self.paths.shape
        return self.paths.reshape(samples, members * paths, horizon)
