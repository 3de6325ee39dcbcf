"""Facts about a model that a report ends with."""

from pathlib import Path
from typing import Any

from batchensemble.cli.evaluation import Evaluation
from batchensemble.cli.format import counted, percent
from batchensemble.conformal import assured_coverage, fewest_rows
from batchensemble.modelfile.version import VERSION
from batchensemble.plots.looks import look


def about(model: Any, path: Path, evaluation: Evaluation) -> dict[str, str]:
    """By their names, those that are known."""
    origin = getattr(model, "origin_", {})
    columns = origin.get("columns") or {}
    facts = {
        "Model": path.name,
        "Task": f"{evaluation.task} of {evaluation.target}",
        "Method": look(model.method).label,
        "Parameters": f"{model.n_parameters_:,}",
        "Season": f"{model.season_} steps" if "rmse_of_season" in evaluation.scores else "",
        "Trained on": _source(origin),
        "Columns": ", ".join(f"{name} ({kind})" for name, kind in columns.items()),
        "Fitted": str(getattr(model, "fitted_at_", "")).replace("T", " "),
        "Seed": "" if evaluation.seed is None else str(evaluation.seed),
        "Calibrated with": _calibrated(model, evaluation),
        "Evaluated on": f"{Path(evaluation.file).name}, {evaluation.judged_on}",
        "Made with": f"batchensemble {VERSION}",
    }
    return {name: fact for name, fact in facts.items() if fact}


def _calibrated(model: Any, evaluation: Evaluation) -> str:
    n = evaluation.n_calibrated
    if not n:
        return "no rows: not calibrated"
    if evaluation.task == "forecast":
        return counted(n, "forecast")
    said, fewest = counted(n, "row"), model.calibration_.fewest
    if evaluation.task == "classification":
        said += " for its sets, as many for its temperature"
    if fewest >= fewest_rows(evaluation.coverage):
        assured = percent(assured_coverage(fewest, evaluation.coverage))
        said += f"; coverage of new rows is at least {assured} with 95 % confidence"
    return said


def _source(origin: dict[str, Any]) -> str:
    if not origin:
        return ""
    return f"{Path(origin['file']).name}, {origin['n_learned']:,} rows"
