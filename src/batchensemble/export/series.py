"""A forecaster as a graph: known values and noise in, paths in the user's units out."""

import numpy as np

from batchensemble.data.series_encoder import SeriesEncoder
from batchensemble.data.windows import LEAST_WINDOW_SCALE, season_lag
from batchensemble.estimators.forecaster import Forecaster
from batchensemble.export import direct, recurrent
from batchensemble.export.graph import Graph, Value
from batchensemble.export.interface import inputs_of


def forecaster(model: Forecaster, graph: Graph) -> dict[str, Value]:
    """Outputs by name."""
    fitted, reach = model.model_, model.model_.reach
    inputs = {slot.name: graph.input(slot) for slot in inputs_of(model)}
    location, scale = (inputs[name].insert(1) for name in ("location", "scale"))
    values, effect = (inputs["values"] - location) / scale, inputs.get("effect")
    if effect is not None:
        values = values - effect.slice(0, reach, axis=1)
    values = values.cast(np.float32)
    window_location, window_scale = _window_scales(values, fitted.encoder, reach)
    values = (values - window_location) / window_scale
    members, bounds = fitted.ensemble.members, fitted.loss.bounds
    covariates, noise = inputs.get("covariates"), inputs["noise"]
    if fitted.kind == "direct":
        zero = (-location / scale).cast(np.float32)
        zero = (zero - window_location) / window_scale
        paths = direct.paths(members, bounds, values, inputs["observed"], zero, covariates, noise)
    else:
        paths = recurrent.paths(members, bounds, values, covariates, noise)
    paths = paths * window_scale.insert(2, 3) + window_location.insert(2, 3)
    paths = paths.cast(np.float64)
    if effect is not None:
        paths = paths + effect.slice(reach, None, axis=1).insert(1, 2)
    # In units of the scaled series up to here: far from zero, digits would be lost.
    lowest = inputs["lowest"].insert(1) if "lowest" in inputs else None
    if lowest is not None:
        paths = paths.apply("Max", ((lowest - location) / scale).insert(2, 3))
    apart = paths - paths.mean(1, 2, keepdims=True)
    outputs = {
        "paths": paths * scale.insert(2, 3) + location.insert(2, 3),
        "mean": paths.mean(1, 2) * scale + location,
        "members_mean": paths.mean(2) * scale.insert(2) + location.insert(2),
    }
    if lowest is not None:  # rounding can lead a little below it
        floors = {"paths": lowest.insert(2, 3), "mean": lowest, "members_mean": lowest.insert(2)}
        outputs = {name: outputs[name].apply("Max", floor) for name, floor in floors.items()}
    return outputs | {"std": (apart * apart).mean(1, 2).apply("Sqrt") * scale}


def _window_scales(values: Value, encoder: SeriesEncoder, reach: int) -> tuple[Value, Value]:
    """(series, 1) each, from what is known in a window; 0 and 1 unless windows are scaled."""
    if encoder.scaling not in ("window", "difference"):
        zero = np.zeros((1, 1), np.float32)
        return values.graph.constant(zero), values.graph.constant(zero + 1)
    wide = values.cast(np.float64)
    if encoder.scaling == "window":
        location = wide.mean(1, keepdims=True)
        apart = wide - location
        spread = (apart * apart).mean(1, keepdims=True).apply("Sqrt")
    else:
        location = wide.slice(-min(encoder.period, reach), None, axis=1).mean(1, keepdims=True)
        lag = season_lag(reach, encoder.period)
        if lag < reach:
            change = wide.slice(lag, None, axis=1) - wide.slice(0, -lag, axis=1)
            spread = change.apply("Abs").mean(1, keepdims=True)
        else:
            spread = location * 0.0
    return location.cast(np.float32), spread.apply("Max", LEAST_WINDOW_SCALE).cast(np.float32)
