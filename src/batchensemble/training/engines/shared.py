"""The plain step with its rows split among processes, which all take the sum of the gradients."""

import torch
from torch import Tensor

from batchensemble.training.engines.plain import PlainEngine, Steps
from batchensemble.training.processes import Team


class SharedEngine:
    def __init__(self, plain: PlainEngine, team: Team) -> None:
        self.plain, self.team = plain, team
        self.own = slice(team.rank, None, team.size)  # rows of a batch
        if team.rank > 0:
            plain.penalty = None  # which counts once

    def step(
        self, rows: Tensor, weights: Tensor, keys: Tensor | None, noise: Tensor | None
    ) -> Tensor:
        plain, own = self.plain, self.own
        masks = plain.masks(keys, rows.shape[1])
        losses = plain.weighted(
            *plain.data.take(rows[:, own]),
            weights[:, own],
            None if masks is None else masks[:, own],
            None if noise is None else noise[:, own],
        )
        gradients = torch.autograd.grad(losses.sum(), plain.parameters)
        gradient = torch.cat([g.reshape(len(plain.bank), -1) for g in gradients], dim=1)
        active = (weights.flatten(1).sum(1, keepdim=True) > 0).to(gradient.dtype)
        both = self.team.summed(torch.cat([gradient, losses.detach().unsqueeze(1)], dim=1))
        plain.update(both[:, :-1], active)
        return both[:, -1].clone()

    def run(self, steps: Steps) -> Tensor:
        self.plain.bank.module.train()
        nothing = [None] * len(steps)
        keys, noise = (nothing if r is None else r for r in (steps.keys, steps.noise))
        return torch.stack(list(map(self.step, steps.rows, steps.weights, keys, noise)))
