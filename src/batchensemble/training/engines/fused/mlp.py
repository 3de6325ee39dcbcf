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
from batchensemble.training.engines.shapes import EFFECTIVE, N_IN, N_OUT, UNIT


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
    layers, n_hidden, effective, across = mlp.layers, mlp.n_hidden, mlp.effective, mlp.across
    fold(theta, layers, k, ones, effective)
    biases(theta, layers, k, mlp.bias)
    for i in range(n_hidden + 1):
        n_out = layers[i, N_OUT] if i < n_hidden else total_units(layers[i:])
        turn(effective, layers[i, EFFECTIVE], n_out, layers[i, N_IN], across)


@compiled
def of_layer(values: Floats, layers: Ints, i: int, n_rows: int) -> Floats:
    """The part of `hidden` or `d_hidden` that belongs to a hidden layer, (rows, out)."""
    return part(values, n_rows * layers[i, UNIT], n_rows, layers[i, N_OUT])


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
    # Fields are read once: in a loop, each reading would count references.
    layers, across, all_biases, hidden = mlp.layers, mlp.across, mlp.bias, mlp.hidden
    n_hidden, n_rows, below, (p, threshold) = mlp.n_hidden, mlp.n_rows, inputs, dropout
    for i in range(n_hidden):
        n_in, n_out, at = layers[i, N_IN], layers[i, N_OUT], layers[i, UNIT]
        z = of_layer(hidden, layers, i, n_rows)[first : first + len(inputs)]
        np.dot(below, part(across, layers[i, EFFECTIVE], n_in, n_out), z)
        activate(z, all_biases[at : at + n_out], unit + at, row_step, key, p, threshold)
        below = z
    at = layers[n_hidden, EFFECTIVE]
    np.dot(below, part(across, at, layers[n_hidden, N_IN], out.shape[1]), out)
    bias = all_biases[layers[n_hidden, UNIT] :]
    for row in out:
        for i in range(len(row)):
            row[i] += bias[i]


@compiled
def mlp_backward(mlp: Dense, first: int, p: float, d_out: Floats, d_inputs: Floats) -> None:
    """From the gradient of some rows' outputs to those of the hidden layers before activation.

    `d_inputs`, if it is not empty, gets that of the inputs.
    """
    layers, effective, hidden, d_hidden = mlp.layers, mlp.effective, mlp.hidden, mlp.d_hidden
    n_rows, above, last = mlp.n_rows, d_out, first + len(d_out)
    scale = F(1 / (1 - p))
    for i in range(mlp.n_hidden, -1, -1):
        weight = part(effective, layers[i, EFFECTIVE], above.shape[1], layers[i, N_IN])
        if i > 0:
            a = of_layer(hidden, layers, i - 1, n_rows)[first:last]
            d = of_layer(d_hidden, layers, i - 1, n_rows)[first:last]
            np.dot(above, weight, d)
            for b in range(d.shape[0]):
                for j in range(d.shape[1]):
                    d[b, j] = d[b, j] * scale if a[b, j] > 0 else F(0)
            above = d
        elif len(d_inputs):
            np.dot(above, weight, d_inputs)


@compiled
def mlp_gradients(
    mlp: Dense, theta: Floats, k: int, inputs: Floats, d_out: Floats, ones: Floats, gradient: Floats
) -> None:
    """Add the gradients of member k's parameters, from all rows, to the network's."""
    layers, hidden, d_hidden, d_bias = mlp.layers, mlp.hidden, mlp.d_hidden, mlp.d_bias
    n_hidden, n_rows, d_effective, below = mlp.n_hidden, mlp.n_rows, mlp.d_effective, inputs
    for i in range(n_hidden):
        n_in, n_out, at = layers[i, N_IN], layers[i, N_OUT], layers[i, UNIT]
        to = part(d_effective, layers[i, EFFECTIVE], n_out, n_in)
        d = of_layer(d_hidden, layers, i, n_rows)
        add_products(d, below, ones, to, d_bias[at : at + n_out])
        below = of_layer(hidden, layers, i, n_rows)
    to = part(d_effective, layers[n_hidden, EFFECTIVE], d_out.shape[1], layers[n_hidden, N_IN])
    add_products(d_out, below, ones, to, d_bias[layers[n_hidden, UNIT] :])
    unfold(theta, layers, k, ones, d_effective, gradient)
    add_biases(layers, k, d_bias, gradient)


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
