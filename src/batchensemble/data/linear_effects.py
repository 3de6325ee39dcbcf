"""How much a series rises with columns that are known ahead."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

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
CLEAR = 3.0  # standard deviations of Q beyond its mean
EXACT = 0.01  # of the size of changes: no effect is known better
TINY, SAME = 1e-9, 1e-6  # beside columns whose squares add up to 1

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


def own_effects(
    panel: Panel, columns: Singles, values: Singles, common: Floats
) -> tuple[Floats, Floats]:
    """(columns,) effects in common, and (series, columns) the effects in each series.

    Effects differ as series do, and as their scales do, which know of what columns did to them. If
    those of a column differ by more than chance (Cochran's Q), each series' own changes decide, the
    less the fewer there are, and without any it is the mean of the others. Otherwise all series
    have the effect in common.
    """
    column, value, series = _changes(panel, columns, values)
    ends = np.searchsorted(series, np.arange(len(panel) + 1))
    parts = [slice(*both) for both in pairwise(ends)]
    alone, variance = np.tile(common, (len(panel), 1)), np.full((len(panel), len(common)), np.inf)
    for k, rows in enumerate(parts):
        x, y = column[rows], value[rows]
        sizes = np.sqrt(np.square(x).sum(axis=0))
        told = sizes > 0
        if told.any() and y.any():
            x, sizes = x[:, told] / sizes[told], sizes[told]
            # Words are one column each, of which one follows from the others: the smallest effects.
            effects, _ = _solved(x, y, TINY)
            unit = np.diag(np.linalg.pinv(x.T @ x, rcond=SAME, hermitian=True))
            alone[k, told] = effects / sizes
            variance[k, told] = unit * _noise(y - x @ effects, y) / sizes**2
    means, spreads = common.copy(), np.zeros(len(common))
    for j in range(len(common)):
        means[j], spreads[j] = _differ(alone[:, j], variance[:, j], common[j])
    free = spreads > 0
    if not free.any():
        return common, np.tile(common, (len(panel), 1))
    own = np.tile(means, (len(panel), 1))  # what was found in common is wrong where one differs
    for k, rows in enumerate(parts):
        x, y = column[rows], value[rows]
        if y.any():
            unexplained, some = y - x @ alone[k], x[:, free]
            rest = x @ (alone[k] - means) + _cut(unexplained)
            square = some.T @ some + np.diag(_noise(unexplained, y) / spreads[free])
            own[k, free] += np.linalg.solve(square, some.T @ rest)
    return np.where(free, common, means), own


def _noise(rest: Floats, changes: Floats) -> float:
    """The variance of changes; errors that end where they began oppose those of columns."""
    median = NORMAL * float(np.median(np.abs(rest))) or float(np.abs(rest).mean())
    return max(OPPOSED * median**2, EXACT**2 * float(np.square(changes).mean()))


def _differ(effects: Floats, variances: Floats, common: float) -> tuple[float, float]:
    """The mean of effects, the common one if it is not told, and their variance beyond chance.

    With that variance added to each one's own, they differ as much as chance would have it (Paule
    and Mandel 1982).
    """
    told = np.isfinite(variances)
    effects, variances, n = effects[told], variances[told], np.count_nonzero(told)
    if n < 2:
        return common, 0.0

    def mean_of(spread: float) -> float:
        return float(np.average(effects, weights=1 / (variances + spread)))

    def excess(spread: float) -> float:
        squares = np.square(effects - mean_of(spread)) / (variances + spread)
        return float(squares.sum()) - (n - 1)

    if excess(0.0) <= CLEAR * np.sqrt(2 * (n - 1)):
        return mean_of(0.0), 0.0
    spread = float(brentq(excess, 0.0, 2 * float(np.ptp(effects)) ** 2))
    return mean_of(spread), spread


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
