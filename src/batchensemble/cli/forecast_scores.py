"""Scores of past forecasts: every value that was observed counts."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble import metrics
from batchensemble.estimators.forecast import Forecast
from batchensemble.estimators.forecaster import Forecaster


def score_forecast(past: Forecast, season: int) -> dict[str, float]:
    """The library's summary of past windows, and the RMSE of repeating what came before them."""
    truth = past.truth
    known = ~np.isnan(truth)
    scores = metrics.summarise_paths(truth, past.dist)

    def rmse_of(n: int) -> float:
        return metrics.rmse(truth[known], mean=past.repeated(n)[known])

    scores["rmse_of_last"] = rmse_of(1)
    rows, starts = past.ahead.origins, past.panel.starts
    n_known = rows - starts[np.searchsorted(starts, rows, side="right") - 1]
    if 1 < season <= n_known.min():
        scores["rmse_of_season"] = rmse_of(season)
    return scores


def judged_on_last_steps(
    model: Forecaster, frame: pd.DataFrame, ids: NDArray[Any]
) -> dict[str, Any]:
    """Scores on the last horizon of these series, and what exactly they rest on; for the origin."""
    panel, h = model.read_past(frame, as_fitted=True), model.model_.horizon
    is_judged = np.isin(np.arange(len(panel)), panel.numbers_of(ids))
    history = panel.head(np.where(is_judged, h, 0))
    past = model.judged(panel, history, h, panel.starts[1:][is_judged] - h - 1)
    known = ~np.isnan(past.truth)
    series = "each series"
    if len(ids) < len(panel):
        series = f"{len(ids):,} of {len(panel):,} series (the others are too short)"
    steps, n, every = f"the held-out last {h} steps of {series}", known.sum(), known.size
    gaps = f", {n:,} of {every:,} values; the others are missing" if n < every else ""
    return {
        "n_judged": int(n),
        "judged_on": steps + gaps,
        "scores": score_forecast(past, model.season_),
    }
