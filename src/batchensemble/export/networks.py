"""Folded networks as nodes. Members come first here, (members, rows, features), as products want.

What is the same for all members has one, and is repeated where they begin to differ.
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from batchensemble.export.columns import within_bins
from batchensemble.export.graph import Value, ints
from batchensemble.nn.cells import GRUBECell, GRUCell
from batchensemble.nn.embeddings import FoldedEmbeddings
from batchensemble.nn.linear import BatchEnsembleLinear, FoldedLinear
from batchensemble.training.losses import Bounds, bounded
from batchensemble.training.networks import MLP

T = TypeVar("T")


def linear(x: Value, layer: nn.Module) -> Value:
    """(members or 1, rows, in_features) -> (members or 1, rows, out_features).

    With one shared weight where there is one: K effective weights would make the file K times
    as large.
    """
    layer = exactly(FoldedLinear, layer)
    bias = _array(layer.bias)
    own = layer.unfolded
    if own is None or (own.is_bank and not own.adapters):
        return x @ _array(layer.weight) + bias
    if own.is_bank:
        return _of_networks(x, own) + bias
    if own.r is not None:
        x = x * _array(own.r[:, None])
    x = x @ _array(own.weight.T)
    if own.s is not None:
        x = x * _array(own.s[:, None])
    return x + bias


def _of_networks(x: Value, layer: BatchEnsembleLinear) -> Value:
    """Members of several networks, one network's after the other's, without their biases."""
    n_networks, n_out, n_in = layer.weight.shape
    n_members = n_networks * layer.n_members
    r, s = (None if v is None else numbers(v.flatten(0, 1)[:, None]) for v in (layer.r, layer.s))
    x = x.expand(n_members, 1, 1) if r is None else x * r
    x = x.reshape(n_networks, -1, n_in) @ numbers(layer.weight.mT)
    x = x.reshape(n_members, -1, n_out)
    return x if s is None else x * s


def mlp(x: Value, network: nn.Module, masks: Tensor | None) -> Value:
    """(members or 1, rows, features) -> (members or 1, rows, outputs).

    `masks`, (members, units), tell the members of a network with dropout apart.
    """
    network = exactly(MLP, network)
    if network.embeddings is not None:
        x = embedded(x, network.embeddings)
    by_layer = [None] * len(network.hidden) if masks is None else masks.split(network.hidden, -1)
    for layer, mask in zip(network.layers, by_layer, strict=True):
        x = linear(x, layer).apply("Relu")
        if mask is not None:
            x = x * _array(mask[:, None] / (1 - network.dropout))
    (head,) = network.heads
    return linear(x, head)


def embedded(x: Value, module: nn.Module) -> Value:
    """(1, rows, inputs) -> (members or 1, rows, features).

    A curve is the sum of what each bin adds to it: its rise, times how far into it a position is;
    the first and the last bin go on.
    """
    layer = exactly(FoldedEmbeddings, module)
    n_plain, n_positions, n_words = layer.sizes
    n_networks, n_before = layer.n_networks, n_plain + n_positions
    blocks = [x.slice(0, n_plain, axis=2).expand(n_networks, 1, 1)] if n_plain else []
    if n_positions:
        bins = np.arange(layer.n_bins, dtype=np.float32)
        positions = x.slice(n_plain, n_before, axis=2).insert(3)
        into = within_bins(positions - bins, layer.n_bins, reach=np.inf)
        rises = np.diff(numbers(layer.curves), axis=2)  # (networks, columns, bins, width)
        curves = into.transpose(0, 2, 1, 3) @ np.ascontiguousarray(rises)
        blocks.append(curves.transpose(0, 2, 1, 3).reshape(0, 0, -1))
    if n_words:
        places = x.slice(n_before, None, axis=2).cast(np.int64) + np.array(layer.starts)
        vectors = x.graph.constant(numbers(layer.vectors))
        blocks.append(vectors.gather(places.reshape(-1, n_words), axis=1).reshape(0, 0, -1))
    whole = x.graph.concat(blocks, 2)
    if n_networks == 1:
        return whole
    return whole.gather(np.repeat(np.arange(n_networks), layer.n_members), axis=0)


def cell(x: Value, h: Value, module: nn.Module) -> Value:
    """(members, rows, input) and (members, rows, hidden) -> the new hidden."""
    graph = x.graph
    if type(module) is GRUBECell:
        xh = graph.concat([x, h], -1)
        reset = linear(xh, module.reset).apply("Sigmoid")
        update = linear(xh, module.update).apply("Sigmoid")
        candidate = linear(graph.concat([x, reset * h], -1), module.candidate).apply("Tanh")
        return (1 - update) * h + update * candidate
    module = exactly(GRUCell, module)
    reset_x, update_x, new_x = _thirds(linear(x, module.input), module.hidden_size)
    reset_h, update_h, new_h = _thirds(linear(h, module.hidden), module.hidden_size)
    reset = (reset_x + reset_h).apply("Sigmoid")
    update = (update_x + update_h).apply("Sigmoid")
    new = (new_x + reset * new_h).apply("Tanh")
    return (1 - update) * new + update * h


def n_lanes(recurrent: nn.Module) -> int:
    """Members with weights of their own; 1 where all share them."""
    layers = [layer for layer in recurrent.modules() if isinstance(layer, FoldedLinear)]
    return max(1 if layer.is_plain else len(layer.weight) for layer in layers)


def moments(outputs: Value, bounds: Bounds) -> tuple[Value, Value]:
    """Mean and bounded log-variance, as in the loss: (..., 2) -> (...), (...)."""
    mean, raw = (outputs.gather(np.array(i), axis=-1) for i in (0, 1))
    return mean, bounded(raw, bounds, softplus)


def softplus(x: Value) -> Value:
    return x.apply("Softplus")


def _thirds(x: Value, size: int) -> list[Value]:
    return [x.slice(i * size, (i + 1) * size, axis=-1) for i in range(3)]


def repeated(x: Value, n_paths: Value, n_first: int, n_features: int) -> Value:
    """A row of each series for each of its paths; members or times first.

    (first, series, features) -> (first, series * paths, features), repeated to be n_first.
    """
    one = x.graph.constant(ints(1))
    shape = x.graph.concat([x.graph.constant(ints(n_first)), one, n_paths, one], 0)
    return x.insert(2).apply("Expand", shape).reshape(0, -1, n_features)


def numbers(tensor: Tensor) -> NDArray[np.float32]:
    """As constants of a graph."""
    return np.ascontiguousarray(tensor.detach().cpu().numpy(), np.float32)


def _array(tensor: Tensor) -> NDArray[np.float32]:
    # One weight for all members needs no axis for them: then it is one large product.
    tensor = tensor[0] if tensor.ndim == 3 and len(tensor) == 1 else tensor
    return numbers(tensor)


def exactly(kind: type[T], module: object) -> T:
    """A module of ours, or an error: another one may compute something else."""
    if type(module) is not kind:
        raise TypeError(
            f"expected a {kind.__name__}, for which a graph can be written, got "
            f"{type(module).__name__}; export that network itself, by torch.onnx.export"
        )
    return module
