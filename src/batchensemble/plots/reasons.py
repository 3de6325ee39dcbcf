"""A picture of what columns contribute to one prediction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from batchensemble.plots.page import need

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_COLUMNS = 10
MORE, LESS = "#D55E00", "#0072B2"  # of Okabe and Ito's colours


def plot_reasons(
    columns: Sequence[str],
    contributions: Mapping[str, NDArray[np.float64]],
    totals: Mapping[str, float],
) -> Figure:
    """A panel for each part: bars of the strongest columns' contributions, (columns,)."""
    need("matplotlib.figure", "plots need", "plots")
    from matplotlib.figure import Figure

    n = min(len(columns), MOST_COLUMNS)
    size = (4.0 * len(contributions), 1.2 + 0.28 * n)
    figure = Figure(figsize=size, dpi=120, layout="constrained")
    panels = figure.subplots(1, len(contributions), squeeze=False)[0]
    for axes, (part, values) in zip(panels, contributions.items(), strict=True):
        strongest = np.argsort(-np.abs(values), kind="stable")[:n][::-1]
        shown = values[strongest]
        axes.barh(range(n), shown, color=np.where(shown > 0, MORE, LESS).tolist())
        axes.set_yticks(range(n), [columns[j] for j in strongest])
        axes.axvline(0.0, color="#222222", linewidth=0.8)
        axes.set_title(f"{part}: {totals[part]:.4g}", loc="left", fontsize=10)
        axes.set_xlabel("contribution")
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
    return figure
