"""Training steps of a recurrent network of one layer: each member through all times and back."""

import numpy as np

from batchensemble.training.engines.fused.adam import adam_step
from batchensemble.training.engines.fused.compiling import F, Floats, Ints, compiled
from batchensemble.training.engines.fused.gru import (
    apart,
    beside,
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
    mlp_backward,
    mlp_forward,
    mlp_gradients,
    total_units,
    total_weights,
    turn_all,
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
    """What each step reads if all is known, (steps, rows, inputs), and the values to forecast.

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
    theta: Floats,
    moments: tuple[Floats, Floats],
    count: Floats,
    decay: Floats,
    rates: tuple[float, float],
    series: Floats,
    scaling: Floats,
    window: tuple[int, int, int, int],
    lags: Ints,
    rows: Ints,
    weights: Floats,
    keys: Ints,
    cell: Ints,
    is_grube: bool,
    layers: Ints,
    n_hidden: int,
    n_members: int,
    feeds_back: bool,
    dropout: tuple[float, np.int32],
    bounds: tuple[float, float, float],
    losses: Floats,
) -> None:
    """All steps of one network after the other's; arrays have the axes of `Steps`.

    window      reach, horizon, unknown covariates, context
    cell        the layers of its gates; `layers` are those of the head
    feeds_back  whether predicted means stand for values not yet known, or else the truth
    """
    n_steps, n_networks, n_rows, width = rows.shape
    lr, clip_norm = rates
    p, threshold = dropout
    reach, horizon, n_past, context = window
    n_in, size = len(lags) + series.shape[1] - 1, layers[0, N_IN]
    n_xh, n_times = n_in + size, context + horizon - 1
    n_gates = (2 if is_grube else 4) * size
    n_all = horizon * n_rows
    n_units = total_units(layers[:n_hidden])
    inputs, target = np.empty((n_times, n_rows, n_in), F), np.empty((horizon, n_rows), F)
    weight_of = np.empty(n_rows, F)
    # Of the cell: what a step reads, computes, and their gradients.
    xh, d_xh = np.zeros((n_times + 1, n_rows, n_xh), F), np.empty((n_rows, n_xh), F)
    xrh, d_xrh = np.empty((n_times, n_rows, n_xh), F), np.empty((n_rows, n_xh), F)
    gates, d_gates = (
        np.empty((n_times, n_rows, n_gates), F),
        np.empty((n_times, n_rows, n_gates), F),
    )
    kept = np.empty((n_times, n_rows, size), F)
    c, d_c = np.empty((n_times, n_rows, size), F), np.empty((n_times, n_rows, size), F)
    n_folded, n_bias = total_weights(cell), total_units(cell)
    folded, folded_bias = np.empty(n_folded, F), np.empty(n_bias, F)
    n_used = (3 if is_grube else 4) * size
    n_weights = n_used * n_xh
    effective, across, own = np.empty(n_weights, F), np.empty(n_weights, F), np.empty(n_weights, F)
    bias, own_bias = np.empty(n_used, F), np.empty(n_used, F)
    new, d_new = np.empty((n_rows, size), F), np.empty((n_rows, size), F)
    # Of the head, for all forecasts.
    h, d_h = np.empty((horizon, n_rows, size), F), np.empty((n_rows, size), F)
    hidden, d_hidden = np.empty(n_all * n_units, F), np.empty(n_all * n_units, F)
    out, d_out = np.empty((horizon, n_rows, 2), F), np.empty((horizon, n_rows, 2), F)
    n_head = total_weights(layers)
    head, head_across, own_head = np.empty(n_head, F), np.empty(n_head, F), np.empty(n_head, F)
    head_bias, own_head_bias = np.empty(n_units + 2, F), np.empty(n_units + 2, F)
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
                    gather(
                        series, scaling, rows[t, n, :, k], reach, n_past, context, lags, inputs,
                        target,
                    )  # fmt: skip
                    weight_of[:] = weights[t, n, :, k] / F(horizon)
                fold(theta[n], layers, k, ones, head)
                turn_all(layers, n_hidden, head, head_across)
                biases(theta[n], layers, k, head_bias)
                if is_grube:
                    fold(theta[n], cell, k, ones, effective)
                    biases(theta[n], cell, k, bias)
                else:
                    fold(theta[n], cell, k, ones, folded)
                    biases(theta[n], cell, k, folded_bias)
                    beside(folded, folded_bias, n_in, size, effective, bias)
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
                            layers, n_hidden, head_across, head_bias, h[step],
                            (k * horizon + step) * n_units, n_members * horizon * n_units,
                            keys[t, n], p, threshold,
                            hidden, (step * n_rows, (step + 1) * n_rows), n_all, out[step],
                        )  # fmt: skip
                        losses[t, n] += gaussian(
                            out[step], target[step], weight_of, bounds, d_out[step]
                        )
                d_new[:] = 0
                for back in range(n_times):
                    i = n_times - 1 - back
                    step = i - context + 1
                    if step >= 0:
                        mlp_backward(
                            layers, n_hidden, head, p, hidden,
                            (step * n_rows, (step + 1) * n_rows), n_all, d_out[step], d_hidden, d_h,
                        )  # fmt: skip
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
                mlp_gradients(
                    layers, n_hidden, h.reshape(n_all, size), hidden, d_out.reshape(n_all, 2),
                    d_hidden, ones, own_head, own_head_bias,
                )  # fmt: skip
                unfold(theta[n], layers, k, ones, own_head, gradient)
                add_biases(layers, k, own_head_bias, gradient)
                flat = n_times * n_rows
                d_flat, read = d_gates.reshape(flat, n_gates), xh[:n_times].reshape(flat, n_xh)
                add_products(d_flat, read, ones, part(own, 0, n_gates, n_xh), own_bias[:n_gates])
                if is_grube:
                    add_products(
                        d_c.reshape(flat, size), xrh.reshape(flat, n_xh), ones,
                        part(own, n_gates * n_xh, size, n_xh), own_bias[n_gates:],
                    )  # fmt: skip
                    unfold(theta[n], cell, k, ones, own, gradient)
                    add_biases(cell, k, own_bias, gradient)
                else:
                    apart(own, own_bias, n_in, size, folded, folded_bias)
                    unfold(theta[n], cell, k, ones, folded, gradient)
                    add_biases(cell, k, folded_bias, gradient)
            count[n, 0] += 1
            adam_step(
                theta[n], gradient, moments[0][n], moments[1][n], count[n, 0], decay, lr, clip_norm
            )
