"""How good forecasts of several steps are: as whole paths, and relative to the last season.

y is (windows, horizon) throughout; results average over the windows.
"""

from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike

from batchensemble.predictive import Array, SamplePredictive, check_array


def energy_score(y: ArrayLike, *, paths: ArrayLike) -> float:
    """Mean energy score of sample paths, in units of y; lower is better.

    y (windows, horizon), paths (windows, draws, horizon): E||X - y|| - 1/2 E||X - X'||, Euclidean
    over the horizon; the CRPS of whole paths. Above 512 draws the second term is an estimate, see
    `SamplePredictive.energy_score`, which also knows the members.
    """
    truth = _truth(y)
    return float(_predictive(truth, paths).energy_score(truth).mean())


def variogram_score(y: ArrayLike, *, paths: ArrayLike, p: float = 0.5) -> float:
    """Mean variogram score of sample paths, in units of y to the power 2p; lower is better.

    y (windows, horizon), paths (windows, draws, horizon): the sum over steps i and j, every two
    steps twice, of (|y_i - y_j|^p - E|X_i - X_j|^p)^2. Blind to a shift of the whole path.
    """
    truth = _truth(y)
    return float(_predictive(truth, paths).variogram_score(truth, p).mean())


def mase(y: ArrayLike, *, mean: ArrayLike, scale: ArrayLike) -> float:
    """Mean absolute scaled error, in units of the scale; lower is better.

    y and mean (windows, horizon); scale (windows,), the `seasonal_scale` of each window's series.
    Below 1: better than the seasonal naive forecast was, one season ahead, in the history.
    """
    truth = _truth(y)
    error = np.abs(check_array("mean", mean, *truth.shape) - truth).mean(axis=1)
    scales = check_array("scale", scale, len(truth))
    if scales.min() <= 0:
        raise ValueError(
            f"scale: expected numbers > 0, one per window, got {scales.min():g}; pass the "
            "seasonal_scale of each window's series"
        )
    return float(np.mean(error / scales))


def seasonal_scale(history: ArrayLike, *, season: int) -> float:
    """Mean of |y_t - y_(t - season)| over one series (time,), in units of y: the scale of `mase`.

    `season` counts steps: 1 without a season, 12 for the year of monthly values.
    """
    past = check_array("history", history, "time")
    if not isinstance(season, Integral) or season < 1:
        raise ValueError(
            f"season: expected a whole number of steps >= 1, got {season!r}; without a season "
            "pass 1"
        )
    if len(past) <= season:
        raise ValueError(
            f"history: expected more than season={season} values, got {len(past)}; pass a longer "
            "history or a shorter season"
        )
    scale = float(np.abs(past[season:] - past[:-season]).mean())
    if scale <= 1e-12 * np.abs(past).max():  # rounding alone makes an exact season change
        raise ValueError(
            f"history: expected values that change from season to season, got a mean change of "
            f"{scale:g} over season={season}; nothing can be measured in units of 0: leave the "
            "series out, or pass another season"
        )
    return scale


def _truth(y: ArrayLike) -> Array:
    truth = check_array("y", y, "windows", "horizon")
    if truth.size == 0:
        raise ValueError(
            f"y: expected at least one window and one step, got shape {truth.shape}; pass an "
            "array with all windows"
        )
    return truth


def _predictive(truth: Array, paths: ArrayLike) -> SamplePredictive:
    draws = check_array("paths", paths, len(truth), "draws", truth.shape[1])
    return SamplePredictive(draws[:, None])
