"""What a file keeps of a model of several targets: its parts, each as if it were alone."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from batchensemble.estimators.forms import shown
from batchensemble.estimators.stored import stored
from batchensemble.modelfile.codec import Arrays

if TYPE_CHECKING:
    from batchensemble.estimators.joint import JointRegressor
    from batchensemble.estimators.regressor import Regressor

BY_NAME = ("target", "target_bounds")  # parameters that may differ between targets
PREFIX = "target {}: "  # of the names of a target's arrays in a file


def stored_jointly(model: "JointRegressor") -> tuple[dict[str, Any], Arrays]:
    """JSON and arrays of a fitted model."""
    parameters = model.get_params(deep=False)
    skipped = (*parameters, "regressors_")
    learned = {name: each for name, each in vars(model).items() if name not in skipped}
    for name in BY_NAME:
        if isinstance(parameters[name], Mapping):
            parameters[name] = dict(parameters[name])
    contents, arrays = stored(parameters, dict(sorted(learned.items())))
    parts = []
    for i, regressor in enumerate(model.regressors_.values()):
        part, of_part = regressor.stored()
        parts.append(part)
        arrays |= {PREFIX.format(i) + name: array for name, array in of_part.items()}
    about = parts[0]["about"] | {
        "estimator": type(model).__name__,
        "target": {"name": ", ".join(model.target_names_)},
        "targets": [part["about"]["target"] for part in parts],
        "correlation": shown(model.correlation_),
        "n_parameters": model.n_parameters_,
        "settings": parts[0]["about"]["settings"] | {n: shown(parameters[n]) for n in BY_NAME},
    }
    return {"about": about, **contents, "targets": parts}, arrays


def check_parts(model: "JointRegressor", regressors: Sequence["Regressor"]) -> None:
    """Raise if what a file says about the targets does not fit their models."""
    names = model.target_names_
    fits = type(names) is list and all(type(name) is str for name in names)
    if not fits or not len({*names}) == len(names) == len(regressors) >= 2:
        raise ValueError(f"expected {len(regressors)} names of targets, got {names!r:.80}")
    if type(model.n_held_out_) is not int:
        raise ValueError(f"expected a number of rows, got {model.n_held_out_!r:.80}")
    columns = [one.model_.encoder.names_ for one in regressors]
    if columns.count(columns[0]) < len(columns):
        raise ValueError("expected the same columns for every target")
