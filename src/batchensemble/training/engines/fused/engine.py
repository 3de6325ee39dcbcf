"""The CPU engine: whole steps of common networks in compiled loops, networks side by side."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from scipy.linalg import blas  # noqa: F401 - the loops multiply with it
from torch import Tensor

from batchensemble.nn.cells import GRUBECell, GRUCell
from batchensemble.nn.dropout import threshold
from batchensemble.nn.embeddings import Embeddings
from batchensemble.training.bank import Bank
from batchensemble.training.engines.adam import Adam
from batchensemble.training.engines.data import Data, Source, Windows
from batchensemble.training.engines.plain import Steps
from batchensemble.training.engines.shapes import (
    gru_table,
    is_known,
    is_plain,
    layer_table,
    linear_layers,
    member_tables,
    parameter_starts,
)
from batchensemble.training.losses import CategoricalNLL, Gaussian, GaussianCRPS, GaussianNLL, Loss
from batchensemble.training.networks import MLP, Recurrent
from batchensemble.training.threads import ONE_BLAS_THREAD

# With more, plain torch is faster: it does not compute a weight for each member. Behind embeddings
# it has more to do besides, and is faster later.
MOST_WEIGHTS, MOST_EMBEDDED_WEIGHTS = 100_000, 200_000


def covers(bank: Bank, loss: Loss, data: Source) -> bool:
    """Whether the loops can train this bank: a known network and loss, in float32, on the CPU."""
    if bank.theta.device.type != "cpu" or {bank.theta.dtype, data.dtype} != {torch.float32}:
        return False
    weights = (layer.in_features * layer.out_features for layer in linear_layers(bank.module))
    most = MOST_WEIGHTS if is_plain(bank.module, loss) else MOST_EMBEDDED_WEIGHTS
    if find_spec("numba") is None or sum(weights) > most:
        return False
    return is_known(bank.module, loss, data)


class FusedEngine:
    """Shares the networks out among threads, each of which trains its networks one by one."""

    def __init__(self, bank: Bank, loss: Loss, data: Source, adam: Adam, *, n_threads: int) -> None:
        self.adam = adam
        ends = np.linspace(0, len(bank), min(n_threads, len(bank)) + 1).astype(int).tolist()
        self.parts = [slice(*pair) for pair in pairwise(ends)]
        self.kernel, self.data, self.network = (
            _of_series(bank, data) if isinstance(data, Windows) else _of_table(bank, loss, data)
        )
        bounds = loss.bounds if isinstance(loss, Gaussian) else Gaussian().bounds
        beta = loss.beta if isinstance(loss, GaussianNLL) else 0.0
        dropout = float(bank.module.dropout)
        self.settings = (
            (dropout, np.int32(threshold(dropout))),
            (*map(float, bounds), float(beta)),
        )

    def run(self, steps: Steps) -> Tensor:
        losses = np.empty(steps.rows.shape[:2], np.float32)
        with ONE_BLAS_THREAD.held():  # the products are small: more would only get in the way
            if len(self.parts) == 1:
                self._run(self.parts[0], steps, losses)
            else:
                with ThreadPoolExecutor(len(self.parts)) as pool:
                    list(pool.map(lambda part: self._run(part, steps, losses), self.parts))
        return torch.from_numpy(losses)

    def _run(self, part: slice, steps: Steps, losses: Any) -> None:
        """The steps of some of the networks."""
        adam = self.adam
        keys = torch.zeros(steps.rows.shape[:2], dtype=torch.int32)
        keys = keys if steps.keys is None else steps.keys
        inputs = [t[:, part].contiguous().numpy() for t in (steps.rows, steps.weights, keys)]
        state = (adam.theta, adam.moment1, adam.moment2, adam.count)
        arrays = [tensor[part].numpy() for tensor in state]
        decay = np.empty(0, np.float32) if adam.decay is None else adam.decay.numpy()
        some = np.empty(inputs[0].shape[:2], np.float32)
        update = (*arrays, decay, float(adam.lr), float(adam.clip_norm))
        self.kernel(update, self.data, tuple(inputs), self.network, *self.settings, some)
        losses[:, part] = some


Kernel = tuple[Callable[..., None], tuple[Any, ...], tuple[Any, ...]]
"""A loop, its data, and the network it trains."""


def _of_table(bank: Bank, loss: Loss, data: Source) -> Kernel:
    # Imported here because importing Numba takes half a second.
    from batchensemble.training.engines.fused.mlp import train_mlp

    assert isinstance(data, Data)
    assert isinstance(bank.module, MLP)
    if not is_plain(bank.module, loss):
        return _of_embedded_table(bank, bank.module, loss, data)
    network = (*_of_mlp(bank, bank.module), isinstance(loss, CategoricalNLL))
    return train_mlp, (data.x.numpy(), data.y.float().numpy()), network


def _of_embedded_table(bank: Bank, mlp: MLP, loss: Loss, data: Data) -> Kernel:
    from batchensemble.training.engines.fused.embedded import (
        CLASSES,
        CRPS,
        NLL,
        Tables,
        train_embedded,
    )

    starts = parameter_starts(bank)
    sizes, n_bins, width, firsts = [data.x.shape[1], 0, 0], 1, 1, [0]
    if isinstance(mlp.embeddings, Embeddings):
        sizes, numbers = mlp.embeddings.sizes, mlp.embeddings.numbers
        categories = mlp.embeddings.categories
        if numbers is not None:
            n_bins, width = numbers.n_bins, numbers.width
        if categories is not None:
            width, firsts = categories.width, categories.starts
    places = [starts.get(f"embeddings.{part}.weight", 0) for part in ("numbers", "categories")]
    tables = Tables(places[0], n_bins, places[1], np.array(firsts), width)
    kind = CLASSES if isinstance(loss, CategoricalNLL) else NLL
    kind = CRPS if isinstance(loss, GaussianCRPS) else kind
    network = (member_tables(bank, (*mlp.layers, *mlp.heads)), len(mlp.hidden), tables, kind)
    plain, positions, codes = (part.contiguous() for part in data.x.split(sizes, 1))
    arrays = (plain.numpy(), positions.numpy(), codes.long().numpy(), data.y.float().numpy())
    return train_embedded, arrays, network


def _of_series(bank: Bank, data: Windows) -> Kernel:
    from batchensemble.training.engines.fused.recurrent import train_recurrent

    network = bank.module
    assert isinstance(network, Recurrent)
    cell = network.recurrent.cells[0]
    if isinstance(cell, GRUBECell):
        table = layer_table(bank, (cell.reset, cell.update, cell.candidate))
    else:
        assert isinstance(cell, GRUCell)
        table = gru_table(bank, cell)
    scaling = torch.stack([data.location, data.scale]).numpy()
    window = (data.reach, data.horizon, data.n_past, network.context)
    arrays = (data.series.numpy(), scaling, window, np.array(network.lags))
    head, feeds_back = _of_mlp(bank, network.head), network.feedback == "mean"
    return train_recurrent, arrays, (table, isinstance(cell, GRUBECell), *head, feeds_back)


def _of_mlp(bank: Bank, mlp: MLP) -> tuple[Any, ...]:
    return layer_table(bank, (*mlp.layers, *mlp.heads)), len(mlp.hidden), mlp.n_members
