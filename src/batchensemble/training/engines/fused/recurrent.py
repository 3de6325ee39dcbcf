"""Training steps of a recurrent network of one layer: each member through all times and back."""

from typing import Any

import numpy as np

from batchensemble.training.engines.fused.adam import adam_step
from batchensemble.training.engines.fused.compiling import F, Floats, Ints, compiled
from batchensemble.training.engines.fused.gru import (
    gru_backward,
    gru_forward,
    grube_backward,
    grube_forward,
)
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
from batchensemble.training.engines.fused.losses import gaussian
from batchensemble.training.engines.fused.mlp import (
    load,
    mlp_backward,
    mlp_forward,
    mlp_gradients,
    room_for,
    total_units,
)
from batchensemble.training.engines.shapes import N_IN


@compiled
def gather(
    series: Floats,
    scaling: Floats,
    starts: Ints,
    reach: int,
    n_past: int,
    context: int,
    lags: Ints,
    inputs: Floats,
    target: Floats,
) -> None:
    """The inputs of each step if all is known, (steps, rows, inputs), and the values to forecast.

    scaling  location and scale of the window that starts at a time, (2, times)
    """
    n_steps, n_rows, _ = inputs.shape
    n_lags, n_covariates = len(lags), series.shape[1] - 1
    for b in range(n_rows):
        location, scale = scaling[0, starts[b]], scaling[1, starts[b]]
        for i in range(n_steps):
            time = reach - context + 1 + i
            for j in range(n_lags):
                value = series[starts[b] + time - lags[j], 0]
                inputs[i, b, j] = (value - location) / scale
            for j in range(n_covariates):
                unknown = time > reach and j >= n_covariates - n_past
                value = F(0) if unknown else series[starts[b] + time, 1 + j]
                inputs[i, b, n_lags + j] = value
        for s in range(len(target)):
            target[s, b] = (series[starts[b] + reach + s, 0] - location) / scale


@compiled
def train_recurrent(
    adam: tuple[Any, ...],
    data: tuple[Floats, Floats, tuple[int, int, int, int], Ints],
    steps: tuple[Ints, Floats, Ints],
    network: tuple[Ints, bool, Ints, int, int, bool],
    dropout: tuple[float, np.int32],
    bounds: tuple[float, float, float],
    losses: Floats,
) -> None:
    """All steps, network by network; arrays have the axes of `Steps`.

    window      reach, horizon, unknown covariates, context
    cell        the layers of its gates; `layers` are those of the head
    feeds_back  whether predicted means replace values not yet known; otherwise the truth does
    """
    theta, moment1, moment2, count, decay, lr, clip_norm = adam
    (series, scaling, window, lags), (rows, weights, keys) = data, steps
    cell, is_grube, layers, n_hidden, n_members, feeds_back = network
    n_steps, n_networks, n_rows, width = rows.shape
    reach, horizon, n_past, context = window
    n_in, size = len(lags) + series.shape[1] - 1, layers[0, N_IN]
    n_xh, n_times = n_in + size, context + horizon - 1
    n_gates = (2 if is_grube else 4) * size
    n_units = total_units(layers[:n_hidden])
    inputs, target = np.empty((n_times, n_rows, n_in), F), np.empty((horizon, n_rows), F)
    weight_of = np.empty(n_rows, F)
    # The cell: what a step reads and computes, and the gradients.
    xh, d_xh = np.zeros((n_times + 1, n_rows, n_xh), F), np.empty((n_rows, n_xh), F)
    xrh, d_xrh = np.empty((n_times, n_rows, n_xh), F), np.empty((n_rows, n_xh), F)
    gates = np.empty((n_times, n_rows, n_gates), F)
    d_gates = np.empty((n_times, n_rows, n_gates), F)
    kept = np.empty((n_times, n_rows, size), F)
    c, d_c = np.empty((n_times, n_rows, size), F), np.empty((n_times, n_rows, size), F)
    n_used = (3 if is_grube else 4) * size
    effective, across = np.zeros(n_used * n_xh, F), np.empty(n_used * n_xh, F)
    bias, d_effective, d_bias = np.empty(n_used, F), np.empty(n_used * n_xh, F), np.empty(n_used, F)
    new, d_new = np.empty((n_rows, size), F), np.empty((n_rows, size), F)
    # The head, for all forecasts.
    head = room_for(layers, n_hidden, horizon * n_rows)
    h, d_h = np.empty((horizon, n_rows, size), F), np.empty((n_rows, size), F)
    out, d_out = np.empty((horizon, n_rows, 2), F), np.empty((horizon, n_rows, 2), F)
    ones = np.ones(max(cell[:, :2].max(), layers[:, :2].max(), ROWS_AT_ONCE), F)
    gradient = np.empty(theta.shape[1], F)
    for n in range(n_networks):
        for t in range(n_steps):
            losses[t, n] = 0
            if weights[t, n].sum() == 0:
                continue
            gradient[:] = 0
            for k in range(n_members):
                if k < width:
                    starts = rows[t, n, :, k]
                    gather(series, scaling, starts, reach, n_past, context, lags, inputs, target)
                    weight_of[:] = weights[t, n, :, k] / F(horizon)
                load(head, theta[n], k, ones)
                fold(theta[n], cell, k, ones, effective)
                biases(theta[n], cell, k, bias)
                turn(effective, 0, n_gates, n_xh, across)
                if is_grube:
                    turn(effective, n_gates * n_xh, size, n_xh, across)
                for i in range(n_times):
                    step = i - context + 1
                    for b in range(n_rows):
                        for j in range(n_in):
                            xh[i, b, j] = inputs[i, b, j]
                    if feeds_back:
                        for j in range(len(lags)):
                            if lags[j] <= step:
                                xh[i, :, j] = out[step - lags[j], :, 0]
                    if is_grube:
                        grube_forward(xh[i], across, bias, xrh[i], gates[i], c[i], new)
                    else:
                        gru_forward(xh[i], across, bias, kept[i], gates[i], c[i], new)
                    xh[i + 1, :, n_in:] = new
                    if step >= 0:
                        h[step] = new
                        mlp_forward(
                            head, step * n_rows, h[step], (k * horizon + step) * n_units,
                            n_members * horizon * n_units, keys[t, n], dropout, out[step],
                        )  # fmt: skip
                        losses[t, n] += gaussian(
                            out[step], target[step], weight_of, bounds, d_out[step]
                        )
                d_new[:] = 0
                for back in range(n_times):
                    i = n_times - 1 - back
                    step = i - context + 1
                    if step >= 0:
                        mlp_backward(head, step * n_rows, dropout[0], d_out[step], d_h)
                        d_new += d_h
                    if is_grube:
                        grube_backward(
                            xh[i], effective, gates[i], c[i], d_new, d_gates[i], d_c[i], d_xh, d_xrh
                        )
                    else:
                        gru_backward(
                            xh[i], effective, kept[i], gates[i], c[i], d_new, d_gates[i], d_xh
                        )
                    if feeds_back:
                        for j in range(len(lags)):
                            if lags[j] <= step:
                                d_out[step - lags[j], :, 0] += d_xh[:, j]
                read, d_flat = h.reshape(head.n_rows, size), d_out.reshape(head.n_rows, 2)
                mlp_gradients(head, theta[n], k, read, d_flat, ones, gradient)
                flat = n_times * n_rows
                d_read, read = d_gates.reshape(flat, n_gates), xh[:n_times].reshape(flat, n_xh)
                to = part(d_effective, 0, n_gates, n_xh)
                add_products(d_read, read, ones, to, d_bias[:n_gates])
                if is_grube:
                    to = part(d_effective, n_gates * n_xh, size, n_xh)
                    d_read, read = d_c.reshape(flat, size), xrh.reshape(flat, n_xh)
                    add_products(d_read, read, ones, to, d_bias[n_gates:])
                unfold(theta[n], cell, k, ones, d_effective, gradient)
                add_biases(cell, k, d_bias, gradient)
            count[n, 0] += 1
            adam_step(theta[n], gradient, moment1[n], moment2[n], count[n, 0], decay, lr, clip_norm)
