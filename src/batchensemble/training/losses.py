"""Losses per row and member, and the mixture's score, from a network's outputs."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, softplus

Bounds = tuple[float, float]
FREE = (-math.inf, math.inf)
Numbers = TypeVar("Numbers", bound=Any)


class Loss(Protocol):
    """The loss of a task."""

    def __call__(self, outputs: Tensor, y: Tensor) -> Tensor:
        """(..., members, outputs) and (..., members or 1) -> loss (..., members)."""
        ...

    def mixture(self, outputs: Tensor, y: Tensor) -> Tensor:
        """NLL of the equal-weight mixture of members: ... -> (...)."""
        ...

    def score(self, outputs: Tensor, y: Tensor) -> Tensor:
        """What early stopping watches, of the members together: ... -> (...)."""
        ...


def bounded(raw: Numbers, bounds: Bounds, softplus: Callable[[Numbers], Numbers]) -> Numbers:
    """Nearly the identity inside the bounds, smooth everywhere, never beyond them.

    Of a tensor, an array or the values of a graph, each with its own log(1 + exp(x)).
    """
    low, high = bounds
    if bounds == FREE:
        return raw
    reach = math.log1p(math.exp(high - low))  # how far above low the double softplus could get
    x: Any = raw  # no type says that a number minus these is one of these
    less: Any = softplus(high - x)
    within: Numbers = softplus(high - less - low) * ((high - low) / reach) + low
    return within


@dataclass(frozen=True)
class Gaussian:
    """Abstract: outputs are mean and raw log-variance.

    `bounds` keep the log-variance finite and sensible (in the units of the scaled target);
    (-inf, inf) leaves it as it is.
    """

    bounds: Bounds = (-10.0, 4.0)

    def __post_init__(self) -> None:
        is_pair = len(self.bounds) == 2 and all(isinstance(end, Real) for end in self.bounds)
        is_free = is_pair and tuple(self.bounds) == FREE
        if not is_free and not (is_pair and -100 <= self.bounds[0] < self.bounds[1] <= 100):
            raise ValueError(
                "expected bounds of the log-variance, low < high, both between -100 and 100, "
                f"or (-inf, inf) for none, got {self.bounds}"
            )

    def moments(self, outputs: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log-variance: (..., 2) -> (...), (...)."""
        mean, raw = outputs.unbind(-1)
        return mean, bounded(raw, self.bounds, softplus)

    def draw(self, outputs: Tensor, noise: Tensor | None) -> Tensor:
        """The value that standard noise stands for, (..., 2) -> (...); the mean without noise."""
        if noise is None:
            return outputs[..., 0]
        mean, log_variance = self.moments(outputs)
        return torch.addcmul(mean, torch.exp(0.5 * log_variance), noise)

    def mixture(self, outputs: Tensor, y: Tensor) -> Tensor:
        mean, log_variance = self.moments(outputs)
        log_prob = -0.5 * (log_variance + (y - mean).square() * torch.exp(-log_variance))
        return -_log_mean_exp(log_prob)

    def score(self, outputs: Tensor, y: Tensor) -> Tensor:
        return self.mixture(outputs, y)


@dataclass(frozen=True)
class GaussianNLL(Gaussian):
    """0.5 log variance + 0.5 (y - mean)^2 / variance.

    `beta` > 0 weighs each row by its variance**beta, which keeps the mean learning where the
    variance is large (beta-NLL; 0.5 is usual).
    """

    beta: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.beta <= 1:
            raise ValueError(f"expected beta in [0, 1], got {self.beta}")

    def __call__(self, outputs: Tensor, y: Tensor) -> Tensor:
        mean, log_variance = self.moments(outputs)
        loss = 0.5 * (log_variance + (y - mean).square() * torch.exp(-log_variance))
        if self.beta:
            loss = loss * torch.exp(self.beta * log_variance.detach())
        return loss


@dataclass(frozen=True)
class CensoredNLL(Gaussian):
    """The NLL of targets of which some are known only to be at least y: minus log P(Y >= y).

    y has one more axis, (..., 2, members or 1): the number, and 1 where it is such a lower bound.
    """

    beta: float = 0.0  # as in GaussianNLL

    def __call__(self, outputs: Tensor, y: Tensor) -> Tensor:
        mean, log_variance = self.moments(outputs)
        loss = -_censored_log_prob(mean, log_variance, y)
        if self.beta:
            loss = loss * torch.exp(self.beta * log_variance.detach())
        return loss

    def mixture(self, outputs: Tensor, y: Tensor) -> Tensor:
        return -_log_mean_exp(_censored_log_prob(*self.moments(outputs), y))


@dataclass(frozen=True)
class GaussianCRPS(Gaussian):
    """The continuous ranked probability score: std (z (2 Phi(z) - 1) + 2 phi(z) - 1 / sqrt(pi)).

    z is the error in standard deviations. It grows with the error and not with its square, so
    that the mean keeps learning where the variance could explain the error. A target that is NaN
    is missing, and its loss is 0.
    """

    def __call__(self, outputs: Tensor, y: Tensor) -> Tensor:
        mean, log_variance = self.moments(outputs)
        return _crps(y, mean, torch.exp(0.5 * log_variance))

    def score(self, outputs: Tensor, y: Tensor) -> Tensor:
        """The CRPS of one Gaussian with the mixture's mean and variance."""
        mean, log_variance = self.moments(outputs)
        variance = log_variance.exp().mean(-1) + mean.var(-1, correction=0)
        return _crps(y.squeeze(-1), mean.mean(-1), variance.sqrt())


@dataclass(frozen=True)
class CategoricalNLL:
    """Cross entropy of the logits; y holds class indices."""

    def __call__(self, outputs: Tensor, y: Tensor) -> Tensor:
        y = y.expand(outputs.shape[:-1])
        flat = cross_entropy(outputs.flatten(0, -2), y.flatten(), reduction="none")
        return flat.view(outputs.shape[:-1])

    def mixture(self, outputs: Tensor, y: Tensor) -> Tensor:
        return -_log_mean_exp(-self(outputs, y))

    score = mixture


def _crps(y: Tensor, mean: Tensor, std: Tensor) -> Tensor:
    is_missing = y.isnan()
    z = (torch.where(is_missing, mean, y) - mean) / std
    twice_density = math.sqrt(2 / math.pi) * torch.exp(-0.5 * z.square())
    crps = std * (z * torch.erf(z / math.sqrt(2)) + twice_density - 1 / math.sqrt(math.pi))
    return torch.where(is_missing, 0.0, crps)


def _censored_log_prob(mean: Tensor, log_variance: Tensor, y: Tensor) -> Tensor:
    """Of the density without its constant, or of what lies above y."""
    at, is_censored = y.unbind(-2)
    z = (at - mean) * torch.exp(-0.5 * log_variance)
    # Both branches get a gradient, and 0 times infinity is none: z is 0 where it does not count.
    log_survival = torch.special.log_ndtr(-torch.where(is_censored > 0, z, 0.0))
    return torch.where(is_censored > 0, log_survival, -0.5 * (log_variance + z.square()))


def _log_mean_exp(x: Tensor) -> Tensor:
    return torch.logsumexp(x, dim=-1) - math.log(x.shape[-1])
