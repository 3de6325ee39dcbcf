"""A model's predictions compared with a file whose truth is known."""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble import metrics
from batchensemble.cli.censoring import censored_rows, compare_censored
from batchensemble.cli.columns import (
    check_columns,
    notations_of,
    read_series,
    table_kinds,
)
from batchensemble.cli.coverage_in_time import coverage_in_time
from batchensemble.cli.errors import about_file
from batchensemble.cli.evaluation import (
    MOST_CLASSES,
    Curve,
    Evaluation,
    Pairs,
    Windows,
    by_class,
    doubtful,
    mistakes,
    told_apart,
)
from batchensemble.cli.forecast_scores import score_forecast
from batchensemble.cli.format import counted
from batchensemble.cli.scores import doubt_about_coverage, doubts_about_scores
from batchensemble.cli.subgroups import by_subgroup, reasons
from batchensemble.cli.wording import in_options
from batchensemble.conformal import neglected
from batchensemble.data.file_options import AS_FOUND, FileOptions
from batchensemble.data.frames import Kind
from batchensemble.data.public_holidays import holiday_names
from batchensemble.data.reading import open_table
from batchensemble.data.text import read_as
from batchensemble.estimators import Classifier, Forecaster, Regressor
from batchensemble.estimators.answers import prediction_columns, with_zones
from batchensemble.estimators.forecast import Forecast
from batchensemble.estimators.target_kinds import described
from batchensemble.estimators.usefulness import about_neglected
from batchensemble.predictive import CategoricalPredictive, NumberPredictive, SamplePredictive

MOST_WINDOWS = 100
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
        return _warned(_evaluate_series(model, path, facts, options))
    target = target or model.target_name_
    if target is None:
        raise ValueError("the model does not know the name of its target; add --target")
    with_reasons = explains and find_spec("shap") is not None
    return _warned(_evaluate_table(model, path, target, facts, options, with_reasons))


def _warned(evaluation: Evaluation) -> Evaluation:
    """With sentences about what its scores give away."""
    warnings: list[str] = []
    if not evaluation.verdict:  # which says it already
        warnings = doubts_about_scores(evaluation.scores, evaluation.task)
    if "coverage" in evaluation.scores:
        n = evaluation.n_rows // (evaluation.horizon or 1)  # steps of one window err alike
        warnings += doubt_about_coverage(evaluation.scores["coverage"], evaluation.coverage, n)
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
    with open_table(path, options) as file:
        check_columns([target], file, "the target", "add it, or name another with --target")
        check_columns(kinds, file)
        check_columns(said, file, "the --censored column of fit", "add it: 0 for known targets")
        with_target |= said
        parts = [
            with_zones(model, read_as(rows, with_target, file, notations))
            for rows in file.batches()
        ]
        if not parts:
            raise ValueError(f"{file.name}: expected rows to evaluate, got none; add some")
    every = pd.concat(parts)
    rows = every[every[target].notna()]
    if len(rows) < 2:
        raise ValueError(
            f"{path}: expected at least 2 rows with a {target!r}, got {len(rows)}; fill it in"
        )
    is_same = (Path(origin.get("file", "")).name, origin.get("n_rows")) == (path.name, len(every))
    facts |= {
        "target": target,
        "n_rows": len(rows),
        "n_without_target": len(every) - len(rows),
        "note": "the model learned from this file, so its scores are too good" if is_same else "",
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
        **facts | {"note": "; ".join(filter(None, _notes(model, facts, compared)))}, **compared
    )


def _notes(model: Any, facts: dict[str, Any], compared: dict[str, Any]) -> list[str]:
    transform = getattr(model.model_.head, "transform", None)
    if transform is None:
        return [facts["note"]]
    if compared.get("detail") is None:
        return [facts["note"]]
    y = compared["detail"].truth
    n = int(np.count_nonzero((y < transform.low) | (y > transform.high)))
    kind = described(model.target_kind_, transform)
    cure = "so the NLL is infinite; to allow them, fit with --target-kind real"
    return [facts["note"], f"{counted(n, 'target')} cannot be ({kind}), {cure}" if n else ""]


def _compare_numbers(
    model: Any, X: pd.DataFrame, truth: pd.Series, unit: str, facts: dict[str, Any]
) -> dict[str, Any]:
    y = truth.to_numpy(dtype=np.float64)
    dist, groups = model.predict_dist(X), model.groups_in(X)
    columns = prediction_columns(model, dist, facts["coverage"], groups)
    scores = score_numbers(y, dist)
    scores.pop("coverage_90")
    beside = {"truth": y, **{name: columns[name] for name in ("mean", "lower", "upper", "std")}}
    lower, upper = columns["lower"].to_numpy(), columns["upper"].to_numpy()
    is_inside = (lower <= y) & (y <= upper)
    return {
        "task": "regression",
        **_of_intervals(model, y, dist, columns, scores, groups),
        "doubtful": doubtful(X, dist.std, beside, unit),
        "subgroups": by_subgroup(X, dist.std, is_inside, "coverage"),
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
    if model.calibration_ is not None:
        sets = model.calibration_.sets(dist.mean, facts["coverage"], groups=groups)
        inside = sets[np.arange(len(y)), y]
        scores["coverage_of_sets"] = float(inside.mean())
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
        "warnings": warnings,
        "subgroups": by_subgroup(X, dist.total, dist.mean.argmax(axis=1) == y, "accuracy"),
    }


def _evaluate_series(
    model: Forecaster, path: Path, facts: dict[str, Any], options: FileOptions
) -> Evaluation:
    """Rows that follow what the model knows are forecast, from every time that leaves a horizon."""
    new, n_without = read_series(model, path, options)
    df, counts = _continued(model, new, path)
    h = model.model_.horizon
    n_windows = min(int(counts.min()) - h + 1, MOST_WINDOWS)
    if n_windows < 1:
        raise ValueError(
            f"{path}: expected at least {h} new steps of every series, as many as the model "
            f"forecasts, got {int(counts.min())} for {counts.idxmin()!r}; add rows, or fit with a "
            "shorter --horizon"
        )
    with about_file(path):
        past = model.backtest(df, n_windows=n_windows, refit="never").complete()
    truth, dist = past.truth, past.dist
    frame = past.frame(past.columns([100 * facts["coverage"]]), with_truth=True)
    frame.columns = ["series", "time", "cutoff", "truth", "mean", "lower", "upper"]
    scores, doubt = score_forecast(past, model.season_), dist.std.mean(axis=1)
    ends = frame.iloc[:: dist.horizon]
    beside = {
        "series": ends["series"].to_numpy(),
        "known until": ends["cutoff"].astype(str).to_numpy(),
        "RMSE": np.sqrt(np.square(dist.mean - truth).mean(axis=1)),
        "mean std": doubt,
    }
    windows = pd.DataFrame(index=np.arange(1, len(dist) + 1))
    is_last = frame["cutoff"] == frame.groupby("series")["cutoff"].transform("max")
    return Evaluation(
        **facts,
        task="forecast",
        target=model.target_col,
        n_rows=len(frame[["series", "time"]].drop_duplicates()),
        n_without_target=n_without,
        **_of_intervals(model, truth, dist, frame, scores, past=past),
        **coverage_in_time(frame, h),
        doubtful=doubtful(windows, doubt, beside, "window"),
        detail=Windows(
            frame[is_last],
            _history(model, df, frame[is_last], 3 * h),
            isinstance(model.panel_.times, pd.DatetimeIndex),
        ),
        n_windows=len(dist),
        horizon=h,
    )


def _history(model: Forecaster, df: pd.DataFrame, last: pd.DataFrame, n: int) -> pd.DataFrame:
    """The last n values before the last window of each series."""
    names = {model.id_col: "series", model.time_col: "time", model.target_col: "truth"}
    known = df.rename(columns=names)[[*names.values()]]
    cutoffs = last.groupby("series")["cutoff"].first()
    known = known[known["time"] <= known["series"].map(cutoffs)].sort_values("time")
    return known.groupby("series", sort=False).tail(n)


def _of_intervals(
    model: Regressor | Forecaster,
    y: NDArray[Any],
    dist: Any,
    columns: pd.DataFrame,
    scores: dict[str, float],
    groups: Any = None,
    past: Forecast | None = None,
) -> dict[str, Any]:
    """Scores and curves of the intervals that `predict` writes, calibrated where the model is."""
    is_series, uncalibrated = isinstance(dist, SamplePredictive), None
    below = (dist.paths <= y[:, None, None]).mean(axis=(1, 2)) if is_series else dist.cdf(y)
    curve = metrics.pit_coverage_curve(below)
    if model.calibration_ is not None:
        if past is not None and model.calibration_.cutoffs is not None:
            curve = past.adapted_curve()
        else:
            deviations = model.calibration_.deviations_of(y, dist)
            curve = model.calibration_.coverage_curve(deviations, groups)
        before = metrics.pit_coverage_curve(below, levels=curve.levels)
        uncalibrated = Curve.of("nominal", "empirical", before.levels, before.empirical)
        actual = dict(zip(curve.levels.tolist(), curve.empirical.tolist(), strict=True))
        scores |= {"rmsce": curve.rmsce(), "miscalibration_area": curve.miscalibration_area()}
        for name, level in (("coverage_80", 0.8), ("coverage_95", 0.95)):
            if scores.pop(name, None) is not None and level in actual:
                scores[name] = actual[level]
    lower, upper = columns["lower"].to_numpy(), columns["upper"].to_numpy()
    scores["coverage"] = metrics.interval_coverage(np.ravel(y), lower=lower, upper=upper)
    doubt = dist.std.reshape(len(dist), -1).mean(axis=1)
    kept = metrics.selective_rmse(y, mean=dist.mean, uncertainty=doubt)
    share = f"share of {'windows' if is_series else 'rows'} kept"
    return {
        "scores": scores,
        "calibration": Curve.of("nominal", "empirical", curve.levels, curve.empirical),
        "selective": Curve.of(share, "RMSE", kept.coverages, kept.values),
        "uncalibrated": uncalibrated,
    }


def _continued(model: Forecaster, new: pd.DataFrame, path: Path) -> tuple[pd.DataFrame, pd.Series]:
    """What the model knows, followed by new rows; and the number of these by series."""
    panel = model.panel_
    if model.id_col not in new:
        new = new.assign(**{model.id_col: model.target_col})
    computed = holiday_names(model.holidays)
    known = pd.DataFrame(
        {
            model.id_col: np.repeat(panel.ids, panel.lengths),
            model.time_col: panel.times,
            model.target_col: panel.observed,
            **{c.name: c.values for c in panel.columns or () if c.name not in computed},
        }
    )
    last = pd.Series(panel.last_times, index=panel.ids.tolist())
    unknown = sorted({*new[model.id_col]} - {*last.index})
    if unknown:
        raise ValueError(
            f"{path}: expected only series of fit, got {unknown[:5]}; delete the rows of the others"
        )
    new = new[new[model.time_col] > new[model.id_col].map(last)]
    counts = new[model.id_col].value_counts().reindex(last.index, fill_value=0)
    return pd.concat([known, new], ignore_index=True), counts


def score_numbers(y: NDArray[Any], dist: NumberPredictive) -> dict[str, float]:
    """The library's summary, and as a baseline the RMSE of predicting the mean."""
    baseline = metrics.rmse(y, mean=np.full(len(y), y.mean()))
    return metrics.summarise_regression(y, dist) | {"rmse_of_mean": baseline}


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
