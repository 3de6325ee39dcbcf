"""What a model answers: one frozen object per task, holding every member's prediction.

Uncertainties are variances for numbers (`GaussianPredictive`, `SamplePredictive`) and nats for
classes (`CategoricalPredictive`); always total = aleatoric + epistemic.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr, erf, logsumexp, ndtr, ndtri, rel_entr

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
Rng = np.random.Generator | int

LARGEST = 1e150  # its square is still a float64
NARROWEST_STD = 1e-100  # a zero variance is treated as a Gaussian this narrow
_CHUNK = 1 << 17  # float64 values per temporary array
_EPS, _TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)


class Uncertainty(NamedTuple):
    """Per row: total = aleatoric (noise) + epistemic (disagreement of the members)."""

    total: Array
    aleatoric: Array
    epistemic: Array


def check_array(name: str, value: ArrayLike, *axes: str | int, largest: float = LARGEST) -> Array:
    """A float64 copy of `value`, finite and of the expected shape; a number fixes an axis' length.

    Without `axes` every shape is welcome.
    """
    array = np.array(value, dtype=np.float64)
    fits = array.ndim == len(axes) and all(
        isinstance(axis, str) or axis == n for axis, n in zip(axes, array.shape, strict=True)
    )
    if axes and not fits:
        cure = "check that the rows and axes match"
        if array.ndim == len(axes) - 1:
            cure = f"to add an axis of length 1, pass {name}[:, None]"
        elif array.ndim == len(axes) + 1 and array.shape[-1] == 1:
            cure = f"to drop the last axis, pass {name}[..., 0]"
        expected = ", ".join(map(str, axes)) + ("," if len(axes) == 1 else "")
        raise ValueError(f"{name}: expected shape ({expected}), got {array.shape}; {cure}")
    good = np.abs(array) <= largest  # also false for NaN
    if not good.all():
        raise ValueError(
            f"{name}: expected finite numbers of size at most {largest:g}, got {array[~good][0]} "
            f"({np.count_nonzero(~good)} such values); remove the rows or look where they come from"
        )
    return array


def check_probabilities(name: str, value: ArrayLike, *axes: str | int) -> Array:
    """A float64 copy of `value`, non-negative and summing to 1 over the last axis."""
    array = check_array(name, value, *axes)
    sums = array.sum(axis=-1, keepdims=True)
    if array.size and (array.min() < 0 or np.abs(sums - 1).max() > 1e-3):
        raise ValueError(
            f"{name}: expected values >= 0 that sum to 1 over the last axis (classes), got values "
            f"from {array.min():g} with sums {sums.min():g} to {sums.max():g}; "
            "apply a softmax to logits first; for two classes pass both columns"
        )
    # Float32 sums are mended; sums that are 1 already keep their bits.
    return array if np.all(np.abs(sums - 1) < 1e-12) else array / sums


def check_labels(name: str, value: ArrayLike, *, n_rows: int, n_classes: int) -> Labels:
    """An int64 copy of `value`: `n_rows` class indices in 0 .. n_classes - 1."""
    array = np.array(value)
    if array.shape != (n_rows,) or array.dtype.kind not in "iub":
        raise ValueError(
            f"{name}: expected {n_rows} integer class indices, shape ({n_rows},), got shape "
            f"{array.shape} of {array.dtype}; encode class names as their column in probabilities"
        )
    labels = array.astype(np.int64)
    if labels.size and (labels.min() < 0 or labels.max() >= n_classes):
        raise ValueError(
            f"{name}: expected class indices 0 to {n_classes - 1}, got {labels.min()} to "
            f"{labels.max()}; classes are counted from 0 in the order of probabilities' columns"
        )
    return labels


def check_coverage(coverage: float) -> float:
    """A share strictly between 0 and 1."""
    if not 0 < coverage < 1:
        raise ValueError(
            f"coverage: expected a share strictly between 0 and 1, got {coverage}; "
            "for 90 % pass 0.9"
        )
    return float(coverage)


class Predictive(ABC):
    """Every member's prediction, row by row: arrays (samples, members, ...) that never change."""

    def __len__(self) -> int:
        return len(self._arrays[0])

    def __getitem__(self, rows: Any) -> Self:
        """The chosen rows (slice, index array, mask); an integer keeps its row as a row."""
        chosen = rows if isinstance(rows, slice) else np.atleast_1d(np.asarray(rows))
        return type(self)(*(array[chosen] for array in self._arrays))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} samples, {self.n_members} members)"

    @property
    def n_members(self) -> int:
        return int(self._arrays[0].shape[1])

    @property
    @abstractmethod
    def total(self) -> Array: ...

    @property
    @abstractmethod
    def aleatoric(self) -> Array: ...

    @property
    @abstractmethod
    def epistemic(self) -> Array: ...

    def uncertainty(self) -> Uncertainty:
        """Total, aleatoric and epistemic, with one entry per row (and step)."""
        return Uncertainty(self.total, self.aleatoric, self.epistemic)

    @property
    def _arrays(self) -> list[Array]:
        return [getattr(self, field.name) for field in fields(self)]  # type: ignore[arg-type]

    def _freeze(self, **arrays: Array) -> None:
        for name, array in arrays.items():
            if 0 in array.shape[1:]:
                raise ValueError(
                    f"{name}: expected at least one member and no empty axis but the rows, got "
                    f"shape {array.shape}; give every axis its entries"
                )
            array.setflags(write=False)
            object.__setattr__(self, name, array)


@dataclass(frozen=True, eq=False, repr=False)
class GaussianPredictive(Predictive):
    """The exact equal-weight mixture of the members' Gaussians.

    means, variances (samples, members); variances may be 0.
    """

    means: Array
    variances: Array

    def __post_init__(self) -> None:
        means = check_array("means", self.means, "samples", "members")
        variances = check_array("variances", self.variances, *means.shape, largest=LARGEST**2)
        if variances.size and variances.min() < 0:
            raise ValueError(
                f"variances: expected values >= 0, got {variances.min():g}; "
                "pass variances, not log-variances: exp(log_variance)"
            )
        self._freeze(means=means, variances=variances)

    @property
    def mean(self) -> Array:
        """(samples,)."""
        return self.means[:, 0] + _mean(self._offsets, 1)

    @property
    def variance(self) -> Array:
        """(samples,) of the mixture: the members' noise and their disagreement."""
        return self.aleatoric + self.epistemic

    total = variance

    @property
    def std(self) -> Array:
        """(samples,) square root of `variance`."""
        return np.sqrt(self.variance)

    @property
    def aleatoric(self) -> Array:
        """(samples,) mean of the members' variances."""
        return _mean(self.variances, 1)

    @property
    def epistemic(self) -> Array:
        """(samples,) variance of the members' means; exactly 0 where they agree."""
        offsets = self._offsets
        return _mean(np.square(offsets - offsets.mean(axis=1, keepdims=True)), 1)

    def cdf(self, y: ArrayLike) -> Array:
        """(samples,) P(Y <= y); y (samples,) or one number for all."""
        z = _standardise(self._targets(y) - self.means, self._stds)
        return _mean(ndtr(z), 1)

    def log_prob(self, y: ArrayLike) -> Array:
        """(samples,) log density at y, in nats; y (samples,) or one number for all."""
        z = _standardise(self._targets(y) - self.means, self._stds)
        logs = -0.5 * z**2 - np.log(self._stds) - 0.5 * math.log(2 * math.pi)
        log_sum: Array = logsumexp(logs, axis=1)
        return log_sum - math.log(self.n_members)

    def quantile(self, q: ArrayLike) -> Array:
        """Exact quantiles of the mixture: one q -> (samples,), several -> (samples, len(q))."""
        levels = _check_levels(q)
        out = np.stack([self._quantile(float(p)) for p in levels.ravel()], axis=1)
        order = np.argsort(levels.ravel())
        # Rounding in the last bit must not let two quantiles cross.
        out[:, order] = np.maximum.accumulate(out[:, order], axis=1)
        return out.reshape(len(self), *levels.shape)

    def interval(self, coverage: float = 0.9) -> Array:
        """(samples, 2) central interval: as much probability below it as above it."""
        return self.quantile(_central_levels(coverage))

    def crps(self, y: ArrayLike) -> Array:
        """(samples,) continuous ranked probability score, in units of y; lower is better.

        The closed form for mixtures: mean A(y - mean_k) - 1/2 mean A(mean_k - mean_l).
        """
        targets, stds, k = self._targets(y), self._stds, self.n_members
        out = np.empty(len(self))
        for rows in _chunks(len(self), k):
            m, s = self.means[rows], stds[rows]
            pairs = (2 / math.sqrt(math.pi)) * s.sum(axis=1)  # each member with itself
            for i in range(k - 1):  # and twice with every later one
                others = np.sqrt(s[:, i + 1 :] ** 2 + s[:, i : i + 1] ** 2)
                apart = _mean_distance(m[:, i + 1 :] - m[:, i : i + 1], others)
                pairs += 2 * apart.sum(axis=1)
            out[rows] = _mean_distance(targets[rows] - m, s).mean(axis=1) - 0.5 * pairs / k**2
        return np.maximum(out, 0.0)

    def sample(self, n: int, rng: Rng) -> Array:
        """(samples, n) independent draws; `rng` is a numpy Generator or a seed."""
        rng = np.random.default_rng(rng)
        member = rng.integers(self.n_members, size=(len(self), n))
        means = np.take_along_axis(self.means, member, axis=1)
        variances = np.take_along_axis(self.variances, member, axis=1)
        return means + np.sqrt(variances) * rng.standard_normal((len(self), n))

    def moment_matched(self) -> "GaussianPredictive":
        """One Gaussian per row with the mixture's mean and variance."""
        return GaussianPredictive(self.mean[:, None], self.variance[:, None])

    @property
    def _offsets(self) -> Array:
        # Differences to the first member: exactly 0 where members agree, and no digits are lost
        # when the means are large and close together.
        return self.means - self.means[:, :1]

    @property
    def _stds(self) -> Array:
        return np.maximum(np.sqrt(self.variances), NARROWEST_STD)

    def _targets(self, y: ArrayLike) -> Array:
        """(samples, 1), to stand beside the members."""
        y = np.full(len(self), y) if np.ndim(y) == 0 else y
        return check_array("y", y, len(self))[:, None]

    def _quantile(self, p: float) -> Array:
        # The upper half is the lower half of the mirrored mixture: small tails keep their digits.
        side, tail = (1.0, p) if p <= 0.5 else (-1.0, 1.0 - p)
        out = np.full(len(self), -np.inf)
        if tail > 0:
            stds = self._stds
            for rows in _chunks(len(self), self.n_members):
                out[rows] = _lower_quantile(side * self.means[rows], stds[rows], max(tail, _TINY))
        return side * out


@dataclass(frozen=True, eq=False, repr=False)
class CategoricalPredictive(Predictive):
    """Class probabilities of every member; the answer is their mean.

    probabilities (samples, members, classes).
    """

    probabilities: Array

    def __post_init__(self) -> None:
        axes = ("samples", "members", "classes")
        probabilities = check_probabilities("probabilities", self.probabilities, *axes)
        self._freeze(probabilities=probabilities)

    @property
    def n_classes(self) -> int:
        return int(self.probabilities.shape[2])

    @property
    def mean(self) -> Array:
        """(samples, classes) mean probabilities; exactly the members' own where they agree."""
        p = self.probabilities
        mean: Array = np.clip(p[:, 0] + _mean(p - p[:, :1], 1), p.min(axis=1), p.max(axis=1))
        return mean

    @property
    def mode(self) -> Labels:
        """(samples,) index of the most probable class; the first of equals."""
        return np.asarray(self.mean.argmax(axis=1), dtype=np.int64)

    @property
    def confidence(self) -> Array:
        """(samples,) probability of `mode`."""
        confidence: Array = self.mean.max(axis=1)
        return confidence

    @property
    def total(self) -> Array:
        """(samples,) entropy of the mean probabilities, in nats."""
        entropy: Array = entr(self.mean).sum(axis=1)
        return entropy

    @property
    def aleatoric(self) -> Array:
        """(samples,) mean entropy of the members, in nats."""
        return _mean(entr(self.probabilities).sum(axis=2), 1)

    @property
    def epistemic(self) -> Array:
        """(samples,) mutual information of class and member, in nats; exactly 0 in agreement."""
        mean = np.maximum(self.mean, 1e-300)[:, None]  # where a denormal's mean rounds to 0
        divergence = rel_entr(self.probabilities, mean).sum(axis=2)
        return np.maximum(_mean(divergence, 1), 0.0)

    def log_prob(self, y: ArrayLike) -> Array:
        """(samples,) log mean probability of the classes y, in nats; -inf where it is 0."""
        labels = check_labels("y", y, n_rows=len(self), n_classes=self.n_classes)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.mean[np.arange(len(self)), labels]))

    def sample(self, n: int, rng: Rng) -> Labels:
        """(samples, n) class indices drawn from the mean; `rng` is a numpy Generator or a seed."""
        u = np.random.default_rng(rng).random((len(self), n))
        below = np.cumsum(self.mean, axis=1)
        below /= below[:, -1:]
        out = np.zeros((len(self), n), dtype=np.int64)
        for c in range(self.n_classes - 1):
            out += u >= below[:, c : c + 1]
        return out


@dataclass(frozen=True, eq=False, repr=False)
class SamplePredictive(Predictive):
    """Sample paths of a forecast, S of them from every member; all draws weigh the same.

    paths (samples, members, paths, horizon).
    """

    paths: Array

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
        return first + _mean(self.paths - first[:, None, None], (1, 2))

    @cached_property
    def variance(self) -> Array:
        """(samples, horizon) variance of all draws (divided by their number)."""
        return _mean(np.square(self.paths - self.mean[:, None, None]), (1, 2))

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
            return np.zeros_like(self.variance)
        n_paths = self.paths.shape[2]
        if n_paths < 2:
            raise ValueError(
                f"paths: expected at least 2 paths per member to tell noise from disagreement, got "
                f"shape {self.paths.shape}; draw more paths"
            )
        # With within divided by S - 1, total = within + (between - within / S) holds exactly.
        deviations = self.paths - self.mean[:, None, None]
        own = _mean(deviations, 2)
        between = _mean(np.square(own), 1)
        within = _mean(np.square(deviations - own[:, :, None]), (1, 2)) * n_paths / (n_paths - 1)
        return np.asarray(np.maximum(between - within / n_paths, 0.0))

    def quantile(self, q: ArrayLike) -> Array:
        """Empirical quantiles: one q -> (samples, horizon), several -> (samples, horizon, len(q)).

        Between two draws linear.
        """
        levels = _check_levels(q)
        out: Array = np.quantile(self._draws, levels, axis=1)
        return out if levels.ndim == 0 else np.moveaxis(out, 0, -1)

    def interval(self, coverage: float = 0.9) -> Array:
        """(samples, horizon, 2) central interval, step by step."""
        return self.quantile(_central_levels(coverage))

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
        for rows in _chunks(len(self), n * self.horizon):
            error = np.sort(draws[rows] - truth[rows, None], axis=1)
            out[rows] = np.abs(error).mean(axis=1) - (weights * error).sum(axis=1)
        return np.maximum(out, 0.0)

    @property
    def _draws(self) -> Array:
        """(samples, members * paths, horizon)."""
        samples, members, paths, horizon = self.paths.shape
        return self.paths.reshape(samples, members * paths, horizon)


def _check_levels(q: ArrayLike) -> Array:
    levels = np.array(q, dtype=np.float64)
    if levels.ndim > 1 or levels.size == 0 or not np.all((levels >= 0) & (levels <= 1)):
        raise ValueError(
            f"q: expected one probability or a list of them, each in [0, 1], got {q!r}; "
            "for the 90 % quantile pass 0.9"
        )
    return levels


def _central_levels(coverage: float) -> list[float]:
    tail = (1 - check_coverage(coverage)) / 2
    return [tail, 1 - tail]


def _chunks(n_rows: int, width: int) -> Iterator[slice]:
    """Slices of rows, so that a temporary (rows, width) stays small."""
    step = max(1, _CHUNK // max(1, width))
    return (slice(start, start + step) for start in range(0, n_rows, step))


def _mean(values: Array, axis: int | tuple[int, ...]) -> Array:
    out: Array = values.mean(axis=axis)
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


def _lower_quantile(means: Array, stds: Array, tail: float) -> Array:
    """Per row the x at which the mean of Phi((x - means) / stds) is tail, 0 < tail <= 1/2.

    Newton's method on log F, bisecting whenever it leaves the bracket or does not halve its step.
    """
    ends = means + stds * ndtri(tail)
    low, high = ends.min(axis=1), ends.max(axis=1)  # the mixture's quantile lies between
    x: Array = np.clip(_mean(ends, 1), low, high)
    step = high - low
    left = np.flatnonzero(high > low)
    for _ in range(2000):  # the float64 range, halved to its last bit
        if not left.size:
            break
        at, s = x[left], stds[left]
        z = _standardise(at[:, None] - means[left], s)
        f = np.maximum(ndtr(z).mean(axis=1), _TINY)
        gap = np.log(f / tail)
        low[left] = lo = np.where(gap < 0, at, low[left])
        high[left] = hi = np.where(gap < 0, high[left], at)
        slope = (_density(z) / s).mean(axis=1) / f
        move = np.divide(gap, slope, out=np.full_like(gap, np.inf), where=slope > 1e-150)
        newton, last_bit = at - move, np.spacing(np.abs(at))
        trusted = (newton > lo) & (newton < hi) & (np.abs(move) <= 0.5 * step[left])
        nearer = np.where(trusted, newton, 0.5 * (lo + hi))
        step[left] = np.abs(nearer - at)
        hit = (np.abs(gap) < 1e-9) & ((np.abs(gap) <= 16 * _EPS) | (np.abs(move) <= last_bit))
        x[left] = np.where(hit, at, nearer)
        left = left[~hit & (step[left] > last_bit)]
    return x
