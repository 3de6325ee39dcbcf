"""Layers with a member axis, and the conversion of any network into one with members."""

from torch import Tensor, nn

from batchensemble.nn.cells import BatchEnsembleRNNCell, GRUBECell, GRUCell
from batchensemble.nn.convert import convert, fold
from batchensemble.nn.embeddings import Categories, Embeddings, Periodic, PiecewiseLinear
from batchensemble.nn.linear import BatchEnsembleLinear, FoldedLinear
from batchensemble.nn.members import check_members, expand_members
from batchensemble.nn.norm import MemberBatchNorm, MemberLayerNorm
from batchensemble.nn.recurrent import GRU, GRUBE, BatchEnsembleRNN

__all__ = [
    "GRU",
    "GRUBE",
    "BatchEnsembleLinear",
    "BatchEnsembleRNN",
    "BatchEnsembleRNNCell",
    "Categories",
    "Embeddings",
    "FoldedLinear",
    "GRUBECell",
    "GRUCell",
    "MemberBatchNorm",
    "MemberLayerNorm",
    "Periodic",
    "PiecewiseLinear",
    "check_members",
    "convert",
    "expand_members",
    "fold",
    "orthogonality_penalty",
]


def orthogonality_penalty(module: nn.Module) -> Tensor:
    """Sum over all BatchEnsemble layers of the mean squared cosine between members' vectors.

    Add it, times a small number, to the loss to push the members apart.
    """
    layers = [layer for layer in module.modules() if isinstance(layer, BatchEnsembleLinear)]
    if not layers:
        raise ValueError("expected a module with BatchEnsemble layers, got one without")
    penalty = layers[0].orthogonality_penalty()
    for layer in layers[1:]:
        penalty = penalty + layer.orthogonality_penalty()
    return penalty
