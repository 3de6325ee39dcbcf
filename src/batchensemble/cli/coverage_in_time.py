"""How much of the truth intervals held, early and late: does a forecast keep its promise?"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.console import Console

from batchensemble.cli.format import counted, percent, print_grid
from batchensemble.plots.charts import Chart, curve
from batchensemble.plots.looks import Look
from batchensemble.plots.sheets import MeanSE

PRINTED, MOST_DRAWN = 3, 10  # parts of the windows
FEWEST_A_PART = 2  # times


@dataclass(frozen=True)
class Part:
    """Windows that follow each other; `error` is the standard error of their coverage."""

    first_cutoff: str
    last_cutoff: str
    n_windows: int
    coverage: float
    error: float


def coverage_in_time(frame: pd.DataFrame, h: int) -> dict[str, Any]:
    """Of windows of h rows each, with cutoff, truth, lower and upper: in parts, and finer ones."""
    held = (frame["truth"] >= frame["lower"]) & (frame["truth"] <= frame["upper"])
    held = held.where(frame["truth"].notna()).astype(float)
    by_window, cutoffs = held.to_numpy().reshape(-1, h), frame["cutoff"].iloc[::h]
    n_times = frame["time"].nunique()
    n_drawn = min(MOST_DRAWN, cutoffs.nunique() // FEWEST_A_PART)
    return {
        "coverage_in_time": in_parts(by_window, cutoffs, PRINTED, n_times),
        "drawn_in_time": in_parts(by_window, cutoffs, max(PRINTED, n_drawn), n_times),
    }


def in_parts(held: NDArray[Any], cutoffs: Any, n_parts: int, n_times: int) -> list[Part]:
    """Of windows, (windows, steps): coverage in equal parts of time; none if there are too few.

    NaN where a truth is missing, but not in all steps of a window.

    Windows that overlap say nearly the same: of those over as many times as a window has steps, one
    counts. `n_times` is the number of different times in all windows.
    """
    by_time = pd.Series(np.nanmean(held, axis=1)).groupby(pd.Index(cutoffs))
    shares, counts = by_time.mean(), by_time.size()
    if len(shares) < n_parts * FEWEST_A_PART:
        return []
    n_steps, parts = held.shape[1], []
    n_apart = max(1.0, (n_times - n_steps + 1) / n_steps / n_parts)
    for which in np.array_split(np.arange(len(shares)), n_parts):
        own = shares.iloc[which]
        first, last = (str(own.index[i]).removesuffix(" 00:00:00") for i in (0, -1))
        error = float(own.std()) / math.sqrt(n_apart)
        n_windows = int(counts.iloc[which].sum())
        parts.append(Part(first, last, n_windows, float(own.mean()), error))
    return parts


def print_coverage_in_time(console: Console, parts: Sequence[Part], coverage: float) -> None:
    if not parts:
        return
    console.print(f"Coverage of the {percent(coverage)} intervals in time (± standard error):")
    words = [
        (
            f"{part.first_cutoff} to {part.last_cutoff}",
            f"{percent(part.coverage)} ± {percent(part.error)}",
            counted(part.n_windows, "window"),
        )
        for part in parts
    ]
    print_grid(console, words)


def chart_of(parts: Sequence[Part], coverage: float, look: Look) -> list[Chart]:
    """One chart, if there are parts to draw."""
    if len(parts) < PRINTED:
        return []
    at = (np.arange(len(parts)) + 0.5) / len(parts)
    cells = [MeanSE(100 * part.coverage, 100 * part.error) for part in parts]
    title = f"Coverage of {percent(coverage)} intervals in time"
    x = "share of the windows, in time"
    return [curve(title, at.tolist(), [(look, cells)], x=x, y="held, in per cent")]
