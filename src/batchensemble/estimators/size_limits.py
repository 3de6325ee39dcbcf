"""Ensembles that would fill the memory are refused before they do."""

import torch

from batchensemble.training.engines.shapes import linear_layers
from batchensemble.training.methods import MakeNetwork, Method
from batchensemble.training.models import Ensemble

MOST_BYTES = 2**34  # of a training
MOST_MASK_UNITS = 2**22


def check_size(method: Method, make: MakeNetwork, batch_size: int) -> None:
    """Refuse what would fill the memory: the system might end the process without a word.

    An estimate: weights of all members in both precisions, and three times the activations of a
    batch.
    """
    try:
        with torch.device("meta"):
            network = method.network(make, torch.Generator("cpu"))
    except (TypeError, RuntimeError, OverflowError) as error:  # sizes beyond those of any tensor
        raise ValueError(
            f"networks of these settings are too large for any memory ({str(error)[:80]}); choose "
            "fewer members or smaller layers"
        ) from error
    layers = linear_layers(network)
    weights = sum(layer.in_features * layer.out_features for layer in layers)
    units = batch_size * sum(layer.out_features for layer in layers)
    n_bytes = method.n_networks * network.n_members * 12 * (weights + units)
    if n_bytes > MOST_BYTES:
        n_members = method.n_networks * network.n_members
        raise ValueError(
            f"{n_members:,} members of {weights:,} weights each need about {n_bytes / 2**30:,.0f} "
            f"GiB in training, and at most {MOST_BYTES // 2**30} are allowed; choose fewer "
            "members, smaller hidden layers or a smaller batch_size"
        )


def check_masks(ensemble: Ensemble) -> None:
    """A file could ask for more masks of MC dropout than fit into memory."""
    units = getattr(ensemble.method, "n_passes", 1) * max(1, ensemble.bank.module.mask_features)
    if units > MOST_MASK_UNITS:
        raise ValueError(
            f"the dropout masks of all passes have {units:,} units in total, and a saved model may "
            f"have at most {MOST_MASK_UNITS:,}; fit with a smaller n_passes"
        )
