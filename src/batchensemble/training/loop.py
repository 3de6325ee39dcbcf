"""The only training loop: epochs, early stopping, limits, progress."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Generator, Tensor

from batchensemble.training.bank import Bank
from batchensemble.training.engines import (
    Adam,
    Engine,
    Source,
    choose_engine,
    mean_over_steps,
    place_members,
)
from batchensemble.training.losses import Loss
from batchensemble.training.plan import BATCHING, Plan
from batchensemble.training.progress import ProgressBar
from batchensemble.words import one_of

SCORED_ROWS = 8192  # of a table; of windows as many as have so many times together
WORTH_THREADS = 200_000_000


class TrainingDiverged(RuntimeError):
    """The loss of a network stopped being a number."""


@dataclass(frozen=True)
class Training:
    """How to train: the same for every network of a bank.

    batching      how the members of a network see a batch: "shared" (all see the same rows),
                  "independent" (each has its own shuffling) or "split" (each sees its share).
    penalty       strength of the orthogonality penalty on the members' vectors; one for all
                  networks of the bank, or one for each.
    patience      epochs without a better score on the held-out rows after which a network stops;
                  its best state is kept. None: no early stopping.
    time_limit    seconds after which training ends with what it has.
    stop_if_lost  whether a loss that is not finite is an error. If not, its network stays lost,
                  and the others of the bank go on untouched.
    """

    epochs: int = 500
    batch_size: int = 64
    lr: float = 0.005
    weight_decay: float = 0.0
    clip_norm: float = 1.0
    batching: str = "shared"
    penalty: float | tuple[float, ...] = 0.0
    patience: int | None = None
    time_limit: float | None = None
    keep_on_interrupt: bool = False
    stop_if_lost: bool = True
    verbose: bool = False

    def __post_init__(self) -> None:
        one_of(self.batching, BATCHING, "batching")
        for name in ("epochs", "batch_size", "lr", "clip_norm", "patience", "time_limit"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"expected {name} above 0, got {value}")
        for name in ("weight_decay", "penalty"):
            value = getattr(self, name)
            if min(value if isinstance(value, tuple) else (value,)) < 0:
                raise ValueError(f"expected {name} of at least 0, got {value}")


@dataclass
class History:
    """What happened: a row an epoch, a column a network."""

    losses: list[list[float]] = field(default_factory=list)
    scores: list[list[float]] = field(default_factory=list)
    best_epochs: list[int] = field(default_factory=list)
    ended: str = "epochs"  # or "patience", "time_limit", "interrupt"
    seconds: float = 0.0


def train(
    bank: Bank,
    loss: Loss,
    data: Source,
    training: Training,
    *,
    rows: Sequence[Tensor],
    generators: Sequence[Generator],
    held_out: Sequence[Tensor] | None = None,
    ensemble_size: int = 1,
) -> History:
    """Train every network of the bank on its own rows, in place and in lock step.

    `rows` and `held_out` are the networks' row numbers in `data`; their numbers may differ.
    `ensemble_size` consecutive networks are judged together on the held-out rows, by the score
    of their mixture.
    """
    if not len(rows) == len(generators) == len(bank):
        raise ValueError(
            f"expected rows and generators for {len(bank)} networks, "
            f"got {len(rows)} and {len(generators)}"
        )
    if held_out is not None and len(held_out) != len(bank):
        raise ValueError(f"expected {len(bank)} sets of held-out rows, got {len(held_out)}")
    if not all(len(own) for own in (*rows, *(held_out or ()))):
        raise ValueError("expected training and held-out rows for every network, got none for some")
    if len(bank) % ensemble_size:
        raise ValueError(f"expected ensembles of {ensemble_size} out of {len(bank)} networks")
    history = History()
    plan, engine = plan_and_engine(bank, loss, data, training, rows=rows, generators=generators)
    stopper = None
    if training.patience is not None and held_out is not None:
        score = _scorer(bank, loss, data, held_out, ensemble_size)
        stopper = _EarlyStopping(bank, score, training.patience)
    start = time.monotonic()
    with _progress(training) as bar, _threads_for(plan.multiplications):
        try:
            for epoch in range(training.epochs):
                active = [True] * len(bank) if stopper is None else stopper.active
                parts = []
                for steps in plan.epoch(active):
                    parts.append(engine.run(steps))
                    if _over(training.time_limit, start):
                        break
                losses = torch.cat(parts)
                if training.stop_if_lost:
                    check_finite(losses, epoch, training)
                history.losses.append(plan.epoch_means(losses))
                if stopper is not None:
                    history.scores.append(stopper.look(epoch))
                bar.advance(loss=history.losses[-1], score=history.scores[-1:])
                if stopper is not None and not any(stopper.active):
                    history.ended = "patience"
                    break
                if _over(training.time_limit, start):
                    history.ended = "time_limit"
                    break
        except KeyboardInterrupt:
            if not training.keep_on_interrupt:
                raise
            history.ended = "interrupt"
    if stopper is not None:
        history.best_epochs = stopper.restore()
    bank.module.eval()
    history.seconds = time.monotonic() - start
    return history


def plan_and_engine(
    bank: Bank,
    loss: Loss,
    data: Source,
    training: Training,
    *,
    rows: Sequence[Tensor],
    generators: Sequence[Generator],
) -> tuple[Plan, Engine]:
    """What cuts epochs into steps, and what runs them."""
    plan = Plan(
        bank,
        data,
        rows,
        generators,
        batch_size=training.batch_size,
        batching=training.batching,
    )
    adam = Adam.over(
        bank.theta,
        bank.parameter_names(),
        lr=training.lr,
        weight_decay=training.weight_decay,
        clip_norm=training.clip_norm,
    )
    engine = choose_engine(
        bank,
        loss,
        data,
        adam,
        penalty=training.penalty,
        batch=plan.batch,
        n_steps=training.epochs * plan.n_steps,
        n_threads=torch.get_num_threads(),
    )
    return plan, engine


def train_one_by_one(
    bank: Bank,
    loss: Loss,
    data: Source,
    training: Training,
    *,
    rows: Sequence[Tensor],
    generators: Sequence[Generator],
) -> list[History]:
    """Train the networks one after the other, in place: slower, and honest about their cost."""
    if training.patience or training.time_limit or training.keep_on_interrupt:
        raise ValueError(
            "expected plain training for networks one by one: early stopping, time_limit and "
            "keep_on_interrupt are about the ensemble; switch them off (validation_fraction=0)"
        )
    histories = []
    for i in range(len(bank)):
        alone = bank[[i]]
        histories.append(
            train(
                alone,
                loss,
                data,
                training,
                rows=[rows[i]],
                generators=[generators[i]],
            )
        )
        with torch.no_grad():
            bank.theta[i] = alone.theta[0]
    return histories


class _EarlyStopping:
    """Keeps each network's best state by its ensemble's score, and says who goes on."""

    def __init__(self, bank: Bank, score: Callable[[], list[float]], patience: int) -> None:
        self.bank, self.score, self.patience = bank, score, patience
        self.best = [float("inf")] * len(bank)
        self.best_epochs = [0] * len(bank)
        self.best_theta: Tensor | None = None
        self.active = [True] * len(bank)

    def look(self, epoch: int) -> list[float]:
        scores = self.score()
        if not all(map(math.isfinite, scores)):
            raise TrainingDiverged(
                f"the score on the held-out rows became {scores} after epoch {epoch}; "
                "try a smaller lr, or sample weights that are not so unequal"
            )
        if self.best_theta is None:
            self.best_theta = self.bank.theta.clone()
        for i, score in enumerate(scores):
            if not self.active[i]:
                continue
            if score < self.best[i]:
                self.best[i], self.best_epochs[i] = score, epoch
                self.best_theta[i] = self.bank.theta[i]
            elif epoch - self.best_epochs[i] >= self.patience:
                self.active[i] = False
        return scores

    def restore(self) -> list[int]:
        if self.best_theta is not None:  # else it ended before the first look
            self.bank.theta.copy_(self.best_theta)
        return self.best_epochs


def _scorer(
    bank: Bank, loss: Loss, data: Source, held_out: Sequence[Tensor], ensemble_size: int
) -> Callable[[], list[float]]:
    """The mixture's score on the held-out rows, for each network the one of its ensemble."""
    longest = max(len(own) for own in held_out)
    rows = torch.zeros(len(bank), longest, dtype=torch.int64)
    weights = torch.zeros(len(bank), longest)
    for i, own in enumerate(held_out):
        rows[i, : len(own)] = own
        weights[i, : len(own)] = 1
    rows, weights = rows.to(data.device), weights.to(data.device)
    if data.weight is not None:
        weights = weights * data.weight[rows]
    weights = (weights / weights.sum(1, keepdim=True))[::ensemble_size]
    n_times = data.take(rows[:1, :1])[0].shape[2:-1].numel()
    size = max(1, SCORED_ROWS // n_times)

    @torch.no_grad()
    def score() -> list[float]:
        bank.module.eval()
        total = torch.zeros(len(weights), device=weights.device)
        for start in range(0, longest, size):
            part = rows[:, start : start + size]
            x, y = place_members(*data.take(part.unsqueeze(2)), bank.module.n_members)
            outputs = bank(x).unflatten(0, (-1, ensemble_size))  # (ensembles, size, rows, ...)
            outputs = outputs.movedim(1, -3).flatten(-3, -2)  # (ensembles, rows, ..., all members)
            scores = loss.mixture(outputs, y[::ensemble_size]).unsqueeze(-1)
            scores = mean_over_steps(scores).squeeze(-1)
            total += (scores * weights[:, start : start + size]).sum(1)
        return [float(s) for s in total for _ in range(ensemble_size)]

    return score


def check_finite(losses: Tensor, epoch: int, training: Training) -> None:
    bad = (~torch.isfinite(losses)).nonzero()
    if len(bad):
        step, network = bad[0].tolist()
        clip = training.clip_norm
        raise TrainingDiverged(
            f"the loss of network {network} of {losses.shape[1]} became "
            f"{losses[step, network].item()} at epoch {epoch}, step {step} of {len(losses)}; "
            f"try a smaller lr (now {training.lr}), a smaller clip_norm (now {clip}), "
            "or a bounded log-variance"
        )


def _over(time_limit: float | None, start: float) -> bool:
    return time_limit is not None and time.monotonic() - start > time_limit


@contextmanager
def _threads_for(multiplications: int) -> Iterator[None]:
    """One thread while the steps are small: several would mostly wait for each other."""
    before = torch.get_num_threads()
    if multiplications < WORTH_THREADS:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _progress(training: Training) -> AbstractContextManager[Any]:
    return ProgressBar(training.epochs) if training.verbose else nullcontext(_Silent())


class _Silent:
    def advance(self, **values: object) -> None:
        pass
