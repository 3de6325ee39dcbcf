"""From a method to trained networks, and from these to predictions, for one model or several."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator, Tensor

from batchensemble.bank import Bank
from batchensemble.engines import Source
from batchensemble.losses import Loss
from batchensemble.methods import MakeNetwork, Members, Method
from batchensemble.networks import MLP
from batchensemble.training import History, Training, train, train_one_by_one

CHUNK_FLOATS = 2**22


@dataclass(frozen=True)
class Rows:
    """What one model learns from: a seed, training rows, and rows held out for early stopping."""

    seed: int
    train: Tensor
    held_out: Tensor | None = None


def mlp_maker(
    in_features: int,
    heads: Sequence[int],
    *,
    hidden: Sequence[int],
    dropout: float,
    adapters: str | Sequence[str] = "rsb",
    init: str = "random_sign",
) -> MakeNetwork:
    """Builds the same MLP for every method: plain, or with members."""

    def make(generator: Generator, *, n_members: int | None = None) -> MLP:
        return MLP(
            in_features,
            heads,
            hidden=hidden,
            n_members=n_members or 1,
            adapters="" if n_members is None else adapters,
            init=init,
            dropout=dropout,
            generator=generator,
        )

    return make


def fit_models(
    method: Method,
    make: MakeNetwork,
    loss: Loss,
    data: Source,
    training: Training,
    *,
    rows: Sequence[Rows],
    one_by_one: bool = False,
) -> tuple[Bank, list[History]]:
    """The networks of all models, one model's after the other's, trained as one bank.

    They are trained where the data are. One history, or with `one_by_one` one for each network.
    """
    device = data.device
    per_network = [model for model in rows for _ in range(method.n_networks)]
    seeds = [
        int(seed)
        for model in rows
        for seed in np.random.SeedSequence(model.seed).generate_state(method.n_networks)
    ]
    bank = Bank([method.network(make, Generator().manual_seed(seed)) for seed in seeds])
    bank = bank.to(device, data.dtype)
    generators = [Generator(device).manual_seed(seed) for seed in seeds]
    own_rows = [model.train for model in per_network]
    if one_by_one:
        histories = train_one_by_one(
            bank, loss, data, training, rows=own_rows, generators=generators
        )
        return bank, histories
    held_out = [model.held_out for model in per_network if model.held_out is not None]
    history = train(
        bank,
        loss,
        data,
        training,
        rows=own_rows,
        generators=generators,
        held_out=held_out or None,
        ensemble_size=method.n_networks,
    )
    return bank, [history]


def make_members(method: Method, bank: Bank, seed: int) -> Members:
    """The trained networks ready to predict, in float64: rounding would show otherwise.

    In float32 a row's answer depends, in the seventh digit, on how many rows come with it.
    """
    return method.members(bank.to(bank.theta.device, torch.float64), Generator().manual_seed(seed))


def predict_rows(
    members: Members, x: NDArray[np.float32], device: torch.device, *, floats_a_row: int
) -> Iterator[Tensor]:
    """(rows, predictions, outputs) in float64 on the CPU, in chunks of bounded memory."""
    size = max(1, CHUNK_FLOATS // floats_a_row)
    for start in range(0, len(x), size):
        part = torch.tensor(x[start : start + size], dtype=torch.float64, device=device)
        with torch.inference_mode():
            yield members(part).cpu()
