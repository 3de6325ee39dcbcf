"""How much a series rises with columns that are known ahead."""

import numpy as np
from numpy.typing import NDArray

from batchensemble.data.grids import series_of
from batchensemble.data.panel import Panel
from batchensemble.data.windows import widest_change

RIDGE = 1e-3

Singles = NDArray[np.float32]


def linear_effects(panel: Panel, columns: Singles, values: Singles) -> NDArray[np.float64]:
    """(columns,), by which their changes multiply to those of the scaled values.

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
    effects: NDArray[np.float64] = np.linalg.solve(square + ridge, column.T @ value)
    return effects
