"""statsforecast's models, each series by itself."""

import warnings

import numpy as np
import pandas as pd
from windows import LEVELS, Array, Dataset, known

NAMES = {"snaive": "SeasonalNaive", "theta": "AutoTheta", "ets": "AutoETS"}
LONG_SEASON = 48  # from here on AutoARIMA's search takes hours
CENTRAL = [20, 40, 60, 80]
COLUMNS = [f"m-lo-{level}" for level in CENTRAL[::-1]] + ["m"]
COLUMNS += [f"m-hi-{level}" for level in CENTRAL]


def refitted(frame: pd.DataFrame, task: Dataset, method: str) -> Array:
    """Fitted anew to what precedes each window."""
    from statsforecast import StatsForecast, models

    model = getattr(models, NAMES[method])(season_length=task.season, alias="m")
    order = frame["unique_id"].unique()
    windows = []
    for window in range(task.n_windows):
        past = known(frame, task, window)
        if task.last:
            past = past.groupby("unique_id", sort=False).tail(task.last)
        forecaster = StatsForecast(models=[model], freq=task.freq, n_jobs=1)
        found = forecaster.forecast(df=past, h=task.horizon, level=CENTRAL)
        found = found.set_index("unique_id").loc[order]
        windows.append(found[COLUMNS].to_numpy().reshape(len(order), task.horizon, len(LEVELS)))
    return np.stack(windows, 1)


def arima(frame: pd.DataFrame, task: Dataset) -> Array:
    """Orders and coefficients from before the first window; the state follows the series.

    With long seasons, the search approximates the likelihood.
    """
    from statsforecast import StatsForecast, models

    approximation = task.season >= LONG_SEASON
    model = models.AutoARIMA(season_length=task.season, approximation=approximation, alias="m")
    past = frame
    if task.last:
        seen = task.last + task.horizon + (task.n_windows - 1) * task.step
        past = frame.groupby("unique_id", sort=False).tail(seen)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = StatsForecast(models=[model], freq=task.freq, n_jobs=1).cross_validation(
            df=past,
            h=task.horizon,
            n_windows=task.n_windows,
            step_size=task.step,
            refit=False,
            level=CENTRAL,
        )
    found = found.set_index("unique_id").loc[frame["unique_id"].unique()]
    return found[COLUMNS].to_numpy().reshape(-1, task.n_windows, task.horizon, len(LEVELS))
