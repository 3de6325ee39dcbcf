"""Early stopping: the score on the held-out rows, and every network's best state by it."""

from collections.abc import Sequence

import torch
from torch import Tensor

from batchensemble.training.bank import Bank
from batchensemble.training.engines import Source, mean_over_steps, place_members
from batchensemble.training.losses import Loss

SCORED_ROWS = 8192  # at a time, of a table; of windows, as many as have so many times together

LEAST_ROWS = 64  # of however long windows


class EarlyStopping:
    """Keeps each network's best state by its ensemble's score, and knows which networks go on.

    `ensemble_size` consecutive networks are an ensemble; all have the score of their mixture.
    """

    def __init__(
        self,
        bank: Bank,
        loss: Loss,
        data: Source,
        held_out: Sequence[Tensor],
        *,
        ensemble_size: int,
        patience: int,
        patience_growth: float = 0.0,
    ) -> None:
        """A network rests after `patience` epochs without a better score.

        Or after `patience_growth` times as many as its best took, if these are more: late in a
        training, scores improve rarely.
        """
        self.bank, self.loss, self.data = bank, loss, data
        self.ensemble_size = ensemble_size
        self.patience, self.patience_growth = patience, patience_growth
        self.active = [True] * len(bank)
        self.best_scores = [float("inf")] * len(bank)
        self.best_epochs = [0] * len(bank)
        self.best_theta: Tensor | None = None
        longest = max(map(len, held_out))
        rows = torch.zeros(len(bank), longest, dtype=torch.int64)
        weights = torch.zeros(len(bank), longest)
        for i, numbers in enumerate(held_out):
            rows[i, : len(numbers)] = numbers
            weights[i, : len(numbers)] = 1
        self.rows, weights = rows.to(data.device), weights.to(data.device)
        if data.weight is not None:
            weights = weights * data.weight[self.rows]
        self.weights = (weights / weights.sum(1, keepdim=True))[::ensemble_size]
        n_times = data.take(self.rows[:1, :1])[0].shape[2:-1].numel()
        self.at_once = max(LEAST_ROWS, SCORED_ROWS // n_times)

    @torch.no_grad()
    def scores(self) -> list[float]:
        """The loss's score on the held-out rows, for each network that of its ensemble.

        A network that rests has its best score.
        """
        bank, rows, weights, size = self.bank, self.rows, self.weights, self.ensemble_size
        if not all(self.active):
            bank = bank[self.active]
            rows, weights = rows[self.active], weights[self.active[::size]]
        bank.module.eval()
        total = torch.zeros(len(weights), device=weights.device)
        parts = (rows.split(self.at_once, 1), weights.split(self.at_once, 1))
        for rows, weights in zip(*parts, strict=True):
            x, y = place_members(*self.data.take(rows.unsqueeze(2)), bank.module.n_members)
            outputs = bank(x).unflatten(0, (-1, size))  # (ensembles, size, rows, ...)
            outputs = outputs.movedim(1, -3).flatten(-3, -2)  # (ensembles, rows, ..., all members)
            scores = self.loss.score(outputs, y[::size]).unsqueeze(-1)
            total += (mean_over_steps(scores).squeeze(-1) * weights).sum(1)
        latest = iter([score for score in total.tolist() for _ in range(size)])
        networks = zip(self.active, self.best_scores, strict=True)
        return [next(latest) if goes_on else best for goes_on, best in networks]

    def update(self, epoch: int, scores: Sequence[float]) -> None:
        if self.best_theta is None:
            self.best_theta = self.bank.theta.clone()
        for i, score in enumerate(scores):
            if not self.active[i]:
                continue
            if score < self.best_scores[i]:
                self.best_scores[i], self.best_epochs[i] = score, epoch
                self.best_theta[i] = self.bank.theta[i]
            elif epoch - self.best_epochs[i] >= max(
                self.patience, self.patience_growth * self.best_epochs[i]
            ):
                self.active[i] = False

    def restore(self) -> None:
        """Put every network back into its best state."""
        if self.best_theta is not None:  # else training ended before the first score
            self.bank.theta.copy_(self.best_theta)
