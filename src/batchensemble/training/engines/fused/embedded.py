"""Training steps of an MLP behind embeddings, with any of the losses.

It stands apart from `mlp`, and `crps` from `gaussian`: compiled together, the study's results would
get other last bits.
"""

from typing import Any, NamedTuple

import numpy as np

from batchensemble.training.engines.fused.adam import adam_step
from batchensemble.training.engines.fused.compiling import F, Floats, Ints, compiled
from batchensemble.training.engines.fused.layers import ROWS_AT_ONCE
from batchensemble.training.engines.fused.losses import categorical, crps, gaussian
from batchensemble.training.engines.fused.mlp import (
    Dense,
    load,
    mlp_backward,
    mlp_forward,
    mlp_gradients,
    room_for,
    total_units,
)
from batchensemble.training.engines.shapes import N_IN, N_OUT

NLL, CRPS, CLASSES = range(3)


class Tables(NamedTuple):
    """Where in theta the embeddings are, and what they read.

    numbers     of the first weight of the piecewise linear curves, (positions, bins, width)
    categories  of the first category's vector; `starts` are the columns' first categories
    """

    numbers: int
    n_bins: int
    categories: int
    starts: Ints
    width: int


@compiled
def add_up(theta: Floats, tables: Tables, knots: Floats) -> None:
    """The curves' values where bins begin, (positions, bins + 1, width)."""
    at = tables.numbers
    for c in range(len(knots)):
        knots[c, 0] = F(0)
        for i in range(tables.n_bins):
            for j in range(tables.width):
                knots[c, i + 1, j] = knots[c, i, j] + theta[at + j]
            at += tables.width


@compiled
def embed(
    theta: Floats, tables: Tables, knots: Floats, positions: Floats, codes: Ints, out: Floats
) -> None:
    """One row's: first its positions, then its categories."""
    width, at = tables.width, 0
    for c in range(len(positions)):
        i = min(int(positions[c]), tables.n_bins - 1)
        share = positions[c] - F(i)
        for j in range(width):
            low = knots[c, i, j]
            out[at + j] = low + share * (knots[c, i + 1, j] - low)
        at += width
    for c in range(len(codes)):
        first = tables.categories + (tables.starts[c] + codes[c]) * width
        for j in range(width):
            out[at + j] = theta[first + j]
        at += width


@compiled
def add_embedded(
    tables: Tables, positions: Floats, codes: Ints, d: Floats, d_knots: Floats, gradient: Floats
) -> None:
    """One row's gradient d to the curves' weights in its own bins, and to its categories.

    The bins below rise for all rows above them: `d_knots`, by bin, is spread over them at the end.
    """
    width, at = tables.width, 0
    for c in range(len(positions)):
        i = min(int(positions[c]), tables.n_bins - 1)
        share = positions[c] - F(i)
        first = tables.numbers + (c * tables.n_bins + i) * width
        for j in range(width):
            gradient[first + j] += share * d[at + j]
            d_knots[c, i, j] += d[at + j]
        at += width
    for c in range(len(codes)):
        first = tables.categories + (tables.starts[c] + codes[c]) * width
        for j in range(width):
            gradient[first + j] += d[at + j]
        at += width


@compiled
def spread(tables: Tables, d_knots: Floats, gradient: Floats) -> None:
    """To every bin's weight, the gradients of rows in higher bins."""
    width, above = tables.width, np.empty(tables.width, F)
    for c in range(len(d_knots)):
        above[:] = F(0)
        for back in range(tables.n_bins - 1):
            i = tables.n_bins - 2 - back
            first = tables.numbers + (c * tables.n_bins + i) * width
            for j in range(width):
                above[j] += d_knots[c, i + 1, j]
                gradient[first + j] += above[j]


@compiled
def train_embedded(
    adam: tuple[Any, ...],
    data: tuple[Floats, Floats, Ints, Floats],
    steps: tuple[Ints, Floats, Ints],
    network: tuple[Ints, int, Tables, int],
    dropout: tuple[float, np.int32],
    bounds: tuple[float, float, float],
    losses: Floats,
) -> None:
    """All steps, network by network; arrays have the axes of `Steps`.

    data     plain numbers, positions, categories' numbers, targets
    network  each member's table of layers, how many are hidden, embeddings, the loss
    """
    theta, moment1, moment2, count, decay, lr, clip_norm = adam
    (plain, positions, codes, y), (rows, weights, keys) = data, steps
    members, n_hidden, tables, kind = network
    n_steps, n_networks, n_rows, width = rows.shape
    n_members, n_plain, layers = len(members), plain.shape[1], members[0]
    n_units, n_out = total_units(layers[:n_hidden]), total_units(layers[n_hidden:])
    n_in = layers[0, N_IN]
    inputs, target, weight_of = (
        np.empty((n_rows, n_in), F),
        np.empty(n_rows, F),
        np.empty(n_rows, F),
    )
    is_embedded = n_in > n_plain
    d_inputs = np.empty((n_rows if is_embedded else 0, n_in), F)
    d_sum = np.empty((n_rows, n_in), F)
    knots = np.empty((positions.shape[1], tables.n_bins + 1, tables.width), F)
    d_knots = np.empty((positions.shape[1], tables.n_bins, tables.width), F)
    room = room_for(layers, n_hidden, n_rows)
    out, d_out = np.empty((n_rows, n_out), F), np.empty((n_rows, n_out), F)
    ones = np.ones(max(layers[:, : N_OUT + 1].max(), ROWS_AT_ONCE), F)
    gradient = np.empty(theta.shape[1], F)
    for n in range(n_networks):
        for t in range(n_steps):
            losses[t, n] = 0
            if weights[t, n].sum() == 0:
                continue
            gradient[:] = 0
            d_knots[:] = 0
            add_up(theta[n], tables, knots)
            for k in range(n_members):
                if k < width:
                    for b in range(n_rows):
                        row = rows[t, n, b, k]
                        target[b], weight_of[b] = y[row], weights[t, n, b, k]
                        for j in range(n_plain):
                            inputs[b, j] = plain[row, j]
                        embed(
                            theta[n], tables, knots, positions[row], codes[row], inputs[b, n_plain:]
                        )
                    d_sum[:] = 0
                mlp = Dense(
                    members[k], n_hidden, n_rows, room.effective, room.across, room.bias,
                    room.hidden, room.d_effective, room.d_bias, room.d_hidden,
                )  # fmt: skip
                load(mlp, theta[n], k, ones)
                mlp_forward(
                    mlp, 0, inputs, k * n_units, n_members * n_units, keys[t, n], dropout, out
                )
                if kind == CLASSES:
                    losses[t, n] += categorical(out, target, weight_of, d_out)
                elif kind == CRPS:
                    losses[t, n] += crps(out, target, weight_of, bounds, d_out)
                else:
                    losses[t, n] += gaussian(out, target, weight_of, bounds, d_out)
                mlp_backward(mlp, 0, dropout[0], d_out, d_inputs)
                mlp_gradients(mlp, theta[n], k, inputs, d_out, ones, gradient)
                if is_embedded:
                    d_sum += d_inputs
                    if width > 1 or k == n_members - 1:
                        for b in range(n_rows):
                            row = rows[t, n, b, min(k, width - 1)]
                            add_embedded(
                                tables, positions[row], codes[row], d_sum[b, n_plain:],
                                d_knots, gradient,
                            )  # fmt: skip
            spread(tables, d_knots, gradient)
            count[n, 0] += 1
            adam_step(theta[n], gradient, moment1[n], moment2[n], count[n, 0], decay, lr, clip_norm)
