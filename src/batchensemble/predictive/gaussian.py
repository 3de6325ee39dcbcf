"""Numbers as the mixture of the members' Gaussians; uncertainties are variances."""

import math
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erf, log_ndtr, logsumexp, ndtr, ndtri

from batchensemble.predictive.base import MixturePredictive, average, chunks
from batchensemble.predictive.checks import (
    LARGEST,
    Array,
    Rng,
    central_levels,
    check_array,
    check_draws,
    check_levels,
)

WIDEST_TAIL = 1e3
NARROWEST_STD = 1e-100  # a zero variance is treated as a Gaussian this narrow
_EPS, _TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False, repr=False)
class GaussianPredictive(MixturePredictive):
    """The exact equal-weight mixture of the members' Gaussians.

    means, variances (samples, members); variances may be 0. With a `tail_share` every member has
    heavier tails: with that probability its Gaussian is `tail_width` times as wide, the variance
    being that of both together.
    """

    means: Array
    variances: Array
    tail_share: float = 0.0
    tail_width: float = 1.0
    _by_row = ("means", "variances")

    def __post_init__(self) -> None:
        means = check_array("means", self.means, "samples", "members")
        variances = check_array("variances", self.variances, *means.shape, largest=LARGEST**2)
        if variances.size and variances.min() < 0:
            raise ValueError(
                f"variances: expected values >= 0, got {variances.min():g}; "
                "pass variances, not log-variances: exp(log_variance)"
            )
        tails = self.tail_share, self.tail_width
        are_numbers = all(isinstance(one, Real) for one in tails)
        if not are_numbers or not 0 <= tails[0] < 1 or not 1 <= tails[1] <= WIDEST_TAIL:
            raise ValueError(
                f"expected a tail_share in [0, 1) and a tail_width from 1 to {WIDEST_TAIL:g}, "
                f"got {self.tail_share} and {self.tail_width}"
            )
        self._freeze(means=means, variances=variances)

    def cdf(self, y: ArrayLike) -> Array:
        """(samples,) P(Y <= y); y (samples,) or one number for all."""
        means, stds, weights = self._parts()
        shares = _mixed(ndtr(_standardise(self._targets(y) - means, stds)), weights)
        return np.minimum(shares, 1.0)  # weights add up to 1 but for rounding

    def log_prob(self, y: ArrayLike) -> Array:
        """(samples,) log density at y, in nats; y (samples,) or one number for all."""
        means, stds, weights = self._parts()
        z = _standardise(self._targets(y) - means, stds)
        logs = -0.5 * z**2 - np.log(stds) - 0.5 * math.log(2 * math.pi)
        if weights is not None:
            logs = logs + np.log(weights * self.n_members)
        log_sum: Array = logsumexp(logs, axis=1)
        return log_sum - math.log(self.n_members)

    def log_survival(self, y: ArrayLike) -> Array:
        """(samples,) log P(Y >= y), in nats; y (samples,) or one number for all."""
        means, stds, weights = self._parts()
        logs = log_ndtr(-_standardise(self._targets(y) - means, stds))
        shares = 1 / self.n_members if weights is None else weights
        log_sum: Array = logsumexp(logs + np.log(shares), axis=1)
        return np.minimum(log_sum, 0.0)

    def quantile(self, q: ArrayLike) -> Array:
        """Exact quantiles of the mixture: one q -> (samples,), several -> (samples, len(q))."""
        levels = check_levels(q)
        flat = levels.ravel()
        out, order = self._quantiles(flat), np.argsort(flat)
        out[:, flat == 0], out[:, flat == 1] = -np.inf, np.inf
        # Rounding in the last bit must not let two quantiles cross.
        out[:, order] = np.maximum.accumulate(out[:, order], axis=1)
        return out.reshape(len(self), *levels.shape)

    def from_normal(self, z: ArrayLike) -> Array:
        """(samples, n) quantiles at the levels Phi(z), of z (samples, n).

        Where z are standard normal draws, these are draws from the mixture.
        """
        scores = check_array("z", z, len(self), "n")
        return self._reached(np.where(scores > 0, -1.0, 1.0), ndtr(-np.abs(scores)))

    def interval(self, coverage: float = 0.9) -> Array:
        """(samples, 2) central interval: as much probability below it as above it."""
        ends = self._quantiles(np.array(central_levels(coverage)))
        return np.maximum.accumulate(ends, axis=1)  # as in `quantile`

    def crps(self, y: ArrayLike) -> Array:
        """(samples,) continuous ranked probability score, in units of y; lower is better.

        The closed form for mixtures: mean A(y - mean_k) - 1/2 mean A(mean_k - mean_l).
        """
        targets, (means, stds, weights) = self._targets(y), self._parts()
        k = means.shape[1]
        shares = np.ones(k) if weights is None else weights * k
        out = np.empty(len(self))
        for rows in chunks(len(self), k):
            m, s = means[rows], stds[rows]
            pairs = (2 / math.sqrt(math.pi)) * (s * shares**2).sum(axis=1)  # each with itself
            for i in range(k - 1):  # and twice with every later one
                others = np.sqrt(s[:, i + 1 :] ** 2 + s[:, i : i + 1] ** 2)
                apart = _mean_distance(m[:, i + 1 :] - m[:, i : i + 1], others)
                pairs += 2 * shares[i] * (apart * shares[i + 1 :]).sum(axis=1)
            to_truth = (_mean_distance(targets[rows] - m, s) * shares).mean(axis=1)
            out[rows] = to_truth - 0.5 * pairs / k**2
        return np.maximum(out, 0.0)

    def sample(self, n: int, rng: Rng) -> Array:
        """(samples, n) independent draws; `rng` is a numpy Generator or a seed."""
        rng = check_draws(n, rng, len(self))
        member = rng.integers(self.n_members, size=(len(self), n))
        means = np.take_along_axis(self.means, member, axis=1)
        variances = np.take_along_axis(self.variances, member, axis=1)
        noise = rng.standard_normal((len(self), n))
        if self.tail_share:
            is_tail = rng.random((len(self), n)) < self.tail_share
            noise = noise * np.where(is_tail, self.tail_width, 1.0) * self._core
        return means + np.sqrt(variances) * noise

    def moment_matched(self) -> "GaussianPredictive":
        """One Gaussian per row with the mixture's mean and variance."""
        return GaussianPredictive(self.mean[:, None], self.variance[:, None])

    @property
    def _core(self) -> float:
        """The standard deviation of a member's Gaussian without its tail, if the whole's is 1."""
        return float((1 + self.tail_share * (self.tail_width**2 - 1)) ** -0.5)

    def _parts(self) -> tuple[Array, Array, Array | None]:
        """Means and standard deviations of the Gaussians, (samples, parts), and their weights.

        The parts are the members or, where these have tails, all members without and then with
        them. Without weights all count alike.
        """
        stds = np.maximum(np.sqrt(self.variances), NARROWEST_STD)
        if not self.tail_share:
            return self.means, stds, None
        core = np.maximum(stds * self._core, NARROWEST_STD)
        shares = np.array([1 - self.tail_share, self.tail_share]).repeat(self.n_members)
        return (
            np.concatenate([self.means, self.means], axis=1),
            np.concatenate([core, core * self.tail_width], axis=1),
            shares / self.n_members,
        )

    def _targets(self, y: ArrayLike) -> Array:
        """(samples, 1), to stand beside the members."""
        return self._truths(y)[:, None]

    def _quantiles(self, levels: Array) -> Array:
        """(samples, levels) at levels between 0 and 1."""
        # The upper half is the lower half of the mirrored mixture: small tails keep their digits.
        sides, tails = np.empty((2, len(self), len(levels)))
        sides[:], tails[:] = np.where(levels <= 0.5, 1.0, -1.0), np.minimum(levels, 1.0 - levels)
        return self._reached(sides, tails)

    def _reached(self, sides: Array, tails: Array) -> Array:
        """(samples, n), where the probability below (side 1) or above (-1) is the tail."""
        out, n = np.empty(sides.shape), sides.shape[1]
        means, stds, weights = self._parts()
        for rows in chunks(len(self), means.shape[1] * max(1, n)):
            side, tail = sides[rows].ravel(), np.maximum(tails[rows].ravel(), _TINY)
            m, s = (part[rows].repeat(n, axis=0) for part in (means, stds))
            lower = _lower_quantile(side[:, None] * m, s, tail, weights)
            out[rows] = (side * lower).reshape(-1 if n else 0, n)
        return out


def _standardise(difference: Array, stds: Array) -> Array:
    """difference / stds, held where its square is still finite."""
    with np.errstate(over="ignore"):
        return np.asarray(np.clip(difference / stds, -LARGEST, LARGEST))


def _density(z: Array) -> Array:
    return np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)


def _mean_distance(mean: Array, std: Array) -> Array:
    """A = E|X| for X ~ N(mean, std^2)."""
    z = _standardise(mean, std)
    centred: Array = erf(z / math.sqrt(2))
    return mean * centred + 2 * std * _density(z)


def _mixed(values: Array, weights: Array | None) -> Array:
    """(samples, parts) -> (samples,), their mean."""
    return average(values, 1) if weights is None else (values * weights).sum(axis=1)


def _lower_quantile(means: Array, stds: Array, tails: Array, weights: Array | None = None) -> Array:
    """Per row the x at which the mean of Phi((x - means) / stds) is its tail, 0 < tail <= 1/2.

    Halley's method on log F, bisecting whenever it leaves the bracket or does not halve its step.
    """
    shares = np.full(means.shape, 1 / means.shape[1] if weights is None else weights)
    ends = means + stds * ndtri(tails)[:, None]
    low, high = ends.min(axis=1), ends.max(axis=1)  # the mixture's quantile lies between
    x, step = np.minimum(np.maximum((ends * shares).sum(axis=1), low), high), high - low
    m, s, w, peaks = means, stds, shares, shares / (stds * math.sqrt(2 * math.pi))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):

        def halley() -> tuple[Array, Array]:
            """The distance of log F from that of the tail, and of x from where it would be 0."""
            z, parts = (x[:, None] - m) / s, np.empty((3, *m.shape))
            np.multiply(ndtr(z), w, out=parts[0])
            np.multiply(np.exp(-0.5 * z * z), peaks, out=parts[1])
            np.multiply(parts[1], z / s, out=parts[2])
            f, density, bent = np.add.reduce(parts, axis=2)
            f = np.maximum(f, _TINY)
            gap, slope, bend = np.log(f / tails), density / f, bent / density
            return gap, gap / (slope + 0.5 * gap * (slope + bend))

        # Nearly all rows need three steps, and no look at each of them. Between equal ends x stays.
        size = step
        for _ in range(3):
            (gap, move), before = halley(), size
            x, size = np.fmin(np.fmax(x - move, low), high), np.abs(move)
        out: Array = x
        # A step's error is its cube: none is left after one so much shorter than the one before.
        rest = (step > 0) & ~((np.abs(gap) < 1e-9) & (size <= 1e-4 * before))
        left = np.arange(len(x))  # whose x, step, m, s, w, peaks, low, high and tails these are
        for _ in range(2000):  # the float64 range, halved to its last bit
            if not rest.any():
                break
            left, x, step = left[rest], x[rest], step[rest]
            m, s, w, peaks = m[rest], s[rest], w[rest], peaks[rest]
            low, high, tails = low[rest], high[rest], tails[rest]
            gap, move = halley()
            is_below = gap < 0
            low, high = np.where(is_below, x, low), np.where(is_below, high, x)
            nearer, last_bit = x - move, np.spacing(np.abs(x))
            size, miss = np.abs(move), np.abs(gap)
            trusted = (nearer > low) & (nearer < high) & (size <= 0.5 * step)
            nearer = np.where(trusted, nearer, 0.5 * (low + high))
            hit = (miss < 1e-9) & ((miss <= 16 * _EPS) | (size <= last_bit))
            step = np.abs(nearer - x)
            out[left] = x = np.where(hit, x, nearer)
            rest = ~hit & (step > last_bit)
    return out
