"""Train on one part of the data; score and calibrate the model with the part held out."""

import math
import warnings
from collections.abc import Collection
from dataclasses import asdict, replace
from functools import partial
from glob import has_magic
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from batchensemble.cli.censoring import FEWEST_KNOWN, score_censored
from batchensemble.cli.comparison import score_classes, score_numbers
from batchensemble.cli.errors import about_file
from batchensemble.cli.forecast_scores import judged_on_last_steps
from batchensemble.cli.format import counted, percent
from batchensemble.cli.held_out_rows import (
    NO_HOLDOUT,
    check_per_class,
    hold_out,
    hold_out_of_each,
    too_few,
)
from batchensemble.cli.scores import doubts_about_scores
from batchensemble.cli.training_data import TrainingData
from batchensemble.cli.wording import in_options
from batchensemble.data.file_lists import is_pattern
from batchensemble.data.reading import PIPE, check_suffix, is_table
from batchensemble.data.table_files import TableFiles
from batchensemble.data.tables import read_target
from batchensemble.data.writing import check_place
from batchensemble.estimators.base import pick_device
from batchensemble.estimators.classifier import Classifier
from batchensemble.estimators.forecaster import Forecaster
from batchensemble.estimators.joint import JointRegressor
from batchensemble.estimators.observed import steps_to_calibrate
from batchensemble.estimators.presets import SERIES_PRESETS, resolve
from batchensemble.estimators.regressor import Regressor
from batchensemble.estimators.usefulness import CONSTANT, NAIVE, NARROW, doubt_about_held
from batchensemble.training.loop import TrainingDiverged

NOT_CALIBRATED = "Not calibrated"
MOST_JUDGES = 20_000  # more say little more
FEWEST_HORIZONS = 4  # that a series must have, to have one held out


def model_path(data: Path, out: Path | None) -> Path:
    """Where the model goes, checked before any work."""
    if out == PIPE or (out is None and data == PIPE):
        raise ValueError("the model needs a file name: add -o MODEL.be")
    if out is None and (data.is_dir() or (is_pattern(data) and has_magic(data.name))):
        folder = data if data.is_dir() else data.parent
        out = Path(f"{folder.resolve().name or 'model'}.be")
    elif out is None:
        out = Path(data.name[: -len(check_suffix(data))] + ".be")
    if is_table(out):
        raise ValueError(f"expected a model file such as m.be, got the name of a table: {out}")
    check_place(out, beside=[data] if data.is_file() else [])
    return out


def train(
    data: TrainingData,
    settings: dict[str, Any],
    *,
    holdout: float,
    seed: int,
    calibrate: bool | None = None,
    adapt: bool = True,
    per_class: bool = False,
    checkpoint: Path | None = None,
) -> Any:
    """An estimator with these settings, fitted; its `origin_` says how it went.

    Unless `calibrate` is given, tables are calibrated and series are not; `adapt` is for series,
    `per_class` for classes. A forecaster knows the held-out steps in the end: it forecasts from the
    end of the file.
    """
    is_series = data.y is None
    calibrate = not is_series if calibrate is None else calibrate
    pick_device(settings.get("device", "auto"))  # all other errors of series are about the file
    prepare: Any = _prepare_series if is_series else _prepare_table
    if per_class:
        check_per_class(data, holdout, calibrate)
        prepare = partial(_prepare_table, per_class=True)
    try:
        with about_file(data.origin.file if is_series else None):
            model, learned, held_out, facts = prepare(
                data, settings | {"random_state": seed}, holdout, calibrate
            )
            is_joint = isinstance(model, JointRegressor)
            how = {} if is_series or is_joint else {"checkpoint": checkpoint}
            with warnings.catch_warnings():
                if held_out:  # by which the same is judged, below
                    warnings.filterwarnings("ignore", "|".join((CONSTANT, NAIVE, NARROW)))
                model.fit(*learned, **how, **facts.pop("how", {}))
            _note_durations(model, data.durations)
            if is_joint:
                return _judged_targets(model, data, facts, held_out, calibrate)
            if held_out and is_series:
                facts |= judged_on_last_steps(model, data.frame, held_out[0].ids)
            elif held_out:
                facts["scores"] = _scores(model, held_out)
            if facts.get("scores"):
                n = len(held_out[0])
                doubts = doubts_about_scores(facts["scores"], data.origin.task, n)
                if is_series and not calibrate:
                    held = facts["scores"]["coverage_80"]
                    found = doubt_about_held(held, 0.8, n, facts["n_judged"])
                    doubts += map(in_options, found)
                facts["warnings"] = tuple(doubts)
            if calibrate:
                asked = {"per_class": True} if per_class else {}
                asked |= {"adapt": adapt} if is_series else {}
                facts["calibrated"] = _calibrate(model, held_out, asked)
            elif is_series and held_out:
                model.update(*held_out)
    except TrainingDiverged as error:
        raise ValueError(str(error)) from error
    model.verbose = False
    model.origin_ = asdict(replace(data.origin, **facts))
    return model


Prepared = tuple[Any, tuple[Any, ...], tuple[Any, ...], dict[str, Any]]
"""An estimator, the arguments of its `fit` and of its `calibrate`, and facts for its origin."""


def _note_durations(model: Any, durations: Collection[str] | None) -> None:
    """What `fit` cannot see in numbers that were read from a file; None (series): not known."""
    for one in getattr(model, "regressors_", {"": model}).values():
        whole = one.model_.encoder
        for encoder in getattr(whole, "encoders_", {"": whole}).values():
            encoder.spans_ = [] if durations is None else [n in durations for n in encoder.names_]


def _prepare_table(
    data: TrainingData,
    settings: dict[str, Any],
    holdout: float,
    calibrate: bool,
    *,
    per_class: bool = False,
) -> Prepared:
    X, y = data.frame, np.asarray(data.y)
    is_classes = data.origin.task == "classification"
    is_joint = y.ndim == 2
    kind = JointRegressor if is_joint else Classifier if is_classes else Regressor
    model: Any = kind(**settings)
    seed = settings["random_state"]
    if data.files is not None:
        return _prepare_files(data, data.files, model, holdout, seed)
    if per_class:
        rows, judges = hold_out_of_each(y, holdout, seed)
    else:
        rows, judges = hold_out(y, holdout, seed, is_classes=is_classes, order=data.order)
    targets: pd.Series | pd.DataFrame
    if is_joint:
        targets = pd.DataFrame(y[rows], columns=list(data.targets))
    else:
        targets = pd.Series(y[rows], name=data.origin.target)
    learned = X.iloc[rows], targets
    facts: dict[str, Any] = {"n_learned": len(rows), "n_judged": len(judges)}
    if data.order.matters:
        order = data.order.take(rows)
        groups = data.order.groups
        if groups is not None and len(np.unique(groups[rows])) < 2:
            raise ValueError(
                "expected at least 3 groups, one to hold out and two to learn from, got "
                f"{len(np.unique(groups))}; omit --groups, or add --holdout 0"
            )
        facts["how"] = {"groups": order.groups, "in_time": order.in_time}
    if data.censored is not None:
        facts["how"] = facts.get("how", {}) | {"censored": data.censored[rows]}
    if not len(judges):
        return model, learned, (), facts | {"judged_on": too_few(holdout, len(rows))}
    if data.censored is not None and np.count_nonzero(~data.censored[judges]) < FEWEST_KNOWN:
        reason = "almost every target of the held-out rows is censored"
        return model, learned, (), facts | {"n_judged": 0, "judged_on": reason}
    which = "random held-out rows"
    if data.order.matters:
        which = "last rows" if data.order.in_time else "held-out rows of other groups"
    facts["judged_on"] = f"{'the ' * data.order.in_time}{len(judges):,} {which}"
    held_out: tuple[Any, ...] = (X.iloc[judges], y[judges])
    if data.censored is not None and data.censored[judges].any():
        held_out = (*held_out, data.censored[judges])
    return model, learned, held_out, facts


def _prepare_files(
    data: TrainingData, files: TableFiles, model: Any, holdout: float, seed: int
) -> Prepared:
    """Of very many rows, so many are enough to score and to calibrate with."""
    n_rows, target = files.sample.n_rows, data.origin.target
    n_judges = min(MOST_JUDGES, round(holdout * n_rows), len(files.sample.random_rows) // 2)
    if not holdout:
        facts = {"n_learned": n_rows, "judged_on": NO_HOLDOUT}
        return model, (files, target), (), facts
    files, judges = files.without(n_judges, seed)
    facts = {
        "n_learned": files.sample.n_rows,
        "n_judged": n_judges,
        "judged_on": f"{n_judges:,} random held-out rows",
    }
    y = read_target(judges[target], data.origin.task, files.name)
    return model, (files, target), (judges.drop(columns=target), y), facts


def _prepare_series(
    data: TrainingData, settings: dict[str, Any], holdout: float, calibrate: bool
) -> Prepared:
    """One horizon is held out; to calibrate, more: one says too little.

    Series that are too short are learned from, whole.
    """
    model = Forecaster(**data.roles, **settings)
    h = int(resolve(model.preset, settings, SERIES_PRESETS)["horizon"])
    panel = model.read(data.frame)
    n_rows, is_long = len(panel.values), panel.lengths >= FEWEST_HORIZONS * h
    if not holdout or not is_long.any():
        reason = f"scoring needs series of {FEWEST_HORIZONS} times the horizon of {h} steps"
        judged_on = reason if holdout else NO_HOLDOUT
        return model, (panel,), (), {"n_learned": n_rows, "judged_on": judged_on}
    judges, n = panel.only(panel.ids[is_long]), h
    if calibrate:  # with at least the share asked for, and if need be half of what there is
        shortest = int(judges.lengths.min())
        enough = min(steps_to_calibrate(judges, h, holdout), shortest // 2)
        n = max(h, round(holdout * shortest), enough)
    held_out, dropped = judges.tail(n), np.where(is_long, n, 0)
    return model, (panel.head(dropped),), (held_out,), {"n_learned": n_rows - int(dropped.sum())}


def _judged_targets(
    model: JointRegressor,
    data: TrainingData,
    facts: dict[str, Any],
    held_out: tuple[Any, ...],
    calibrate: bool,
) -> JointRegressor:
    """Each target is scored and calibrated as if it were the only one."""
    from batchensemble.cli.joint import score_targets

    model.verbose = False
    score_targets(model, replace(data.origin, **facts), held_out)
    for k, one in enumerate(model.regressors_.values()):
        one.verbose = False
        if calibrate:
            rows = (held_out[0], held_out[1][:, k]) if held_out else ()
            vars(one)["origin_"]["calibrated"] = _calibrate(one, rows, {})
    return model


def _scores(model: Any, held_out: tuple[Any, ...]) -> dict[str, float]:
    X, y, *censored = held_out
    if censored:
        return score_censored(y, censored[0], model.predict_dist(X), whole=model.is_count)
    if isinstance(model, Classifier):
        return score_classes(y, model.predict_dist(X))
    return score_numbers(y, model.predict_dist(X), whole=model.is_count)


def _calibrate(model: Any, held_out: tuple[Any, ...], how: dict[str, Any]) -> str:
    """What it changed, or why it could not be done."""
    if not held_out:
        return f"{NOT_CALIBRATED}: no rows were held back"
    if len(held_out) > 2:
        n = int(held_out[2].sum())
        return f"{NOT_CALIBRATED}: {counted(n, 'target')} of the held-out rows are censored"
    try:
        at_90 = model.calibrate(*held_out, **how).calibration_report().loc[0.9]
    except ValueError as error:
        if isinstance(model, Forecaster):
            model.update(*held_out)
        return f"{NOT_CALIBRATED}: {error}"
    things = "sets" if isinstance(model, Classifier) else "intervals"
    is_series = isinstance(model, Forecaster)
    if math.isnan(at_90["coverage_after"]):
        few = "later forecasts" if is_series else "held-out rows of each kind"
        return f"Calibrated, but with too few {few} to say what that changed"
    rows = "later forecasts" if is_series else "these rows"
    assured = at_90.get("assured_after")
    return (
        f"Calibrated: {percent(0.9)} {things} covered {percent(at_90['coverage_before'])} of "
        f"{rows} before and {percent(at_90['coverage_after'])} after"
        + (f"; of new rows, at least {percent(assured)} with 95 % confidence" if assured else "")
    )
