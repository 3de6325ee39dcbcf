"""The same training in plain PyTorch, as one would write it: what `speed.py` compares with."""

import math
from collections.abc import Callable, Iterator
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import torch
from torch import Tensor, nn

from batchensemble.training.losses import GaussianNLL, Loss

Layer = Callable[[int, int], nn.Module]


class EagerBatchEnsemble(nn.Module):
    """The layer of the paper: members on the second to last axis."""

    def __init__(self, n_in: int, n_out: int, n_members: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_out, n_in).uniform_(-1, 1) / math.sqrt(n_in))
        self.r = nn.Parameter(torch.randint(0, 2, (n_members, n_in)).float() * 2 - 1)
        self.s = nn.Parameter(torch.randint(0, 2, (n_members, n_out)).float() * 2 - 1)
        self.bias = nn.Parameter(torch.zeros(n_members, n_out))

    def forward(self, x: Tensor) -> Tensor:
        return (x * self.r) @ self.weight.T * self.s + self.bias


class Stacked(nn.Module):
    """A layer of several networks side by side: a deep ensemble in one batched product."""

    def __init__(self, n_in: int, n_out: int, n_networks: int) -> None:
        super().__init__()
        weight = torch.empty(n_networks, n_in, n_out).uniform_(-1, 1) / math.sqrt(n_in)
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(torch.zeros(n_networks, 1, n_out))

    def forward(self, x: Tensor) -> Tensor:
        return torch.baddbmm(self.bias, x.transpose(0, 1), self.weight).transpose(0, 1)


def tabm_layer(n_members: int) -> Layer:
    from tabm import LinearBatchEnsemble

    return lambda n_in, n_out: LinearBatchEnsemble(
        n_in, n_out, k=n_members, scaling_init="random-signs"
    )


def torch_uncertainty_layer(n_members: int) -> Layer:
    """From its file alone: the package wants torchvision and more when it is imported."""
    package = find_spec("torch_uncertainty")
    assert package is not None
    assert package.submodule_search_locations is not None
    file = Path(package.submodule_search_locations[0]) / "layers" / "batch_ensemble.py"
    spec = spec_from_file_location("torch_uncertainty_batch_ensemble", file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return lambda n_in, n_out: module.BatchLinear(n_in, n_out, n_members)


class Flat(nn.Module):
    """Its layers have the members one after the other on the axis of the batch."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        y = self.network(x.transpose(0, 1).flatten(0, 1))
        return y.unflatten(0, (x.shape[1], x.shape[0])).transpose(0, 1)


class Net(nn.Module):
    """ReLU and dropout between two hidden layers, then a mean and a log-variance."""

    def __init__(self, layer: Layer, n_in: int, width: int = 32, dropout: float = 0.1) -> None:
        super().__init__()
        self.first, self.second = layer(n_in, width), layer(width, width)
        self.mean, self.raw = layer(width, 1), layer(width, 1)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = self.dropout(torch.relu(self.first(x)))
        x = self.dropout(torch.relu(self.second(x)))
        return torch.cat([self.mean(x), self.raw(x)], -1)


class Forecast(nn.Module):
    """A GRU of BatchEnsemble layers step by step, its answers fed back, and `Net` as its head."""

    def __init__(self, layer: Layer, context: int, horizon: int, size: int = 32) -> None:
        super().__init__()
        self.context, self.horizon, self.size = context, horizon, size
        self.reset, self.update = layer(1 + size, size), layer(1 + size, size)
        self.candidate = layer(1 + size, size)
        self.head = Net(layer, size)

    def cell(self, x: Tensor, h: Tensor) -> Tensor:
        xh = torch.cat([x, h], -1)
        reset, update = torch.sigmoid(self.reset(xh)), torch.sigmoid(self.update(xh))
        candidate = torch.tanh(self.candidate(torch.cat([x, reset * h], -1)))
        return (1 - update) * h + update * candidate

    def forward(self, x: Tensor) -> Tensor:
        """(batch, context, members, 1) -> (batch, horizon, members, 2)."""
        h = x.new_zeros(len(x), x.shape[2], self.size)
        for t in range(self.context):
            h = self.cell(x[:, t], h)
        answers = [self.head(h)]
        for _ in range(1, self.horizon):
            h = self.cell(answers[-1][..., :1], h)
            answers.append(self.head(h))
        return torch.stack(answers, 1)


def batches(n_rows: int, size: int) -> Iterator[Tensor]:
    yield from torch.randperm(n_rows).split(size)


class Loop:
    """The usual loop: batches, loss, backward, clipping, Adam."""

    def __init__(
        self,
        network: nn.Module,
        x: Tensor,
        y: Tensor,
        *,
        n_members: int,
        loss: Loss | None = None,
        batch: int = 64,
        lr: float = 0.005,
        clip: float = 0.1,
    ) -> None:
        self.network, self.x, self.y = network, x, y
        self.n_members, self.batch, self.clip = n_members, batch, clip
        self.loss = loss or GaussianNLL()
        self.adam = torch.optim.Adam(network.parameters(), lr=lr)

    def predict(self, x: Tensor) -> Tensor:
        """In float64 as ours, some thousand rows at a time."""
        network = self.network.eval().double()
        with torch.inference_mode():
            parts = [part.double().unsqueeze(-2) for part in x.split(4096)]
            return torch.cat([network(p.expand(-1, self.n_members, -1)) for p in parts])

    def epoch(self) -> float:
        self.network.train()
        total = 0.0
        for rows in batches(len(self.x), self.batch):
            x, y = self.x[rows], self.y[rows].unsqueeze(-1)
            x = x.unsqueeze(-2).expand(*x.shape[:-1], self.n_members, x.shape[-1])
            loss = self.loss(self.network(x), y).mean()
            self.adam.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.network.parameters(), self.clip)
            self.adam.step()
            total += loss.item() * len(rows)
        return total / len(self.x)
