"""Forecasts that are certain, since a series never changed: no measure for errors of others."""

import numpy as np
from numpy.typing import NDArray

from batchensemble.data.grids import series_of
from batchensemble.data.panels import Panel

NO_SPREAD = 1e-4  # of the mean or of all values; what was the same for long is expected to stay


def are_certain(
    panel: Panel,
    origins: NDArray[np.int64],
    reach: int,
    mean: NDArray[np.float64],
    std: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """(windows,), which past forecasts are of series whose last values, `reach`, are all the same.

    Their standard deviation is next to nothing, and so says nothing about how far others of the
    same series, or of other series, will be off; nor does any of a series that never changed.
    `origins` are the rows at which windows begin.
    """
    values, n = panel.values, len(panel.values)
    is_new = np.append(True, values[1:] != values[:-1])
    is_new[panel.starts[:-1]] = True
    same_since = np.maximum.accumulate(np.where(is_new, np.arange(n), 0))
    begins = panel.starts[series_of(panel.starts)[origins - 1]]
    are_same = same_since[origins - 1] <= np.maximum(begins, origins - reach)
    spread = _ranges(panel)[origins - 1]
    usual = np.maximum(np.abs(mean), spread[:, None])
    is_sure = (std <= NO_SPREAD * usual).all(axis=1) | (spread == 0)
    certain: NDArray[np.bool_] = are_same & is_sure
    return certain


def _ranges(panel: Panel) -> NDArray[np.float64]:
    """(rows,), how far apart the values of a series are up to each row."""
    parts = [panel.values[panel.rows(k)] for k in range(len(panel))]
    return np.concatenate(
        [np.maximum.accumulate(part) - np.minimum.accumulate(part) for part in parts]
    )


def of_changing_series(
    panel: Panel, starts: NDArray[np.int64], rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Windows without those of series that never changed; all, if no series did.

    `starts` are the rows at which the panel's series start where windows are counted.
    """
    changed = np.maximum.reduceat(panel.values, panel.starts[:-1]) > np.minimum.reduceat(
        panel.values, panel.starts[:-1]
    )
    is_kept = changed[np.searchsorted(starts, rows, side="right") - 1]
    return rows[is_kept] if is_kept.any() else rows
