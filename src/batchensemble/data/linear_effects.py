"""How much a series rises with columns that are known ahead."""

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
    known = np.flatnonzero(~np.isnan(panel.observed))
    is_later = np.diff(series_of(panel.starts)[known]) == 0  # than another one of its series
    column, value = (
        np.diff(part[known], axis=0)[is_later].astype(np.float64) for part in (columns, values)
    )
    square = column.T @ column
    square += RIDGE * (np.trace(square) / len(square) + 1.0) * np.eye(len(square))

    def solved(value: Floats) -> Floats:
        effects: Floats = np.linalg.solve(square, column.T @ value)
        return effects

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
