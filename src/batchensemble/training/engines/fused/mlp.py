"""Training steps of an MLP: each member forward and backward, then the step of its network."""

import numpy as np

from batchensemble.training.engines.fused.adam import adam_step
from batchensemble.training.engines.fused.compiling import F, Floats, Ints, compiled
from batchensemble.training.engines.fused.layers import (
    ROWS_AT_ONCE,
    add_biases,
    add_products,
    biases,
    fold,
    part,
    turn,
    unfold,
)
from batchensemble.training.engines.fused.losses import categorical, gaussian
from batchensemble.training.engines.fused.numbers import is_kept
from batchensemble.training.engines.shapes import N_IN, N_OUT, UNIT


@compiled
def total_units(layers: Ints) -> int:
    return int(layers[:, N_OUT].sum())


@compiled
def total_weights(layers: Ints) -> int:
    return int((layers[:, N_IN] * layers[:, N_OUT]).sum())


@compiled
def activate(
    z: Floats, bias: Floats, unit: int, row_step: int, key: np.int32, p: float, threshold: np.int32
) -> None:
    """Bias, ReLU and dropout, in place; `unit` is the first row's first one."""
    n_rows, size = z.shape
    if p == 0:
        for b in range(n_rows):
            for j in range(size):
                z[b, j] = max(z[b, j] + bias[j], F(0))
        return
    scale = F(1 / (1 - p))
    for b in range(n_rows):
        first = unit + b * row_step
        for j in range(size):
            value = max((z[b, j] + bias[j]) * scale, F(0))
            z[b, j] = value if is_kept(first + j, key, threshold) else F(0)


@compiled
def turn_all(layers: Ints, n_hidden: int, effective: Floats, across: Floats) -> None:
    """`turn` for each hidden layer, and for the heads together."""
    first = 0
    for i in range(n_hidden):
        turn(effective, first, layers[i, N_OUT], layers[i, N_IN], across)
        first += layers[i, N_IN] * layers[i, N_OUT]
    turn(effective, first, total_units(layers[n_hidden:]), layers[n_hidden, N_IN], across)


@compiled
def mlp_forward(
    layers: Ints,
    n_hidden: int,
    across: Floats,
    bias: Floats,
    inputs: Floats,
    unit: int,
    row_step: int,
    key: np.int32,
    p: float,
    threshold: np.int32,
    hidden: Floats,
    rows: tuple[int, int],
    n_rows: int,
    out: Floats,
) -> None:
    """Inputs (some rows, in) -> out (some rows, outputs), and what hidden layers answer.

    `hidden` has room for `n_rows`, layer by layer; `rows` says which these are.
    """
    first, last = rows
    below, at_w, at_b, at_h = inputs, 0, 0, 0
    for i in range(n_hidden):
        n_in, n_out = layers[i, N_IN], layers[i, N_OUT]
        z = part(hidden, at_h, n_rows, n_out)[first:last]
        np.dot(below, part(across, at_w, n_in, n_out), z)
        activate(z, bias[at_b : at_b + n_out], unit + layers[i, UNIT], row_step, key, p, threshold)
        below = z
        at_w, at_b, at_h = at_w + n_in * n_out, at_b + n_out, at_h + n_rows * n_out
    np.dot(below, part(across, at_w, below.shape[1], out.shape[1]), out)
    for row in out:
        for i in range(len(row)):
            row[i] += bias[at_b + i]


@compiled
def mlp_backward(
    layers: Ints,
    n_hidden: int,
    effective: Floats,
    p: float,
    hidden: Floats,
    rows: tuple[int, int],
    n_rows: int,
    d_out: Floats,
    d_hidden: Floats,
    d_inputs: Floats,
) -> None:
    """From the gradient of the outputs to those of the hidden layers before their activation.

    `d_inputs`, if it is not empty, gets that of the inputs.
    """
    first, last = rows
    scale = F(1 / (1 - p))
    above = d_out
    at_w = total_weights(layers[:n_hidden])
    at_h = n_rows * total_units(layers[:n_hidden])
    weight = part(effective, at_w, d_out.shape[1], layers[n_hidden, N_IN])
    for back in range(n_hidden):
        i = n_hidden - 1 - back
        n_in, n_out = layers[i, N_IN], layers[i, N_OUT]
        at_w, at_h = at_w - n_in * n_out, at_h - n_rows * n_out
        a = part(hidden, at_h, n_rows, n_out)[first:last]
        d = part(d_hidden, at_h, n_rows, n_out)[first:last]
        np.dot(above, weight, d)
        for b in range(len(d)):
            for j in range(n_out):
                d[b, j] = d[b, j] * scale if a[b, j] > 0 else F(0)
        above, weight = d, part(effective, at_w, n_out, n_in)
    if len(d_inputs):
        np.dot(above, weight, d_inputs)


@compiled
def mlp_gradients(
    layers: Ints,
    n_hidden: int,
    inputs: Floats,
    hidden: Floats,
    d_out: Floats,
    d_hidden: Floats,
    ones: Floats,
    own: Floats,
    own_bias: Floats,
) -> None:
    """Those of a member's effective weights and biases, from all rows."""
    n_rows = len(inputs)
    below, at_w, at_b, at_h = inputs, 0, 0, 0
    for i in range(n_hidden):
        n_in, n_out = layers[i, N_IN], layers[i, N_OUT]
        d = part(d_hidden, at_h, n_rows, n_out)
        add_products(d, below, ones, part(own, at_w, n_out, n_in), own_bias[at_b : at_b + n_out])
        below = part(hidden, at_h, n_rows, n_out)
        at_w, at_b, at_h = at_w + n_in * n_out, at_b + n_out, at_h + n_rows * n_out
    head = part(own, at_w, d_out.shape[1], below.shape[1])
    add_products(d_out, below, ones, head, own_bias[at_b:])


@compiled
def train_mlp(
    theta: Floats,
    moments: tuple[Floats, Floats],
    count: Floats,
    decay: Floats,
    rates: tuple[float, float],
    x: Floats,
    y: Floats,
    rows: Ints,
    weights: Floats,
    keys: Ints,
    layers: Ints,
    n_hidden: int,
    n_members: int,
    is_classes: bool,
    dropout: tuple[float, np.int32],
    bounds: tuple[float, float, float],
    losses: Floats,
) -> None:
    """All steps of one network after the other's; arrays have the axes of `Steps`.

    rates   learning rate, clip norm
    dropout p, threshold
    bounds  of the log-variance, and beta
    """
    n_steps, n_networks, n_rows, width = rows.shape
    lr, clip_norm = rates
    p, threshold = dropout
    n_in, n_units = x.shape[1], total_units(layers[:n_hidden])
    n_out = total_units(layers[n_hidden:])
    inputs, target = np.empty((n_rows, n_in), F), np.empty(n_rows, F)
    weight_of = np.empty(n_rows, F)
    hidden, d_hidden = np.empty(n_rows * n_units, F), np.empty(n_rows * n_units, F)
    out, d_out = np.empty((n_rows, n_out), F), np.empty((n_rows, n_out), F)
    n_weights = total_weights(layers)
    effective, across, own = np.empty(n_weights, F), np.empty(n_weights, F), np.empty(n_weights, F)
    bias, own_bias = np.empty(n_units + n_out, F), np.empty(n_units + n_out, F)
    ones = np.ones(max(layers[:, : N_OUT + 1].max(), ROWS_AT_ONCE), F)
    gradient = np.empty(theta.shape[1], F)
    nothing = np.empty((0, 0), F)
    everything = (0, n_rows)
    for n in range(n_networks):
        for t in range(n_steps):
            losses[t, n] = 0
            if weights[t, n].sum() == 0:
                continue
            gradient[:] = 0
            for k in range(n_members):
                if k < width:
                    for b in range(n_rows):
                        row = rows[t, n, b, k]
                        target[b], weight_of[b] = y[row], weights[t, n, b, k]
                        inputs[b] = x[row]
                fold(theta[n], layers, k, ones, effective)
                turn_all(layers, n_hidden, effective, across)
                biases(theta[n], layers, k, bias)
                mlp_forward(
                    layers, n_hidden, across, bias, inputs, k * n_units, n_members * n_units,
                    keys[t, n], p, threshold, hidden, everything, n_rows, out,
                )  # fmt: skip
                if is_classes:
                    losses[t, n] += categorical(out, target, weight_of, d_out)
                else:
                    losses[t, n] += gaussian(out, target, weight_of, bounds, d_out)
                mlp_backward(
                    layers, n_hidden, effective, p, hidden, everything, n_rows, d_out, d_hidden,
                    nothing,
                )  # fmt: skip
                mlp_gradients(
                    layers, n_hidden, inputs, hidden, d_out, d_hidden, ones, own, own_bias
                )
                unfold(theta[n], layers, k, ones, own, gradient)
                add_biases(layers, k, own_bias, gradient)
            count[n, 0] += 1
            adam_step(
                theta[n], gradient, moments[0][n], moments[1][n], count[n, 0], decay, lr, clip_norm
            )
