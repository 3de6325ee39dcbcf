"""A file -> the fitted estimator that was saved."""

from typing import Any

import numpy as np
import torch

from batchensemble.data.series_encoder import SeriesEncoder
from batchensemble.data.table_encoder import TableEncoder
from batchensemble.estimators.base import pick_device
from batchensemble.estimators.classifier import Classifier
from batchensemble.estimators.forecaster import Forecaster
from batchensemble.estimators.forms import CODEC
from batchensemble.estimators.joint import JointRegressor
from batchensemble.estimators.joint_file import PREFIX
from batchensemble.estimators.regressor import Regressor
from batchensemble.estimators.requirements import require
from batchensemble.estimators.soundness import check_described, check_sound
from batchensemble.modelfile.codec import Arrays
from batchensemble.modelfile.persistence import (
    FilePath,
    as_read,
    read_model,
    unusable,
    write_model,
)
from batchensemble.training.precision import single_precision
from batchensemble.words import one_of

FittedEstimator = Regressor | Classifier | Forecaster | JointRegressor

ESTIMATORS: dict[str, type[Regressor | Classifier | Forecaster]] = {
    "Classifier": Classifier,
    "Forecaster": Forecaster,
    "Regressor": Regressor,
}


def load(path: FilePath, device: str | torch.device = "auto") -> FittedEstimator:
    """The fitted estimator that `model.save(path)` wrote; it predicts as the saved one does.

    `device` says where: "auto" (a GPU if there is one), "cpu", "cuda", ... wherever it was
    trained. Loading runs no code from the file. A file that is damaged, of another program or of a
    newer format raises a ModelFileError, which is a ValueError, that says so; what loads, predicts.
    """
    place = pick_device(device)
    contents, arrays = read_model(path)
    try:
        # The numbers may be those of a file made in bad faith.
        with np.errstate(all="ignore"), single_precision():
            return _built(contents, arrays, place)
    except Exception as error:  # whatever a file made in bad faith leads to
        raise unusable(path, contents["library"], error) from error


def write_loadable(path: FilePath, contents: dict[str, Any], arrays: Arrays) -> None:
    """Write a model unless `load` would refuse it: better now, while it is at hand."""
    try:
        with np.errstate(all="ignore"), single_precision():
            _built(as_read(contents), dict(arrays), torch.device("cpu"))
    except Exception as error:
        raise ValueError(
            f"{path} was not written: a file of this model could not be loaded "
            f"({type(error).__name__}: {error}); if its parameters were changed since fit, change "
            "them back or fit again, or keep the model with joblib"
        ) from error
    write_model(path, contents, arrays)


def _built(
    contents: dict[str, Any], arrays: dict[str, Any], device: torch.device
) -> FittedEstimator:
    if contents["about"]["estimator"] == "JointRegressor":
        return _built_joint(contents, arrays, device)
    kind = ESTIMATORS[one_of(contents["about"]["estimator"], ESTIMATORS, "the estimator")]
    theta = arrays.pop("bank_.theta")
    parameters, learned = _decoded(contents, arrays)
    encoder = learned["encoder_"]
    expected = SeriesEncoder if kind is Forecaster else TableEncoder
    if not isinstance(encoder, expected):
        raise TypeError(f"expected a {expected.__name__}, got {type(encoder).__name__}")
    estimator = kind(**parameters)
    estimator.restore(learned, torch.tensor(theta), device)
    check_described(contents["about"])
    check_sound(estimator)
    return estimator


def _built_joint(
    contents: dict[str, Any], arrays: dict[str, Any], device: torch.device
) -> JointRegressor:
    regressors = []
    for i, part in enumerate(contents["targets"]):
        require(part["about"]["estimator"] == "Regressor", "a Regressor for each target")
        prefix = PREFIX.format(i)
        names = [name for name in arrays if name.startswith(prefix)]
        regressor = _built(part, {n.removeprefix(prefix): arrays.pop(n) for n in names}, device)
        assert isinstance(regressor, Regressor)
        regressors.append(regressor)
    parameters, learned = _decoded(contents, arrays)
    estimator = JointRegressor(**parameters)
    estimator._validate_params()
    estimator.restore(learned, regressors)
    check_described(contents["about"])
    return estimator


def _decoded(
    contents: dict[str, Any], arrays: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters, and what was learned."""
    trees = [contents["parameters"], contents["learned"]]
    values = CODEC.decode([list(tree.values()) for tree in trees], arrays)
    parameters, learned = (
        dict(zip(tree, each, strict=True)) for tree, each in zip(trees, values, strict=True)
    )
    return parameters, learned
