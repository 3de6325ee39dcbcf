"""A model's predictions compared with a file whose truth is known."""

import math
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import softmax

from batchensemble import metrics
from batchensemble.cli.censoring import censored_rows, compare_censored
from batchensemble.cli.columns import check_columns, notations_of, open_new, read_rows, table_kinds
from batchensemble.cli.evaluation import (
    MOST_CLASSES,
    Curve,
    Evaluation,
    Pairs,
    by_class,
    doubtful,
    mistakes,
    told_apart,
)
from batchensemble.cli.format import counted
from batchensemble.cli.interval_curves import compare_intervals
from batchensemble.cli.scores import doubt_about_coverage, doubts_about_scores
from batchensemble.cli.series_comparison import evaluate_series
from batchensemble.cli.subgroups import by_subgroup, reasons
from batchensemble.cli.wording import in_options
from batchensemble.conformal import neglected
from batchensemble.data.columns import Kind
from batchensemble.data.file_lists import is_among
from batchensemble.data.file_options import AS_FOUND, FileOptions
from batchensemble.data.scalars import GAPS
from batchensemble.data.units import doubt_about_truth
from batchensemble.estimators.answers import prediction_columns
from batchensemble.estimators.classifier import Classifier
from batchensemble.estimators.forecaster import Forecaster
from batchensemble.estimators.regressor import Regressor
from batchensemble.estimators.target_kinds import described
from batchensemble.estimators.usefulness import about_neglected
from batchensemble.predictive import CategoricalPredictive, NumberPredictive

RARE = 0.2  # the share of a class below which accuracy says little
TARGET_KINDS: dict[str, Kind] = {"b": "boolean", "i": "number", "u": "number", "f": "number"}


def evaluate_file(
    model: Any,
    path: Path,
    *,
    target: str | None,
    coverage: float,
    options: FileOptions = AS_FOUND,
    explains: bool = False,
) -> Evaluation:
    """`target` is the column with the truth, if it is not that of fit.

    With `explains`, the least certain rows are explained, if the package shap is here.
    """
    facts = {
        "file": str(path),
        "coverage": coverage,
        "seed": model.random_state if isinstance(model.random_state, int) else None,
        "n_calibrated": len(model.calibration_ or ()),
    }
    if isinstance(model, Forecaster):
        if target not in (None, model.target_col):
            raise ValueError(
                f"expected the target of fit, {model.target_col!r}, got {target!r}; omit --target"
            )
        return _warned(evaluate_series(model, path, facts, options))
    target = target or model.target_name_
    if target is None:
        raise ValueError("the model does not know the name of its target; add --target")
    with_reasons = explains and find_spec("shap") is not None
    return _warned(_evaluate_table(model, path, target, facts, options, with_reasons))


def _warned(evaluation: Evaluation) -> Evaluation:
    """With sentences about what its scores give away."""
    warnings: list[str] = []
    n = evaluation.n_rows // (evaluation.horizon or 1)  # steps of one window err alike
    if not evaluation.verdict:  # which says it already
        warnings = doubts_about_scores(evaluation.scores, evaluation.task, n)
    if "coverage" in evaluation.scores:
        n_values = evaluation.n_rows if evaluation.horizon else 0
        held = evaluation.scores["coverage"]
        warnings += doubt_about_coverage(held, evaluation.coverage, n, n_values)
    return replace(evaluation, warnings=(*warnings, *evaluation.warnings))


def _evaluate_table(
    model: Regressor | Classifier,
    path: Path,
    target: str,
    facts: dict[str, Any],
    options: FileOptions,
    with_reasons: bool,
) -> Evaluation:
    """Every row with a target is predicted and compared."""
    kinds, origin = table_kinds(model), getattr(model, "origin_", {})
    said = origin.get("censored", {})  # the column that says which targets are censored
    labels = "f" if isinstance(model, Regressor) else model.classes_.dtype.kind
    with_target = kinds | {target: TARGET_KINDS.get(labels, "category")}
    notations = notations_of(model)
    with open_new(path, options) as file:
        check_columns([target], file, "the target", "add it, or name another with --target")
        check_columns(kinds, file)
        check_columns(said, file, "the --censored column of fit", "add it: 0 for known targets")
        with_target |= dict.fromkeys(said, "category")  # yes and no, too, after True and False
        parts = [read_rows(model, rows, file, with_target, notations) for rows in file.batches()]
        if not parts:
            raise ValueError(f"{file.name}: expected rows to evaluate, got none; add some")
    every = pd.concat(parts)
    rows = every[every[target].notna()]
    odd = sorted(GAPS.intersection(() if labels == "f" else map(str, model.classes_)))
    if odd and len(rows) < len(every):
        raise ValueError(
            f"{path}: {counted(len(every) - len(rows), 'cell')} of {target!r} may be missing or of "
            f"the class {odd[0]!r}, which stands for a missing value in files; rename the class, "
            "or score in Python"
        )
    if len(rows) < 2:
        raise ValueError(
            f"{path}: expected at least 2 rows with a value in {target!r}, got {len(rows)}; add "
            "rows"
        )
    note, n_before = "", origin.get("n_rows", math.inf)
    learned = origin.get("file", "")
    is_this = len(every) == n_before and path.resolve() == Path(learned).resolve()
    if is_this or is_among(path, learned):
        note = "the model learned from this file, so its scores are too good"
    elif len(every) >= n_before and path.name == Path(learned).name:
        note = (
            f"the model learned from a file of this name with {n_before:,} rows; if they are "
            "among these, scores are too good"
        )
    facts |= {
        "target": target,
        "n_rows": len(rows),
        "n_without_target": len(every) - len(rows),
        "note": note,
    }
    censored = [censored_rows(rows[name], str(path)) for name in said]
    if censored and censored[0].any():
        compared = compare_censored(
            model, rows[list(kinds)], rows[target], censored[0], file.unit, facts
        )
    else:
        compare = _compare_numbers if isinstance(model, Regressor) else _compare_classes
        compared = compare(model, rows[list(kinds)], rows[target], file.unit, facts)
    if with_reasons:
        X = rows[list(kinds)]
        doubt = model.uncertainty(X).total
        compared["reasons"] = reasons(model, X, doubt, file.unit)
    return Evaluation(
        **facts | {"note": "; ".join(filter(None, _notes(model, facts, rows[target], *censored)))},
        **compared,
    )


def _notes(
    model: Any, facts: dict[str, Any], y: pd.Series, censored: NDArray[np.bool_] | None = None
) -> list[str]:
    transform = getattr(model.model_.head, "transform", None)
    if transform is None:
        return [facts["note"]]
    is_below = (y < transform.low) & (True if censored is None else ~censored)
    n = int(np.count_nonzero(is_below | (y > transform.high)))
    kind = described(model.target_kind_, transform)
    cure = "so the NLL is infinite; to allow them, fit with --target-kind real"
    return [facts["note"], f"{counted(n, 'target')} cannot be ({kind}), {cure}" if n else ""]


def _compare_numbers(
    model: Any, X: pd.DataFrame, truth: pd.Series, unit: str, facts: dict[str, Any]
) -> dict[str, Any]:
    y = truth.to_numpy(dtype=np.float64)
    dist, groups = model.predict_dist(X), model.groups_in(X)
    columns = prediction_columns(model, dist, facts["coverage"], groups)
    scores = score_numbers(y, dist, whole=model.is_count)
    scores.pop("coverage_90")
    beside = {"truth": y, **{name: columns[name] for name in ("mean", "lower", "upper", "std")}}
    lower, upper = columns["lower"].to_numpy(), columns["upper"].to_numpy()
    is_inside = (lower <= y) & (y <= upper)
    told = doubt_about_truth(str(truth.name), y, dist.mean, lower, upper)
    return {
        "task": "regression",
        "warnings": tuple(map(in_options, told)),
        **compare_intervals(model, y, dist, columns, scores, groups),
        "doubtful": doubtful(X, dist.std, beside, unit),
        "subgroups": by_subgroup(X, dist.std, {"coverage": is_inside}),
        "detail": Pairs(y, dist.mean, [f"{unit} {number}" for number in X.index]),
    }


def _compare_classes(
    model: Any, X: pd.DataFrame, truth: pd.Series, unit: str, facts: dict[str, Any]
) -> dict[str, Any]:
    unknown = np.flatnonzero(~np.isin(truth.to_numpy(), model.classes_))
    if unknown.size:
        label = truth.iloc[unknown[0]]
        got = f"{label:g}" if isinstance(label, float) else repr(label)
        raise ValueError(
            f"{facts['file']}, {unit} {X.index[unknown[0]]}, column {truth.name!r}: expected a "
            f"class that the model knows, {model.classes_.tolist()[:MOST_CLASSES]}, got {got} "
            f"({counted(unknown.size, 'such row')}); delete these rows"
        )
    labels = truth.to_numpy().astype(model.classes_.dtype)  # all are known: no cast cuts them
    dist, groups = model.predict_dist(X), model.groups_in(X)
    columns = prediction_columns(model, dist, facts["coverage"], groups)
    y = dist.encode(labels)
    scores = score_classes(labels, dist)
    inside, warnings = None, tuple[str, ...]()
    holds = {"accuracy": dist.mean.argmax(axis=1) == y}
    if model.calibration_ is not None:
        sets = model.calibration_.sets(dist.mean, facts["coverage"], groups=groups)
        inside = sets[np.arange(len(y)), y]
        scores["coverage_of_sets"] = float(inside.mean())
        holds["coverage of sets"] = inside
        before = _untempered(dist, model.calibration_.temperature)
        scores["ece_before"] = metrics.ece(y, probabilities=before)
        scores["size_of_sets"] = float(sets.sum(axis=1).mean())
        if not model.calibration_.per_class:
            left_out = neglected(sets, y, facts["coverage"])
            said = about_neglected(left_out, model.classes_, facts["coverage"])
            warnings = tuple(map(in_options, said))
    bins = metrics.reliability_curve(y, probabilities=dist.mean)
    full = bins.counts > 0
    curve = Curve.of("confidence", "accuracy", bins.confidence[full], bins.accuracy[full])
    kept = metrics.selective_accuracy(y, probabilities=dist.mean, uncertainty=dist.total)
    beside = {name: columns[name] for name in ("prediction", "confidence", "total")}
    return {
        "task": "classification",
        "scores": scores,
        "calibration": replace(curve, counts=bins.counts[full].astype(int).tolist()),
        "selective": Curve.of("share of rows kept", "accuracy", kept.coverages, kept.values),
        "doubtful": doubtful(X, dist.total, {"truth": labels, **beside}, unit),
        "mistakes": mistakes(model.classes_, y, dist.mean.argmax(axis=1)),
        "classes": by_class(model.classes_, y, dist.mean, inside),
        "predicted": np.bincount(dist.mean.argmax(axis=1), minlength=len(model.classes_)).tolist(),
        "warnings": warnings,
        "subgroups": by_subgroup(X, dist.total, holds),
    }


def _untempered(dist: CategoricalPredictive, temperature: float) -> NDArray[np.float64]:
    """Mean probabilities before calibration divided the logits by a temperature."""
    logits = temperature * np.log(np.maximum(dist.probabilities, np.finfo(np.float64).tiny))
    return np.asarray(softmax(logits, axis=2).mean(axis=1))


def score_numbers(
    y: NDArray[Any], dist: NumberPredictive, *, whole: bool = False
) -> dict[str, float]:
    """The library's summary, and as a baseline the RMSE of predicting the mean."""
    baseline = metrics.rmse(y, mean=np.full(len(y), y.mean()))
    return metrics.summarise_regression(y, dist, whole=whole) | {"rmse_of_mean": baseline}


def score_classes(labels: NDArray[Any], dist: CategoricalPredictive) -> dict[str, float]:
    """The library's summary, and as a baseline the accuracy of the most common class.

    Of two classes, one of them rare, also how well it is told apart: there accuracy says little.
    """
    counts = np.bincount(dist.encode(labels), minlength=dist.mean.shape[1])
    scores = metrics.summarise_classification(labels, dist)
    scores["accuracy_of_commonest"] = float(counts.max() / len(labels))
    share = float(counts.min() / len(labels))
    if len(counts) == 2 and 0 < share < RARE:
        rarer = int(counts.argmin())
        is_rarer, chance = dist.encode(labels) == rarer, dist.mean[:, rarer]
        scores["auc"], scores["average_precision"] = told_apart(is_rarer, chance)
        scores["share_of_rarer"] = share
    return scores
