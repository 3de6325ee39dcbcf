"""The recurrent network as nodes.

The steps ahead are one scan, so the graph is as large for one step as for many.
"""

from collections.abc import Sequence

from batchensemble.export.graph import Value, ints
from batchensemble.export.networks import cell, exactly, mlp, moments, n_lanes, repeated
from batchensemble.training.losses import Bounds
from batchensemble.training.methods import Members
from batchensemble.training.networks import Recurrent


def paths(
    members: Members, bounds: Bounds, values: Value, covariates: Value | None, noise: Value
) -> Value:
    """Ancestral sampling, as `Recurrent.simulate`: (series, members, paths, steps).

    values (series, reach), covariates (series, reach + steps, features), noise (series, paths,
    members, steps). Rows are (series * paths), and the last values, known or drawn, are part of
    the state.
    """
    graph, network = values.graph, exactly(Recurrent, members.network)
    n_members, reach, furthest = members.n_members, network.reach, max(network.lags)
    noise = noise.transpose(3, 2, 0, 1)  # (steps, members, series, paths)
    n_paths = noise.shape().slice(3, None, axis=0)

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
        repeated(h, n_paths, n_members, network.hidden_size)
        for h in _after_context(values, covariates, network)
    ]
    known = values.slice(reach - furthest, None, axis=1).insert(0)
    sequences = [noise.reshape(0, 0, -1)]
    if covariates is not None:
        ahead = covariates.slice(reach, None, axis=1).transpose(1, 0, 2)
        sequences.append(repeated(ahead, n_paths, 1, network.n_covariates))
    state = [*hidden, repeated(known, n_paths, n_members, furthest)]
    _, drawn = graph.scan(step, state, sequences)
    assert drawn is not None
    return drawn.apply("Reshape", noise.shape()).transpose(2, 1, 3, 0)


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
