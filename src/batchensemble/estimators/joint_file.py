"""What a file keeps of a model of several targets: its parts, each as if it were alone."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from batchensemble.estimators.forms import shown
from batchensemble.estimators.stored import stored
from batchensemble.modelfile.codec import Arrays

if TYPE_CHECKING:
    from batchensemble.estimators.joint import JointRegressor

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
