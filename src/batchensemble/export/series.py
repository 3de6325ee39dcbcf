"""A forecaster as a graph: known values and noise in, paths in the user's units out.

The steps ahead are one scan, so the graph is as large for one step as for many.
"""

from collections.abc import Sequence

import numpy as np

from batchensemble.data.series_encoder import LEAST_WINDOW_SCALE
from batchensemble.estimators import Forecaster
from batchensemble.export.graph import Graph, Value, ints
from batchensemble.export.interface import inputs_of
from batchensemble.export.networks import cell, exactly, mlp, moments, n_lanes
from batchensemble.training.networks import Recurrent


def forecaster(model: Forecaster, graph: Graph) -> dict[str, Value]:
    """Outputs by name."""
    inputs = {slot.name: graph.input(slot) for slot in inputs_of(model)}
    location, scale = (inputs[name].insert(1) for name in ("location", "scale"))
    values = ((inputs["values"] - location) / scale).cast(np.float32)
    window_location, window_scale = _window_scales(values, model.model_.encoder.scaling)
    values = (values - window_location) / window_scale
    paths = _paths(model, values, inputs.get("covariates"), inputs["noise"])
    paths = paths * window_scale.insert(2, 3) + window_location.insert(2, 3)
    paths = paths.cast(np.float64)
    # In units of the scaled series up to here: far from zero, digits would be lost.
    apart = paths - paths.mean(1, 2, keepdims=True)
    return {
        "paths": paths * scale.insert(2, 3) + location.insert(2, 3),
        "mean": paths.mean(1, 2) * scale + location,
        "std": (apart * apart).mean(1, 2).apply("Sqrt") * scale,
        "members_mean": paths.mean(2) * scale.insert(2) + location.insert(2),
    }


def _window_scales(values: Value, scaling: str) -> tuple[Value, Value]:
    """(series, 1) each, from what is known in a window; 0 and 1 unless windows are scaled."""
    if scaling != "window":
        zero = np.zeros((1, 1), np.float32)
        return values.graph.constant(zero), values.graph.constant(zero + 1)
    wide = values.cast(np.float64)
    location = wide.mean(1, keepdims=True)
    apart = wide - location
    spread = (apart * apart).mean(1, keepdims=True).apply("Sqrt")
    return location.cast(np.float32), spread.apply("Max", LEAST_WINDOW_SCALE).cast(np.float32)


def _paths(model: Forecaster, values: Value, covariates: Value | None, noise: Value) -> Value:
    """Ancestral sampling, as `Recurrent.simulate`: (series, members, paths, steps).

    values (series, reach), covariates (series, reach + steps, features), noise (series, paths,
    members, steps). Rows are (series * paths), and the last values, known or drawn, are part of
    the state.
    """
    graph, members = values.graph, model.model_.ensemble.members
    network = exactly(Recurrent, members.network)
    n_members, reach, furthest = members.n_members, network.reach, max(network.lags)
    bounds = model.model_.loss.bounds
    noise = noise.transpose(3, 2, 0, 1)  # (steps, members, series, paths)

    def step(state: Sequence[Value], now: Sequence[Value]) -> tuple[list[Value], Value]:
        *hidden, recent = state
        noise, *known = now
        lagged = recent.gather(ints(*(furthest - lag for lag in network.lags)), axis=2)
        x = graph.concat([lagged, *(each.expand(n_members, 1, 1) for each in known)], 2)
        hidden = _through(x, hidden, network)
        outputs = mlp(hidden[-1], network.head, members.masks)
        mean, log_variance = moments(outputs, bounds)
        drawn = mean + (log_variance * 0.5).apply("Exp") * noise
        return [*hidden, graph.concat([recent.slice(1, None, axis=2), drawn.insert(2)], 2)], drawn

    hidden = [
        _by_path(h, noise, n_members, network.hidden_size)
        for h in _after_context(values, covariates, network)
    ]
    known = values.slice(reach - furthest, None, axis=1).insert(0)
    sequences = [noise.reshape(0, 0, -1)]
    if covariates is not None:
        ahead = covariates.slice(reach, None, axis=1).transpose(1, 0, 2)
        sequences.append(_by_path(ahead, noise, 1, network.n_covariates))
    state = [*hidden, _by_path(known, noise, n_members, furthest)]
    _, drawn = graph.scan(step, state, sequences)
    assert drawn is not None
    return drawn.apply("Reshape", noise.shape()).transpose(2, 1, 3, 0)


def _by_path(x: Value, noise: Value, n_first: int, n_features: int) -> Value:
    """A row of each series for each of its paths; members or times first.

    (first, series, features) -> (first, series * paths, features), repeated to be n_first.
    """
    graph = x.graph
    one, n_paths = graph.constant(ints(1)), noise.shape().slice(3, None, axis=0)
    shape = graph.concat([graph.constant(ints(n_first)), one, n_paths, one], 0)
    return x.insert(2).apply("Expand", shape).reshape(0, -1, n_features)


def _after_context(values: Value, covariates: Value | None, network: Recurrent) -> list[Value]:
    """The hidden states, (members or 1, series, hidden), before the first forecast's own step."""
    n_steps = network.context - 1
    first = network.reach - n_steps
    lanes = n_lanes(network.recurrent)
    zeros = (values.slice(0, 1, axis=1) * 0.0).expand(lanes, 1, network.hidden_size)
    state = [zeros] * len(network.recurrent.cells)
    if not n_steps:
        return state
    starts = [first - lag for lag in network.lags]
    inputs = [values.slice(start, start + n_steps, axis=1).insert(2) for start in starts]
    if covariates is not None:
        inputs.append(covariates.slice(first, network.reach, axis=1))
    by_time = values.graph.concat(inputs, 2).transpose(1, 0, 2)

    def step(state: Sequence[Value], now: Sequence[Value]) -> tuple[list[Value], None]:
        return _through(now[0].expand(lanes, 1, 1), state, network), None

    return values.graph.scan(step, state, [by_time])[0]


def _through(x: Value, state: Sequence[Value], network: Recurrent) -> list[Value]:
    """The next hidden states of all layers, each reading the one below."""
    new = []
    for module, h in zip(network.recurrent.cells, state, strict=True):
        x = cell(x, h, module)
        new.append(x)
    return new
