"""The evaluation of a model on one page: an HTML file that needs no other file and no network."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from batchensemble.cli.coverage_in_time import chart_of
from batchensemble.cli.evaluation import Evaluation, Pairs, Windows
from batchensemble.cli.format import counted, percent
from batchensemble.cli.model_facts import about
from batchensemble.cli.scores import (
    OTHER_NAMES,
    UNCERTAINTIES,
    in_words,
    sampling_words,
)
from batchensemble.cli.verdict import in_short, n_independent
from batchensemble.data.writing import check_place
from batchensemble.modelfile.files import replacing
from batchensemble.plots.charts import Chart, curve, fan, scatter
from batchensemble.plots.looks import Look, look
from batchensemble.plots.page import check_packages, render_page
from batchensemble.plots.sheets import Cell, MeanSE, Sheet, brief, show

BAND = "Band: plus or minus a standard error."
MOST_POINTS = 1000
MOST_SERIES = 4
BEFORE = "#7F7F7F"  # the colour of what calibration replaced
IN_BRACKETS = "In brackets: 95 % confidence interval, in per cent."


def check_report(out: Path | None, *, beside: Sequence[Path]) -> None:
    """Raise an error before any work is done if the page could not be written, or is an input."""
    if out is None:
        return
    check_packages()
    if out.suffix not in (".html", ".htm"):
        raise ValueError(f"expected the name of an .html file for the report, got {out}")
    check_place(out, beside=beside)


def write_report(model: Any, path: Path, evaluation: Evaluation, out: Path) -> None:
    """Write the evaluation of the model in the file `path` as a page."""
    page = render(model, path, evaluation)
    with replacing(out) as file:
        file.write(page.encode(errors="replace"))  # a name of a file may be no text


def render(model: Any, path: Path, evaluation: Evaluation) -> str:
    """The page as text."""
    content = page_content(model, path, evaluation)
    title = f"{evaluation.target}: how far to trust {path.name}"
    return rendered("evaluation.html.jinja", title=title, **content)


def rendered(template: str, **content: Any) -> str:
    """A page of this folder."""
    return render_page(
        "batchensemble.cli", template, filters={"show": _written}, note="", **content
    )


def page_content(model: Any, path: Path, evaluation: Evaluation) -> dict[str, Any]:
    """What a page says about the predictions of one target, but for its title."""
    look_of_model = look(model.method)
    by_what = evaluation.advice if evaluation.verdict else ""
    scores = in_words(
        evaluation.scores,
        target=evaluation.target,
        task=evaluation.task,
        coverage=evaluation.coverage,
        n=n_independent(evaluation),
    )
    return {
        "verdict": in_short(evaluation),
        "lead": _lead(evaluation),
        "warning": "; ".join(filter(None, (by_what, evaluation.note, *evaluation.warnings))),
        "left_out": counted(evaluation.n_without_target, "row")
        if evaluation.n_without_target
        else "",
        "scores": Sheet("scores", "Scores", ("score", "value", "meaning"), tuple(scores)),
        "charts": [
            *_promises(evaluation, look_of_model),
            *chart_of(evaluation.drawn_in_time, evaluation.coverage, look_of_model),
            *_details(evaluation, look_of_model),
        ],
        "doubtful": evaluation.doubtful,
        "mistakes": evaluation.mistakes,
        "classes": evaluation.classes and _with_ranges(evaluation.classes, evaluation.predicted),
        "in_brackets": IN_BRACKETS,
        "subgroups": evaluation.subgroups,
        "reasons": evaluation.reasons,
        "variances": _variances(evaluation),
        "task": evaluation.task,
        "coverage": evaluation.coverage,
        "about": about(model, path, evaluation),
    }


def _written(cell: Cell) -> str:
    """With four significant digits, whatever the unit; no separators, since 1992 may be a year."""
    if isinstance(cell, float):
        return brief(cell)
    return str(cell) if isinstance(cell, int) else show(cell)


def _lead(evaluation: Evaluation) -> str:
    """What was judged."""
    said = f"Judged on {evaluation.judged_on} of {Path(evaluation.file).name}."
    if evaluation.task == "forecast":
        said += " A window is one forecast, from its last known time."
    return said


def _promises(evaluation: Evaluation, look_of_model: Look) -> list[Chart]:
    """Calibration, and what certainty is worth."""
    kept, promised = evaluation.selective, evaluation.calibration
    is_classes = evaluation.task == "classification"
    titles = ("Confidence and accuracy", "Accuracy of the most certain rows")
    if not is_classes:
        things = "windows" if evaluation.task == "forecast" else "rows"
        titles = ("Nominal and empirical coverage", f"Error of the most certain {things}")
    n = promised.counts or [n_independent(evaluation)] * len(promised.at)
    lines = [(look_of_model, _with_errors(promised.values, n))]
    if evaluation.uncalibrated:
        before = Look("before calibration", BEFORE, "s")
        lines = [(look_of_model._replace(label="calibrated"), lines[0][1])]
        lines.append((before, _with_errors(evaluation.uncalibrated.values, n)))
    worth: Sequence[MeanSE | float] = kept.values
    if is_classes:
        worth = _with_errors(kept.values, [round(at * evaluation.n_rows) for at in kept.at])
    first = curve(
        titles[0],
        promised.at,
        lines,
        x=promised.x,
        y=promised.y,
        diagonal=True,
        counts=promised.counts,
    )
    notes = ["Larger dots: more rows.", "After calibration."][: 1 + bool(evaluation.n_calibrated)]
    charts = []  # one point is a number, and stands in the table
    if len({*promised.at}) > 1:
        charts.append(replace(first, note=" ".join([*(notes if is_classes else ()), BAND])))
    if len({*kept.at}) > 1:
        second = curve(titles[1], kept.at, [(look_of_model, worth)], x=kept.x, y=kept.y)
        charts.append(replace(second, note=BAND * is_classes))
    return charts


def _with_errors(shares: Sequence[float], n: Sequence[int]) -> list[MeanSE | float]:
    """Shares of n independent rows with their standard errors."""
    pairs = zip(shares, n, strict=True)
    return [MeanSE(p, math.sqrt(max(0.0, p * (1 - p)) / max(1, rows))) for p, rows in pairs]


def _details(evaluation: Evaluation, look_of_model: Look) -> list[Chart]:
    detail = evaluation.detail
    if isinstance(detail, Pairs):
        every = len(detail.truth) // MOST_POINTS + 1
        points = zip(
            detail.truth[::every].tolist(),
            detail.mean[::every].tolist(),
            detail.rows[::every],
            strict=True,
        )
        shown = f", every {every}th row" if every > 1 else ""
        title = f"Truth and prediction{shown}"
        pairs, colour = list(points), look_of_model.colour
        errors = [(mean, truth - mean, row) for truth, mean, row in pairs]
        names = {"x": "prediction", "y": "truth - prediction"}
        return [
            scatter(title, pairs, colour, x="truth", y="prediction"),
            replace(
                scatter(f"Residuals{shown}", errors, colour, **names, level=0.0),
                note="A bend or a funnel is something the model missed.",
            ),
        ]
    if isinstance(detail, Windows):
        groups = list(detail.frame.groupby("series", sort=False))[:MOST_SERIES]
        return [
            replace(
                fan(
                    f"The last {counted(len(rows), 'step')}"
                    + (f" of {name}" if len(groups) > 1 else ""),
                    rows.assign(time=_times(rows["time"], is_date=detail.is_date)),
                    look_of_model.colour,
                    y=evaluation.target,
                    history=_before(detail, name),
                ),
                note=f"Line: mean; band: interval of {percent(evaluation.coverage)}; dots: truth.",
            )
            for name, rows in groups
        ]
    return []


def _before(windows: Windows, name: str) -> pd.DataFrame:
    rows = windows.history[windows.history["series"] == name]
    return rows.assign(time=_times(rows["time"], is_date=windows.is_date))


def _with_ranges(classes: Sheet, predicted: Sequence[int]) -> Sheet:
    """The scores of each class, its shares with the range in which chance leaves them."""
    rows = []
    for row, n_predicted in zip(classes.rows, predicted, strict=True):
        cells = dict(zip(classes.columns, row, strict=True))
        n_rows = cells["rows"]
        for name, n in (("recall", n_rows), ("precision", n_predicted), ("in its set", n_rows)):
            share = cells.get(name)
            if isinstance(share, float) and isinstance(n, int) and n:
                cells[name] = f"{brief(share)} ({sampling_words(share, n)})"
        rows.append(tuple(cells.values()))
    return replace(classes, rows=tuple(rows), note=f"{classes.note} {IN_BRACKETS}")


def _variances(evaluation: Evaluation) -> Sheet | None:
    """The uncertainties of numbers as variances, which add up."""
    if evaluation.task == "classification":
        return None
    rows = tuple((OTHER_NAMES.get(n) or n, evaluation.scores[n]) for n in UNCERTAINTIES)
    return Sheet("variances", "Mean variances, which add up", ("part", "variance"), rows)


def _times(column: pd.Series, *, is_date: bool) -> pd.Series:
    """Dates by the clock on the wall, or whole numbers."""
    if not is_date:
        return column.astype(int)
    return pd.Series(pd.DatetimeIndex(column).tz_localize(None), index=column.index)
