"""Windows of series that lie one after the other: where they start, and how each is scaled."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

WINDOW_FLOATS = 2**20
# Of a series, in median changes or median deviations: wider ones come from a few wild values.
WIDEST_CHANGES, WIDEST_SPREAD = 100.0, 10.0
SAME_SEASONS = 1e-9  # mean change over a season, in standard deviations
LEAST_WINDOW_SCALE = 0.1  # of the series' own: a quiet stretch must not blow up what follows
NO_SEASON = 6  # without a season, changes over a sixth of the known values count


def window_starts(starts: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """Rows at which a whole window of `length` starts, of series that start at `starts`."""
    counts = np.maximum(np.diff(starts) - length + 1, 0)
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    found: NDArray[np.int64] = np.repeat(starts[:-1], counts) + offsets
    return found


def continued_back(
    starts: NDArray[np.int64], n_before: NDArray[np.int64], period: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Series with `n_before` more rows in front, which repeat the first season.

    The old row of each new one, the new starts, and which rows are repeated.
    """
    rows, repeated = [], []
    for first, stop, n in zip(starts[:-1], starts[1:], n_before, strict=True):
        before = np.arange(-n, 0) % min(period, stop - first)
        rows.append(first + np.concatenate([before, np.arange(stop - first)]))
        repeated.append(np.arange(n + stop - first) < n)
    new_starts = np.concatenate([[0], np.cumsum(np.diff(starts) + n_before)])
    return np.concatenate(rows), new_starts, np.concatenate(repeated)


def read_alone(
    firsts: NDArray[np.int64], rows: NDArray[np.int64], reach: int, h: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Windows of series that start at `firsts`: `reach` rows up to each of these, and h after it.

    What is missing in front repeats the rows so far. As in `continued_back`, old rows and which
    are repeated.
    """
    known = (rows - firsts + 1)[:, None]
    at = np.arange(-reach, h) + known
    return (firsts[:, None] + np.where(at < 0, at % known, at)).ravel(), (at < 0).ravel()


def series_scale(values: Floats, *, scaling: str, period: int) -> tuple[float, float]:
    """Location and scale of a whole series."""
    if scaling == "minmax":
        location, scale = values.min(), np.ptp(values)
    elif scaling == "difference":
        location, scale = values.mean(), values.std()
        change = mean_change(values[None], period)[0]
        if change > SAME_SEASONS * scale:  # seasons differ, by more than rounding
            most = widest_change(changes(values[None], period))
            location, scale = _tamed(values, change, most)
    else:
        location, scale = values.mean(), values.std()
        if scaling == "window":
            most = WIDEST_SPREAD * np.median(np.abs(values - np.median(values)))
            location, scale = _tamed(values, scale, most)
    if scale <= 1e-14 * abs(location) or scale < 1e-100:  # one and the same number all along
        scale = np.float64(1e-6 * (abs(location) if abs(location) > 1e-100 else 1.0))
    return float(location), float(scale)


def widest_change(changed: Floats) -> np.float64:
    """What no change should count more than; 0 if most are none."""
    return np.float64(WIDEST_CHANGES * np.median(changed) if changed.size else 0)


def _tamed(values: Floats, scale: np.float64, most: np.float64) -> tuple[np.float64, np.float64]:
    """Location and scale of a series, not decided by a few wild values."""
    return (np.median(values), most) if 0 < most < scale else (values.mean(), scale)


def window_scales(
    values: NDArray[np.float32], reach: int, *, scaling: str, period: int
) -> tuple[Floats, Floats]:
    """Location and scale of the window that starts at each row, from its `reach` known values.

    Windows that would run past the last row get 0 and 1, and so do all of other scalings than
    "window" (mean and spread) and "difference" (last season's mean, and mean change over a season).
    """
    location, scale = np.zeros(len(values)), np.ones(len(values))
    n = len(values) - reach + 1
    if scaling not in ("window", "difference") or n < 1:
        return location, scale
    # Not by running sums: an enormous value would spoil those of all windows after it.
    every = np.lib.stride_tricks.sliding_window_view(values, reach)
    size = max(1, WINDOW_FLOATS // reach)
    for first in range(0, n, size):
        windows = every[first : first + size].astype(np.float64)
        rows = slice(first, first + len(windows))
        if scaling == "difference":
            location[rows] = windows[:, -min(period, reach) :].mean(axis=1)
            scale[rows] = mean_change(windows, period)
        else:
            location[rows], scale[rows] = windows.mean(axis=1), windows.std(axis=1)
    scale[:n] = np.maximum(scale[:n], LEAST_WINDOW_SCALE)
    return location, scale


def season_lag(known: int, season: int) -> int:
    """Over how many steps changes are measured: a season, or a sixth of the known values."""
    return season if 1 < season < known else max(1, known // NO_SEASON)


def mean_change(values: Floats, season: int) -> Floats:
    """(windows, known) -> (windows,): mean absolute change over a season, or over a sixth."""
    changed = changes(values, season)
    return changed.mean(axis=1) if changed.size else np.zeros(len(values))


def changes(values: Floats, season: int) -> Floats:
    """(windows, known) -> (windows, changes): absolute, over a season or over a sixth."""
    lag = season_lag(values.shape[1], season)
    changed: Floats = np.abs(values[:, lag:] - values[:, :-lag])
    return changed
