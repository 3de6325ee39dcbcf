"""One step of a recurrent cell for one member, forward and backward.

A step reads xh, (rows, inputs + hidden): its inputs and the hidden state side by side. What it
computes is kept for the backward pass, which gives the gradients before the activations; those of
the weights follow from them for all steps at once.
"""

import numpy as np

from batchensemble.training.engines.fused.compiling import F, Floats, U, compiled
from batchensemble.training.engines.fused.layers import part
from batchensemble.training.engines.fused.numbers import sigmoid, tanh


@compiled
def grube_forward(
    xh: Floats, across: Floats, bias: Floats, xrh: Floats, gates: Floats, c: Floats, new: Floats
) -> None:
    """`GRUBECell`: xh (rows, inputs + hidden) -> new (rows, hidden).

    xrh    the same with the hidden state reset, which the candidate reads
    gates  reset and update, (rows, 2 * hidden)
    c      the candidate, (rows, hidden)
    """
    n_rows, size = c.shape
    n_xh = xh.shape[1]
    n_in = n_xh - size
    np.dot(xh, part(across, 0, n_xh, 2 * size), gates)
    for b in range(n_rows):
        for j in range(2 * size):
            gates[b, j] = sigmoid(gates[b, j] + bias[j])
        for j in range(n_in):
            xrh[b, j] = xh[b, j]
        for j in range(size):
            xrh[b, U(n_in + j)] = xh[b, U(n_in + j)] * gates[b, j]
    np.dot(xrh, part(across, 2 * size * n_xh, n_xh, size), c)
    for b in range(n_rows):
        for j in range(size):
            c[b, j] = tanh(c[b, j] + bias[U(2 * size + j)])
            h = xh[b, U(n_in + j)]
            new[b, j] = h + gates[b, U(size + j)] * (c[b, j] - h)


@compiled
def grube_backward(
    xh: Floats,
    effective: Floats,
    gates: Floats,
    c: Floats,
    d_new: Floats,
    d_gates: Floats,
    d_c: Floats,
    d_xh: Floats,
    d_xrh: Floats,
) -> None:
    """From d_new to the gradients before the activations, of the inputs (d_xh) and of h (d_new)."""
    n_rows, size = c.shape
    n_xh = xh.shape[1]
    n_in = n_xh - size
    for b in range(n_rows):
        for j in range(size):
            z, d, value = gates[b, U(size + j)], d_new[b, j], c[b, j]
            d_gates[b, U(size + j)] = d * (value - xh[b, U(n_in + j)]) * z * (F(1) - z)
            d_c[b, j] = d * z * (F(1) - value * value)
            d_new[b, j] = d * (F(1) - z)
    np.dot(d_c, part(effective, 2 * size * n_xh, size, n_xh), d_xrh)
    for b in range(n_rows):
        for j in range(size):
            reset, d = gates[b, j], d_xrh[b, U(n_in + j)]
            d_gates[b, j] = d * xh[b, U(n_in + j)] * reset * (F(1) - reset)
            d_new[b, j] += d * reset
    np.dot(d_gates, part(effective, 0, 2 * size, n_xh), d_xh)
    for b in range(n_rows):
        for j in range(n_in):
            d_xh[b, j] += d_xrh[b, j]
        for j in range(size):
            d_new[b, j] += d_xh[b, U(n_in + j)]


@compiled
def gru_forward(
    xh: Floats, across: Floats, bias: Floats, kept: Floats, gates: Floats, c: Floats, new: Floats
) -> None:
    """`GRUCell`: xh (rows, inputs + hidden) -> new (rows, hidden).

    kept   the hidden state's part in the candidate, (rows, hidden)
    gates  reset, update, and the two parts of the candidate, (rows, 4 * hidden)
    c      the candidate, (rows, hidden)
    """
    n_rows, size = c.shape
    n_xh = xh.shape[1]
    n_in = n_xh - size
    np.dot(xh, part(across, 0, n_xh, 4 * size), gates)
    for b in range(n_rows):
        for j in range(2 * size):
            gates[b, j] = sigmoid(gates[b, j] + bias[j])
        for j in range(size):
            kept[b, j] = gates[b, U(3 * size + j)] + bias[U(3 * size + j)]
        for j in range(size):
            on_x = gates[b, U(2 * size + j)] + bias[U(2 * size + j)]
            value = tanh(on_x + gates[b, j] * kept[b, j])
            c[b, j] = value
            new[b, j] = value + gates[b, U(size + j)] * (xh[b, U(n_in + j)] - value)


@compiled
def gru_backward(
    xh: Floats,
    effective: Floats,
    kept: Floats,
    gates: Floats,
    c: Floats,
    d_new: Floats,
    d_gates: Floats,
    d_xh: Floats,
) -> None:
    """From d_new to the gradients before the activations, of the inputs (d_xh) and of h (d_new)."""
    n_rows, size = c.shape
    n_xh = xh.shape[1]
    n_in = n_xh - size
    for b in range(n_rows):
        for j in range(size):
            z, value = gates[b, U(size + j)], c[b, j]
            d_gates[b, U(2 * size + j)] = d_new[b, j] * (F(1) - z) * (F(1) - value * value)
        for j in range(size):
            d_c = d_gates[b, U(2 * size + j)]
            d_gates[b, U(3 * size + j)] = d_c * gates[b, j]
        for j in range(size):
            reset, d_c = gates[b, j], d_gates[b, U(2 * size + j)]
            d_gates[b, j] = d_c * kept[b, j] * reset * (F(1) - reset)
        for j in range(size):
            z, d = gates[b, U(size + j)], d_new[b, j]
            d_gates[b, U(size + j)] = d * (xh[b, U(n_in + j)] - c[b, j]) * z * (F(1) - z)
            d_new[b, j] = d * z
    np.dot(d_gates, part(effective, 0, 4 * size, n_xh), d_xh)
    for b in range(n_rows):
        for j in range(size):
            d_new[b, j] += d_xh[b, U(n_in + j)]
