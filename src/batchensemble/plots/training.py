"""A picture of how a training went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from batchensemble.plots.page import need

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Rows = Sequence[Sequence[float]]

LOSS, SCORE = "#0072B2", "#D55E00"  # of Okabe and Ito's colours


def plot_training(trainings: Sequence[tuple[Rows, Rows, Sequence[int]]]) -> Figure:
    """Losses and held-out scores by epoch and network, and the epochs that were kept.

    One training after the other, as after `update`. Thin lines are networks, thick ones their mean.
    """
    need("matplotlib.figure", "plots need", "plots")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 3.6), dpi=120, layout="constrained")
    axes = figure.subplots()
    start = 0
    for i, (losses, scores, best) in enumerate(trainings):
        drawn = [(losses, LOSS, "training loss"), (scores, SCORE, "score on held-out rows")]
        for rows, colour, label in drawn:
            if not rows:
                continue
            values = np.array(rows, dtype=np.float64).reshape(len(rows), -1)
            epochs = start + 1 + np.arange(len(values))
            marker = "o" if len(values) == 1 else None
            axes.plot(epochs, values, color=colour, alpha=0.25, linewidth=0.8)
            axes.plot(
                epochs,
                values.mean(axis=1),
                color=colour,
                linewidth=2,
                marker=marker,
                label=None if i else label,
            )
            if rows is scores and best:
                kept = np.minimum(np.array(best), len(values) - 1)
                at = values[kept, np.arange(len(kept)) % values.shape[1]]
                axes.plot(
                    start + 1 + kept, at, "o", color=colour, ms=4, label=None if i else "kept"
                )
        if i:
            axes.axvline(start + 0.5, color="#222222", linewidth=0.8, linestyle=":")
        start += len(losses)
    axes.set_xlabel("epoch")
    axes.set_ylabel("lower is better")
    axes.legend(frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    return figure
