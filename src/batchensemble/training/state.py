"""All that changes while networks are trained."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Generator, Tensor

from batchensemble.training.bank import Bank
from batchensemble.training.checkpoint import Checkpoint
from batchensemble.training.early_stopping import EarlyStopping
from batchensemble.training.engines import Adam
from batchensemble.training.history import History
from batchensemble.training.processes import Team


@dataclass(frozen=True)
class State:
    """All that changes in a training: to meet other processes, and to be kept in a checkpoint."""

    bank: Bank
    mine: Bank  # the networks that this process trains
    adam: Adam
    generators: Sequence[Generator]
    stopper: EarlyStopping | None
    history: History
    team: Team

    def meet(self, losses: Sequence[float]) -> list[float]:
        """Everybody's networks and losses, after an epoch."""
        if not self.team.splits_networks(len(self.bank)):
            return list(losses)
        self.bank.theta.copy_(self._gathered(self.mine.theta))
        every: list[float] = self._gathered(torch.tensor(losses, dtype=torch.float64)).tolist()
        return every

    def _gathered(self, own: Tensor) -> Tensor:
        return self.team.gathered(own, len(self.bank), self.bank.theta.device)

    def save(self, checkpoint: Checkpoint, epoch: int) -> None:
        """After so many epochs; the first process writes."""
        adam, stopper = self.adam, self.stopper
        own = self.team.networks(len(self.bank))
        states = torch.stack([generator.get_state() for generator in self.generators[own]])
        state = {
            "epoch": epoch,
            "theta": self.bank.theta.cpu(),
            "moments": [self._gathered(m).cpu() for m in (adam.moment1, adam.moment2, adam.count)],
            "generators": self._gathered(states),
            "history": [self.history.losses, self.history.scores],
        }
        if stopper is not None:
            state["stopper"] = [stopper.active, stopper.best_scores, stopper.best_epochs]
            state["best_theta"] = None if stopper.best_theta is None else stopper.best_theta.cpu()
        if self.team.rank == 0:
            checkpoint.write(state)
        checkpoint.written = time.monotonic()

    @torch.no_grad()
    def restored(self, state: dict[str, Any] | None) -> int:
        """Back to where a checkpoint was written: the number of epochs that are done."""
        if state is None:
            return 0
        adam, stopper = self.adam, self.stopper
        own = self.team.networks(len(self.bank))
        self.bank.theta.copy_(state["theta"])
        self.mine.theta.copy_(state["theta"][own])
        for held, saved in zip(
            (adam.moment1, adam.moment2, adam.count), state["moments"], strict=True
        ):
            held.copy_(saved[own])
        for generator, saved in zip(self.generators, state["generators"], strict=True):
            generator.set_state(saved.clone())  # a view would be read from its beginning
        self.history.losses, self.history.scores = state["history"]
        if stopper is not None:
            stopper.active[:], stopper.best_scores, stopper.best_epochs = state["stopper"]
            best = state["best_theta"]
            stopper.best_theta = None if best is None else best.to(self.bank.theta.device)
        return int(state["epoch"])
