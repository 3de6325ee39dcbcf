"""Pictures of forecasts; matplotlib is imported when one is drawn, and pyplot never."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.data.panels import Panel
from batchensemble.plots.charts import format_times
from batchensemble.plots.page import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

MOST_SERIES = 6
# Black and the blue of Okabe and Ito: apart for every eye, and in grey.
PAST, FUTURE = "#222222", "#0072B2"


def plot_forecast(
    panel: Panel,
    mean: Floats,
    intervals: Mapping[float, tuple[Floats, Floats]],
    *,
    history: int,
    ax: Axes | None = None,
) -> Figure:
    """The last `history` steps of each series and the forecast behind them, as a fan.

    mean (series, horizon), and intervals by level in percent: (lower, upper), both of that shape.
    One panel for each series; of more than six, the first six. All in one `ax` if there is one
    series, otherwise in a figure of its own, which pyplot does not know.
    """
    need("matplotlib.figure", "plots need", "plots")
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    n = min(len(panel), MOST_SERIES)
    if ax is not None:
        if not hasattr(ax, "fill_between"):
            raise TypeError(f"expected ax to be Axes of matplotlib, got {type(ax).__name__}")
        if len(panel) != 1:
            raise ValueError(
                f"expected one series for one ax, got {len(panel)}; name it with series=, or omit "
                "ax="
            )
        _draw(ax, panel, 0, mean, intervals, history)
        ax.legend(frameon=False)
        return ax.get_figure(root=True)  # type: ignore[return-value]
    n_columns = 1 if n <= 3 else 2
    n_rows = -(-n // n_columns)
    size = (8.0 if n_columns == 1 else 11.0, 1.0 + (3.2 if n == 1 else 2.3 * n_rows))
    figure = Figure(figsize=size, dpi=120, layout=ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08))
    for i, each in enumerate(figure.subplots(n_rows, n_columns, squeeze=False).ravel()):
        if i < n:
            _draw(each, panel, i, mean, intervals, history)
        else:
            each.remove()
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles[::-1],  # from the history to the widest interval
        labels[::-1],
        loc="outside lower center",
        ncols=len(labels),
        frameon=False,
        fontsize=9,
    )
    if len(panel) > n:
        figure.suptitle(f"The first {n} of {len(panel)} series", x=0.01, ha="left", fontsize=11)
    # Notebooks show figures by themselves only once pyplot is imported.
    figure._repr_png_ = partial(_png, figure)  # type: ignore[attr-defined]
    return figure


def _draw(
    ax: Axes,
    panel: Panel,
    i: int,
    mean: Floats,
    intervals: Mapping[float, tuple[Floats, Floats]],
    history: int,
) -> None:
    from matplotlib.colors import to_rgb

    last = panel.rows(i).stop
    shown = slice(max(panel.rows(i).start, last - history), last)
    h = mean.shape[1]
    ahead = panel.future_times(h)[i * h : (i + 1) * h]
    times = _naive(panel.times[last - 1 : last].append(ahead))

    def joined(values: Floats) -> Floats:
        """A forecast goes on from the last value, which is known."""
        return np.concatenate([panel.values[last - 1 : last], values[i]])

    levels = sorted(intervals, reverse=True)  # the widest behind the others, and the palest
    for level, paleness in zip(levels, np.linspace(0.8, 0.45, len(levels)), strict=True):
        colour = paleness + (1 - paleness) * np.array(to_rgb(FUTURE))
        low, high = map(joined, intervals[level])
        ax.fill_between(times, low, high, color=tuple(colour), lw=0, label=f"{level:g} % interval")
    past, known = _naive(panel.times[shown]), panel.observed[shown]
    ax.plot(times, joined(mean), color=FUTURE, lw=1.8, label="forecast (mean)")
    ax.plot(past, known, color=PAST, lw=1.2, label="history")
    ax.set_title(str(panel.ids[i]), loc="left", fontsize=10, parse_math=False)
    ax.margins(x=0.01)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=9)
    ax.grid(axis="y", color="0.9", lw=0.8)
    ax.set_axisbelow(True)
    format_times(ax, is_date=isinstance(panel.times, pd.DatetimeIndex))


def _naive(times: Any) -> NDArray[Any]:
    """As numpy has them; dates by the clock on the wall."""
    dated = isinstance(times, pd.DatetimeIndex)
    return np.asarray(times.tz_localize(None) if dated else times)


def _png(figure: Figure) -> bytes:
    buffer = BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()
