"""What stands in the place of missing values inside a series."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from batchensemble.data.grids import series_of
from batchensemble.data.panel import Panel

KEPT = 0.9  # of the difference to a season ago, from one missing value to the next


def seasonally_filled(
    panel: Panel,
    period: int,
    effect: NDArray[np.float64] | float = 0.0,
    *,
    is_whole: bool = False,
) -> Panel:
    """With missing values as one season earlier, to which the level before them goes back.

    Not as the last one changed as one season earlier: in a long gap, one odd difference to a season
    ago would add up season by season. `effect` is the part of each value that columns explain: it
    is not carried over to other times. Unless the series `is_whole`, what has no season before it
    stays as it is: the end of a filled series is filled already.
    """
    if panel.is_filled is None:
        return panel
    values, starts = panel.values - effect, panel.starts[:-1][series_of(panel.starts)]
    first = starts + (0 if is_whole else period)
    missing = np.flatnonzero(panel.is_filled & (np.arange(len(values)) > first))
    for row in missing:
        then = row - period
        if period > 1 and then > starts[row]:
            values[row] = values[then] + KEPT * (values[row - 1] - values[then - 1])
        else:
            values[row] = values[row - 1]
    filled = panel.values.copy()
    filled[missing] = (values + effect)[missing]
    return replace(panel, values=filled)
