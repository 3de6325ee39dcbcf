"""Models of several targets on the command line: scored, predicted and shown target by target."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape

from batchensemble import metrics
from batchensemble.cli.columns import check_columns, notations_of, open_new, read_rows, table_kinds
from batchensemble.cli.comparison import evaluate_file, score_numbers
from batchensemble.cli.evaluation import Evaluation
from batchensemble.cli.scores import doubts_about_scores
from batchensemble.cli.training_data import Origin
from batchensemble.data.columns import Kind
from batchensemble.data.file_options import FileOptions
from batchensemble.data.reading import PIPE, TableFile
from batchensemble.estimators.answers import prediction_columns
from batchensemble.estimators.joint import JointRegressor
from batchensemble.estimators.regressor import Regressor
from batchensemble.plots.sheets import brief

DRAWS, MOST_ROWS = 100, 500  # for the energy score


def first_of(model: JointRegressor) -> Regressor:
    """The model of the first target: all learned from the same columns."""
    return model.regressors_[model.target_names_[0]]


def score_targets(model: Any, origin: Origin, held_out: tuple[Any, ...]) -> None:
    """`origin_` of all targets and of the model, with scores on held-out rows if there are any."""
    for k, (name, one) in enumerate(model.regressors_.items()):
        own = replace(origin, target=name)
        if held_out:
            dist = one.predict_dist(held_out[0])
            scores = score_numbers(held_out[1][:, k], dist, whole=one.is_count)
            doubts = tuple(doubts_about_scores(scores, "regression", len(held_out[0])))
            own = replace(own, scores=scores, warnings=doubts)
        one.origin_ = asdict(own)
    scores = energy_scores(model, *held_out) if held_out else {}
    model.origin_ = asdict(replace(origin, scores=scores))


def energy_scores(
    model: JointRegressor, X: pd.DataFrame, Y: NDArray[np.float64]
) -> dict[str, float]:
    """Of draws together and of independent draws, in standard deviations of each target.

    Of many rows, some are enough.
    """
    rows = np.random.default_rng(0).permutation(len(Y))[:MOST_ROWS]
    scale = np.maximum(Y.std(axis=0), 1e-100)
    dist, truth = model.predict_dist(X.iloc[rows]), Y[rows] / scale
    together = dist.sample(DRAWS, 0).swapaxes(0, 1)
    apart = replace(dist, correlation=np.eye(len(dist))).sample(DRAWS, 0).swapaxes(0, 1)
    return {
        "energy_score": metrics.energy_score(truth, paths=together / scale),
        "energy_score_independent": metrics.energy_score(truth, paths=apart / scale),
    }


def energy_words(scores: Mapping[str, float]) -> str:
    together, apart = (brief(scores[f"energy_score{end}"]) for end in ("", "_independent"))
    return (
        f"All targets at once: energy score {together} of joint draws, {apart} of independent "
        "draws (lower is better; in standard deviations of each target)"
    )


def joint_predictions(
    model: JointRegressor, rows: pd.DataFrame, file: TableFile, coverage: float
) -> pd.DataFrame:
    """What `predict` writes about some rows of a file, the target's name before each column."""
    first = first_of(model)
    X = read_rows(first, rows, file, table_kinds(first), notations_of(model))
    parts = [
        prediction_columns(one, one.predict_dist(X), coverage, one.groups_in(X)).add_prefix(
            f"{name}_"
        )
        for name, one in model.regressors_.items()
    ]
    return pd.concat(parts, axis=1).set_axis(rows.index)


def evaluate_targets(
    model: JointRegressor, path: Path, *, coverage: float, options: FileOptions
) -> tuple[dict[str, Evaluation], dict[str, float]]:
    """An evaluation for each target, and energy scores of the rows that have all of them."""
    if path == PIPE:
        raise ValueError(
            "a model of several targets reads its file more than once, so it cannot come from a "
            "pipe; name a file"
        )
    first, notations = first_of(model), notations_of(model)
    kinds = table_kinds(first)
    targets: dict[str, Kind] = dict.fromkeys(model.target_names_, "number")
    with open_new(path, options) as file:
        check_columns(targets, file, "targets", "add them")
        check_columns(kinds, file)
        parts = [
            read_rows(first, rows, file, kinds | targets, notations) for rows in file.batches()
        ]
    evaluations = {
        name: evaluate_file(one, path, target=name, coverage=coverage, options=options)
        for name, one in model.regressors_.items()
    }
    every = pd.concat(parts).dropna(subset=model.target_names_)
    if len(every) < 2:
        return evaluations, {}
    Y = every[model.target_names_].to_numpy(dtype=np.float64)
    return evaluations, energy_scores(model, every[list(kinds)], Y)


def print_targets(
    console: Console,
    origins: Mapping[str, Mapping[str, Any]],
    together: Mapping[str, float],
    models: Mapping[str, Regressor] | None = None,
) -> None:
    """The scores of a training, target by target and of all at once; with models, their kinds."""
    from batchensemble.cli.errors import print_warning
    from batchensemble.cli.fit_output import print_kind, print_result

    for name, origin in origins.items():
        console.print(f"[bold]{escape(name)}[/]")
        if models:
            print_kind(console, models[name])
        print_result(console, origin)
        for warning in origin["warnings"]:
            print_warning(console, warning)
    if together:
        console.print(f"{energy_words(together)}.")


def print_evaluations(
    console: Console, evaluations: Mapping[str, Evaluation], together: Mapping[str, float]
) -> None:
    from batchensemble.cli.evaluate import print_evaluation

    for name, evaluation in evaluations.items():
        console.print(f"[bold]{escape(name)}[/]")
        print_evaluation(console, evaluation)
    if together:
        console.print(f"{energy_words(together)}.")


def origins_of(model: JointRegressor) -> dict[str, Any]:
    """What came of the fit of each target, if the command line made the model."""
    return {name: one.origin_ for name, one in model.regressors_.items() if hasattr(one, "origin_")}
