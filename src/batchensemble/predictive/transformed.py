"""Numbers in a limited range: a mixture of Gaussians through a transform."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, logsumexp, ndtr

from batchensemble.predictive.base import MixturePredictive, chunks, read_only
from batchensemble.predictive.checks import Array, Rng, central_levels, check_levels
from batchensemble.predictive.gaussian import GaussianPredictive
from batchensemble.predictive.transforms import Transform

REACH = 8.5  # standard deviations; what lies beyond has a probability of 2e-17
WHOLE = (-REACH, REACH)
MILD = (0.02, 3.0)  # standard deviations in units of 1 / rate
NODES, WEIGHTS = np.polynomial.legendre.leggauss(32)
CRPS_NODES, CRPS_WEIGHTS = np.polynomial.legendre.leggauss(18)
CUTS = np.array([-7.5, 0.0, 7.5])  # standard deviations: few cuts and many nodes err least
EVEN = 5.0  # the narrowest part's: as short a piece needs no cut at a part's own places


@dataclass(frozen=True, eq=False, repr=False)
class TransformedPredictive(MixturePredictive):
    """Y = transform(Z), where Z is the equal-weight mixture of the members' Gaussians.

    latent_means, latent_variances (samples, members), and the tails of `GaussianPredictive`, are
    those of Z; everything else is about Y, in the user's units. Whatever of Z lies beyond the
    transform's ends is a probability of the smallest or largest value itself.

    cdf, log_prob and quantiles are exact by change of variables. Means, variances and the CRPS are
    integrals: in closed form, or by Gauss-Legendre quadrature between the places where something
    bends, with relative errors below 1e-8, unless Z is 5 standard deviations beyond an end: what
    remains inside is tiny there.
    """

    latent_means: Array
    latent_variances: Array
    tail_share: float
    tail_width: float
    transform: Transform
    _by_row = ("latent_means", "latent_variances")

    def __post_init__(self) -> None:
        latent = GaussianPredictive(
            self.latent_means, self.latent_variances, self.tail_share, self.tail_width
        )
        self._freeze(latent_means=latent.means, latent_variances=latent.variances)

    @classmethod
    def of(cls, latent: GaussianPredictive, transform: Transform) -> "TransformedPredictive":
        """The distribution of transform(Z)."""
        tails = latent.tail_share, latent.tail_width
        return cls(latent.means, latent.variances, *tails, transform)

    @cached_property
    def latent(self) -> GaussianPredictive:
        """The distribution of Z."""
        return GaussianPredictive(
            self.latent_means, self.latent_variances, self.tail_share, self.tail_width
        )

    @property
    def means(self) -> Array:
        """(samples, members) of Y."""
        return self._moments[0]

    @property
    def variances(self) -> Array:
        """(samples, members) of Y."""
        return self._moments[1]

    def cdf(self, y: ArrayLike) -> Array:
        """(samples,) P(Y <= y); y (samples,) or one number for all."""
        y = self._truths(y)
        below = self.latent.cdf(self.transform.inverse(y))
        return np.where(y < self.transform.low, 0.0, np.where(y >= self.transform.high, 1.0, below))

    def log_prob(self, y: ArrayLike) -> Array:
        """(samples,) log density at y, in nats; y (samples,) or one number for all.

        At the smallest and the largest value it is the log probability of that value; beyond them
        it is -inf.
        """
        y, transform = self._truths(y), self.transform
        z = transform.inverse(y)
        logs = self.latent.log_prob(z) - transform.log_slope(z)
        for is_end, side in ((y == transform.low, 1.0), (y == transform.high, -1.0)):
            if is_end.any():
                logs[is_end] = self._log_below(z, side)[is_end]
        logs[(y < transform.low) | (y > transform.high)] = -np.inf
        return logs

    def log_survival(self, y: ArrayLike) -> Array:
        """(samples,) log P(Y >= y), in nats; y (samples,) or one number for all."""
        y = self._truths(y)
        logs = self.latent.log_survival(self.transform.inverse(y))
        logs[y <= self.transform.low] = 0.0
        logs[y > self.transform.high] = -np.inf
        return logs

    def quantile(self, q: ArrayLike) -> Array:
        """Exact quantiles: one q -> (samples,), several -> (samples, len(q))."""
        check_levels(q)
        return self.transform(self.latent.quantile(q))

    def from_normal(self, z: ArrayLike) -> Array:
        """(samples, n) quantiles at the levels Phi(z), of z (samples, n)."""
        return self.transform(self.latent.from_normal(z))

    def interval(self, coverage: float = 0.9) -> Array:
        """(samples, 2) central interval: as much probability below it as above it."""
        return self.quantile(central_levels(coverage))

    def crps(self, y: ArrayLike) -> Array:
        """(samples,) continuous ranked probability score, in units of y; lower is better.

        The integral of (P(Y <= t) - [y <= t])^2 over t, which is cut where a Gaussian or the
        transform bends, and at y. A y that cannot be adds its distance from what can.
        """
        targets, transform = self._truths(y), self.transform
        inside = np.clip(targets, transform.low, transform.high)
        at = transform.inverse(inside)
        means, stds, _ = self.latent._parts()
        ends, reach = transform.knots, REACH * stds
        is_free = ((means - reach >= ends[0]) & (means + reach <= ends[-1])).all(axis=1)
        is_same = is_free if not any(transform.rates) else np.zeros(len(self), bool)  # Y = Z
        out = np.empty(len(self))
        out[is_same] = self.latent[is_same].crps(at[is_same])
        sizes = np.where(is_same, 0, _n_cuts(means, stds))
        for size in np.unique(sizes[~is_same]).tolist():
            alike = np.flatnonzero(sizes == size)
            for some in chunks(len(alike), (size + len(ends) + 1) * len(CRPS_NODES)):
                rows = alike[some]
                out[rows] = self._crps_in_pieces(rows, at[rows, None], size)
        return out + np.abs(targets - inside)

    def _crps_in_pieces(self, rows: NDArray[np.int64], truth: Array, size: int) -> Array:
        """Of some rows, whose Gaussians are cut at `size` places."""
        parts_means, parts_stds, weights = self.latent._parts()
        m, s, ends = parts_means[rows], parts_stds[rows], self.transform.knots
        shares = np.full(m.shape[1], 1 / m.shape[1]) if weights is None else weights
        cuts = (m[..., None] + s[..., None] * CUTS).reshape(len(m), -1)
        low, high = cuts.min(axis=1, keepdims=True), cuts.max(axis=1, keepdims=True)
        if size < cuts.shape[1]:
            cuts = np.linspace(low[:, 0], high[:, 0], size, axis=1)
        bends = np.clip(ends, np.minimum(low, truth), np.maximum(high, truth))
        cuts = np.clip(np.sort(np.hstack([cuts, bends, truth]), axis=1), ends[0], ends[-1])
        half = 0.5 * np.diff(cuts)[..., None]
        z = 0.5 * (cuts[:, 1:] + cuts[:, :-1])[..., None] + half * CRPS_NODES
        flat = z.reshape(len(m), -1)
        below = np.zeros_like(flat)
        for k, share in enumerate(shares):
            below += share * ndtr((flat - m[:, [k]]) / s[:, [k]])
        squares = np.square(below - (flat >= truth)) * np.exp(self.transform.log_slope(flat))
        total: Array = (squares.reshape(z.shape) * half * CRPS_WEIGHTS).sum(axis=(1, 2))
        return total

    def sample(self, n: int, rng: Rng) -> Array:
        """(samples, n) independent draws; `rng` is a numpy Generator or a seed."""
        return self.transform(self.latent.sample(n, rng))

    def moment_matched(self) -> GaussianPredictive:
        """One Gaussian per row with the mean and variance of Y; it knows no bounds."""
        return GaussianPredictive(self.mean[:, None], self.variance[:, None])

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        """Means and variances of the members."""
        means, variances = self._both_moments()
        return read_only(means), read_only(variances)

    def _both_moments(self) -> tuple[Array, Array]:
        means, stds, weights = self.latent._parts()
        parts = _moments(self.transform, means.ravel(), stds.ravel())
        shape = len(self), means.shape[1] // self.n_members, self.n_members
        middle, variances = (part.reshape(shape) for part in parts)
        if weights is None:
            return middle[:, 0], variances[:, 0]
        # A member is its Gaussian without and its Gaussian with tails.
        p = self.tail_share
        apart = middle[:, 1] - middle[:, 0]
        within = (1 - p) * variances[:, 0] + p * variances[:, 1]
        return middle[:, 0] + p * apart, within + p * (1 - p) * apart**2

    def _log_below(self, z: Array, side: float) -> Array:
        """log P(Z <= z), or with side -1 log P(Z >= z)."""
        means, stds, weights = self.latent._parts()
        logs = log_ndtr(side * (z[:, None] - means) / stds)
        shares = 1 / means.shape[1] if weights is None else weights
        total: Array = logsumexp(logs, axis=1, b=shares)
        return total


def _n_cuts(means: Array, stds: Array) -> NDArray[np.int64]:
    """(rows,), at how many places Gaussians (rows, parts) are cut for the CRPS.

    Each at its own, or all at evenly spaced ones (a power of two and one), whichever are fewer.
    """
    own = means.shape[1] * len(CUTS)
    extent = (means + CUTS[-1] * stds).max(axis=1) - (means + CUTS[0] * stds).min(axis=1)
    with np.errstate(over="ignore"):
        pieces = extent / (EVEN * stds.min(axis=1))
    even = 2 ** np.ceil(np.log2(np.clip(pieces, 1, own))) + 1
    return np.asarray(np.minimum(even, own), dtype=np.int64)


def _moments(transform: Transform, means: Array, stds: Array) -> tuple[Array, Array]:
    """Mean and variance of transform(Z) for each Gaussian, (n,) and (n,)."""
    edges = np.array([-np.inf, *transform.starts, transform.end, np.inf])
    first = np.searchsorted(edges, means - REACH * stds, side="right")
    last = np.searchsorted(edges, means + REACH * stds, side="left")
    bends = stds[:, None] * np.abs([rate for rate in transform.rates if rate])
    is_mild = ((bends > MILD[0]) & (bends < MILD[1])).all(axis=1)
    out = np.empty((2, len(means)))
    in_one = first == last
    for moments, chosen in (
        (_moments_in_one_piece, in_one),
        (_moments_by_pieces, ~in_one & is_mild),
        (_moments_by_quadrature, ~in_one & ~is_mild),
    ):
        places = np.flatnonzero(chosen)
        for some in chunks(len(places), 8 * len(edges)):
            rows = places[some]
            out[:, rows] = moments(transform, means[rows], stds[rows])
    return transform(means) + out[0], np.maximum(out[1], 0.0)


def _moments_in_one_piece(transform: Transform, means: Array, stds: Array) -> tuple[Array, Array]:
    """Mean minus transform(means), and variance: of a Gaussian, a log-normal, or nothing."""
    slopes, rates = transform.bend(means)
    square = (rates * stds) ** 2
    safe = np.where(rates == 0, 1.0, rates)
    shift = np.where(rates == 0, 0.0, np.expm1(square / 2) / safe)
    curved = np.exp(square) * np.expm1(square) / safe**2
    return slopes * shift, slopes**2 * np.where(rates == 0, stds**2, curved)


def _moments_by_pieces(transform: Transform, means: Array, stds: Array) -> tuple[Array, Array]:
    """The same, as the sum of truncated Gaussians and log-normals, piece by piece."""
    m, s = means[:, None], stds[:, None]
    pieces = transform.pieces
    cuts = np.clip((np.array([-np.inf, *transform.starts, transform.end, np.inf]) - m) / s, *WHOLE)
    share, density = _between(cuts), np.exp(-0.5 * cuts**2) / math.sqrt(2 * math.pi)
    value, slope, start, rate = (np.array(of) for of in zip(*pieces, strict=True))
    value = value - transform(m)
    is_curved, safe = rate != 0, np.where(rate == 0, 1.0, rate)
    # A piece is base + k z where it is straight, and base + k exp(rate z) where it is curved.
    k = np.where(is_curved, slope / safe * np.exp(rate * (m - start)), slope * s)
    base = np.where(is_curved, value - slope / safe, value + slope * (m - start))
    one = density[:, :-1] - density[:, 1:]
    two = share + cuts[:, :-1] * density[:, :-1] - cuts[:, 1:] * density[:, 1:]
    for i in np.flatnonzero(is_curved):
        ends, bend = cuts[:, i : i + 2], rate[i] * s
        one[:, i] = np.exp(0.5 * bend[:, 0] ** 2) * _between(ends - bend)[:, 0]
        two[:, i] = np.exp(2 * bend[:, 0] ** 2) * _between(ends - 2 * bend)[:, 0]
    mean = (base * share + k * one).sum(axis=1)
    square = (base**2 * share + 2 * base * k * one + k**2 * two).sum(axis=1)
    return mean, square - mean**2


def _moments_by_quadrature(transform: Transform, means: Array, stds: Array) -> tuple[Array, Array]:
    """The same for bends so sharp or so slight that sums would lose digits."""
    out = np.empty((2, len(means)))
    edges = np.array([-np.inf, *transform.starts, transform.end, np.inf])
    for rows in chunks(len(means), len(edges) * len(NODES)):
        m, s = means[rows, None], stds[rows, None]
        cuts = np.clip((edges - m) / s, *WHOLE)
        half = 0.5 * np.diff(cuts)[..., None]
        u = cuts[:, :-1, None] + half * (1 + NODES)
        weights = half * WEIGHTS * np.exp(-0.5 * u**2) / math.sqrt(2 * math.pi)
        apart = transform(m[..., None] + s[..., None] * u) - transform(m)[..., None]
        mean = (weights * apart).sum(axis=(1, 2))
        squares = np.square(apart - mean[:, None, None])
        out[:, rows] = mean, (weights * squares).sum(axis=(1, 2))
    return out[0], out[1]


def _between(cuts: Array) -> Array:
    """(n, cuts) -> (n, cuts - 1), probabilities of a standard Gaussian; small tails keep digits."""
    low, high = cuts[:, :-1], cuts[:, 1:]
    mirrored = low + high > 0
    return np.asarray(ndtr(np.where(mirrored, -low, high)) - ndtr(np.where(mirrored, -high, low)))
