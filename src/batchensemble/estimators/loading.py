"""A file -> the fitted estimator that was saved."""

from typing import Any

import torch

from batchensemble.data.series_encoder import SeriesEncoder
from batchensemble.data.table_encoder import TableEncoder
from batchensemble.estimators.base import Estimator, pick_device
from batchensemble.estimators.classifier import Classifier
from batchensemble.estimators.forecaster import Forecaster
from batchensemble.estimators.forms import CODEC
from batchensemble.estimators.regressor import Regressor
from batchensemble.modelfile.codec import set_fields
from batchensemble.modelfile.persistence import FilePath, read_model, unusable
from batchensemble.training.bank import Bank
from batchensemble.training.networks import Network
from batchensemble.words import one_of

ESTIMATORS: dict[str, type[Estimator]] = {
    "Classifier": Classifier,
    "Forecaster": Forecaster,
    "Regressor": Regressor,
}


def load(path: FilePath, device: str = "auto") -> Any:
    """The fitted estimator that `model.save(path)` wrote; it predicts as the saved one does.

    `device` says where: "auto" (a GPU where there is one), "cpu", "cuda", ... wherever it was
    trained. Loading runs no code from the file. One that is damaged, not ours or of a newer format
    is a ValueError that says so.
    """
    place = pick_device(device)
    contents, arrays = read_model(path)
    try:
        return _built(contents, arrays, place)
    except Exception as error:  # whatever a file in bad faith leads to
        raise unusable(path, contents["library"], error) from error


def _built(contents: dict[str, Any], arrays: dict[str, Any], device: torch.device) -> Estimator:
    kind = ESTIMATORS[one_of(contents["about"]["estimator"], ESTIMATORS, "the estimator")]
    parameters, learned = (
        {name: CODEC.decode(tree, arrays) for name, tree in contents[part].items()}
        for part in ("parameters", "learned")
    )
    model = kind(**parameters)
    set_fields(model, learned)
    encoder = SeriesEncoder if kind is Forecaster else TableEncoder
    if not isinstance(learned["encoder_"], encoder):
        raise TypeError(f"expected a {encoder.__name__}, got {type(learned['encoder_']).__name__}")
    theta = torch.tensor(arrays["bank_.theta"])
    model.bank_ = Bank.of(_network(model, theta.numel()), theta)
    _check_sizes(model)
    model.bank_ = model.bank_.to(device)
    model._members = model._make_members()
    return model


def _network(model: Estimator, n_parameters: int) -> Network:
    """Its form alone, which takes no memory, however large a file says it is."""
    recipe = model._recipe
    n_layers = len(recipe["hidden"]) + len(recipe["heads"]) + recipe.get("n_layers", 0)
    if n_layers > n_parameters:
        raise ValueError(f"expected fewer layers than {n_parameters} parameters, got {n_layers}")
    with torch.device("meta"):
        return model._method.network(model._maker(), torch.Generator("cpu"))


def _check_sizes(model: Estimator) -> None:
    bank, method = model.bank_, model._method
    if len(bank) != method.n_networks or bank.n_parameters != model.n_parameters_:
        raise ValueError(
            f"expected {method.n_networks} networks of {model.n_parameters_} parameters in all, "
            f"got {len(bank)} of {bank.n_parameters}"
        )
    model._check_masks()
