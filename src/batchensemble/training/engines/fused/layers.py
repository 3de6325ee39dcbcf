"""A member's layer: a dense one with the effective weight `weight * outer(s, r)`.

With G the gradient of that weight, those of weight, r and s are G * outer(s, r), s @ (G * weight)
and (G * weight) @ r. Layers are rows of an `engines.shapes.layer_table`.
"""

import numpy as np

from batchensemble.training.engines.fused.compiling import F, Floats, Ints, compiled
from batchensemble.training.engines.shapes import (
    BIAS,
    BIAS_STEP,
    EFFECTIVE,
    N_IN,
    N_OUT,
    ROW_STEP,
    UNIT,
    WEIGHT,
    R,
    S,
)

ROWS_AT_ONCE = 256


@compiled
def vector(theta: Floats, at: int, k: int, size: int, ones: Floats) -> Floats:
    """A member's r or s; ones where the layer has none."""
    return ones[:size] if at < 0 else theta[at + k * size : at + (k + 1) * size]


@compiled
def fold(theta: Floats, layers: Ints, k: int, ones: Floats, effective: Floats) -> None:
    """A member's effective weights, (out, in)."""
    for layer in layers:
        n_in, n_out, at = layer[N_IN], layer[N_OUT], layer[WEIGHT]
        r, s = vector(theta, layer[R], k, n_in, ones), vector(theta, layer[S], k, n_out, ones)
        for i in range(n_out):
            weight = theta[at + i * n_in : at + (i + 1) * n_in]
            first = layer[EFFECTIVE] + i * layer[ROW_STEP]
            folded = effective[first : first + n_in]
            for j in range(n_in):
                folded[j] = weight[j] * s[i] * r[j]


@compiled
def unfold(
    theta: Floats, layers: Ints, k: int, ones: Floats, d_effective: Floats, gradient: Floats
) -> None:
    """From the gradients of a member's effective weights, laid out as these, to its parameters'.

    Gradients of what members share are added up, those of its r and s are set. `d_effective` is
    overwritten.
    """
    for layer in layers:
        n_in, n_out, at = layer[N_IN], layer[N_OUT], layer[WEIGHT]
        r, s = vector(theta, layer[R], k, n_in, ones), vector(theta, layer[S], k, n_out, ones)
        for i in range(n_out):
            to = gradient[at + i * n_in : at + (i + 1) * n_in]
            first = layer[EFFECTIVE] + i * layer[ROW_STEP]
            d_row = d_effective[first : first + n_in]
            for j in range(n_in):
                to[j] += d_row[j] * s[i] * r[j]
        if layer[R] >= 0 or layer[S] >= 0:
            table = part(d_effective, layer[EFFECTIVE], n_out, n_in)
            by_weight, weight = table.reshape(n_in * n_out), theta[at : at + n_in * n_out]
            for i in range(n_in * n_out):
                by_weight[i] *= weight[i]
            if layer[R] >= 0:
                np.dot(s, table, vector(gradient, layer[R], k, n_in, ones))
            if layer[S] >= 0:
                np.dot(table, r, vector(gradient, layer[S], k, n_out, ones))


@compiled
def biases(theta: Floats, layers: Ints, k: int, to: Floats) -> None:
    """A member's biases; those of the same outputs are added up."""
    to[:] = 0
    for layer in layers:
        n_out, at = layer[N_OUT], layer[BIAS] + k * layer[BIAS_STEP]
        bias, summed = theta[at : at + n_out], to[layer[UNIT] : layer[UNIT] + n_out]
        for i in range(n_out):
            summed[i] += bias[i]


@compiled
def add_biases(layers: Ints, k: int, d_bias: Floats, gradient: Floats) -> None:
    """Add the gradients of a member's biases, laid out as by `biases`."""
    for layer in layers:
        n_out, at = layer[N_OUT], layer[BIAS] + k * layer[BIAS_STEP]
        d, to = d_bias[layer[UNIT] : layer[UNIT] + n_out], gradient[at : at + n_out]
        for i in range(n_out):
            to[i] += d[i]


@compiled
def part(buffer: Floats, first: int, n_rows: int, size: int) -> Floats:
    return buffer[first : first + n_rows * size].reshape(n_rows, size)


@compiled
def turn(effective: Floats, first: int, n_out: int, n_in: int, across: Floats) -> None:
    """Transpose an effective weight to (in, out), for a faster forward pass."""
    weight = part(effective, first, n_out, n_in)
    to = part(across, first, n_in, n_out)
    for j in range(n_in):
        for i in range(n_out):
            to[j, i] = weight[i, j]


@compiled
def add_products(d: Floats, a: Floats, ones: Floats, d_weight: Floats, d_bias: Floats) -> None:
    """Gradients of a weight, (out, in), and a bias, from its outputs' d and its inputs a.

    Some rows at a time: small products are faster.
    """
    products = np.empty(d_weight.shape, F)
    sums = np.empty(d_bias.shape, F)
    d_weight[:], d_bias[:] = F(0), F(0)
    for first in range(0, len(d), ROWS_AT_ONCE):
        d_part, a_part = d[first : first + ROWS_AT_ONCE], a[first : first + ROWS_AT_ONCE]
        np.dot(d_part.T, a_part, products)
        np.dot(ones[: len(d_part)], d_part, sums)
        d_weight += products
        d_bias += sums
