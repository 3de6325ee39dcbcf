"""What a unit is done on: a table cut by every seed, or a series cut by time."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

from batchensemble.predictive import GaussianPredictive, SamplePredictive
from batchensemble.study import series, tabular
from batchensemble.study.datasets import TABLES, load_series, load_table
from batchensemble.study.judging import (
    Judgement,
    judge_classification,
    judge_paths,
    judge_regression,
)
from batchensemble.study.spec import Change, Unit
from batchensemble.training.bank import Bank
from batchensemble.training.loop import Training
from batchensemble.training.losses import FREE, GaussianNLL
from batchensemble.training.methods import MakeNetwork, Method

LOST = Judgement({"diverged": 1.0}, {}, {})  # of a network that was lost in training


class Experiment(Protocol):
    """Data ready for all seeds; what is done with them is the same for tables and series."""

    @property
    def facts(self) -> dict[str, Any]:
        """Task and sizes, to be kept with the results."""
        ...

    def network(self, width: int, change: Change) -> MakeNetwork:
        """Builds the paper's network, with layers of that width and what else is changed."""
        ...

    def train(
        self,
        method: Method,
        makes: Sequence[MakeNetwork],
        training: Training,
        device: torch.device,
    ) -> Bank:
        """Networks of all seeds made in the first way, then in the second, and so on."""
        ...

    def judge(self, bank: Bank, method: Method) -> list[Judgement]:
        """Predicts with trained networks, and judges the predictions of each seed."""
        ...


def prepare(unit: Unit) -> Experiment:
    """The data of a unit, loaded, cut and scaled."""
    return _table(unit) if unit.dataset in TABLES else _series(unit)


@dataclass(frozen=True)
class TableExperiment:
    splits: Sequence[tabular.Split]
    loss: tabular.TableLoss
    facts: dict[str, Any]

    def network(self, width: int, change: Change) -> MakeNetwork:
        return tabular.make_network(self.splits[0], width, change)

    def train(
        self,
        method: Method,
        makes: Sequence[MakeNetwork],
        training: Training,
        device: torch.device,
    ) -> Bank:
        return tabular.train_networks(
            self.splits, method, training, makes=makes, loss=self.loss, device=device
        )

    def judge(self, bank: Bank, method: Method) -> list[Judgement]:
        return [
            _judge_split(split, outputs, self.loss)
            for split, outputs in zip(
                self.splits, tabular.predict_outputs(self.splits, bank, method), strict=True
            )
        ]


def _judge_split(split: tabular.Split, outputs: torch.Tensor, loss: tabular.TableLoss) -> Judgement:
    try:
        dist = tabular.to_predictive(outputs, loss)
    except ValueError:  # not finite
        return LOST
    if isinstance(dist, GaussianPredictive):
        judgement = judge_regression(split.y_test.astype(np.float64), dist, split.is_tail)
    else:
        judgement = judge_classification(split.y_test, dist, split.is_tail)
    if isinstance(loss, GaussianNLL) and loss.bounds == FREE:
        judgement.metrics["diverged"] = 0.0
    return judgement


@dataclass(frozen=True)
class SeriesExperiment:
    split: series.SeriesSplit
    seeds: Sequence[int]
    loss: GaussianNLL
    facts: dict[str, Any]

    def network(self, width: int, change: Change) -> MakeNetwork:
        return series.make_network(self.split, width, change, loss=self.loss)

    def train(
        self,
        method: Method,
        makes: Sequence[MakeNetwork],
        training: Training,
        device: torch.device,
    ) -> Bank:
        return series.train_forecasters(
            self.split, self.seeds, method, training, makes=makes, loss=self.loss, device=device
        )

    def judge(self, bank: Bank, method: Method) -> list[Judgement]:
        answers = series.draw_paths(self.split, self.seeds, bank, method)
        return [
            judge_paths(self.split.y_test, SamplePredictive(paths))
            if np.isfinite(paths).all()
            else LOST
            for paths in answers
        ]


def _table(unit: Unit) -> TableExperiment:
    table = load_table(unit.dataset)
    n = unit.settings.most_rows
    splits = [tabular.split_table(table, seed, variant=unit.variant) for seed in unit.seeds]
    splits = [
        dataclasses.replace(split, x_train=split.x_train[:n], y_train=split.y_train[:n])
        for split in splits
    ]
    loss = tabular.default_loss(splits[0])
    if isinstance(loss, GaussianNLL) and not unit.changes[0].bounded:
        loss = GaussianNLL(bounds=FREE)
    facts = {
        "task": table.task,
        "n_rows": len(table.y),
        "n_features": table.X.shape[1],
        "n_inputs": splits[0].x_train.shape[1],
        "n_train": [len(split.y_train) for split in splits],
        "n_test": [len(split.y_test) for split in splits],
    }
    return TableExperiment(splits, loss, facts)


def _series(unit: Unit) -> SeriesExperiment:
    whole = load_series(unit.dataset)
    split = series.split_series(whole)
    n = unit.settings.most_windows
    if n is not None:
        split = dataclasses.replace(split, train=split.train[-n:], test=split.test[:n])
    bounds = series.PAPER["log_variance_bounds"] if unit.changes[0].bounded else FREE
    facts = {
        "task": "forecasting",
        "n_rows": len(whole.values),
        "n_features": 1,
        "n_inputs": 1,
        "n_train": [len(split.train)] * len(unit.seeds),
        "n_test": [len(split.test)] * len(unit.seeds),
    }
    return SeriesExperiment(split, unit.seeds, GaussianNLL(bounds=bounds), facts)
