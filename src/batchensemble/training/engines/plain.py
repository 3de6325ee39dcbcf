"""The reference engine: plain torch, step by step, for any network on any device."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from batchensemble.nn import orthogonality_penalty
from batchensemble.nn.dropout import keep_masks
from batchensemble.training.bank import Bank
from batchensemble.training.engines.adam import Adam
from batchensemble.training.engines.data import Source
from batchensemble.training.losses import Loss


@dataclass(frozen=True)
class Steps:
    """Consecutive steps of a bank: rows, their weights, and randomness.

    The last axis of rows and weights is the members', of length 1 where all see the same rows.
    The weights of a network in a step sum to 1 over rows and members (with sample weights, to 1 on
    average), or to 0: then the network rests.
    """

    rows: Tensor  # (steps, networks, batch, members or 1)
    weights: Tensor  # the same
    keys: Tensor | None = None  # (steps, networks), of the dropout masks
    noise: Tensor | None = None  # (steps, networks, batch, members, noise features)

    def __len__(self) -> int:
        return len(self.rows)


class Engine(Protocol):
    def run(self, steps: Steps) -> Tensor:
        """Advance the bank by these steps; the networks' losses, (steps, networks)."""
        ...


class PlainEngine:
    def __init__(
        self,
        bank: Bank,
        loss: Loss,
        data: Source,
        adam: Adam,
        *,
        penalty: float | Sequence[float] = 0.0,
    ) -> None:
        """`penalty` is one for all networks, or one for each."""
        self.bank, self.loss, self.data, self.adam = bank, loss, data, adam
        penalties = [penalty] * len(bank) if isinstance(penalty, int | float) else list(penalty)
        if len(penalties) != len(bank):
            raise ValueError(
                f"expected a penalty for each of {len(bank)} networks, got {len(penalties)}"
            )
        self.penalty = bank.theta.new_tensor(penalties) if any(penalties) else None
        self.parameters = bank.parameters()
        self.n_members = bank.module.n_members
        self.losses: Callable[..., Tensor] = self._losses
        self.update: Callable[[Tensor, Tensor], None] = adam.step

    def _losses(
        self, x: Tensor, y: Tensor, weights: Tensor, keys: Tensor | None, noise: Tensor | None
    ) -> Tensor:
        return self.weighted(x, y, weights, self.masks(keys, x.shape[1]), noise)

    def masks(self, keys: Tensor | None, batch: int) -> Tensor | None:
        """Of dropout, (networks, batch, members, units)."""
        if keys is None:
            return None
        network = self.bank.module
        shape = (batch, self.n_members, network.horizon * network.mask_features)
        return keep_masks(keys, shape, network.dropout)

    def weighted(
        self, x: Tensor, y: Tensor, weights: Tensor, masks: Tensor | None, noise: Tensor | None
    ) -> Tensor:
        """Each network's loss: the weighted mean over rows and members."""
        x, y = place_members(x, y, self.n_members)
        by_row = mean_over_steps(self.loss(self.bank(x, masks, noise), y))
        loss = (by_row * weights).flatten(1).sum(1)
        if self.penalty is not None:
            loss = loss + self.penalty * orthogonality_penalty(self.bank.module)
        return loss

    def step(
        self,
        rows: Tensor,
        weights: Tensor,
        keys: Tensor | None = None,
        noise: Tensor | None = None,
    ) -> Tensor:
        losses = self.losses(*self.data.take(rows), weights, keys, noise)
        gradients = torch.autograd.grad(losses.sum(), self.parameters)
        gradient = torch.cat([g.reshape(len(self.bank), -1) for g in gradients], dim=1)
        active = (weights.flatten(1).sum(1, keepdim=True) > 0).to(gradient.dtype)
        self.update(gradient, active)
        return losses.detach()

    def run(self, steps: Steps) -> Tensor:
        self.bank.module.train()
        nothing = [None] * len(steps)
        keys, noise = (nothing if r is None else r for r in (steps.keys, steps.noise))
        losses = map(self.step, steps.rows, steps.weights, keys, noise)
        return torch.stack(list(losses))


def place_members(x: Tensor, y: Tensor, n_members: int) -> tuple[Tensor, Tensor]:
    """Move the axis of the members, third in what was gathered, to its place, and fill it.

    (networks, batch, members or 1, ..., features) -> (networks, batch, ..., members, features);
    (networks, batch, members or 1, ...) -> (networks, batch, ..., members or 1).
    """
    x = x.movedim(2, -2)
    return x.expand(*x.shape[:-2], n_members, x.shape[-1]), y.movedim(2, -1)


def mean_over_steps(loss: Tensor) -> Tensor:
    """(networks, batch, ..., members) -> (networks, batch, members)."""
    return loss if loss.ndim == 3 else loss.flatten(2, -2).mean(2)
