"""How much a series rises with columns that are known ahead."""

import numpy as np
from numpy.typing import NDArray

from batchensemble.data.columns import Columns
from batchensemble.data.grids import series_of
from batchensemble.data.panel import Panel
from batchensemble.data.table_encoder import TableEncoder
from batchensemble.data.windows import widest_change

RIDGE = 1e-3
FARTHER = 2.0  # than any number of fit: there the effect of a number ends to grow
BETTER = 0.99  # of what saturated numbers leave unexplained

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]


def learn_effects(
    panel: Panel, columns: Columns, values: Singles
) -> tuple[TableEncoder, NDArray[np.float64]]:
    """How to encode the columns, and by what to multiply them.

    Numbers saturate, so that one odd cell spoils nothing, unless they explain clearly more of the
    scaled values as they are.
    """
    saturated, plain = TableEncoder("robust").fit(columns), TableEncoder().fit(columns)
    effects, rest = linear_effects(panel, saturated.transform(columns), values)
    encoded = plain.transform(columns)
    plain_effects, plain_rest = linear_effects(panel, encoded, values)
    if plain_rest >= BETTER * rest:
        return saturated, effects
    plain.clip = FARTHER * float(np.abs(encoded).max())
    return plain, plain_effects


def linear_effects(panel: Panel, columns: Singles, values: Singles) -> tuple[Floats, float]:
    """(columns,), by which their changes multiply to those of the values; and what is left.

    From each value that was observed to the next; what stands for a missing one tells nothing.
    """
    known = np.flatnonzero(~np.isnan(panel.observed))
    is_later = np.diff(series_of(panel.starts)[known]) == 0  # than another one of its series
    column, value = (
        np.diff(part[known], axis=0)[is_later].astype(np.float64) for part in (columns, values)
    )
    if most := widest_change(np.abs(value)):
        value = np.clip(value, -most, most)
    square = column.T @ column
    ridge = RIDGE * (np.trace(square) / len(square) + 1.0) * np.eye(len(square))
    effects: Floats = np.linalg.solve(square + ridge, column.T @ value)
    return effects, float(np.square(value - column @ effects).sum())
