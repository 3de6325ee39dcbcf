"""How good a model is on a file whose truth is known, and which rows it is least sure of."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.cli.answering import answer, check_columns, kinds_of, read_series
from batchensemble.cli.evaluation import (
    MOST_CLASSES,
    Curve,
    Evaluation,
    Pairs,
    Windows,
    doubtful,
    mistakes,
)
from batchensemble.cli.scores import counted
from batchensemble.conformal import interval_scores
from batchensemble.data.frames import Kind
from batchensemble.data.reading import open_table
from batchensemble.data.text import read_as
from batchensemble.estimators import Classifier, Forecaster, Regressor
from batchensemble.metrics import (
    CoverageCurve,
    interval_coverage,
    pit_coverage_curve,
    reliability_curve,
    rmse,
    selective_accuracy,
    selective_rmse,
    summarise_classification,
    summarise_paths,
    summarise_regression,
)
from batchensemble.predictive import CategoricalPredictive, GaussianPredictive, SamplePredictive

MOST_WINDOWS = 100


def evaluate(model: Any, data: Path, *, target: str | None, coverage: float) -> Evaluation:
    """`target` is the column of truth, where it is not that of fit."""
    found = _evaluate(model, data, target, coverage)
    seed = model.random_state if isinstance(model.random_state, int) else None
    return replace(found, seed=seed, n_calibrated=len(getattr(model, "calibration_", ())))


def _evaluate(model: Any, data: Path, target: str | None, coverage: float) -> Evaluation:
    if isinstance(model, Forecaster):
        if target not in (None, model.target_col):
            raise ValueError(f"expected the target of fit, {model.target_col!r}, got {target!r}")
        return evaluate_series(model, data, coverage=coverage)
    target = target or model.target_name_
    if target is None:
        raise ValueError("expected --target: the model does not know what its target was called")
    found = evaluate_table(model, target, data, coverage=coverage)
    origin = getattr(model, "origin_", {})
    n_rows = found.n_rows + found.n_without_target
    if (Path(origin.get("file", "")).name, origin.get("n_rows")) == (data.name, n_rows):
        found = replace(found, note="the model learned from this file, so its scores flatter it")
    return found


def evaluate_table(
    model: Regressor | Classifier, target: str, data: Path, *, coverage: float
) -> Evaluation:
    """Every row with a target is predicted and compared."""
    kinds = kinds_of(model)
    with open_table(data) as file:
        check_columns([target], file, "a column of truths")
        check_columns(kinds, file)
        parts = [read_as(rows, kinds | {target: _kind(model)}, file) for rows in file.batches()]
        if not parts:
            raise ValueError(f"{file.name}: expected rows to judge by, got none")
        unit = file.unit
    every = pd.concat(parts)
    known = every[every[target].notna()]
    if len(known) < 2:
        raise ValueError(f"{data}: expected at least 2 rows with a {target!r}, got {len(known)}")
    rows = _Known(str(data), unit, known[list(kinds)], known[target], len(every) - len(known))
    if isinstance(model, Regressor):
        return _regression(model, rows, coverage)
    return _classification(model, rows, coverage)


@dataclass(frozen=True)
class _Known:
    """Rows whose truth is known."""

    file: str
    unit: str
    X: pd.DataFrame
    target: pd.Series
    n_without_target: int

    def evaluation(self, task: str, coverage: float, **found: Any) -> Evaluation:
        name, n_rows = str(self.target.name), len(self.X)
        return Evaluation(self.file, task, name, coverage, n_rows, self.n_without_target, **found)


def _regression(model: Regressor, rows: _Known, coverage: float) -> Evaluation:
    X, y = rows.X, rows.target.to_numpy(dtype=np.float64)
    dist, answers = model.predict_dist(X), answer(model, X, coverage)
    held = interval_coverage(
        y, lower=answers["lower"].to_numpy(), upper=answers["upper"].to_numpy()
    )
    own = pit_coverage_curve(dist.cdf(y))
    promised, scores = _as_predicted(model, y, dist, own, score_numbers(y, dist))
    scores["coverage"] = held
    scores.pop("coverage_90")
    kept = selective_rmse(y, mean=dist.mean, uncertainty=dist.std)
    beside = {"truth": y, **{name: answers[name] for name in ("mean", "lower", "upper", "std")}}
    return rows.evaluation(
        "regression",
        coverage,
        scores=scores,
        calibration=Curve.of("nominal", "empirical", promised.levels, promised.empirical),
        selective=Curve.of("share of rows kept", "RMSE", kept.coverages, kept.values),
        doubtful=doubtful(X, dist.std, beside, rows.unit),
        detail=Pairs(y, dist.mean, [f"{rows.unit} {number}" for number in X.index]),
    )


def _classification(model: Classifier, rows: _Known, coverage: float) -> Evaluation:
    X, found = rows.X, rows.target.to_numpy()
    unknown = np.flatnonzero(~np.isin(found, model.classes_))
    if unknown.size:
        stranger = found[unknown[0]]
        got = f"{stranger:g}" if isinstance(stranger, float) else repr(stranger)
        raise ValueError(
            f"{rows.file}, {rows.unit} {X.index[unknown[0]]}, column {rows.target.name!r}: "
            "expected a class that "
            f"the model knows, {model.classes_.tolist()[:MOST_CLASSES]}, got "
            f"{got} ({counted(unknown.size, 'such row')}); take these rows out"
        )
    labels = found.astype(model.classes_.dtype)  # only now: a cast would cut strangers to size
    dist, answers = model.predict_dist(X), answer(model, X, coverage)
    y = dist.encode(labels)
    scores = score_classes(labels, dist)
    if hasattr(model, "calibration_"):
        sets = model.predict_set(X, coverage)
        scores["coverage_of_sets"] = float(sets[np.arange(len(y)), y].mean())
        scores["size_of_sets"] = float(sets.sum(axis=1).mean())
    bins = reliability_curve(y, probabilities=dist.mean)
    full = bins.counts > 0
    right = Curve.of("confidence", "accuracy", bins.confidence[full], bins.accuracy[full])
    kept = selective_accuracy(y, probabilities=dist.mean, uncertainty=dist.total)
    beside = {
        "truth": labels,
        **{name: answers[name] for name in ("prediction", "confidence", "total")},
    }
    return rows.evaluation(
        "classification",
        coverage,
        scores=scores,
        calibration=replace(right, counts=bins.counts[full].astype(int).tolist()),
        selective=Curve.of("share of rows kept", "accuracy", kept.coverages, kept.values),
        doubtful=doubtful(X, dist.total, beside, rows.unit),
        mistakes=mistakes(model.classes_, y, dist.mean.argmax(axis=1)),
    )


def evaluate_series(model: Forecaster, data: Path, *, coverage: float) -> Evaluation:
    """Rows that follow what the model knows are forecast, from every time that leaves a horizon."""
    new, n_without = read_series(model, data)
    df, counts = _continued(model, new)
    h = int(model._settings["horizon"])
    n_windows = min(int(counts.min()) - h + 1, MOST_WINDOWS)
    if n_windows < 1:
        raise ValueError(
            f"{data}: expected at least {h} new steps of every series, as many as the model "
            f"forecasts, got {int(counts.min())} for {counts.idxmin()!r}; add rows, or fit with a "
            "shorter --horizon"
        )
    how: dict[str, Any] = {"n_windows": n_windows, "refit": False}
    frame = model.cross_validation(df, level=[100 * coverage], **how)
    dist = model.cross_validation_dist(df, **how)
    frame.columns = ["series", "time", "cutoff", "truth", "mean", "lower", "upper"]
    truth = frame["truth"].to_numpy().reshape(len(dist), dist.horizon)
    held = interval_coverage(
        frame["truth"].to_numpy(), lower=frame["lower"].to_numpy(), upper=frame["upper"].to_numpy()
    )
    own = pit_coverage_curve((dist.paths <= truth[:, None, None]).mean(axis=(1, 2)))
    found = score_paths(model, df, truth, dist)
    promised, scores = _as_predicted(model, truth, dist, own, found)
    scores["coverage"] = held
    doubt = dist.std.mean(axis=1)
    kept = selective_rmse(truth, mean=dist.mean, uncertainty=doubt)
    ends = frame.iloc[:: dist.horizon]
    beside = {
        "series": ends["series"].to_numpy(),
        "known until": ends["cutoff"].astype(str).to_numpy(),
        "RMSE": np.sqrt(np.square(dist.mean - truth).mean(axis=1)),
        "mean std": doubt,
    }
    return Evaluation(
        str(data),
        "forecast",
        model.target_col,
        coverage,
        len(frame[["series", "time"]].drop_duplicates()),
        n_without,
        scores,
        Curve.of("nominal", "empirical", promised.levels, promised.empirical),
        Curve.of("share of windows kept", "RMSE", kept.coverages, kept.values),
        doubtful(pd.DataFrame(index=np.arange(1, len(dist) + 1)), doubt, beside, "window"),
        detail=Windows(
            frame[frame["cutoff"] == frame.groupby("series")["cutoff"].transform("max")],
            isinstance(model.panel_.times, pd.DatetimeIndex),
        ),
        n_windows=len(dist),
        horizon=h,
    )


def _as_predicted(
    model: Regressor | Forecaster,
    y: NDArray[Any],
    dist: GaussianPredictive | SamplePredictive,
    own: CoverageCurve,
    scores: dict[str, float],
) -> tuple[CoverageCurve, dict[str, float]]:
    """Curve and scores of the intervals that `predict` writes; calibrated ones are not `dist`'s."""
    if not hasattr(model, "calibration_"):
        return own, scores
    new = interval_scores(y, mean=dist.mean, std=dist.std)
    curve = model.calibration_.coverage_curve(new.reshape(len(new), -1))
    held = dict(zip(curve.levels.tolist(), curve.empirical.tolist(), strict=True))
    scores = scores | {"rmsce": curve.rmsce(), "miscalibration_area": curve.miscalibration_area()}
    for name, level in (("coverage_80", 0.8), ("coverage_95", 0.95)):
        if scores.pop(name, None) is not None and level in held:
            scores[name] = held[level]
    return curve, scores


def _continued(model: Forecaster, new: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    """What the model knows, followed by rows that it does not; and how many of these by series."""
    panel = model.panel_
    if model.id_col not in new:
        new = new.assign(**{model.id_col: model.target_col})
    columns = {column.name: column.values for column in panel.columns or ()}
    known = pd.DataFrame(
        {
            model.id_col: np.repeat(panel.ids, panel.lengths),
            model.time_col: panel.times,
            model.target_col: panel.values,
            **columns,
        }
    )
    last = pd.Series(panel.last_times, index=panel.ids.tolist())
    strangers = sorted({*new[model.id_col]} - {*last.index})
    if strangers:
        raise ValueError(f"expected only series that fit has seen, got {strangers[:5]}")
    new = new[new[model.time_col] > new[model.id_col].map(last)]
    counts = new[model.id_col].value_counts().reindex(last.index, fill_value=0)
    return pd.concat([known, new], ignore_index=True), counts


def score_numbers(y: NDArray[Any], dist: GaussianPredictive) -> dict[str, float]:
    """The library's summary, and beside it what always saying the mean would give."""
    always = rmse(y, mean=np.full(len(y), y.mean()))
    return summarise_regression(y, dist) | {"rmse_of_mean": always}


def score_classes(labels: NDArray[Any], dist: CategoricalPredictive) -> dict[str, float]:
    """The same, and what always saying the commonest class would give."""
    counts = np.unique(labels, return_counts=True)[1]
    always = float(counts.max() / len(labels))
    return summarise_classification(labels, dist) | {"accuracy_of_commonest": always}


def score_paths(
    model: Forecaster, df: pd.DataFrame, truth: NDArray[Any], dist: SamplePredictive
) -> dict[str, float]:
    """The same of the last windows of df, and what repeating what came before them would give."""
    n_windows = len(dist) // len(model.panel_)
    _, panel, ahead, _ = model._past(df, None, n_windows, 1, refit=False)
    after = ahead.starts[:, None] + model._reach  # the first step of each window

    def repeated(n: int) -> float:
        return rmse(truth, mean=panel.values[after - n + np.arange(dist.horizon) % n])

    scores = summarise_paths(truth, dist) | {"rmse_of_last": repeated(1)}
    shortest = int(panel.lengths.min()) - dist.horizon - n_windows + 1  # what a first window knows
    if 1 < model.season_ <= shortest:
        scores["rmse_of_season"] = repeated(model.season_)
    return scores


def _kind(model: Regressor | Classifier) -> Kind:
    """How the target is read."""
    if isinstance(model, Regressor):
        return "number"
    kinds: dict[str, Kind] = {"b": "boolean", "i": "number", "u": "number", "f": "number"}
    return kinds.get(model.classes_.dtype.kind, "category")
