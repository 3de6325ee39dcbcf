"""The direct network as nodes: smoothers as matrices, their weights, the MLP that corrects them.

Members come first, (members or 1, rows, ...), as in `networks`.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from batchensemble.export.graph import Value, ints
from batchensemble.export.networks import exactly, mlp, numbers, repeated, softplus
from batchensemble.training.direct import (
    CORRECTION,
    FAR,
    LARGEST_INPUT,
    LARGEST_RATIO,
    LEAST_ERROR,
    LEAST_RATIO,
    NO_EVIDENCE,
    Direct,
)
from batchensemble.training.losses import Bounds, bounded
from batchensemble.training.methods import Members


class Window(NamedTuple):
    """What a forecast reads.

    values      (members or 1, rows, reach); is_shared: 1, the same for all members
    flags       (1, rows, reach), 0 where something stands in a value's place, -1 before the first
    zero        (1, rows, 1), where zero is, in units of the values
    covariates  (1, rows, covariates) of the first step ahead, if there are any
    """

    values: Value
    flags: Value
    zero: Value
    covariates: Value | None
    is_shared: bool


class Smoothed(NamedTuple):
    """Log-weights (..., K), forecasts (..., K, horizon), squares (..., K) and their growth."""

    evidence: Value
    forecasts: Value
    squares: Value
    growth: Value


def paths(
    members: Members,
    bounds: Bounds,
    values: Value,
    flags: Value,
    zero: Value,
    covariates: Value | None,
    noise: Value,
) -> Value:
    """As `Direct.simulate`: (series, members, paths, steps).

    values and flags (series, reach), zero (series, 1), covariates (series, steps, features),
    noise (series, paths, members, steps). The first `horizon` steps are computed once for all paths
    of a series; what follows goes on from what each path has drawn.
    """
    graph, network = values.graph, exactly(Direct, members.network)
    h, reach, n_members = network.n_steps, network.reach, members.n_members

    def ahead(step: Value) -> Value | None:
        return None if covariates is None else covariates.gather(step, axis=1).insert(0)

    first = ahead(graph.constant(np.array(0)))
    window = Window(values.insert(0), flags.insert(0), zero.insert(0), first, is_shared=True)
    mean, log_variance = _forward(window, members, bounds)
    shape = noise.transpose(2, 0, 1, 3).shape()  # (members, series, paths, steps)
    n_paths, steps = shape.slice(2, 3, axis=0), shape.slice(3, None, axis=0)
    n_more = (steps - 1) / h  # blocks of h steps, after the first
    missing = (n_more + 1) * h - steps
    sizes = [graph.constant(ints(0, 0, 0, 0)), missing, graph.constant(ints(0, 0, 0))]
    noise = noise.transpose(3, 2, 0, 1).apply("Pad", graph.concat(sizes, 0))
    own = noise.slice(0, h, axis=0).transpose(1, 2, 3, 0)
    drawn = _drawn(mean.insert(2), log_variance.insert(2), own, network, is_shared=True)
    noise = noise.reshape(0, 0, -1)  # (steps, members, series * paths)
    known, zero = repeated(window.flags, n_paths, 1, reach), repeated(window.zero, n_paths, 1, 1)
    before = repeated(window.values, n_paths, n_members, reach)
    state = [graph.concat([before, drawn.reshape(0, -1, h)], 2), _followed_by_ones(known, h)]

    def block(i: Value, state: Sequence[Value]) -> list[Value]:
        values, flags = (x.slice(-reach, None, axis=2) for x in state)
        begin = (i + 1) * h
        columns = ahead(begin)
        if columns is not None:
            columns = repeated(columns, n_paths, 1, network.n_covariates - 1)
        window = Window(values, flags, zero, columns, is_shared=n_members == 1)
        mean, log_variance = _forward(window, members, bounds)
        own = noise.apply("Slice", begin.reshape(1), (begin + h).reshape(1), ints(0))
        drawn = _drawn(mean, log_variance, own.transpose(1, 2, 0), network, is_shared=False)
        return [graph.concat([state[0], drawn], 2), _followed_by_ones(state[1], h)]

    whole, _ = graph.loop(block, state, n_more.reshape())
    drawn = whole.slice(reach, None, axis=2).apply("Slice", ints(0), steps, ints(2))
    return drawn.apply("Reshape", shape).transpose(1, 0, 2, 3)


def _followed_by_ones(x: Value, n: int) -> Value:
    """(1, rows, times) -> (1, rows, times + n): what was drawn counts as observed."""
    ones = (x.slice(0, 1, axis=2) * 0.0 + 1.0).expand(1, 1, n)
    return x.graph.concat([x, ones], 2)


def _forward(x: Window, members: Members, bounds: Bounds) -> tuple[Value, Value]:
    """Mean and log-variance, (members or 1, rows, horizon), as `Direct.forward`."""
    network = exactly(Direct, members.network)
    graph, h, lanes = x.values.graph, network.n_steps, 1 if x.is_shared else members.n_members
    level = x.values.slice(-network._recent, None, axis=2).mean(2, keepdims=True)
    values = x.values - level
    by = _smoothed(values, x.flags, level - x.zero, network)
    weights = by.evidence.apply("Softmax", axis=-1)
    base = _mixed(weights, by.forecasts, x.is_shared)
    error = (weights * by.squares).sum(2).insert(2).apply("Sqrt")
    near = graph.concat([values.gather(ints(*network.read), axis=2), base, level], 2)
    share = x.flags.apply("Max", 0.0).mean(2, keepdims=True)
    others = [share, *([] if x.covariates is None else [x.covariates])]
    inputs = graph.concat(
        [
            near.clip(-LARGEST_INPUT, LARGEST_INPUT),
            weights,
            error.apply("Log"),
            *(each.expand(lanes, 1, 1) for each in others),
        ],
        2,
    )
    outputs = mlp(inputs, network.head, members.masks)
    mean, raw = outputs.slice(0, h, axis=2), outputs.slice(h, 2 * h, axis=2)
    weights = (by.evidence + outputs.slice(2 * h, None, axis=2)).apply("Softmax", axis=-1)
    base = _mixed(weights, by.forecasts, x.is_shared)
    second = by.squares.insert(3) * by.growth + by.forecasts * by.forecasts
    variance = (_mixed(weights, second, x.is_shared) - base * base).apply("Max", LEAST_ERROR**2)
    log_variance = bounded(raw + variance.apply("Log"), bounds, softplus)
    return level + base + error * mean * CORRECTION, log_variance


def _smoothed(values: Value, flags: Value, above_zero: Value, network: Direct) -> Smoothed:
    """As `Direct._smoothed`: the smoothers of the values and, of a short window, of logarithms."""
    plain = _linear(values, flags, network)
    if not network.with_logs:
        return plain
    graph, n = values.graph, network.n_errors
    lowest = values.apply("ReduceMin", ints(2), keepdims=1) + above_zero
    is_not_positive = lowest <= above_zero.apply("Max", 0.0) * LEAST_RATIO
    unit = above_zero.but(FAR, where=is_not_positive).apply("Min", FAR)
    ratio = (values / unit).apply("Max", LEAST_RATIO - 1)
    logs = (ratio.cast(np.float64) + 1.0).apply("Log").cast(np.float32)
    others = _linear(unit * logs, flags, network)
    counts = flags.slice(-n, None, axis=2).apply("Max", 0.0)
    n_known = counts.sum(2).apply("Max", 1.0)
    mean_log = (logs.slice(-n, None, axis=2) * counts).sum(2) / n_known
    evidence = others.evidence - (n_known.apply("Min", network.most_evidence) * mean_log).insert(2)
    unit = unit.insert(3)
    ratios = (others.forecasts / unit).apply("Min", math.log(LARGEST_RATIO)).apply("Exp")
    return Smoothed(
        graph.concat([plain.evidence, evidence], 2),
        graph.concat([plain.forecasts, unit * (ratios - 1.0)], 2),
        graph.concat([plain.squares, others.squares], 2),
        graph.concat([ratios * 0.0 + plain.growth, others.growth * (ratios * ratios)], 2),
    )


def _linear(values: Value, flags: Value, network: Direct) -> Smoothed:
    """As `Direct._linear`."""
    tensors = network._on(torch.device("cpu"), torch.float32)
    ahead, residual, growth, penalties, is_before = map(numbers, tensors)
    k, n = len(penalties), network.n_errors
    errors = (values @ residual).reshape(0, 0, k, 2, n)
    is_known, has_begun = flags.apply("Max", 0.0), flags.clip(-1.0, 0.0) + 1.0
    earlier = has_begun.gather(ints(*network.earlier.ravel().tolist()), axis=2)
    was_known = earlier.reshape(0, 0, k, n).apply("Max", is_before)
    counts, begun = (
        each.slice(-n, None, axis=2).insert(2) * was_known for each in (is_known, has_begun)
    )
    n_known, n_begun = counts.sum(3), begun.sum(3)
    squares = (errors * errors * counts.insert(3)).sum(4)
    squares = squares / n_known.apply("Max", 1.0).insert(3) + LEAST_ERROR**2
    n_counted, n_begun = (x.clip(1.0, network.most_evidence) for x in (n_known, n_begun))
    penalized = n_counted / n_begun * (penalties * network.penalty)
    evidence = n_counted * -0.5 * squares.apply("Log").mean(3) - penalized
    evidence = evidence.but(NO_EVIDENCE, where=n_known <= 0.0)
    return Smoothed(
        evidence,
        (values @ ahead).reshape(0, 0, k, network.n_steps),
        squares.gather(np.array(0), axis=3),
        values.graph.constant(growth),
    )


def _mixed(weights: Value, by_smoother: Value, is_shared: bool) -> Value:
    """(members, rows, K) and (members or 1, rows, K, horizon) -> (members, rows, horizon)."""
    if is_shared:  # one product for all members
        mixed = weights.transpose(1, 0, 2) @ by_smoother.gather(np.array(0), axis=0)
        return mixed.transpose(1, 0, 2)
    return (weights.insert(2) @ by_smoother).gather(np.array(0), axis=2)


def _drawn(
    mean: Value, log_variance: Value, noise: Value, network: Direct, *, is_shared: bool
) -> Value:
    """As `Direct._drawn`, members first and steps last."""
    std = (log_variance * 0.5).apply("Exp")
    if network.spread is None:
        return mean + std * noise
    factors, cholesky = (
        np.asarray(network.spread[name], np.float32) for name in ("factors", "cholesky")
    )
    centre = mean.mean(0, keepdims=True) if is_shared else mean
    drawn = mean + std * (noise @ np.ascontiguousarray(cholesky.T))
    return centre + (drawn - centre) * factors
