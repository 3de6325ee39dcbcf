"""Pictures of what columns contribute to one prediction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from batchensemble.plots.charts import Chart
from batchensemble.plots.page import need
from batchensemble.plots.svg import INK, tip

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_COLUMNS, LONGEST_NAME = 10, 24
MORE, LESS = "#D55E00", "#0072B2"  # of Okabe and Ito's colours


def reasons_chart(title: str, columns: Sequence[str], values: NDArray[np.float64]) -> Chart:
    """Bars of the strongest columns' contributions, (columns,), the strongest on top."""
    strongest = np.argsort(-np.abs(values), kind="stable")[:MOST_COLUMNS][::-1]
    names, shown = [columns[j] for j in strongest], values[strongest]
    told = [f"{name} {value:+.3g}" for name, value in zip(names, shown, strict=True)]

    def draw(axes: Axes) -> None:
        colours = np.where(shown > 0, MORE, LESS)
        for y, (value, colour, words) in enumerate(zip(shown, colours, told, strict=True)):
            (bar,) = axes.barh(y, value, color=str(colour))
            tip(bar, [words])
        shorter = [_short(name) for name in names]
        axes.set_yticks(range(len(names)), shorter, parse_math=False)  # names may have a $
        axes.axvline(0.0, color=INK, linewidth=0.8)
        axes.locator_params(axis="x", nbins=4)
        axes.set_xlabel("contribution")
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)

    words = f"{title}: {', '.join(told[::-1])}."
    return Chart(title, words, draw, height=0.7 + 0.22 * len(names))


def plot_reasons(charts: Sequence[Chart]) -> Figure:
    """A panel for each of a row's charts."""
    need("matplotlib.figure", "plots need", "plots")
    from matplotlib.figure import Figure

    size = (4.0 * len(charts), 0.5 + 1.25 * max(chart.height for chart in charts))
    figure = Figure(figsize=size, dpi=120, layout="constrained")
    for axes, chart in zip(figure.subplots(1, len(charts), squeeze=False)[0], charts, strict=True):
        chart.draw(axes)
        axes.set_title(chart.title, loc="left", fontsize=10, parse_math=False)
    return figure


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
