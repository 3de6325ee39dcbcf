"""What stands in the place of missing values inside a series."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from batchensemble.data.grids import Ints, series_of
from batchensemble.data.panel import Panel

KEPT = 0.9  # of the difference to a season ago, from one missing value to the next


def seasonally_filled(
    panel: Panel,
    period: int,
    effect: NDArray[np.float64] | float = 0.0,
    *,
    done: Ints | int | None = None,
) -> Panel:
    """With missing values as one season earlier, to which the level before them goes back.

    Not as the last one changed as one season earlier: in a long gap, one odd difference to a season
    ago would add up season by season. `effect` is the part of each value that columns explain: it
    is not carried over to other times. The first rows of each series that are `done` stay as they
    are, by default those without a season before them: the end of a filled series is filled.
    """
    if panel.gaps is None:
        return panel
    series = series_of(panel.starts)
    values, starts = panel.values - effect, panel.starts[series]
    first = starts + np.broadcast_to(period + 1 if done is None else done, len(panel))[series]
    rows = np.arange(len(values))
    missing = np.flatnonzero(panel.gaps & (rows >= first) & (rows > starts))
    for row in missing:
        then = row - period
        if period > 1 and then > starts[row]:
            values[row] = values[then] + KEPT * (values[row - 1] - values[then - 1])
        else:
            values[row] = values[row - 1]
    filled = panel.values.copy()
    filled[missing] = (values + effect)[missing]
    return replace(panel, values=filled)


def filled(values: NDArray[np.float64], series: Ints, fill: str) -> NDArray[np.float64]:
    """NaN filled from the values of the same series before, or before and after."""
    rows, known, n = np.arange(len(values)), ~np.isnan(values), len(values)
    before = np.maximum.accumulate(np.where(known, rows, 0))
    after = np.minimum.accumulate(np.where(known, rows, n - 1)[::-1])[::-1]
    after = before if fill == "ffill" else after
    usable = known[before] & known[after] & (series[before] == series) & (series[after] == series)
    share = (rows - before) / np.maximum(after - before, 1)
    between = (1 - share) * values[before] + share * values[after]
    between = np.where(values[before] == values[after], values[before], between)  # to the last bit
    return np.where(known | ~usable, values, between)
