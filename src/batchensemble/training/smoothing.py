"""Exponential smoothing as matrices: many smoothers, each linear in the values it reads."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ALPHAS = (0.03, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 0.99)  # weights of the newest value
FEWER_ALPHAS = (0.03, 0.2, 0.7)
LONG = 150  # values, from which on fewer smoothers will do
KINDS = ("level", "drift", "damped")
FEWER_KINDS = ("level", "damped")
MEMORY = 0.75  # of seasonal indices, from one season to the next
DAMPING, TREND_WEIGHT = 0.95, 0.2
LEAST_DRIFT_ALPHA = 0.15
MOST_ERRORS = 96  # the latest one-step errors, by which smoothers are judged
MOST_ERRORS_LONG = 48
MOST_READ = 72  # values of a long context that the MLP reads
BLENDED = 0.8  # of what the indices of a long season say beside those of a short one
BLUR = 0.2  # of the short season, in which they are taken to say about the same


class Smoothers(NamedTuple):
    """K ways to smooth `reach` values, as matrices.

    forecasts  (K, horizon, reach): the next values
    errors     (K, 2 * n, reach): among the known values, the last n errors one step ahead, and the
               last n of several steps ahead
    growth     (K, horizon): the variance of a forecast's error, that of one step being 1
    penalties  (K,): for the seasonal indices that a smoother estimates, in nats
    seasons    (K,): in steps; 0 of those without
    """

    forecasts: Floats
    errors: Floats
    growth: Floats
    penalties: Floats
    seasons: NDArray[np.int64]


@lru_cache(maxsize=8)
def smoothers(
    reach: int, horizon: int, seasons: tuple[int, ...], *, blended: bool = False
) -> Smoothers:
    """A level, a level with half the trend's slope ("theta") and a damped trend, at several speeds.

    Each without a season and with those of the `seasons` that the values hold at least twice.
    `blended`: if they hold two, also with one in between, and none of them is penalised for more
    indices than the first has.
    """
    known = np.eye(reach)
    held = [season for season in seasons if season > 1 and 2 * season < reach]
    indices, penalties = [_seasonal_indices(known, season) for season in held], np.subtract(held, 1)
    if blended and len(held) == 2:
        indices.append(_between(*indices))
        held, penalties = [*held, held[1]], np.repeat(penalties[:1], 3)
    found = [_kinds(known, 0.0 * known[:, :1], horizon)]
    for season, own in zip(held, indices, strict=True):
        level = known - own[:, (np.arange(reach) - reach) % season]
        found.append(_kinds(level, own[:, np.arange(horizon) % season], horizon))
    forecasts, errors, growth = (np.concatenate(parts) for parts in zip(*found, strict=True))
    n_each = len(forecasts) // len(found)
    repeated = np.minimum(np.repeat([0.0, *penalties], n_each), reach / 4)
    return Smoothers(forecasts, errors, growth, repeated, np.repeat([0, *held], n_each))


def _between(short: Floats, long: Floats) -> Floats:
    """Indices of the long season: the short one's, and most of what neighbours add to them."""
    n_short, n_long = short.shape[1], long.shape[1]
    repeated = short[:, np.arange(n_long) % n_short]
    n_near = round(BLUR * n_short) // 2
    near = [np.roll(long - repeated, shift, axis=1) for shift in range(-n_near, n_near + 1)]
    between: Floats = repeated + BLENDED * np.mean(near, axis=0)
    return between


def _kinds(level: Floats, season: Floats, horizon: int) -> tuple[Floats, Floats, Floats]:
    """(K, horizon, reach), (K, 2 * n, reach) and (K, horizon).

    Columns of `level` and `season` are times, rows what they take of each known value.
    """
    reach = level.shape[1]
    is_long = reach >= LONG
    first, steps = max(2, reach // 6), np.arange(1, horizon + 1)
    n_errors = min(MOST_ERRORS_LONG if is_long else MOST_ERRORS, reach - first)
    later = max(2, min(horizon, reach // 6) // 2 + 1)  # steps ahead of the second kind of errors
    damped = np.cumsum(DAMPING ** np.arange(1, max(horizon, later) + 1))
    times = np.arange(reach) - (reach - 1) / 2
    half_slope = 0.5 * (level @ times) / (times @ times or 1.0)  # a single time has no slope
    forecasts, errors, growth = [], [], []
    for alpha in FEWER_ALPHAS if is_long else ALPHAS:
        lag = 1 / max(alpha, LEAST_DRIFT_ALPHA)  # of a smoothed level behind a trend
        for kind in FEWER_KINDS if is_long else KINDS:
            state, trend = level[:, :first].mean(1), 0.0 * level[:, 0]
            drift = half_slope if kind == "drift" else 0.0 * half_slope
            trend_weight = TREND_WEIGHT if kind == "damped" else 0.0
            one_step: list[Floats] = []
            later_step: list[Floats] = []
            said: list[Floats] = []
            for value in level.T:
                predicted = state + DAMPING * trend
                one_step.append(value - predicted - lag * drift)
                later_step.append(value - (said[-later] if len(said) >= later else predicted))
                surprise = value - predicted
                state = predicted + alpha * surprise
                trend = DAMPING * trend + alpha * trend_weight * surprise
                said.append(state + damped[later - 1] * trend + (later - 1 + lag) * drift)
            errors.append(np.array(one_step[-n_errors:] + later_step[-n_errors:]))
            ahead = np.outer(damped[:horizon], trend) + np.outer(steps - 1 + lag, drift)
            forecasts.append(state + ahead + season.T)
            # What a surprise now changes so many steps ahead; a variance sums their squares.
            response = np.square(alpha * (1 + trend_weight * damped[:horizon]))
            growth.append(1 + np.cumsum(response) - response)
    return np.stack(forecasts), np.stack(errors), np.stack(growth)


def _seasonal_indices(values: Floats, season: int) -> Floats:
    """(..., season): mean distance from the moving average over a season, the next phase first.

    A season counts `MEMORY` times as much as the one after it.
    """
    reach = values.shape[1]
    kernel = np.ones(season + 1 - season % 2)
    if season % 2 == 0:
        kernel[[0, -1]] = 0.5
    kernel /= season
    windows = np.lib.stride_tricks.sliding_window_view(values, len(kernel), axis=1)
    average = windows @ kernel
    start = len(kernel) // 2
    apart = values[:, start : start + average.shape[1]] - average
    times = np.arange(start, start + average.shape[1])
    phase, weight = (times - reach) % season, MEMORY ** ((reach - 1 - times) // season)
    indices = np.stack(
        [np.average(apart[:, phase == p], 1, weight[phase == p]) for p in range(season)], 1
    )
    centred: Floats = indices - indices.mean(1, keepdims=True)
    return centred


def places_read(reach: int, horizon: int, seasons: Sequence[int]) -> list[int]:
    """Which of the known values the MLP reads.

    All of a short context; of a long one the last two seasons, and what lies the longest season
    before the steps ahead.
    """
    if reach < LONG:
        return list(range(reach))
    first = reach - min(reach, max(2 * seasons[0], MOST_READ))
    before = [reach - seasons[-1] + step for step in range(horizon)]
    return sorted({*range(first, reach), *(place for place in before if 0 <= place < reach)})
