"""Scores of past forecasts: every value that was observed counts."""

from typing import Any

import numpy as np
import pandas as pd

from batchensemble import metrics
from batchensemble.estimators import Forecaster
from batchensemble.estimators.forecast import Forecast


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


def judged_on_last_steps(model: Forecaster, frame: pd.DataFrame) -> dict[str, Any]:
    """Scores on the last horizon of each series, and what exactly they rest on; for the origin."""
    past = model.backtest(frame, refit="never")
    known = ~np.isnan(past.truth)
    steps, n, every = (
        f"the held-out last {known.shape[1]} steps of each series",
        known.sum(),
        known.size,
    )
    gaps = f", {n:,} of {every:,} values; the others are missing" if n < every else ""
    return {
        "n_judged": int(n),
        "judged_on": steps + gaps,
        "scores": score_forecast(past, model.season_),
    }
