"""The study's charts: panels of mean and standard error, curves, ablations; and as files."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from batchensemble.plots.charts import (
    Chart,
    curve,
    dots,
    grid,
    is_near,
    mean_words,
    write_far,
)
from batchensemble.plots.drawing import shared_out
from batchensemble.plots.looks import BAD, ERROR, NAMES, SPARE, UP, dataset_name, label, look
from batchensemble.plots.sheets import MeanSE, near_range, show
from batchensemble.plots.svg import SOFT, tip
from batchensemble.study.ablations import ABLATIONS, Ablation, plain_of
from batchensemble.study.overview import claim_strengths, nll_gaps
from batchensemble.study.results import ID, SHIFT, Place, Study
from batchensemble.study.tidy import CURVES

REGRESSION, CLASSES, SERIES = "regression", "classification", "forecasting"
NUMBERS = ("rmse", "nll", "rmsce", "miscalibration_area")
SHOWN = {
    REGRESSION: NUMBERS,
    CLASSES: ("accuracy", "nll", "brier", "ece"),
    SERIES: NUMBERS,
}
Rows = list[list[Chart]]


def panel(study: Study, place: Place, metric: str) -> Chart:
    """A dot with its standard error for each method, and how far rivals have to get."""
    means = study.means(place, metric)
    finite = [
        (look(m)._replace(label=label(m) + _lost(study, place, m)), cell)
        for m, cell in means.items()
        if math.isfinite(cell.mean)
    ]
    limit = near_end(means.get("batch_ensemble"), metric)
    chart = dots(f"{dataset_name(place.dataset)}: {NAMES[metric]}", finite, limit)
    return _noted(chart, metric, "←→")


def _lost(study: Study, place: tuple[str, str], entrant: str) -> str:
    """How many runs diverged, on a line of its own; nothing if none did."""
    n, n_lost = len(study.runs[(*place, entrant)]), study.n_diverged(place, entrant)
    return f"\n{n_lost} of {n} diverged" if n_lost else ""


def line(study: Study, place: Place, name: str) -> Chart | None:
    """The selective curve or the coverage of each method; None where there is none."""
    task = study.tasks()[place.dataset]
    lines = [(look(m), study.curve(place, m, name)) for m in study.methods(place)]
    lines = [(own, cells) for own, cells in lines if cells]
    if not lines:
        return None
    things, error = "windows" if task == SERIES else "rows", NAMES[ERROR[task]]
    title, x, y = f"{error} of the most certain {things}", f"share of {things} kept", error
    if name == "coverage":
        title, x, y = "nominal and empirical coverage", "nominal", "empirical coverage"
    chart = curve(
        f"{dataset_name(place.dataset)}: {title}",
        CURVES[name].tolist(),
        lines,
        x=x,
        y=y,
        diagonal=name == "coverage",
    )
    return chart if name == "coverage" else _noted(chart, ERROR[task], "↓↑")


def variants(study: Study, ablation: Ablation, dataset: str, metric: str) -> Chart:
    """A point with its standard error for each variant, and where asked a dot for each seed.

    Runs that diverged are counted below their variant.
    """
    cells = ablation.means(study, dataset, metric)
    diverged = ablation.diverged(study, dataset)
    ticks = list(dict.fromkeys(v.label for v in (*(v for v, _ in cells), *diverged)))
    lines = list(dict.fromkeys(variant.line for variant, _ in cells))
    colours = dict(zip(lines, (look("batch_ensemble")[1:], *SPARE), strict=False))
    shown = near_range([cell for _, cell in cells])
    is_score = metric != "member_disagreement"  # which is neither good nor bad
    limit = near_end(plain_of(cells), metric) if is_score else None
    place = (dataset, ID)

    def draw(axes: Any) -> None:
        for name, (colour, mark) in colours.items():
            own = [(v, c) for v, c in cells if v.line == name]
            if ablation.shows_seeds:
                seeds = [
                    (ticks.index(v.label), value)
                    for v, _ in own
                    for value in study.values(place, v.entrant, metric).values()
                ]
                axes.plot(*zip(*seeds, strict=True), "o", color=colour, alpha=0.35, ms=3, mew=0)
            axes.errorbar(
                [ticks.index(v.label) for v, _ in own],
                *zip(*(cell for _, cell in own), strict=True),
                color=colour, marker=mark, capsize=3, lw=1, ms=4, label=name or None,
                ls="-" if ablation.is_ordered and not ablation.shows_seeds else "",
            )  # fmt: skip
            near = [(v, cell) for v, cell in own if is_near(cell, shown)]
            at = ([ticks.index(v.label) for v, _ in near], [cell.mean for _, cell in near])
            (unseen,) = axes.plot(*at, "o", alpha=0.0)
            tip(unseen, [mean_words(v.name, cell) for v, cell in near])
        axes.set_xticks(range(len(ticks)), ticks)
        axes.set_xlabel(ablation.axis)
        axes.margins(x=0.1)
        for variant in dict.fromkeys((*(v for v, _ in cells), *diverged)):
            if words := _lost(study, place, variant.entrant):
                at_tick = {"transform": axes.get_xaxis_transform(), "ha": "center", "va": "bottom"}
                where = (
                    ticks.index(variant.label),
                    0.02,
                    words.strip().replace(" diverged", "\ndiverged"),
                )
                axes.text(*where, color=BAD, fontsize=7, **at_tick)
        if limit is not None:
            axes.axhline(limit, color=SOFT, ls=":", lw=1, zorder=0)
        far = [(ticks.index(v.label), cell, colours[v.line][0]) for v, cell in cells]
        write_far(axes, far, shown, axis="y")

    title = f"{dataset_name(dataset)}: {NAMES[metric]}"
    words = "; ".join(f"{variant.name} {show(cell)}" for variant, cell in cells)
    n_above = sum(not is_near(cell, shown) for _, cell in cells)
    height = 2.2 + 0.2 * (len(lines) > 1)
    chart = Chart(title, f"{title}: {words}.", draw, height=height, n_above=n_above)
    return _noted(chart, metric, "↓↑") if is_score else chart


def near_end(ours: MeanSE | None, metric: str) -> float | None:
    """The end of BatchEnsemble's interval that others have to pass to be better beyond doubt."""
    if ours is None:
        return None
    return ours.mean + ours.se if metric in UP else ours.mean - ours.se


def _noted(chart: Chart, metric: str, arrows: str) -> Chart:
    """Says which numbers are better; of the arrows the first points to lower ones."""
    note = f"{'Higher' if metric in UP else 'Lower'} is better."
    return replace(chart, note=note, better=arrows[metric in UP])


@dataclass(frozen=True)
class Panels:
    """A figure of a file: its title, its charts in rows, and the size of each in inches.

    A height of None is that of each chart in a page.
    """

    title: str
    rows: Callable[[Study], Rows]
    width: float
    height: float | None

    def draw(self, study: Study, note: str = "") -> Any:
        """None where there is nothing to show."""
        rows = self.rows(study)
        if not rows:
            return None
        height = rows[0][0].height if self.height is None else self.height
        return grid(rows, self.title, note, width=self.width, height=height)


def _places(study: Study, task: str, variant: str) -> list[Place]:
    tasks = study.tasks()
    return [p for p in study.places() if (tasks[p.dataset], p.variant) == (task, variant)]


def _panels(task: str, variant: str, study: Study) -> Rows:
    """Datasets down, metrics across."""
    places = _places(study, task, variant)
    return [[panel(study, place, metric) for metric in SHOWN[task]] for place in places]


def _lines(task: str, variant: str, name: str, study: Study) -> Rows:
    """Datasets across."""
    charts = (line(study, place, name) for place in _places(study, task, variant))
    row = [chart for chart in charts if chart]
    return [row] if row else []


def _variants(ablation: Ablation, task: str, study: Study) -> Rows:
    """Datasets down, metrics across."""
    datasets = ablation.present(study, task)
    metrics = [
        metric
        for metric in (*SHOWN[task], "member_disagreement")
        if all(ablation.means(study, dataset, metric) for dataset in datasets)
    ]
    return [[variants(study, ablation, dataset, m) for m in metrics] for dataset in datasets]


def _alone(make: Callable[[Study], Chart | None], study: Study) -> Rows:
    chart = None if study.note else make(study)
    return [[chart]] if chart else []


WORDS = {REGRESSION: "Regression", CLASSES: "Classification", SERIES: "Series"}
PLACED = {ID: "in-distribution", SHIFT: "with tail rows unseen in training"}
SEEDS = "mean ± standard error over the seeds; dotted: what a rival has to pass"
CURVE_TITLES = {
    "selective": "The error that is left when only the most certain are kept",
    "coverage": "How many truths lie inside the predicted intervals",
}
FIGURES = {
    "abstract_nll": Panels(
        "BatchEnsemble against its rivals: differences in NLL, seed by seed, 95 % intervals",
        partial(_alone, nll_gaps), 6.5, None,
    ),
    "claims": Panels("The paper's claims by strength", partial(_alone, claim_strengths), 6.0, None),
    **{
        name: Panels(
            f"{WORDS[task]}, {PLACED[variant]}: {SEEDS}",
            partial(_panels, task, variant), 2.7, 1.8,
        )
        for name, task, variant in (
            ("reg_main", REGRESSION, ID),
            ("reg_tails", REGRESSION, SHIFT),
            ("clf_main", CLASSES, ID),
            ("clf_tails", CLASSES, SHIFT),
            ("ts_main", SERIES, ID),
        )
    },
    **{
        name: Panels(
            f"{CURVE_TITLES[which]}\n{WORDS[task]}, {PLACED[variant]}; bands are ± standard error",
            partial(_lines, task, variant, which), 3.0, 3.0,
        )
        for name, task, variant, which in (
            ("selective_reg", REGRESSION, ID, "selective"),
            ("selective_clf", CLASSES, ID, "selective"),
            ("selective_ts", SERIES, ID, "selective"),
            ("selective_reg_tails", REGRESSION, SHIFT, "selective"),
            ("selective_clf_tails", CLASSES, SHIFT, "selective"),
            ("nom_vs_emp_cov_reg", REGRESSION, ID, "coverage"),
        )
    },
    **{
        name: Panels(
            f"{ablation.question} {ablation.caption}".strip(),
            partial(_variants, ablation, task), 2.5, 2.1,
        )
        for ablation in ABLATIONS.values()
        for task, name in ablation.figures.items()
    },
}  # fmt: skip


# The same results give the same files.
UNDATED: dict[str, dict[str, None]] = {"png": {}, "pdf": {"CreationDate": None}}


def draw_figures(study: Study, folder: Path, n_jobs: int = 1) -> list[Path]:
    """PNG and PDF of every figure for which there are results, with the study's note above."""
    folder.mkdir(parents=True, exist_ok=True)
    # Processes that drew before may be in another folder than this one is now.
    files = shared_out(partial(_draw_files, study, folder.resolve()), [*FIGURES], n_jobs)
    return [path for paths in files for path in paths]


def _draw_files(study: Study, folder: Path, names: Sequence[str]) -> list[list[Path]]:
    """The files of each of these figures; none where there is nothing to show."""
    import matplotlib

    files = []
    with matplotlib.rc_context({"text.parse_math": False}):  # a dataset's name may have a $
        for name in names:
            figure = FIGURES[name].draw(study, study.note)
            paths = [folder / f"{name}.{suffix}" for suffix in UNDATED] if figure else []
            for path in paths:
                figure.savefig(path, dpi=150, metadata=UNDATED[path.suffix[1:]])
            files.append(paths)
    return files
