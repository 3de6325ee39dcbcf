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
from numpy.typing import NDArray

from batchensemble.conformal.ranks import SLACK, fewest_rows
from batchensemble.predictive import Array, check_coverage

STEP_SIZES = np.array([0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128])
LOOK_BACK = 100  # times over which experts are compared, and errors ranked
NESTED = tuple(np.arange(50, 100, 5) / 100)  # levels whose intervals lie in each other
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

    def ranks(self, fewest: int) -> Array:
        """(forecasts, steps): the miss rate of the narrowest interval that held the truth.

        Among the scores that were known when the forecast was made; NaN with too few of them.
        """
        if fewest in self._ranks:
            return self._ranks[fewest]
        ranks = self._ranks[fewest] = np.full(self.scores.shape, np.nan)
        for moment, (start, end) in zip(self.moments, pairwise(self.starts), strict=True):
            for j in range(self.scores.shape[1]):
                known = self.known(moment, j, fewest)
                if len(known) >= FEWEST_BEFORE:
                    own = self.scores[start:end, j]
                    n_above = len(known) - np.searchsorted(known * (1 + SLACK), own)
                    ranks[start:end, j] = np.where(
                        np.isnan(own), np.nan, (1 + n_above) / (len(known) + 1)
                    )
        return ranks

    @cached_property
    def _ranks(self) -> dict[int, Array]:
        return {}

    def latest_factors(self, coverage: float) -> Array:
        """(steps,), for forecasts that are made when all of the truths are known."""
        latest: Array = self.factors(coverage, self.times[-1:] + self.scores.shape[1])[0]
        return latest

    def factors(self, coverage: float, asked: Ints) -> Array:
        """(asked, steps): by which to multiply standard deviations of forecasts made then.

        Never more than the largest score so far; NaN with too few of them. Every level adapts on
        its own, but none to intervals that are narrower than those of a lower level.
        """
        own = self._factors(coverage, asked)
        lower = [self._nested(level, asked) for level in NESTED if level < coverage]
        return np.where(np.isnan(own), np.nan, np.fmax.reduce([own, *lower]))

    def _nested(self, level: float, asked: Ints) -> Array:
        known = level, asked.tobytes()
        if known not in self._lower:
            self._lower[known] = self._factors(level, asked)
        return self._lower[known]

    @cached_property
    def _lower(self) -> dict[tuple[float, bytes], Array]:
        return {}

    def _factors(self, coverage: float, asked: Ints) -> Array:
        fewest = fewest_rows(coverage)
        factors = np.full((len(asked), self.scores.shape[1]), np.nan)
        miss_rates = self.miss_rates(coverage, asked)
        for moment in np.unique(asked):
            which = asked == moment
            for j in range(self.scores.shape[1]):
                known = self.known(moment, j, _n_ranked(coverage))
                if len(known) >= fewest:
                    rank = np.ceil((len(known) + 1) * (1 - miss_rates[which, j]) - SLACK)
                    factors[which, j] = known[np.clip(rank, 1, len(known)).astype(np.int64) - 1]
        return factors

    def miss_rates(self, coverage: float, asked: Ints) -> Array:
        """(asked, steps): the miss rate to ask for, so that 1 - coverage of the truths are missed.

        The weighted mean of the experts.
        """
        alpha = 1 - check_coverage(coverage)
        ranks = self.ranks(_n_ranked(coverage))
        moments, starts = self.moments, self.starts
        n_times, n_steps, k = len(moments), self.scores.shape[1], len(STEP_SIZES)
        steps, mixed_in = np.arange(n_steps), 1 / (2 * LOOK_BACK)
        rates = np.full((n_times + 1, n_steps, k), alpha)  # of each expert, after so many times
        weights = np.full((n_times + 1, n_steps, k), 1 / k)
        in_force = _n_known(moments, moments, steps)
        for t in range(n_times):
            own = ranks[starts[t] : starts[t + 1], :, None]
            is_known = ~np.isnan(own)
            n = is_known.sum(axis=0)
            above = np.where(is_known, own, 1.0) - rates[in_force[t], steps]
            losses = np.where(is_known, alpha * above - np.minimum(above, 0), 0.0).sum(axis=0)
            misses = (is_known & (above <= 0)).sum(axis=0)
            by_loss = weights[t] * np.exp(-_eagerness(alpha, k) * losses / np.maximum(n, 1))
            by_loss /= by_loss.sum(axis=1, keepdims=True)
            weights[t + 1] = np.where(n, (1 - mixed_in) * by_loss + mixed_in / k, weights[t])
            moved = STEP_SIZES * (alpha - misses / np.maximum(n, 1))
            rates[t + 1] = rates[t] + np.where(n, moved, 0.0)
        last = _n_known(moments, asked, steps)
        mixture: Array = (weights[last, steps] * rates[last, steps]).sum(axis=-1)
        return mixture


def _n_ranked(coverage: float) -> int:
    """Among how many scores one is ranked, if there are so many."""
    return max(LOOK_BACK, fewest_rows(coverage))


def _n_known(moments: Ints, asked: Ints, steps: Ints) -> Ints:
    """(asked, steps): of how many moments the truths are known by then."""
    return np.searchsorted(moments, asked[:, None] - (steps + 1), side="right").astype(np.int64)


def _eagerness(alpha: float, k: int) -> float:
    """How much one loss changes the experts' weights; the choice of the paper."""
    spread = (1 - alpha) ** 2 * alpha**3 + alpha**2 * (1 - alpha) ** 3
    return math.sqrt(3 / LOOK_BACK) * math.sqrt((math.log(k * LOOK_BACK) + 2) / spread)
