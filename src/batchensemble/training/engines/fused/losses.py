"""The losses of `batchensemble.training.losses` and their gradients."""

import math

import numpy as np

from batchensemble.training.engines.fused.compiling import F, Floats, compiled, inlined
from batchensemble.training.engines.fused.numbers import exp, sigmoid, softplus


@inlined
def _of_row(error: F, log_variance: F, weight: F, beta: F) -> tuple[F, F, F]:
    """The gradients of the mean and the log-variance, and the loss."""
    precision = exp(-log_variance)
    weight = weight * exp(beta * log_variance)
    scaled = error * error * precision
    loss = weight * F(0.5) * (log_variance + scaled)
    return weight * error * precision, weight * F(0.5) * (F(1) - scaled), loss


@compiled
def gaussian(
    out: Floats, y: Floats, weights: Floats, bounds: tuple[float, float, float], d: Floats
) -> F:
    """`GaussianNLL`: the weighted sum over rows, and its gradient d, (rows, 2).

    `bounds` are those of the log-variance, and beta.
    """
    total = F(0)
    is_free = math.isinf(bounds[0])
    width = bounds[1] - bounds[0]
    stretch = F(1 if is_free else width / math.log1p(math.exp(width)))
    low, high, beta = F(bounds[0]), F(bounds[1]), F(bounds[2])
    # Copied apart, so that the loops over rows vectorise.
    mean, raw = np.empty(len(out), F), np.empty(len(out), F)
    for b in range(len(out)):
        mean[b], raw[b] = out[b, 0], out[b, 1]
    if is_free:
        for b in range(len(out)):
            mean[b], raw[b], loss = _of_row(mean[b] - y[b], raw[b], weights[b], beta)
            total += loss
    else:
        for b in range(len(out)):
            inner = high - softplus(high - raw[b]) - low
            log_variance = low + softplus(inner) * stretch
            slope = sigmoid(high - raw[b]) * sigmoid(inner) * stretch
            mean[b], d_log, loss = _of_row(mean[b] - y[b], log_variance, weights[b], beta)
            raw[b] = d_log * slope
            total += loss
    for b in range(len(out)):
        d[b, 0], d[b, 1] = mean[b], raw[b]
    return total


@inlined
def _crps_of_row(error: F, log_variance: F, weight: F) -> tuple[F, F, F]:
    """As `_of_row`; the error function after Abramowitz and Stegun 7.1.26, to 2e-7."""
    std = exp(F(0.5) * log_variance)
    z = min(max(error / std, F(-1e9)), F(1e9))
    density = exp(F(-0.5) * z * z)
    t = F(1) / (F(1) + F(0.3275911 / math.sqrt(2)) * abs(z))
    tail = F(1.061405429)
    tail = tail * t - F(1.453152027)
    tail = tail * t + F(1.421413741)
    tail = tail * t - F(0.284496736)
    tail = tail * t + F(0.254829592)
    erf = F(1) - tail * t * density
    erf = erf if z > 0 else -erf
    rest = F(math.sqrt(2 / math.pi)) * density - F(1 / math.sqrt(math.pi))
    return weight * erf, weight * F(0.5) * std * rest, weight * (error * erf + std * rest)


@compiled
def crps(
    out: Floats, y: Floats, weights: Floats, bounds: tuple[float, float, float], d: Floats
) -> F:
    """`GaussianCRPS`: the weighted sum over rows, and its gradient d, (rows, 2).

    `bounds` are those of the log-variance, and beta, which it does not need.
    """
    total = F(0)
    is_free = math.isinf(bounds[0])
    width = bounds[1] - bounds[0]
    stretch = F(1 if is_free else width / math.log1p(math.exp(width)))
    low, high = F(bounds[0]), F(bounds[1])
    mean, raw, slope = np.empty(len(out), F), np.empty(len(out), F), np.ones(len(out), F)
    for b in range(len(out)):
        mean[b], raw[b] = out[b, 0], out[b, 1]
    if not is_free:
        for b in range(len(out)):
            inner = high - softplus(high - raw[b]) - low
            slope[b] = sigmoid(high - raw[b]) * sigmoid(inner) * stretch
            raw[b] = low + softplus(inner) * stretch
    for b in range(len(out)):
        mean[b], raw[b], loss = _crps_of_row(mean[b] - y[b], raw[b], weights[b])
        total += loss
    for b in range(len(out)):
        d[b, 0], d[b, 1] = mean[b], raw[b] * slope[b]
    return total


@compiled
def categorical(out: Floats, y: Floats, weights: Floats, d: Floats) -> F:
    """`CategoricalNLL`: the weighted sum over rows, and its gradient d, (rows, classes)."""
    total = F(0)
    n_classes = out.shape[1]
    for b in range(len(out)):
        largest = out[b].max()
        for c in range(n_classes):
            d[b, c] = out[b, c] - largest
        total -= weights[b] * d[b, int(y[b])]
    flat = d.reshape(d.size)
    for i in range(d.size):
        flat[i] = exp(flat[i])
    for b in range(len(out)):
        norm = d[b].sum()
        total += weights[b] * F(np.log(norm))
        for c in range(n_classes):
            d[b, c] *= weights[b] / norm
        d[b, int(y[b])] -= weights[b]
    return total
