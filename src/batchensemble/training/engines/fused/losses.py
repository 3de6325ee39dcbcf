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
