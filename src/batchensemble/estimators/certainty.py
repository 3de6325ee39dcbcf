"""Forecasts that are certain, since a series never changed: no measure for errors of others."""

import numpy as np
from numpy.typing import NDArray

from batchensemble.data.grids import series_of
from batchensemble.data.panels import Panel

NO_SPREAD = 1e-4  # of the mean; a series that was the same for long is expected to stay so


def are_certain(
    panel: Panel,
    origins: NDArray[np.int64],
    reach: int,
    mean: NDArray[np.float64],
    std: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """(windows,), which past forecasts are of series whose last values, `reach`, are all the same.

    Their standard deviation is next to nothing, and so says nothing about how far others of the
    same series, or of other series, will be off. `origins` are the rows at which windows begin.
    """
    values, n = panel.values, len(panel.values)
    is_new = np.append(True, values[1:] != values[:-1])
    is_new[panel.starts[:-1]] = True
    same_since = np.maximum.accumulate(np.where(is_new, np.arange(n), 0))
    begins = panel.starts[series_of(panel.starts)[origins - 1]]
    are_same = same_since[origins - 1] <= np.maximum(begins, origins - reach)
    certain: NDArray[np.bool_] = are_same & (std <= NO_SPREAD * np.abs(mean)).all(axis=1)
    return certain
