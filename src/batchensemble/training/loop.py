"""The only training loop: epochs, early stopping, time limit, progress."""

import math
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Generator, Tensor

from batchensemble.training.bank import Bank
from batchensemble.training.checkpoint import Checkpoint
from batchensemble.training.early_stopping import EarlyStopping
from batchensemble.training.engines import Source
from batchensemble.training.feed import Feed, adam_of
from batchensemble.training.history import History
from batchensemble.training.losses import Loss
from batchensemble.training.plan import BATCHING
from batchensemble.training.processes import Team
from batchensemble.training.progress import progress_bar
from batchensemble.training.state import State
from batchensemble.training.threads import ONE_TORCH_THREAD
from batchensemble.words import one_of

WORTH_THREADS = 200_000_000  # multiplications a step, from which on several threads pay


class TrainingDiverged(RuntimeError):
    """A loss or a held-out score stopped being a finite number."""


@dataclass(frozen=True)
class Training:
    """How to train: the same for every network of a bank.

    batching      how the members of a network see a batch: "shared" (all see the same rows),
                  "independent" (each has its own shuffling) or "split" (each sees its share).
    penalty       strength of the orthogonality penalty on the members' vectors: one number for
                  all networks of the bank, or one for each.
    epoch_steps   steps of an epoch, with rows shuffled anew whenever they run out. None: an epoch
                  is one pass over the rows.
    patience      epochs without a better score on the held-out rows after which a network stops;
                  its best state is kept. None: no early stopping.
    patience_growth  the same as a share of the epochs that the best score took, if that is more.
    time_limit    seconds after which training ends with what it has learned so far.
    stop_if_lost  whether training raises when a network diverges. If not, the other networks of
                  the bank go on unchanged.
    """

    epochs: int = 500
    epoch_steps: int | None = None
    batch_size: int = 64
    lr: float = 0.005
    weight_decay: float = 0.0
    clip_norm: float = 1.0
    batching: str = "shared"
    penalty: float | tuple[float, ...] = 0.0
    patience: int | None = None
    patience_growth: float = 0.0
    time_limit: float | None = None
    keep_on_interrupt: bool = False
    stop_if_lost: bool = True
    verbose: bool = False

    def __post_init__(self) -> None:
        one_of(self.batching, BATCHING, "batching")
        for name in (
            *("epochs", "epoch_steps", "batch_size"),
            *("lr", "clip_norm", "patience", "time_limit"),
        ):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"expected {name} above 0, got {value}")
        for name in ("weight_decay", "penalty", "patience_growth"):
            value = getattr(self, name)
            if min(value if isinstance(value, tuple) else (value,)) < 0:
                raise ValueError(f"expected {name} of at least 0, got {value}")


def train(bank: Bank, loss: Loss, data: Source, training: Training, **how: Any) -> History:
    """`train_models` of a bank that is one model."""
    return train_models(bank, loss, data, [training], **how)[0]


def train_models(
    bank: Bank,
    loss: Loss,
    data: Source,
    trainings: Sequence[Training],
    *,
    rows: Sequence[Tensor],
    generators: Sequence[Generator],
    held_out: Sequence[Tensor] | None = None,
    ensemble_size: int = 1,
    is_warm: bool = False,
    checkpoint: Checkpoint | None = None,
) -> list[History]:
    """Train every network of the bank on its own rows, in place and in lock step.

    The networks are those of several models, each of which has its training and gets a history.
    Only `epochs` and `batch_size` of these may differ.

    `rows` and `held_out` are row numbers in `data`, for each network; their counts may differ. Of
    `Shards`, `rows` are the parts that a network learns from, and `held_out` watched rows.
    `ensemble_size` consecutive networks are an ensemble, scored together on the held-out rows.
    A bank that `is_warm` was trained before: networks that get no better stay as they are. The
    work is shared with the other processes of a `Team`; a `checkpoint` is gone when it is done.
    """
    if not len(rows) == len(generators) == len(bank):
        raise ValueError(
            f"expected rows and generators for {len(bank)} networks, "
            f"got {len(rows)} and {len(generators)}"
        )
    if held_out is not None and len(held_out) != len(bank):
        raise ValueError(f"expected {len(bank)} sets of held-out rows, got {len(held_out)}")
    if not all(map(len, (*rows, *(held_out or ())))):
        raise ValueError("expected training and held-out rows for every network, got none for some")
    if len(bank) % ensemble_size:
        raise ValueError(f"expected ensembles of {ensemble_size} out of {len(bank)} networks")
    history = History()
    team, n = Team.here(), len(bank)
    own, training = team.networks(n), trainings[0]
    size = n // len(trainings)
    lengths = [(each.epochs, each.batch_size) for each in trainings for _ in range(size)]
    limits = [epochs for epochs, _ in lengths]
    ends = [(0, "patience")] * n  # how many epochs a network learned, and why not more
    mine, training = bank, _training_of(own, training)
    if team.splits_networks(n):
        mine = bank[own]
    adam = adam_of(mine, training)
    together = team if team.splits_rows(n) else None
    feed = Feed(
        mine, loss, data, training, adam, rows[own], generators[own], together, lengths[own]
    )
    active, stopper = [True] * n, None
    if training.patience is not None and held_out is not None:
        stopper = EarlyStopping(
            bank,
            loss,
            data,
            held_out,
            ensemble_size=ensemble_size,
            patience=training.patience,
            patience_growth=training.patience_growth,
        )
        active = stopper.active
        if is_warm:
            stopper.update(-1, stopper.scores())
    run = State(bank, mine, adam, generators, stopper, history, team)
    first = 0 if checkpoint is None else run.restored(checkpoint.read())
    start = time.monotonic()

    def is_over() -> bool:
        return training.time_limit is not None and time.monotonic() - start > training.time_limit

    def all_agree(flag: bool) -> bool:
        return team.any(flag, bank.theta.device)

    def is_cut() -> bool:
        """Within an epoch, where only processes that share every step are in step."""
        over = is_over()
        return all_agree(over) if training.time_limit and team.splits_rows(n) else over

    is_shown = training.verbose and team.rank == 0
    bar = progress_bar("epoch", max(limits) - first, verbose=is_shown)
    with bar as advance, _threads_for(feed.multiplications // len(trainings)):
        try:
            for epoch in range(first, max(limits)):
                means, learned = [], [i for i in range(n) if active[i]]
                for plan, engine in feed.epoch(epoch):
                    parts = []
                    is_done = False
                    for steps in plan.epoch(active[own]):
                        parts.append(engine.run(steps))
                        is_done = is_cut()
                        if is_done:
                            break
                    losses = torch.cat(parts)
                    if training.stop_if_lost:
                        check_finite(losses, epoch, training)
                    means.append(plan.epoch_means(losses))
                    if is_done:
                        break
                by_network = [sum(each) / len(each) for each in zip(*means, strict=True)]
                history.losses.append(run.meet(by_network))
                if stopper is not None:
                    scores = stopper.scores()
                    _check_scores(scores, epoch)
                    stopper.update(epoch, scores)
                    history.scores.append(scores)
                advance(1, _latest(history))
                for i in learned:
                    ends[i] = (epoch + 1, "epochs" if active[i] else "patience")
                    active[i] = active[i] and epoch + 1 < limits[i]
                if not any(active):
                    break
                if training.time_limit and all_agree(is_over()):
                    history.ended = "time_limit"
                    break
                if checkpoint is not None and all_agree(team.rank == 0 and checkpoint.is_due):
                    run.save(checkpoint, epoch + 1)
        except KeyboardInterrupt:
            if not training.keep_on_interrupt:
                raise
            history.ended = "interrupt"
    if stopper is not None:
        stopper.restore()
        history.best_epochs = [max(0, epoch) for epoch in stopper.best_epochs]
    if checkpoint is not None and team.rank == 0:
        checkpoint.remove()
    bank.module.eval()
    history.seconds = time.monotonic() - start
    return [history.of(slice(i, i + size), ends) for i in range(0, n, size)]


def _training_of(own: slice, training: Training) -> Training:
    """With the penalties of some networks, where each has its own."""
    if not isinstance(training.penalty, tuple):
        return training
    return replace(training, penalty=training.penalty[own])


def train_one_by_one(
    bank: Bank,
    loss: Loss,
    data: Source,
    training: Training,
    *,
    rows: Sequence[Tensor],
    generators: Sequence[Generator],
) -> list[History]:
    """Train the networks one after the other, in place: slower, to measure what each costs."""
    if training.patience or training.time_limit or training.keep_on_interrupt:
        raise ValueError(
            "networks trained one by one cannot have early stopping, time_limit or "
            "keep_on_interrupt, which are about the whole ensemble; switch them off "
            "(validation_fraction=0 without eval_set)"
        )
    histories = []
    for i in range(len(bank)):
        one = slice(i, i + 1)
        alone = bank[one]
        history = train(alone, loss, data, training, rows=rows[one], generators=generators[one])
        histories.append(history)
        with torch.no_grad():
            bank.theta[one] = alone.theta
    return histories


def check_finite(losses: Tensor, epoch: int, training: Training) -> None:
    bad = (~torch.isfinite(losses)).nonzero()
    if len(bad):
        step, network = bad[0].tolist()
        raise TrainingDiverged(
            f"the loss of network {network} of {losses.shape[1]} became "
            f"{losses[step, network].item()} at epoch {epoch}, step {step} of {len(losses)}; "
            f"try a smaller lr (now {training.lr}), a smaller clip_norm (now "
            f"{training.clip_norm}), or a bounded log-variance"
        )


def _check_scores(scores: Sequence[float], epoch: int) -> None:
    if not all(map(math.isfinite, scores)):
        raise TrainingDiverged(
            f"the score on the held-out rows became {scores} after epoch {epoch}; try a "
            "smaller lr, or more similar sample weights"
        )


def _latest(history: History) -> str:
    """The latest mean loss and score, for the progress bar."""
    columns = {"loss": history.losses, "held-out score": history.scores}
    means = {name: sum(rows[-1]) / len(rows[-1]) for name, rows in columns.items() if rows}
    return ", ".join(f"{name} {mean:.4f}" for name, mean in means.items())


def _threads_for(multiplications: int) -> AbstractContextManager[None]:
    """One thread while the steps are small: several would mostly wait for each other."""
    return ONE_TORCH_THREAD.held() if multiplications < WORTH_THREADS else nullcontext()
