"""A few rows through a folded network: compiled loops instead of calls into torch."""

from collections.abc import Callable
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray

from batchensemble.nn.embeddings import FoldedEmbeddings
from batchensemble.nn.linear import FoldedLinear
from batchensemble.training.importing import import_whole
from batchensemble.training.networks import MLP, Network

FEW_ROWS = 32  # with more, torch is as fast

Forward = Callable[[NDArray[np.float32]], NDArray[np.float64]]


def forward_of(network: Network) -> Forward | None:
    """(rows, inputs) -> (rows, members, outputs), as the network does; None if it is another kind.

    Members that are all alike are one. The loops check no index, so all sizes are checked here.
    """
    if not isinstance(network, MLP) or find_spec("numba") is None:
        return None
    embeddings = network.embeddings
    if not isinstance(embeddings, FoldedEmbeddings | None):
        return None
    layers = [_arrays(layer) for layer in (*network.layers, *network.heads)]
    weights = [layer for layer in layers if layer is not None]
    n_networks = 1 if embeddings is None else embeddings.n_networks
    shapes = [(n_networks, 0, network.n_inputs), *(weight.shape for weight, _ in weights)]
    fits = all(n % m == 0 and n_in == n_out for (m, _, n_out), (n, n_in, _) in pairwise(shapes))
    if None in layers or len(network.heads) != 1 or not fits:
        return None
    import_whole("numba")
    from batchensemble.training.engines.fused.forward import dense

    first = _plain(network.n_inputs) if embeddings is None else _embedded(embeddings)

    def forward(x: NDArray[np.float32]) -> NDArray[np.float64]:
        y = first(x.astype(np.float64))
        for weight, bias in weights[:-1]:
            y = dense(y, weight, bias, False)
        return np.ascontiguousarray(dense(y, *weights[-1], True).swapaxes(0, 1))

    return forward


def _arrays(layer: torch.nn.Module) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Weight (members, inputs, outputs) and bias (members, outputs)."""
    if not isinstance(layer, FoldedLinear) or layer.weight.device.type != "cpu":
        return None
    weight, bias = layer.weight.numpy(), layer.bias.numpy()[:, 0]
    is_known = weight.dtype == np.float64 and bias.shape == (len(weight), weight.shape[2])
    return (weight, bias) if is_known else None


def _plain(n_inputs: int) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    def first(x: NDArray[np.float64]) -> NDArray[np.float64]:
        _check_width(x, n_inputs)
        return x[None]

    return first


def _embedded(layer: FoldedEmbeddings) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    from batchensemble.training.engines.fused.forward import embed

    n_plain, _, n_coded = layer.sizes
    curves, vectors = (table.double().numpy() for table in (layer.curves, layer.vectors))
    starts = np.array(layer.starts[:n_coded], np.int64)

    def first(x: NDArray[np.float64]) -> NDArray[np.float64]:
        _check_width(x, sum(layer.sizes))
        return embed(x, n_plain, curves, vectors, starts)

    return first


def _check_width(x: NDArray[np.float64], n_inputs: int) -> None:
    if x.shape[1] != n_inputs:
        raise ValueError(f"expected {n_inputs} encoded inputs, got {x.shape[1]}")
