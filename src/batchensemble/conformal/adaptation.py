"""Intervals that follow a series when it changes: how wide, from errors as they become known.

Dynamically-tuned adaptive conformal inference (DtACI): Gibbs and Candès, "Conformal Inference for
Online Prediction with Arbitrary Distribution Shifts", Journal of Machine Learning Research 25
(2024), arXiv:2208.08401. Experts raise or lower the level that they ask for after each error, each
by steps of another size; they are weighted by how well they have done lately, so that nobody has to
choose a step.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from batchensemble.conformal.ranks import SLACK, fewest_rows
from batchensemble.predictive import Array, check_coverage

STEP_SIZES = np.array([0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128])
LOOK_BACK = 100  # times over which experts are compared, and errors ranked
LEVELS = np.array([0, *range(500, 951, 50), 975, 990]) / 1000  # that adapt, 0 apart
CELLS = 2**21  # numbers at a time
FEWEST_BEFORE = 9  # scores that a new one is ranked among

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Adaptation:
    """Past forecasts, gone through in time.

    scores  (forecasts, steps), |truth - mean| / std, NaN where the truth is missing
    times   (forecasts,), the last known time of each forecast, counted in steps, in order

    A truth counts from when it is known: that of step j, j times after its forecast was made. All
    series are treated as one; those that were forecast at the same time count together.
    """

    scores: Array
    times: Ints

    @cached_property
    def moments(self) -> Ints:
        """When forecasts were made, each once."""
        return np.unique(self.times)

    @cached_property
    def starts(self) -> Ints:
        """Where the forecasts of each moment begin, and where the last ones end."""
        return np.append(np.searchsorted(self.times, self.moments), len(self.times))

    def known(self, asked: int, step: int, fewest: int) -> Array:
        """The latest scores whose truth was known then, from the smallest on.

        Those of LOOK_BACK moments, or the latest `fewest` if truths are missing.
        """
        end = int(np.searchsorted(self.moments, asked - (step + 1), side="right"))
        first, last = self.starts[max(0, end - LOOK_BACK)], self.starts[end]
        latest = self.scores[first:last, step]
        if np.count_nonzero(~np.isnan(latest)) < fewest:
            every = self.scores[:last, step]
            latest = every[~np.isnan(every)][-fewest:]
        return np.sort(latest[~np.isnan(latest)])

    @cached_property
    def ranks(self) -> Array:
        """(forecasts, steps): the miss rate of the narrowest interval that held the truth.

        Among the scores that were known when the forecast was made; NaN with too few of them.
        """
        ranks = np.full(self.scores.shape, np.nan)
        for moment, (start, end) in zip(self.moments, pairwise(self.starts), strict=True):
            for j in self._steps:
                known = self.known(moment, j, LOOK_BACK)
                if len(known) >= FEWEST_BEFORE:
                    own = self.scores[start:end, j]
                    n_above = len(known) - np.searchsorted(known * (1 + SLACK), own)
                    ranks[start:end, j] = np.where(
                        np.isnan(own), np.nan, (1 + n_above) / (len(known) + 1)
                    )
        return ranks

    def latest_factors(self, coverage: float) -> Array:
        """(steps,), for forecasts that are made when all of the truths are known."""
        latest: Array = self.factors(coverage, self.times[-1:] + self.scores.shape[1])[0]
        return latest

    def factors(self, coverage: float, asked: Ints, otherwise: ArrayLike = np.nan) -> Array:
        """(asked, steps): by which to multiply standard deviations of forecasts made then.

        Never more than the largest score so far; where too few are known, `otherwise`, or the
        largest of them if that is more. `LEVELS` adapt on their own, but none to less than a lower
        one; between two of them, and from the last one to the largest score at 1, factors lie on a
        line. So no interval is narrower than one of a lower level.
        """
        share = check_coverage(coverage)
        moments, back = np.unique(asked, return_inverse=True)
        most = max(LOOK_BACK, fewest_rows(share))
        known = [[self.known(moment, j, most) for j in self._steps] for moment in moments]
        largest = np.array([[each[-1] if len(each) else 0.0 for each in row] for row in known])
        is_enough = np.array([[len(each) >= fewest_rows(share) for each in row] for row in known])
        curve = [*self._curve(moments), largest]
        i = int(np.searchsorted(LEVELS, share))
        start, end = [*LEVELS, 1.0][i - 1 : i + 1]
        low, high = curve[i - 1], np.where(np.isnan(curve[i]), largest, curve[i])
        part = (share - start) / (end - start)
        adapted = np.clip((1 - part) * low + part * high, low, high)
        factors: Array = np.where(is_enough, adapted, np.maximum(otherwise, largest))[back]
        return factors

    @property
    def _steps(self) -> range:
        return range(self.scores.shape[1])

    def _curve(self, asked: Ints) -> Array:
        """(levels, asked, steps), the factors of `LEVELS`; NaN with too few scores."""
        known = asked.tobytes()
        if known not in self._curves:
            own = self._factors(LEVELS[1:], asked)
            own = np.concatenate([np.zeros_like(own[:1]), own])
            self._curves[known] = np.where(np.isnan(own), np.nan, np.fmax.accumulate(own))
        return self._curves[known]

    @cached_property
    def _curves(self) -> dict[bytes, Array]:
        return {}

    def _factors(self, levels: Array, asked: Ints) -> Array:
        """(levels, asked, steps), each level on its own; NaN with too few scores."""
        kept = 1 - self.miss_rates(levels, asked)
        factors = np.full(kept.shape, np.nan)
        fewest = np.array([fewest_rows(level) for level in levels])
        for i, moment in enumerate(asked):
            for j in self._steps:
                known = self.known(moment, j, LOOK_BACK)
                if len(known):
                    rank = np.ceil((len(known) + 1) * kept[:, i, j] - SLACK)
                    found = known[np.clip(rank, 1, len(known)).astype(np.int64) - 1]
                    factors[:, i, j] = np.where(len(known) >= fewest, found, np.nan)
        return factors

    def miss_rates(self, levels: ArrayLike, asked: Ints) -> Array:
        """(levels, asked, steps): what to ask for, so that 1 - level of the truths are missed.

        The weighted mean of the experts.
        """
        alphas = 1 - np.asarray(levels, np.float64)
        size = max(len(self.moments) + 1, int(np.diff(self.starts).max(initial=1)))
        n_levels = max(1, CELLS // (size * self.scores.shape[1] * len(STEP_SIZES)))
        parts = [alphas[at : at + n_levels] for at in range(0, len(alphas), n_levels)]
        return np.concatenate([self._miss_rates(part[:, None], asked) for part in parts])

    def _miss_rates(self, alpha: Array, asked: Ints) -> Array:
        """The same of miss rates in the long run, (levels, 1): beside them stand the experts."""
        ranks, moments, starts = self.ranks, self.moments, self.starts
        n_times, n_steps, k = len(moments), self.scores.shape[1], len(STEP_SIZES)
        steps, mixed_in = np.arange(n_steps), 1 / (2 * LOOK_BACK)
        rates = np.empty((n_times + 1, n_steps, len(alpha), k))  # of each expert, after so many
        rates[:], weights = alpha, np.full(rates.shape, 1 / k)
        in_force, eagerness = _n_known(moments, moments, steps), _eagerness(alpha, k)
        for t in range(n_times):
            own = ranks[starts[t] : starts[t + 1], :, None, None]
            is_known = ~np.isnan(own)
            n = is_known.sum(axis=0)
            above = np.where(is_known, own, 1.0) - rates[in_force[t], steps]
            losses = np.where(is_known, alpha * above - np.minimum(above, 0), 0.0).sum(axis=0)
            misses = (is_known & (above <= 0)).sum(axis=0)
            by_loss = weights[t] * np.exp(-eagerness * losses / np.maximum(n, 1))
            by_loss /= by_loss.sum(axis=-1, keepdims=True)
            weights[t + 1] = np.where(n, (1 - mixed_in) * by_loss + mixed_in / k, weights[t])
            moved = STEP_SIZES * (alpha - misses / np.maximum(n, 1))
            rates[t + 1] = rates[t] + np.where(n, moved, 0.0)
        last = _n_known(moments, asked, steps)
        mixture: Array = (weights[last, steps] * rates[last, steps]).sum(axis=-1)
        return np.moveaxis(mixture, -1, 0)


def _n_known(moments: Ints, asked: Ints, steps: Ints) -> Ints:
    """(asked, steps): of how many moments the truths are known by then."""
    return np.searchsorted(moments, asked[:, None] - (steps + 1), side="right").astype(np.int64)


def _eagerness(alpha: Array, k: int) -> Array:
    """How much one loss changes the experts' weights; the choice of the paper."""
    spread = (1 - alpha) ** 2 * alpha**3 + alpha**2 * (1 - alpha) ** 3
    return math.sqrt(3 / LOOK_BACK) * np.sqrt((math.log(k * LOOK_BACK) + 2) / spread)
