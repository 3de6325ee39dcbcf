"""Charts in matplotlib: panels of a figure in a file, and SVG inside a page."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from batchensemble.plots.looks import Look
from batchensemble.plots.sheets import MeanSE, brief, near_range, show
from batchensemble.plots.svg import INK, SOFT, inline, tip

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 3.1  # inches, of a chart in a page


@dataclass(frozen=True)
class Chart:
    """A picture with its title, and its words for those who do not see it.

    strips   (from, to, words) along x: what the pointer shows there
    """

    title: str
    words: str
    draw: Callable[[Axes], None]
    height: float = 2.4  # inches, in a page
    note: str = ""  # below its title
    strips: Sequence[tuple[float, float, str]] = ()
    better: str = ""  # an arrow that points to the better numbers
    n_above: int = 0  # lines of text above the axes

    def svg(self) -> str:
        """For a page: as wide as there is room, in the page's font and colours."""
        import matplotlib
        from matplotlib.figure import Figure

        buffer = BytesIO()
        style: Any = {
            "svg.fonttype": "none",
            "svg.hashsalt": self.words,
            "font.family": "DejaVu Sans",
            "text.parse_math": False,  # a column's name may have a $
        }
        with matplotlib.rc_context(style):
            figure = Figure(figsize=(WIDTH, self.height), layout="constrained")
            axes = figure.add_subplot()
            self.draw(axes)
            finish(figure)
            if self.strips:
                spans = [(start, end - start) for start, end, _ in self.strips]
                bars = axes.broken_barh(
                    spans, (0, 1), transform=axes.get_xaxis_transform(), color=SOFT, alpha=0.0
                )
                tip(bars, [words for *_, words in self.strips])
            with warnings.catch_warnings():  # the reader's browser has the letters
                warnings.filterwarnings("ignore", r"Glyph .* missing from font", UserWarning)
                figure.savefig(buffer, format="svg", transparent=True)
        return inline(buffer.getvalue())


def grid(
    rows: Sequence[Sequence[Chart]], title: str, note: str, *, width: float, height: float
) -> Figure:
    """Charts side by side in one figure, with the title and the note above."""
    from matplotlib.figure import Figure

    size = (width * len(rows[0]) + 0.4, height * len(rows) + 0.9)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(len(rows), len(rows[0]), squeeze=False)
    for chart, each in zip((c for row in rows for c in row), axes.flat, strict=True):
        chart.draw(each)
        each.set_title(chart.title.replace(": ", "\n", 1), fontsize=9, pad=6 + 9 * chart.n_above)
        if chart.better in ("←", "→"):
            each.set_xlabel("← better" if chart.better == "←" else "better →")
        elif chart.better:
            each.set_ylabel(f"{each.get_ylabel()} {chart.better} better".strip())
    figure.suptitle("\n".join(filter(None, (title, note))), fontsize=10)
    finish(figure)
    return figure


def finish(figure: Figure) -> None:
    """Plain axes, and one legend below where lines have names."""
    for axes in figure.axes:
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.xaxis.label.set_fontsize(8)
        axes.xaxis.get_offset_text().set_fontsize(8)
        axes.yaxis.label.set_fontsize(8)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    if len(labels) > 1:
        columns = 2 if figure.get_figwidth() <= WIDTH else len(labels)
        place: Any = {"loc": "outside lower center", "ncols": columns, "frameon": False}
        figure.legend(handles, labels, fontsize=8, **place)


def dots(title: str, cells: Sequence[tuple[Look, MeanSE]], limit: float | None) -> Chart:
    """A dot with its standard error for each method, and a dotted line at `limit`."""
    shown = near_range([cell for _, cell in cells])

    def draw(axes: Axes) -> None:
        if limit is not None:
            axes.axvline(limit, color=SOFT, ls=":", lw=1, zorder=0)
        for y, (look, cell) in enumerate(cells):
            if not is_near(cell, shown):
                continue
            bar = axes.errorbar(
                cell.mean, y, xerr=cell.se, color=look.colour, marker=look.mark, capsize=3, ls=""
            )
            tip(bar.lines[0], [mean_words(look.label, cell)])
        axes.set_yticks(range(len(cells)), [look.label for look, _ in cells])
        axes.set_ylim(len(cells) - 0.4, -0.6)
        axes.locator_params(axis="x", nbins=4)
        far = [(y, cell, look.colour) for y, (look, cell) in enumerate(cells)]
        write_far(axes, far, shown, axis="x")

    words = "; ".join(f"{look.label} {show(cell)}" for look, cell in cells)
    return Chart(title, f"{title}: {words}.", draw, height=0.45 + 0.22 * len(cells))


def mean_words(name: str, cell: MeanSE) -> str:
    """As the pointer shows them."""
    return f"{name}: {show(cell)} (mean ± standard error)"


def is_near(cell: MeanSE, shown: tuple[float, float] | None) -> bool:
    return shown is None or shown[0] <= cell.mean <= shown[1]


def write_far(
    axes: Axes,
    cells: Sequence[tuple[int, MeanSE, str]],
    shown: tuple[float, float] | None,
    *,
    axis: str,
) -> None:
    """What would hide the rest is written beside the axes, in its colour, instead of drawn.

    cells   the place on the other axis, the number, and the colour
    """
    if shown is None:
        return
    (axes.set_xlim if axis == "x" else axes.set_ylim)(shown)
    far = [one for one in cells if not is_near(one[1], shown)]
    for i, (place, cell, colour) in enumerate(far):
        arrow = "←→↓↑"[int(cell.mean > shown[1]) + 2 * (axis == "y")]
        text = f"{arrow} {show(cell)}"
        if axis == "x":
            beside: Any = {"x": 1.02, "y": place, "ha": "left", "va": "center"}
            beside["transform"] = axes.get_yaxis_transform()
        else:
            beside = {"x": place, "y": 1.01 + 0.08 * i, "ha": "center", "va": "bottom"}
            beside["transform"] = axes.get_xaxis_transform()
        axes.text(s=text, color=colour, fontsize=7, **beside)


def curve(
    title: str,
    at: Sequence[float],
    lines: Sequence[tuple[Look, Sequence[MeanSE | float]]],
    *,
    x: str,
    y: str,
    diagonal: bool = False,
    counts: Sequence[int] | None = None,
) -> Chart:
    """A line for each method, with a band where there are standard errors.

    The pointer shows all at one x. With `counts`, rows behind each x, dots grow with them.
    """
    low, high = (0.0, 1.0) if diagonal else (at[0], at[-1])
    middles = [low, *((a + b) / 2 for a, b in pairwise(at)), high]
    strips = [
        (middles[i], middles[i + 1], _at_one_x(f"{x} {place:.1%}", lines, i, counts))
        for i, place in enumerate(at)
    ]

    def draw(axes: Axes) -> None:
        from matplotlib.ticker import PercentFormatter

        if diagonal:
            axes.plot([0, 1], [0, 1], color=SOFT, ls=":", lw=1)
            axes.yaxis.set_major_formatter(PercentFormatter(1))
        for look, cells in lines:
            means = np.array([c.mean if isinstance(c, MeanSE) else c for c in cells])
            axes.plot(at, means, color=look.colour, lw=1.5, label=look.label)
            if isinstance(cells[0], MeanSE):
                errors = np.array([c.se for c in cells if isinstance(c, MeanSE)])
                band = (means - errors, means + errors)
                axes.fill_between(at, *band, color=look.colour, alpha=0.2, lw=0)
            if counts:
                sizes = 80 * np.array(counts) / max(counts)
                axes.scatter(at, means, s=sizes, color=look.colour, alpha=0.8, lw=0, zorder=3)
        axes.xaxis.set_major_formatter(PercentFormatter(1))
        axes.set(xlabel=x, ylabel=y, xlim=(low, high))
        if diagonal:
            axes.set(ylim=(low, high), box_aspect=1)

    ends = "; ".join(
        f"{look.label} {_written(cells[0])} to {_written(cells[-1])}" for look, cells in lines
    )
    words = f"{title}: {y} from {at[0]:.1%} to {at[-1]:.1%}: {ends}."
    legend = 0.2 * math.ceil(len(lines) / 2) if len(lines) > 1 else 0.0
    height = WIDTH if diagonal else 2.4
    return Chart(title, words, draw, height + legend, strips=strips)


def scatter(
    title: str,
    points: Sequence[tuple[float, float, str]],
    colour: str,
    *,
    x: str,
    y: str,
    level: float | None = None,
) -> Chart:
    """A dot for each (x, y, words), and the diagonal or a `level`; the pointer shows the words."""
    ends = [end for a, b, _ in points for end in (a, b)]
    low, high = min(ends), max(ends)

    def draw(axes: Axes) -> None:
        if level is None:
            axes.plot([low, high], [low, high], color=SOFT, ls=":", lw=1)
        else:
            axes.axhline(level, color=SOFT, ls=":", lw=1)
        first, second = [a for a, _, _ in points], [b for _, b, _ in points]
        marks = axes.scatter(first, second, s=9, color=colour, alpha=0.55, lw=0)
        tip(marks, [f"{c}: {x} {a:.6g}, {y} {b:.6g}" for a, b, c in points])
        axes.set(xlabel=x, ylabel=y)

    return Chart(title, f"{title}: {len(points):,} points from {low:.6g} to {high:.6g}.", draw)


def fan(title: str, frame: Any, colour: str, *, y: str, history: Any = None) -> Chart:
    """A forecast and its interval over time, beside the truth and after what was known.

    frame has columns `time`, `truth`, `mean`, `lower` and `upper`; history `time` and `truth`.
    """
    times = frame["time"].to_numpy()

    def draw(axes: Axes) -> None:
        if history is not None:
            axes.plot(history["time"], history["truth"], color=INK, lw=1)
        axes.fill_between(times, frame["lower"], frame["upper"], color=colour, alpha=0.22, lw=0)
        axes.plot(times, frame["mean"], color=colour, lw=1.8)
        (marks,) = axes.plot(times, frame["truth"], "o", color=INK, ms=3)
        names = ("truth", "mean", "lower", "upper")
        tip(marks, [
            f"{str(row['time']).removesuffix(' 00:00:00')}: "
            + ", ".join(f"{name} {brief(row[name])}" for name in names)
            for row in frame.to_dict("records")
        ])  # fmt: skip
        axes.set_ylabel(y)
        format_times(axes, is_date=times.dtype.kind == "M", most=6)

    words = f"{title}: {len(frame)} times; dots are the truth, the line is the forecast."
    return Chart(title, words, draw)


def format_times(axes: Axes, *, is_date: bool, most: int = 8) -> None:
    """Ticks at round dates, or at whole numbers."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.ticker import MaxNLocator

    if is_date:
        locator = AutoDateLocator(minticks=3, maxticks=most)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    else:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=most, steps=[1, 2, 5, 10], integer=True))


def _at_one_x(
    place: str,
    lines: Sequence[tuple[Look, Sequence[MeanSE | float]]],
    i: int,
    counts: Sequence[int] | None,
) -> str:
    said = [place, *(f"{look.label}: {_written(cells[i])}" for look, cells in lines)]
    return "\n".join([*said, f"rows: {counts[i]:,}"] if counts else said)


def _written(cell: MeanSE | float) -> str:
    return show(cell) if isinstance(cell, MeanSE) else brief(cell)
