"""The reference engine: plain torch, one step after the other, any network, any device."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from batchensemble.bank import Bank
from batchensemble.engines.adam import Adam
from batchensemble.losses import Loss
from batchensemble.nn import orthogonality_penalty


@dataclass(frozen=True)
class Data:
    """Training rows on the device, those of all networks one after the other."""

    x: Tensor  # (rows, ...)
    y: Tensor  # (rows, ...)
    weight: Tensor | None = None  # (rows,), of mean 1


@dataclass(frozen=True)
class Steps:
    """Consecutive steps of a bank: which rows, how heavy, and the dropout masks.

    The last axis of rows and weights is the members', of length 1 where all see the same rows.
    The weights of a network in a step sum to 1 over rows and members (with sample weights, to 1 in
    the mean), or to 0: then it rests.
    """

    rows: Tensor  # (steps, networks, batch, members or 1)
    weights: Tensor  # the same
    masks: Tensor | None  # (steps, networks, batch, members, units)

    def __len__(self) -> int:
        return len(self.rows)


class Engine(Protocol):
    def run(self, steps: Steps) -> Tensor:
        """Advance the bank by these steps; the networks' losses, (steps, networks)."""
        ...


class PlainEngine:
    def __init__(
        self, bank: Bank, loss: Loss, data: Data, adam: Adam, *, penalty: float = 0.0
    ) -> None:
        self.bank, self.loss, self.data, self.adam, self.penalty = bank, loss, data, adam, penalty
        self.parameters = bank.parameters()
        self.n_members = bank.module.n_members
        self.losses: Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor] = self._losses
        self.update: Callable[[Tensor, Tensor], None] = adam.step

    def _losses(self, x: Tensor, y: Tensor, weights: Tensor, masks: Tensor | None) -> Tensor:
        """Each network's loss: the weighted mean over rows of the members' own losses."""
        x = x.expand(*x.shape[:2], self.n_members, *x.shape[3:])
        loss = (self.loss(self.bank(x, masks), y) * weights).flatten(1).sum(1)
        if self.penalty:
            loss = loss + self.penalty * orthogonality_penalty(self.bank.module)
        return loss

    def step(self, rows: Tensor, weights: Tensor, masks: Tensor | None) -> Tensor:
        x, y = self.data.x[rows], self.data.y[rows]
        losses = self.losses(x, y, weights, masks)
        gradients = torch.autograd.grad(losses.sum(), self.parameters)
        gradient = torch.cat([g.reshape(len(self.bank), -1) for g in gradients], dim=1)
        active = (weights.flatten(1).sum(1, keepdim=True) > 0).to(gradient.dtype)
        self.update(gradient, active)
        return losses.detach()

    def run(self, steps: Steps) -> Tensor:
        self.bank.module.train()
        masks = steps.masks if steps.masks is not None else [None] * len(steps)
        losses = map(self.step, steps.rows, steps.weights, masks)
        return torch.stack(list(losses))
