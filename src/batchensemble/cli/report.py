"""A model judged, on one page: an HTML file that needs no other file and no network."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from batchensemble.cli.evaluation import Evaluation, Pairs, Windows
from batchensemble.cli.scores import counted, in_words, percent
from batchensemble.data.writing import check_place
from batchensemble.modelfile.files import replacing
from batchensemble.modelfile.persistence import library_version
from batchensemble.plots.charts import Chart, curve, fan, scatter
from batchensemble.plots.looks import Look, look
from batchensemble.plots.page import check_packages, render_page
from batchensemble.plots.sheets import Cell, Sheet, brief, show

MOST_POINTS = 1000
MOST_SERIES = 4
TRIVIAL = {
    "rmse_of_mean": "always saying their mean",
    "rmse_of_season": "repeating the last season",
    "rmse_of_last": "repeating the last value",
}


def check_report(out: Path | None) -> None:
    """Raise an error before any work is done if the page could not be written."""
    if out is None:
        return
    check_packages()
    if out.suffix not in (".html", ".htm"):
        raise ValueError(f"expected the name of an .html file for the report, got {out}")
    check_place(out)


def write_report(model: Any, path: Path, found: Evaluation, out: Path) -> None:
    """The page of a model, kept in `path`, and what came out when it was judged."""
    page = render(model, path, found)
    with replacing(out) as file:
        file.write(page.encode())


def render(model: Any, path: Path, found: Evaluation) -> str:
    """The page as text."""
    own = look(model.method)
    scores = in_words(found.scores, target=found.target, task=found.task, coverage=found.coverage)
    return render_page(
        "batchensemble.cli",
        "evaluation.html.jinja",
        filters={"show": _written},
        note="",
        title=f"{found.target}: how far to trust {path.name}",
        lead=_lead(found),
        warning=found.note,
        left_out=counted(found.n_without_target, "row") if found.n_without_target else "",
        scores=Sheet("scores", "Scores", ("score", "value", "meaning"), tuple(scores)),
        charts=[*_promises(found, own), *_details(found, own)],
        doubtful=found.doubtful,
        mistakes=found.mistakes,
        task=found.task,
        coverage=found.coverage,
        about=_about(model, path, found),
    )


def _written(cell: Cell) -> str:
    """With digits that count, whatever the unit of the target; 1992 may be a year."""
    if isinstance(cell, float):
        return brief(cell)
    return str(cell) if isinstance(cell, int) else show(cell)


def _lead(found: Evaluation) -> str:
    """What matters most, in a few sentences."""
    scores = found.scores
    what = f"{found.judged_on} of {Path(found.file).name}"
    if found.task == "classification":
        said = (
            f"On {what}, {percent(scores['accuracy'])} of the answers are right; always saying the "
            f"commonest class would be right in {percent(scores['accuracy_of_commonest'])}."
        )
        if "coverage_of_sets" in scores:
            held, size = percent(scores["coverage_of_sets"]), scores["size_of_sets"]
            said += (
                f" The sets of {percent(found.coverage)} hold {held} of the truths, with "
                f"{size:.1f} classes on average."
            )
        return said
    name = next(name for name in TRIVIAL if name in scores)
    said = (
        f"On {what}, the typical error is {brief(scores['rmse'])}; {TRIVIAL[name]} would err by "
        f"{brief(scores[name])}. The intervals of {percent(found.coverage)} hold "
        f"{percent(scores['coverage'])} of the truths."
    )
    if found.task == "forecast":
        said += " A window is one forecast, from its last known time."
    return said


def _promises(found: Evaluation, own: Look) -> list[Chart]:
    """Calibration, and what certainty is worth."""
    kept, promised = found.selective, found.calibration
    is_classes = found.task == "classification"
    titles = ("Confidence and accuracy", "Accuracy of the most certain rows")
    if not is_classes:
        things = "windows" if found.task == "forecast" else "rows"
        titles = ("Nominal and empirical coverage", f"Error of the most certain {things}")
    first = curve(
        titles[0],
        promised.at,
        [(own, promised.values)],
        x=promised.x,
        y=promised.y,
        diagonal=True,
        counts=promised.counts,
    )
    return [
        replace(first, note="Larger dots: more rows." * is_classes),
        curve(titles[1], kept.at, [(own, kept.values)], x=kept.x, y=kept.y),
    ]


def _details(found: Evaluation, own: Look) -> list[Chart]:
    detail = found.detail
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
        return [scatter(title, list(points), own.colour, x="truth", y="prediction")]
    if isinstance(detail, Windows):
        groups = list(detail.frame.groupby("series", sort=False))[:MOST_SERIES]
        return [
            replace(
                fan(
                    f"The last {len(rows)} steps" + (f" of {name}" if len(groups) > 1 else ""),
                    rows.assign(time=_times(rows["time"], is_date=detail.is_date)),
                    own.colour,
                    y=found.target,
                ),
                note=f"Line: mean; band: interval of {percent(found.coverage)}; dots: truth.",
            )
            for name, rows in groups
        ]
    return []


def _times(column: pd.Series, *, is_date: bool) -> pd.Series:
    """Dates by the clock on the wall, or whole numbers."""
    if not is_date:
        return column.astype(int)
    return pd.Series(pd.DatetimeIndex(column).tz_localize(None), index=column.index)


def _about(model: Any, path: Path, found: Evaluation) -> dict[str, str]:
    origin = getattr(model, "origin_", {})
    columns = origin.get("columns") or {}
    facts = {
        "Model": path.name,
        "Task": f"{found.task} of {found.target}",
        "Method": look(model.method).label,
        "Parameters": f"{model.n_parameters_:,}",
        "Season": f"{model.season_} steps" if "rmse_of_season" in found.scores else "",
        "Learned from": _source(origin),
        "Columns": ", ".join(f"{name} ({kind})" for name, kind in columns.items()),
        "Fitted": str(getattr(model, "fitted_at_", "")).replace("T", " "),
        "Seed": "" if found.seed is None else str(found.seed),
        "Calibrated with": _calibrated(found),
        "Judged on": f"{Path(found.file).name}, {found.judged_on}",
        "Made with": f"batchensemble {library_version()}",
    }
    return {name: fact for name, fact in facts.items() if fact}


def _calibrated(found: Evaluation) -> str:
    n = found.n_calibrated
    if not n:
        return "nothing"
    if found.task == "classification":
        return f"{counted(n, 'row')} for its sets, as many for its temperature"
    return counted(n, "forecast" if found.task == "forecast" else "row")


def _source(origin: dict[str, Any]) -> str:
    if not origin:
        return ""
    return f"{Path(origin['file']).name}, {origin['n_learned']:,} rows"
