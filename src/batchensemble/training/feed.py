"""What cuts the epochs of a bank into steps, and what runs them."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Generator, Tensor

from batchensemble.training.bank import Bank
from batchensemble.training.engines import Adam, Engine, Source, choose_engine
from batchensemble.training.losses import Loss
from batchensemble.training.plan import Plan
from batchensemble.training.processes import Team
from batchensemble.training.shards import Shards

if TYPE_CHECKING:
    from batchensemble.training.loop import Training


class Feed:
    """What cuts each epoch into steps, and what runs them; anew for every shard that is read."""

    def __init__(
        self,
        bank: Bank,
        loss: Loss,
        data: Source,
        training: "Training",
        adam: Adam,
        rows: Sequence[Tensor],
        generators: Sequence[Generator],
        team: Team | None,
        lengths: Sequence[tuple[int, int]] = (),
    ) -> None:
        self.parts = (bank, loss, training, adam, generators)
        self.team, self.lengths = team, lengths
        self.data, self.rows = data, rows
        self.is_pass = training.epoch_steps is None
        self.multiplications = bank.n_parameters * training.batch_size * bank.module.n_members
        if not isinstance(data, Shards):
            self.whole = self._planned(data, rows)
            self.multiplications = self.whole[0].multiplications

    def epoch(self, number: int) -> Iterator[tuple[Plan, Engine]]:
        if not isinstance(self.data, Shards):
            yield self.whole
            return
        for shard, parts in self.data.epoch(number, is_pass=self.is_pass):
            yield self._planned(
                shard, [torch.isin(parts, own).argwhere()[:, 0] for own in self.rows]
            )

    def _planned(self, data: Source, rows: Sequence[Tensor]) -> tuple[Plan, Engine]:
        bank, loss, training, adam, generators = self.parts
        return plan_and_engine(
            bank,
            loss,
            data,
            training,
            rows=rows,
            generators=generators,
            adam=adam,
            team=self.team,
            lengths=self.lengths,
        )


def plan_and_engine(
    bank: Bank,
    loss: Loss,
    data: Source,
    training: "Training",
    *,
    rows: Sequence[Tensor],
    generators: Sequence[Generator],
    adam: Adam | None = None,
    team: Team | None = None,
    lengths: Sequence[tuple[int, int]] = (),
) -> tuple[Plan, Engine]:
    """What cuts epochs into steps, and what runs them; with `adam`, from where that is.

    With a `team`, each of its processes takes its share of the rows of a step. `lengths` are the
    epochs and the batch size of each network, unless all have those of the training.
    """
    lengths = lengths or [(training.epochs, training.batch_size)] * len(bank)
    plan = Plan(
        bank,
        data,
        rows,
        generators,
        batch_size=[batch for _, batch in lengths],
        batching=training.batching,
        epoch_steps=training.epoch_steps,
    )
    engine = choose_engine(
        bank,
        loss,
        data,
        adam or adam_of(bank, training),
        penalty=training.penalty,
        batch=plan.batch,
        n_steps=min(epochs for epochs, _ in lengths) * plan.n_steps,
        n_threads=torch.get_num_threads(),
        team=team,
    )
    return plan, engine


def adam_of(bank: Bank, training: "Training") -> Adam:
    return Adam.over(
        bank.theta,
        bank.parameter_names(),
        lr=training.lr,
        weight_decay=training.weight_decay,
        clip_norm=training.clip_norm,
    )
