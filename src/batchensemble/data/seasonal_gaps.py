"""What stands in the place of missing values inside a series."""

from dataclasses import replace

import numpy as np

from batchensemble.data.grids import series_of
from batchensemble.data.panel import Panel


def seasonally_filled(panel: Panel, period: int, *, is_whole: bool = False) -> Panel:
    """With missing values as the last one before them, changed as one season earlier.

    A jump from what was filled in to what was observed is no change of the series: repeated every
    season, it would grow without end. Unless the series `is_whole`, what has no season before it
    stays as it is: the end of a filled series is filled already.
    """
    if panel.is_filled is None:
        return panel
    values, starts = panel.values.copy(), panel.starts[:-1][series_of(panel.starts)]
    first = starts + (0 if is_whole else period)
    for row in np.flatnonzero(panel.is_filled & (np.arange(len(values)) > first)):
        values[row] = values[row - 1]
        then = row - period
        if period > 1 and then > starts[row] and panel.is_filled[then] == panel.is_filled[then - 1]:
            values[row] += values[then] - values[then - 1]
    return replace(panel, values=values)
