"""Networks that the compiled loops and kernels know, and where in theta their parameters are."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from torch import nn

from batchensemble.nn.cells import GRUCell
from batchensemble.nn.embeddings import Embeddings
from batchensemble.nn.linear import BatchEnsembleLinear
from batchensemble.training.bank import Bank
from batchensemble.training.engines.data import Data, Source, Windows
from batchensemble.training.losses import CategoricalNLL, GaussianCRPS, GaussianNLL, Loss
from batchensemble.training.networks import MLP, Recurrent

# The columns of a table of layers: sizes, where in theta the parameters begin (-1: there is none),
# and how far apart two members' biases are (0: they share one). Then where its outputs begin among
# all layers', where its effective weight begins among theirs, and how far apart two rows of it are.
N_IN, N_OUT, WEIGHT, R, S, BIAS, BIAS_STEP, UNIT, EFFECTIVE, ROW_STEP = range(10)


def is_known(network: nn.Module, loss: Loss, data: Source) -> bool:
    """An MLP with its usual loss, or one recurrent layer with one that does not draw samples.

    The loss of a recurrent layer is the NLL.
    """
    if type(network) is Recurrent and isinstance(data, Windows):
        if len(network.recurrent.cells) > 1 or network.feedback == "sample":
            return False
        if getattr(network.draw, "__self__", None) != loss or type(loss) is GaussianCRPS:
            return False
        head = network.head
    elif type(network) is MLP and isinstance(data, Data):
        head = network
    else:
        return False
    sizes = [layer.out_features for layer in head.heads]
    is_gaussian = type(loss) in (GaussianNLL, GaussianCRPS) and sizes == [1, 1]
    is_categorical = type(loss) is CategoricalNLL and len(sizes) == 1
    has_biases = all(layer.bias is not None for layer in linear_layers(network))
    return (is_gaussian or is_categorical) and has_biases


def is_plain(network: nn.Module, loss: Loss) -> bool:
    """Whether there is nothing new about it: no embeddings, no weights of members, no CRPS."""
    own_weights = any("w" in layer.adapters for layer in linear_layers(network))
    embedded = any(isinstance(module, Embeddings) for module in network.modules())
    return not own_weights and not embedded and type(loss) is not GaussianCRPS


def linear_layers(network: nn.Module) -> list[BatchEnsembleLinear]:
    return [module for module in network.modules() if isinstance(module, BatchEnsembleLinear)]


def parameter_starts(bank: Bank) -> dict[str, int]:
    """Where in theta each parameter begins."""
    starts, at = {}, 0
    for name, size in bank.parameter_names():
        starts[name] = at
        at += size
    return starts


def member_tables(bank: Bank, layers: Sequence[nn.Module]) -> NDArray[np.int64]:
    """The same for each member, whose own weights stand one behind the other."""
    table = layer_table(bank, layers)
    own = np.array(["w" in layer.adapters for layer in layers])  # type: ignore[operator]
    tables = np.stack([table] * bank.module.n_members)
    steps = own * table[:, N_IN] * table[:, N_OUT]
    tables[:, :, WEIGHT] += np.arange(len(tables))[:, None] * steps
    return tables


def layer_table(bank: Bank, layers: Iterable[nn.Module]) -> NDArray[np.int64]:
    """A row for each of these layers of the bank's module."""
    starts = parameter_starts(bank)
    names = {module: name for name, module in bank.module.named_modules()}
    rows, unit, effective = [], 0, 0
    for layer in layers:
        assert isinstance(layer, BatchEnsembleLinear)
        places = [starts.get(f"{names[layer]}.{word}", -1) for word in ("weight", "r", "s", "bias")]
        n_in, n_out = layer.in_features, layer.out_features
        step = n_out if "b" in layer.adapters else 0
        rows.append([n_in, n_out, *places, step, unit, effective, n_in])
        unit, effective = unit + n_out, effective + n_in * n_out
    return np.array(rows)


def gru_table(bank: Bank, cell: GRUCell) -> NDArray[np.int64]:
    """The cell as one layer on inputs and hidden state together, (4 * hidden, inputs + hidden).

    It has three parts: the input's weights, and the hidden state's of the gates and of the
    candidate. These stand apart, because the reset gate comes between them and the input's.
    """
    n_in, size = cell.input_size, cell.hidden_size
    of_input, of_gates = layer_table(bank, (cell.input, cell.hidden))
    of_candidate = of_gates.copy()
    of_gates[N_OUT], of_candidate[N_OUT] = 2 * size, size
    of_candidate[WEIGHT] += 2 * size * size
    of_candidate[BIAS] += 2 * size
    table = np.stack([of_input, of_gates, of_candidate])
    table[:, UNIT] = 0, 0, 3 * size
    table[:, ROW_STEP] = n_in + size
    table[:, EFFECTIVE] = table[:, UNIT] * (n_in + size) + (0, n_in, n_in)
    return table
