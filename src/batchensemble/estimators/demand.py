"""Whether paths of intermittent series should be drawn from their history, judged by windows."""

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

from batchensemble.data.intermittent import is_intermittent
from batchensemble.data.panels import Panel
from batchensemble.estimators.series_model import SeriesModel

WINDOWS, PATHS = 200, 200
LEVELS = np.arange(1, 10) / 10


def intermittent(panel: Panel) -> NDArray[np.int64]:
    """The numbers of the series that are intermittent."""
    observed = (panel.observed[panel.rows(i)] for i in range(len(panel)))
    kinds = [is_intermittent(values[~np.isnan(values)]) for values in observed]
    return np.flatnonzero(kinds)


def with_demand(model: SeriesModel, panel: Panel) -> SeriesModel:
    """The model, its encoder told to draw intermittent paths from history if that forecasts better.

    Better by the quantile loss of the last forecasts of intermittent series, each over the mean
    of its series.
    """
    which = intermittent(panel)[:WINDOWS]
    if not len(which) or model.kind != "direct":
        return model
    each = math.ceil(WINDOWS / len(which))
    rows = [
        np.arange(panel.starts[i] + model.shortest - 1, panel.starts[i + 1] - model.horizon)[-each:]
        for i in which
    ]
    ahead = model.ahead_of(panel, panel, model.horizon, np.concatenate(rows))
    targets = ahead.origins[:, None] + np.arange(model.horizon)
    means = [np.nanmean(panel.observed[panel.rows(i)]) for i in which]
    scale = np.repeat(means, [*map(len, rows)])
    losses = []
    for draws_history in (False, True):
        encoder = model.encoder.drawing(history=draws_history)
        tried = dataclasses.replace(model, encoder=encoder)
        dist = tried.simulate(ahead, PATHS, seed=0)
        below = panel.observed[targets][..., None] - dist.quantile(LEVELS.tolist())
        loss = np.maximum(LEVELS * below, (LEVELS - 1) * below).mean(-1)
        with np.errstate(over="ignore"):  # of a series too small to tell from zeros
            losses.append((tried, float(np.nanmean(loss / scale[:, None]))))
    return min(losses, key=lambda pair: pair[1])[0]
