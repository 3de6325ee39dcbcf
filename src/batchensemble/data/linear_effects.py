"""How much a series rises with columns that are known ahead."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchensemble.data.columns import Columns
from batchensemble.data.grids import series_of
from batchensemble.data.panel import Panel
from batchensemble.data.table_encoder import TableEncoder
from batchensemble.data.windows import widest_change

RIDGE = 1e-3
FARTHER = 2.0  # from the mean than any number of fit: an effect grows no further
BETTER = 0.99  # of what plain numbers leave unexplained
ROUNDS = 5
NORMAL = 1.4826  # times the median size of a Gaussian error is its standard deviation
OPPOSED = 1.5  # times the variance: a promotion's end, and an error's, are opposed to its beginning
FEWEST_TOLD = 4.0  # precision of a share that is told by its series: half of itself, roughly
CLEAR = 3.0  # standard deviations of Q beyond its mean
EXACT = 0.01  # no share is known better

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]


def learn_effects(panel: Panel, columns: Columns, values: Singles) -> tuple[TableEncoder, Floats]:
    """How to encode the columns, and by what to multiply them.

    Numbers are taken as they are, unless they explain clearly more of the scaled values where they
    saturate, as with an odd cell.
    """
    saturated, plain = TableEncoder("robust").fit(columns), TableEncoder().fit(columns)
    encoded = plain.transform(columns)
    plain.clip = max(FARTHER * float(np.abs(encoded).max()), 1.0)
    effects, rest = linear_effects(panel, encoded, values)
    others, other_rest = linear_effects(panel, saturated.transform(columns), values)
    return (saturated, others) if other_rest < BETTER * rest else (plain, effects)


def linear_effects(panel: Panel, columns: Singles, values: Singles) -> tuple[Floats, float]:
    """(columns,), by which their changes multiply to those of the values; and what is left.

    From each value that was observed to the next; what stands for a missing one tells nothing. A
    change may be far out because the series is odd there, or because of the columns: far changes
    are cut before, or what columns leave of them after, and what leaves less is right.
    """
    column, value, _ = _changes(panel, columns, values)
    square = column.T @ column
    return _solved(column, value, RIDGE * (np.trace(square) / len(square) + 1.0))


def own_shares(panel: Panel, effect: Floats, values: Singles) -> Floats:
    """(series,), by what to multiply the common effect (rows,) in each series.

    That differs as series do, and as their scales do, which know of what columns did to them. If
    series differ by more than chance (Cochran's Q), each one's own changes decide, the less the
    fewer there are; otherwise it is 1 for all.
    """
    column, value, series = _changes(panel, effect[:, None], values)
    ends = np.searchsorted(series, np.arange(len(panel) + 1))
    shares, precision = np.ones(len(panel)), np.zeros(len(panel))
    for k, rows in enumerate(map(slice, ends[:-1], ends[1:])):
        total = float(np.sum(column[rows] ** 2))
        if total > 0 and value[rows].any():
            own, _ = _solved(column[rows], value[rows], 0.0)
            rest = np.abs(value[rows] - column[rows] @ own)
            noise = NORMAL * float(np.median(rest)) or float(rest.mean())
            shares[k], precision[k] = own[0], total / max(OPPOSED * noise**2, EXACT**2 * total)
    told = precision > FEWEST_TOLD
    n = np.count_nonzero(told)
    if n < 2:
        return np.ones(len(panel))
    mean = float(precision @ shares / precision.sum())
    excess = float(precision[told] @ np.square(shares[told] - mean)) - (n - 1)
    if excess <= CLEAR * np.sqrt(2 * (n - 1)):
        return np.ones(len(panel))
    weight = precision / (precision + 1 / np.mean(np.square(shares[told] - mean)))
    shrunken: Floats = weight * shares + (1 - weight) * mean
    return shrunken


def _changes(
    panel: Panel, columns: NDArray[Any], values: Singles
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """From each value that was observed to the next one of its series; and the series."""
    known = np.flatnonzero(~np.isnan(panel.observed))
    series = series_of(panel.starts)[known]
    is_later = np.diff(series) == 0
    column, value = (
        np.diff(part[known], axis=0)[is_later].astype(np.float64) for part in (columns, values)
    )
    return column, value, series[1:][is_later]


def _solved(column: Floats, value: Floats, ridge: float) -> tuple[Floats, float]:
    """Which multiples of the columns add up to the values, and what is left."""
    square = column.T @ column + ridge * np.eye(column.shape[1])

    def solved(value: Floats) -> Floats:
        return np.asarray(np.linalg.solve(square, column.T @ value), np.float64)

    usual = np.abs(value[value != 0])
    unit = float(np.median(usual)) if len(usual) else 1.0

    def left(effects: Floats) -> float:
        """Of the changes, on a scale on which one far out counts little."""
        return float(np.log1p(np.abs(value - column @ effects) / unit).sum())

    before, after = solved(_cut(value)), solved(value)
    for _ in range(ROUNDS):
        explained = column @ after
        after = solved(explained + _cut(value - explained))
    best = before if left(before) <= left(after) else after
    return best, left(best)


def _cut(changes: Floats) -> Floats:
    most = widest_change(np.abs(changes))
    return np.clip(changes, -most, most) if most else changes
