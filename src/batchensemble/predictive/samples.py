"""Forecasts as sample paths; uncertainties are variances."""

from dataclasses import dataclass
from functools import cached_property
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from batchensemble.predictive.base import NumericPredictive, average, chunks, read_only
from batchensemble.predictive.checks import Array, central_levels, check_array, check_levels

PAIRS = 1 << 17  # of draws per row in the energy score: all of them up to 512 draws


@dataclass(frozen=True, eq=False, repr=False)
class SamplePredictive(NumericPredictive):
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
        of_member = average(deviations, 2)
        between = average(np.square(of_member), 1)
        within = average(np.square(deviations - of_member[:, :, None]), (1, 2))
        within = within * n_paths / (n_paths - 1)
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

    def energy_score(self, y: ArrayLike, pairs: int | None = PAIRS) -> Array:
        """(samples,) energy score of whole paths, in units of y; lower is better.

        E||X - y|| - 1/2 E||X - X'||, Euclidean over the horizon, X and X' over all pairs of draws,
        a draw and itself included. Where there are more than `pairs` pairs, the second term is
        estimated from about `pairs` of them: the same ones in every row and every call, each draw
        equally often, and each two members too unless those alone are more than `pairs`. With
        2,000 draws of 10 members it is about 0.2 % off per row, less on average over rows, at a
        twentieth of the cost. `pairs=None` takes all.
        """
        truth = check_array("y", y, len(self), self.horizon)
        _, members, paths, _ = self.paths.shape
        shifts = _shifts(members, paths, _check_pairs(pairs))
        out = np.empty(len(self))
        for rows in chunks(len(self), members * paths * self.horizon):
            error = np.ascontiguousarray((self.paths[rows] - truth[rows, None, None]).T)
            out[rows] = _mean_norm(error)
            for by_path, by_member, weight in shifts:
                apart = np.roll(error, (by_path, by_member), axis=(1, 2))
                apart -= error
                out[rows] -= 0.5 * weight * _mean_norm(apart)
        return np.maximum(out, 0.0)

    def variogram_score(self, y: ArrayLike, p: float = 0.5) -> Array:
        """(samples,) variogram score of order p, in units of y to the power 2p; lower is better.

        The sum over steps i and j of (|y_i - y_j|^p - E|X_i - X_j|^p)^2. Every two steps count
        twice, as (i, j) and as (j, i), as in scoringrules. Blind to a shift of the whole path;
        a horizon of 1 scores 0.
        """
        truth = check_array("y", y, len(self), self.horizon)
        if not isinstance(p, Real) or not 0 < p < np.inf:
            raise ValueError(f"p: expected a number > 0, got {p!r:.80}; usual are 0.5, 1 and 2")
        draws = self._draws
        out = np.zeros(len(self))
        for rows in chunks(len(self), draws.shape[1] * self.horizon):
            x, z = np.ascontiguousarray(draws[rows].transpose(2, 0, 1)), truth[rows].T
            for i in range(self.horizon - 1):
                expected = average(np.abs(x[i + 1 :] - x[i]) ** p, 2)
                out[rows] += 2 * np.square(np.abs(z[i + 1 :] - z[i]) ** p - expected).sum(axis=0)
        return out

    def aggregate(self, weights: ArrayLike | None = None) -> "SamplePredictive":
        """The sum over the steps of every path, a forecast of horizon 1; `weights` (horizon,).

        `dist.aggregate().interval(0.8)` is the interval of the sum: not the sum of the intervals.
        """
        each = np.ones(self.horizon) if weights is None else weights
        return SamplePredictive(self.paths @ check_array("weights", each, self.horizon)[:, None])

    def step_correlation(self) -> Array:
        """(samples, horizon, horizon) correlation between the steps across all draws, -1 to 1.

        1 on the diagonal; a step that never varies has 0 with the others.
        """
        out = np.empty((len(self), self.horizon, self.horizon))
        for rows in chunks(len(self), self._draws.shape[1] * self.horizon):
            z = self._draws[rows] - self.mean[rows, None]
            # First to size 1: the squares of tiny deviations would vanish.
            for norm in (np.inf, 2):
                size = np.linalg.norm(z, norm, axis=1, keepdims=True)
                z /= np.where(size > 0, size, 1.0)
            out[rows] = z.transpose(0, 2, 1) @ z
        out[:, np.arange(self.horizon), np.arange(self.horizon)] = 1.0
        return np.clip(out, -1.0, 1.0)

    @property
    def _draws(self) -> Array:
        """(samples, members * paths, horizon)."""
        samples, members, paths, horizon = self.paths.shape
        return self.paths.reshape(samples, members * paths, horizon)


def _check_pairs(pairs: int | None) -> float:
    if pairs is None:
        return np.inf
    if pairs < 1:
        raise ValueError(f"pairs: expected at least 1, got {pairs}; for all pairs pass None")
    return pairs


def _mean_norm(x: Array) -> Array:
    """(horizon, paths, members, rows) -> (rows,) mean length of the paths."""
    return average(np.sqrt(np.square(x).sum(axis=0)), (0, 1))


def _shifts(members: int, paths: int, pairs: float) -> list[tuple[int, int, float]]:
    """Cyclic shifts (by paths, by members, weight): weighted distances to the shifted sum to E.

    All shifts together visit every pair of draws; a and members - a visit the same. Each shift
    uses every draw twice, so that leaving some out costs little. Shifts by paths are left out, not
    those by members, so that no two members are over- or underrepresented.
    """
    draws, between = members * paths, range(members // 2 + 1)
    kept = paths
    if draws * (draws - 1) / 2 > pairs:
        if paths < members and len(between) > pairs // draws:  # too many members to visit all
            return [(b, a, weight) for a, b, weight in _shifts(paths, members, pairs)]
        kept = max(1, int(pairs // draws) // len(between) - 1)
    shifts = []
    for a in between:
        share = (1 if a in (0, members - a) else 2) / draws
        if a > 0:  # the same path of another member: may share its noise, so never left to chance
            shifts.append((0, a, share))
        last = paths - 1 if a > 0 else paths // 2  # b and paths - b are the same where a is 0
        n = min(kept, last)
        # Evenly spread, from another start for each a (the golden ratio never repeats).
        steps = 1 + np.floor((np.arange(n) + (0.5 + 0.618 * a) % 1) * last / max(n, 1)).astype(int)
        weights = np.where((a == 0) & (2 * steps == paths), 1.0, 2.0)
        weights *= share * (paths - 1) / weights.sum() if n else 0.0
        shifts += [(int(b), a, float(w)) for b, w in zip(steps, weights, strict=True)]
    return shifts
