"""The paper's figures from results: panels of mean and standard error, curves, ablations."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from batchensemble.metrics import COVERAGES, LEVELS
from batchensemble.plots.looks import ERROR, NAMES, SPARE, UP, dataset_name, look
from batchensemble.plots.sheets import MeanSE, near_range, show
from batchensemble.study.ablations import ABLATIONS, Ablation, Found, plain_of
from batchensemble.study.store import Result
from batchensemble.study.tables import methods, near_end, of_place, over_seeds

REGRESSION = ("rmse", "nll", "rmsce", "miscalibration_area")
CLASSES = ("accuracy", "nll", "brier", "ece")


@dataclass(frozen=True)
class Panels:
    """A dot with its standard error for each method: datasets down, metrics across."""

    task: str
    variant: str
    metrics: tuple[str, ...]

    def here(self, results: Sequence[Result]) -> list[str]:
        return _present(results, self.task, self.variant)

    def draw(self, results: Sequence[Result], note: str) -> Any:
        here = self.here(results)
        figure = _figure(len(here), len(self.metrics), note, height=1.9)
        for row, dataset in enumerate(here):
            own = of_place(results, (dataset, self.variant))
            for column, metric in enumerate(self.metrics):
                axes = figure.axes[row * len(self.metrics) + column]
                found = over_seeds(own, metric)
                for x, method in enumerate(m for m in methods(own) if m in found):
                    label, colour, mark = look(method)
                    axes.errorbar(
                        x, *found[method], color=colour, marker=mark, capsize=3, label=label, ls=""
                    )
                _mark_limit(axes, found.get("batch_ensemble"), metric)
                here_too = [found[m] for m in methods(own) if m in found]
                _leave_far_out(axes, list(enumerate(here_too)))
                axes.set_xticks([])
                axes.margins(x=0.15)
                axes.set_title(f"{dataset_name(dataset)}\n{NAMES[metric]}", fontsize=9)
        return _finished(figure)


@dataclass(frozen=True)
class Curves:
    """A curve with its standard error for each method and dataset."""

    task: str
    variant: str
    curve: str
    x: str
    y: str

    def here(self, results: Sequence[Result]) -> list[str]:
        return _present(results, self.task, self.variant)

    def draw(self, results: Sequence[Result], note: str) -> Any:
        here = self.here(results)
        figure = _figure(1, len(here), note, height=2.8)
        at = LEVELS if self.curve == "coverage" else COVERAGES
        for axes, dataset in zip(figure.axes, here, strict=True):
            if self.curve == "coverage":
                axes.plot([0, 1], [0, 1], color="0.4", ls=":", lw=1)
            own = of_place(results, (dataset, self.variant))
            for method in methods(own):
                label, colour, _ = look(method)
                curves = np.array(
                    [r.curves[self.curve] for r in own if r.run.method == method and r.curves]
                )
                if not len(curves):
                    continue
                mean = curves.mean(axis=0)
                axes.plot(at, mean, color=colour, lw=1.5, label=label)
                if len(curves) > 1:
                    se = curves.std(axis=0, ddof=1) / len(curves) ** 0.5
                    axes.fill_between(at, mean - se, mean + se, color=colour, alpha=0.2, lw=0)
            axes.set(xlabel=self.x, title=dataset_name(dataset))
        figure.axes[0].set_ylabel(self.y)
        return _finished(figure)


@dataclass(frozen=True)
class Variants:
    """An ablation: a point with its standard error for each variant, datasets down."""

    ablation: Ablation
    task: str

    def here(self, results: Sequence[Result]) -> list[str]:
        return self.ablation.present(results, self.task)

    def draw(self, results: Sequence[Result], note: str) -> Any:
        here = self.here(results)
        metrics = (ERROR[self.task], "nll", "member_disagreement")
        figure = _figure(len(here), len(metrics), note, height=2.1, width=2.9)
        for row, dataset in enumerate(here):
            for column, metric in enumerate(metrics):
                axes = figure.axes[row * len(metrics) + column]
                found = self.ablation.found(results, dataset, metric)
                lost = self.ablation.lost(results, dataset)
                labels = (variant.label for variant in (*(v for v, _ in found), *lost))
                ticks = list(dict.fromkeys(labels))
                self._draw(axes, found, ticks)
                for variant in lost:
                    _mark_lost(axes, ticks.index(variant.label))
                if metric != "member_disagreement":
                    _mark_limit(axes, plain_of(found), metric)
                _leave_far_out(axes, [(ticks.index(v.label), cell) for v, cell in found])
                axes.set_title(f"{dataset_name(dataset)}\n{NAMES[metric]}", fontsize=9)
                if row == len(here) - 1:
                    axes.set_xlabel(self.ablation.axis, fontsize=8)
        return _finished(figure)

    def _draw(self, axes: Any, found: Sequence[Found], ticks: Sequence[str]) -> None:
        styles = (look("batch_ensemble")[1:], *SPARE)
        for line, (colour, mark) in zip(
            dict.fromkeys(variant.line for variant, _ in found), styles, strict=False
        ):
            own = [(ticks.index(v.label), *cell) for v, cell in found if v.line == line]
            axes.errorbar(
                *zip(*own, strict=True),
                color=colour, marker=mark, capsize=3, lw=1, ms=4, label=line or "BatchEnsemble",
                ls="-" if self.ablation.is_ordered else "",
            )  # fmt: skip
        axes.set_xticks(range(len(ticks)), ticks, fontsize=7)


R, C, F = "regression", "classification", "forecasting"
KEPT = "share of rows kept"
FIGURES: dict[str, Panels | Curves | Variants] = {
    "reg_main": Panels(R, "id", REGRESSION),
    "reg_tails": Panels(R, "shift", REGRESSION),
    "clf_main": Panels(C, "id", CLASSES),
    "clf_tails": Panels(C, "shift", CLASSES),
    "ts_main": Panels(F, "id", REGRESSION),
    "selective_reg": Curves(R, "id", "selective", KEPT, "RMSE"),
    "selective_clf": Curves(C, "id", "selective", KEPT, "accuracy"),
    "selective_ts": Curves(F, "id", "selective", "share of windows kept", "RMSE"),
    "selective_reg_tails": Curves(R, "shift", "selective", KEPT, "RMSE"),
    "selective_clf_tails": Curves(C, "shift", "selective", KEPT, "accuracy"),
    "nom_vs_emp_cov_reg": Curves(R, "id", "coverage", "nominal", "empirical coverage"),
    **{
        name: Variants(ablation, task)
        for ablation in ABLATIONS.values()
        for task, name in ablation.figures.items()
    },
}


# The same results give the same files.
UNDATED: dict[str, dict[str, None]] = {"png": {}, "pdf": {"CreationDate": None}}


def draw_figures(results: Sequence[Result], folder: Path, note: str = "") -> list[Path]:
    """PNG and PDF of every figure for which there are results; the note stands above each."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, kind in FIGURES.items():
        if not kind.here(results):
            continue
        figure = kind.draw(results, note)
        for suffix in UNDATED:
            paths.append(folder / f"{name}.{suffix}")
            figure.savefig(paths[-1], dpi=150, metadata=UNDATED[suffix])
    return paths


def _present(results: Sequence[Result], task: str, variant: str) -> list[str]:
    """Datasets of the task, in the order of the results."""
    found = {r.run.dataset: None for r in results if r.about["task"] == task}
    return [dataset for dataset in found if of_place(results, (dataset, variant))]


def _mark_limit(axes: Any, ours: MeanSE | None, metric: str) -> None:
    """A dotted line at the end of BatchEnsemble's interval that others have to pass."""
    if ours is not None:
        axes.axhline(near_end(ours, highest=metric in UP), color="0.4", ls=":", lw=1, zorder=0)


def _mark_lost(axes: Any, x: int) -> None:
    """In place of a point: all its networks were lost in training."""
    axes.text(
        x, 0.5, "lost", transform=axes.get_xaxis_transform(), ha="center", fontsize=8, color="0.4"
    )


def _leave_far_out(axes: Any, points: Sequence[tuple[int, MeanSE]]) -> None:
    """What would hide the rest is written at the edge instead of drawn."""
    shown = near_range([cell for _, cell in points])
    if shown is None:
        return
    axes.set_ylim(shown)
    for x, cell in points:
        if not shown[0] <= cell.mean <= shown[1]:
            is_up = cell.mean > shown[1]
            place = {"xy": (x, shown[is_up]), "va": "top" if is_up else "bottom"}
            text = f"{show(cell).replace(' ± ', '±')} {'↑' if is_up else '↓'}"
            axes.annotate(text, **place, ha="right", fontsize=7)


def _figure(rows: int, columns: int, note: str, *, height: float, width: float = 2.3) -> Any:
    from matplotlib.figure import Figure

    size = (width * columns + 0.4, height * rows + 0.9)
    figure = Figure(figsize=size, layout="constrained")
    for i in range(rows * columns):
        figure.add_subplot(rows, columns, i + 1)
    if note:
        figure.suptitle(note, fontsize=8)
    return figure


def _finished(figure: Any) -> Any:
    for axes in figure.axes:
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=8)
    return figure
