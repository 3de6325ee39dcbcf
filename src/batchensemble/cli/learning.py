"""Learn from what a file gives, and judge the model on what it did not see."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.cli.exits import naming
from batchensemble.cli.given import Given, GivenSeries, GivenTable
from batchensemble.cli.judging import score_classes, score_numbers, score_paths
from batchensemble.cli.scores import percent
from batchensemble.data.reading import PIPE, check_suffix, is_table
from batchensemble.data.writing import check_place
from batchensemble.estimators import Classifier, Forecaster, Regressor
from batchensemble.estimators.presets import SERIES_PRESETS, resolve
from batchensemble.training.loop import TrainingDiverged

FEWEST_JUDGED = 20  # rows; fewer say too little
AS_ASKED = "nothing, as asked for"
FEWEST_HORIZONS = 4  # that a series must have, to have one held back


@dataclass(frozen=True)
class Learned:
    """A model, and how it did on what was held back; no scores if nothing could be."""

    model: Any
    n_learned: int
    n_judged: int
    scores: dict[str, float]
    judged_on: str
    calibrated: str = ""

    def as_dict(self) -> dict[str, Any]:
        """All but the model."""
        return {name: value for name, value in vars(self).items() if name != "model"}


def place_of(data: Path, out: Path | None) -> Path:
    """Where the model goes, checked before the work."""
    if out == PIPE or (out is None and data == PIPE):
        raise ValueError("expected a name for the model, got a pipe: -o MODEL.be")
    if out is None:
        out = Path(data.name[: -len(check_suffix(data))] + ".be")
    if is_table(out):
        raise ValueError(f"expected a name for the model such as m.be, got that of a table: {out}")
    check_place(out, beside=[data])
    return out


def learn(
    given: GivenTable | GivenSeries,
    settings: dict[str, Any],
    *,
    holdout: float,
    seed: int,
    calibrate: bool | None = None,
) -> Learned:
    """`settings` are those of the estimator; unless told, tables are calibrated, series are not."""
    try:
        if isinstance(given, GivenTable):
            wanted = calibrate is not False
            return learn_table(given, settings, holdout=holdout, seed=seed, calibrate=wanted)
        wanted = calibrate is True
        with naming(given.about.file):
            return learn_series(given, settings, holdout=holdout, seed=seed, calibrate=wanted)
    except TrainingDiverged as error:
        raise ValueError(str(error)) from error


def keep(learned: Learned, about: Given, path: Path) -> None:
    """The model in its file, and with it where it comes from."""
    learned.model.verbose = False
    learned.model.origin_ = {**about.as_dict(), **learned.as_dict()}
    learned.model.save(path)


def learn_table(
    given: GivenTable, settings: dict[str, Any], *, holdout: float, seed: int, calibrate: bool
) -> Learned:
    """Part of the rows, `holdout`, is kept from learning, and judges the model.

    With `calibrate` the same rows, once they have judged it, calibrate it.
    """
    kind = Regressor if given.about.task == "regression" else Classifier
    rows, judges = hold_back(given.y, holdout, seed, is_classes=kind is Classifier)
    y = pd.Series(given.y, name=given.about.target)
    model = kind(random_state=seed, **settings).fit(given.X.iloc[rows], y.iloc[rows])
    if not len(judges):
        words = _too_few(holdout, len(rows)) if holdout else AS_ASKED
        return Learned(
            model, len(rows), 0, {}, words, "not, without rows to do it with" * calibrate
        )
    dist = model.predict_dist(given.X.iloc[judges])
    score = score_numbers if kind is Regressor else score_classes
    scores = score(given.y[judges], dist)
    words = f"{len(judges):,} rows, chosen at random, that it did not learn from"
    calibrated = ""
    if calibrate:
        calibrated = _calibrate(model, given.X.iloc[judges], given.y[judges])
    return Learned(model, len(rows), len(judges), scores, words, calibrated)


def _calibrate(model: Any, *new: Any) -> str:
    """What it changed, or why it could not be done."""
    try:
        at_90 = model.calibrate(*new).calibration_report().loc[0.9]
    except ValueError as error:
        return f"not, {error}"
    what = "sets of classes" if isinstance(model, Classifier) else "intervals"
    where = "the later forecasts" if isinstance(model, Forecaster) else "these rows"
    if np.isnan(at_90["coverage_after"]):
        return f"{what}, with too few of them to say what that changed"
    return (
        f"{what} of 90 % held {percent(at_90['coverage_before'])} of {where} before, and hold "
        f"{percent(at_90['coverage_after'])} after it"
    )


def hold_back(
    y: NDArray[Any], holdout: float, seed: int, *, is_classes: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """By chance alone, not by class: what calibration promises is about rows as they come."""
    n_judges = round(holdout * len(y))
    if n_judges < FEWEST_JUDGED or len(y) - n_judges < FEWEST_JUDGED:
        n_judges = 0
    order = np.random.default_rng(seed).permutation(len(y))
    judges, kept = np.split(order, [n_judges])
    if is_classes:  # a class that nobody learned could not be judged: its rows are learned from
        is_new = ~np.isin(y[judges], y[kept])
        judges, kept = judges[~is_new], np.concatenate([kept, judges[is_new]])
    return np.sort(kept), np.sort(judges)


def learn_series(
    given: GivenSeries, settings: dict[str, Any], *, holdout: float, seed: int, calibrate: bool
) -> Learned:
    """The last steps of every series are kept from learning, judge the model, and are then known.

    So there is one training, and the model forecasts from the end of the file. With `calibrate`
    the share `holdout` is kept from learning, since one horizon says too little.
    """
    model = Forecaster(
        id_col=given.series or "unique_id",
        time_col=given.time,
        target_col=given.about.target,
        future_columns=list(given.future),
        past_columns=list(given.past),
        random_state=seed,
        **settings,
    )
    df = given.df
    h = int(resolve(model.preset, settings, SERIES_PRESETS)["horizon"])
    panel = model._read(df, fill=model.fill, freq=model.freq)
    n_rows, shortest = len(panel.values), int(panel.lengths.min())
    if not holdout or shortest < FEWEST_HORIZONS * h:
        model.fit(panel)
        needs = f"nothing: holding back needs {FEWEST_HORIZONS} times the horizon of {h} steps"
        calibrated = "not, without steps to do it with" * calibrate
        return Learned(model, n_rows, 0, {}, needs if holdout else AS_ASKED, calibrated)
    n_held_back = max(h, round(holdout * shortest)) if calibrate else h
    model.fit(panel.head(n_held_back))
    scores = judge_series(model, df, n_windows=1)
    new = panel.tail(n_held_back)
    calibrated = _calibrate(model, new) if calibrate else ""
    if not hasattr(model, "calibration_"):
        model.update(new)
    words = f"the last {h} steps of each series, before it knew them"
    n_learned = n_rows - n_held_back * len(panel)
    return Learned(model, n_learned, h * len(panel), scores, words, calibrated)


def judge_series(model: Forecaster, df: pd.DataFrame, *, n_windows: int) -> dict[str, float]:
    """The last stretches of the series, forecast by a model that did not learn from them."""
    how: dict[str, Any] = {"n_windows": n_windows, "refit": False}
    truth = model.cross_validation(df, **how)[model.target_col].to_numpy()
    dist = model.cross_validation_dist(df, **how)
    return score_paths(model, df, truth.reshape(len(dist), dist.horizon), dist)


def _too_few(holdout: float, n_rows: int) -> str:
    """Why nothing judged, and which share would have been enough."""
    share = math.ceil(100 * FEWEST_JUDGED / n_rows) / 100
    cure = f"; --holdout {share:g} would do" if share <= 0.5 else ""
    n_judges = round(holdout * n_rows)
    got = f"{holdout:.0%} of {n_rows} rows are {n_judges}"
    return f"nothing: {got}, and it takes {FEWEST_JUDGED}{cure}"
