"""Training steps of an MLP: each member forward and backward, then the step of its network."""

from typing import Any, NamedTuple

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


class Dense(NamedTuple):
    """The numbers of an MLP for one member at a time; names of gradients begin with d_.

    effective   the weights, (out, in), layer after layer
    across      the same transposed, (in, out), for a faster forward pass; the heads as one layer
    hidden      the outputs of the hidden layers for `n_rows` rows, layer after layer
    """

    layers: Ints
    n_hidden: int
    n_rows: int
    effective: Floats
    across: Floats
    bias: Floats
    hidden: Floats
    d_effective: Floats
    d_bias: Floats
    d_hidden: Floats


@compiled
def room_for(layers: Ints, n_hidden: int, n_rows: int) -> Dense:
    """Memory for an MLP; `n_hidden` of its `layers` are hidden, the others are heads."""
    n_weights, n_bias = total_weights(layers), total_units(layers)
    n_outputs = n_rows * total_units(layers[:n_hidden])
    effective, across, bias = np.empty(n_weights, F), np.empty(n_weights, F), np.empty(n_bias, F)
    d_effective, d_bias = np.empty(n_weights, F), np.empty(n_bias, F)
    hidden, d_hidden = np.empty(n_outputs, F), np.empty(n_outputs, F)
    return Dense(
        layers, n_hidden, n_rows, effective, across, bias, hidden, d_effective, d_bias, d_hidden
    )


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
    """Bias, ReLU and dropout, in place; `unit` is the number of the first row's first unit."""
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
def load(mlp: Dense, theta: Floats, k: int, ones: Floats) -> None:
    """Compute member k's weights and biases."""
    layers, first = mlp.layers, 0
    fold(theta, layers, k, ones, mlp.effective)
    biases(theta, layers, k, mlp.bias)
    for i in range(mlp.n_hidden):
        turn(mlp.effective, first, layers[i, N_OUT], layers[i, N_IN], mlp.across)
        first += layers[i, N_IN] * layers[i, N_OUT]
    n_out = total_units(layers[mlp.n_hidden :])
    turn(mlp.effective, first, n_out, layers[mlp.n_hidden, N_IN], mlp.across)


@compiled
def mlp_forward(
    mlp: Dense,
    first: int,
    inputs: Floats,
    unit: int,
    row_step: int,
    key: np.int32,
    dropout: tuple[float, np.int32],
    out: Floats,
) -> None:
    """Inputs (some rows, in) -> out (some rows, outputs); `first` is the number of the first row.

    `unit` is dropout's first unit in that row, and `row_step` how many units a row has.
    """
    p, threshold = dropout
    below, at_w, at_b, at_h = inputs, 0, 0, 0
    for i in range(mlp.n_hidden):
        n_in, n_out = mlp.layers[i, N_IN], mlp.layers[i, N_OUT]
        z = part(mlp.hidden, at_h, mlp.n_rows, n_out)[first : first + len(inputs)]
        np.dot(below, part(mlp.across, at_w, n_in, n_out), z)
        bias = mlp.bias[at_b : at_b + n_out]
        activate(z, bias, unit + mlp.layers[i, UNIT], row_step, key, p, threshold)
        below = z
        at_w, at_b, at_h = at_w + n_in * n_out, at_b + n_out, at_h + mlp.n_rows * n_out
    np.dot(below, part(mlp.across, at_w, below.shape[1], out.shape[1]), out)
    for row in out:
        for i in range(len(row)):
            row[i] += mlp.bias[at_b + i]


@compiled
def mlp_backward(mlp: Dense, first: int, p: float, d_out: Floats, d_inputs: Floats) -> None:
    """From the gradient of some rows' outputs to those of the hidden layers before activation.

    `d_inputs`, if it is not empty, gets that of the inputs.
    """
    layers, n_rows, last = mlp.layers, mlp.n_rows, first + len(d_out)
    scale = F(1 / (1 - p))
    above = d_out
    at_w = total_weights(layers[: mlp.n_hidden])
    at_h = n_rows * total_units(layers[: mlp.n_hidden])
    weight = part(mlp.effective, at_w, d_out.shape[1], layers[mlp.n_hidden, N_IN])
    for back in range(mlp.n_hidden):
        i = mlp.n_hidden - 1 - back
        n_in, n_out = layers[i, N_IN], layers[i, N_OUT]
        at_w, at_h = at_w - n_in * n_out, at_h - n_rows * n_out
        a = part(mlp.hidden, at_h, n_rows, n_out)[first:last]
        d = part(mlp.d_hidden, at_h, n_rows, n_out)[first:last]
        np.dot(above, weight, d)
        for b in range(len(d)):
            for j in range(n_out):
                d[b, j] = d[b, j] * scale if a[b, j] > 0 else F(0)
        above, weight = d, part(mlp.effective, at_w, n_out, n_in)
    if len(d_inputs):
        np.dot(above, weight, d_inputs)


@compiled
def mlp_gradients(
    mlp: Dense, theta: Floats, k: int, inputs: Floats, d_out: Floats, ones: Floats, gradient: Floats
) -> None:
    """Add the gradients of member k's parameters, from all rows, to the network's."""
    n_rows, d_bias = mlp.n_rows, mlp.d_bias
    below, at_w, at_b, at_h = inputs, 0, 0, 0
    for i in range(mlp.n_hidden):
        n_in, n_out = mlp.layers[i, N_IN], mlp.layers[i, N_OUT]
        d, to = part(mlp.d_hidden, at_h, n_rows, n_out), part(mlp.d_effective, at_w, n_out, n_in)
        add_products(d, below, ones, to, d_bias[at_b : at_b + n_out])
        below = part(mlp.hidden, at_h, n_rows, n_out)
        at_w, at_b, at_h = at_w + n_in * n_out, at_b + n_out, at_h + n_rows * n_out
    head = part(mlp.d_effective, at_w, d_out.shape[1], below.shape[1])
    add_products(d_out, below, ones, head, d_bias[at_b:])
    unfold(theta, mlp.layers, k, ones, mlp.d_effective, gradient)
    add_biases(mlp.layers, k, d_bias, gradient)


@compiled
def train_mlp(
    adam: tuple[Any, ...],
    data: tuple[Floats, Floats],
    steps: tuple[Ints, Floats, Ints],
    network: tuple[Ints, int, int, bool],
    dropout: tuple[float, np.int32],
    bounds: tuple[float, float, float],
    losses: Floats,
) -> None:
    """All steps, network by network; arrays have the axes of `Steps`.

    dropout  p, threshold
    bounds   of the log-variance, and beta
    """
    theta, moment1, moment2, count, decay, lr, clip_norm = adam
    (x, y), (rows, weights, keys) = data, steps
    layers, n_hidden, n_members, is_classes = network
    n_steps, n_networks, n_rows, width = rows.shape
    n_units, n_out = total_units(layers[:n_hidden]), total_units(layers[n_hidden:])
    inputs, target = np.empty((n_rows, x.shape[1]), F), np.empty(n_rows, F)
    weight_of = np.empty(n_rows, F)
    mlp = room_for(layers, n_hidden, n_rows)
    out, d_out = np.empty((n_rows, n_out), F), np.empty((n_rows, n_out), F)
    ones = np.ones(max(layers[:, : N_OUT + 1].max(), ROWS_AT_ONCE), F)
    gradient = np.empty(theta.shape[1], F)
    nothing = np.empty((0, 0), F)
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
                load(mlp, theta[n], k, ones)
                mlp_forward(
                    mlp, 0, inputs, k * n_units, n_members * n_units, keys[t, n], dropout, out
                )
                if is_classes:
                    losses[t, n] += categorical(out, target, weight_of, d_out)
                else:
                    losses[t, n] += gaussian(out, target, weight_of, bounds, d_out)
                mlp_backward(mlp, 0, dropout[0], d_out, nothing)
                mlp_gradients(mlp, theta[n], k, inputs, d_out, ones, gradient)
            count[n, 0] += 1
            adam_step(theta[n], gradient, moment1[n], moment2[n], count[n, 0], decay, lr, clip_norm)
