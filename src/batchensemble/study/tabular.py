"""The methods on splits of a table: all seeds of a method are trained as one bank."""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from torch import Tensor

from batchensemble.data.frames import read_columns
from batchensemble.data.table_encoder import TableEncoder
from batchensemble.estimators.presets import CLASSIFIER_PRESETS, PRESETS
from batchensemble.predictive import CategoricalPredictive, GaussianPredictive
from batchensemble.study.datasets import Table, make_shift
from batchensemble.study.spec import PLAIN, Change
from batchensemble.training.bank import Bank
from batchensemble.training.engines import Data
from batchensemble.training.loop import Training
from batchensemble.training.losses import CategoricalNLL, GaussianNLL
from batchensemble.training.methods import MakeNetwork, Method
from batchensemble.training.models import Rows, fit_models, make_members, maker, predict_rows
from batchensemble.training.networks import MLP
from batchensemble.words import one_of

PAPER = PRESETS["paper"]
TRAINING_NAMES = ("epochs", "batch_size", "lr", "weight_decay", "clip_norm")
PAPER_TRAINING = Training(**{name: PAPER[name] for name in TRAINING_NAMES})
CLASSIFIER_TRAINING = dataclasses.replace(
    PAPER_TRAINING, clip_norm=CLASSIFIER_PRESETS["paper"]["clip_norm"]
)
TableLoss = GaussianNLL | CategoricalNLL
Predictive = GaussianPredictive | CategoricalPredictive


@dataclass(frozen=True)
class Split:
    """A table cut in two by one seed, encoded and scaled on its training rows."""

    seed: int
    n_outputs: int
    x_train: NDArray[np.float32]
    y_train: NDArray[Any]
    x_test: NDArray[np.float32]
    y_test: NDArray[Any]
    is_tail: NDArray[np.bool_]

    @property
    def is_regression(self) -> bool:
        return self.y_train.dtype.kind == "f"


def split_table(table: Table, seed: int, *, variant: str = "id") -> Split:
    """Variant "id" is a shuffled 80/20 split, "shift" the one whose tails are only in the test."""
    one_of(variant, ("id", "shift"), "variant")
    if variant == "shift":
        shift = make_shift(table.X, table.y, task=table.task, seed=seed)
        train_rows, test_rows, is_tail = shift.train, shift.test, shift.is_tail
    else:
        train_rows, test_rows = train_test_split(
            np.arange(len(table.y)), test_size=0.2, random_state=seed
        )
        is_tail = np.zeros(len(test_rows), dtype=bool)
    encoder = TableEncoder("minmax", max_categories=None, categories=_vocabulary(table))
    x_train = encoder.fit_transform(_rows(table.X, train_rows))
    x_test = encoder.transform(_rows(table.X, test_rows))
    if table.task == "regression":
        y = table.y.astype(np.float64)
        low, high = y[train_rows].min(), y[train_rows].max()
        if low == high:
            raise ValueError(
                f"expected a target of {table.name} that varies among {len(train_rows)} training "
                f"rows, got {low} in all; there are too few rows"
            )
        target, n_outputs = ((y - low) / (high - low)).astype(np.float32), 2
    else:
        classes, labels = np.unique(table.y, return_inverse=True)
        target, n_outputs = labels.astype(np.int64), len(classes)
    return Split(seed, n_outputs, x_train, target[train_rows], x_test, target[test_rows], is_tail)


def make_network(
    split: Split, width: int = PAPER["hidden"][0], change: Change = PLAIN
) -> MakeNetwork:
    """Builds the paper's network for a split, or what is made of it by a change."""
    n_layers = change.n_hidden + 1
    last = n_layers if change.last is None else change.last
    return maker(
        MLP,
        split.x_train.shape[1],
        (1, 1) if split.is_regression else (split.n_outputs,),
        hidden=(width,) * change.n_hidden,
        dropout=change.dropout,
        adapters=("",) * (n_layers - last) + (change.adapters,) * last,
        init=change.init,
    )


def train_networks(
    splits: Sequence[Split],
    method: Method,
    training: Training,
    *,
    makes: Sequence[MakeNetwork] = (),
    loss: TableLoss | None = None,
    device: str | torch.device = "cpu",
) -> Bank:
    """All networks of the method for all splits, one split's after the other's, as one bank.

    With several ways to make a network, first those of the first way, for all splits.
    """
    first = splits[0]
    makes = makes or [make_network(first)]
    data = Data(
        torch.tensor(np.concatenate([split.x_train for split in splits]), device=device),
        torch.tensor(np.concatenate([split.y_train for split in splits]), device=device),
    )
    every = torch.arange(len(data.x)).split([len(split.x_train) for split in splits])
    rows = [Rows(split.seed, own) for split, own in zip(splits, every, strict=True)]
    bank, _ = fit_models(method, makes, loss or default_loss(first), data, training, rows=rows)
    return bank


def predict(
    splits: Sequence[Split], bank: Bank, method: Method, *, loss: TableLoss | None = None
) -> list[Predictive]:
    """The predictions for the test rows of every split."""
    chosen = loss or default_loss(splits[0])
    return [to_predictive(outputs, chosen) for outputs in predict_outputs(splits, bank, method)]


def predict_outputs(splits: Sequence[Split], bank: Bank, method: Method) -> Iterator[Tensor]:
    """The networks' outputs, (test rows, members, outputs), of every split."""
    for i, split in enumerate(splits):
        own = bank[i * method.n_networks : (i + 1) * method.n_networks]
        members = make_members(method, own, split.seed)
        parts = predict_rows(members, split.x_test, bank.theta.device)
        yield torch.cat(list(parts))


def to_predictive(outputs: Tensor, loss: TableLoss) -> Predictive:
    if isinstance(loss, GaussianNLL):
        means, log_variances = loss.moments(outputs)
        return GaussianPredictive(means.numpy(), log_variances.exp().numpy())
    return CategoricalPredictive(outputs.softmax(-1).numpy())


def default_loss(split: Split) -> TableLoss:
    if split.is_regression:
        return GaussianNLL(bounds=PAPER["log_variance_bounds"])
    return CategoricalNLL()


def _rows(X: Any, rows: NDArray[np.int64]) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _vocabulary(table: Table) -> dict[str, list[str]] | None:
    """The categories of the whole table: those of a split may lack one."""
    if not hasattr(table.X, "columns"):
        return None
    texts = [column for column in read_columns(table.X) if column.kind == "category"]
    return {column.name: sorted(set(column.values), key=str) for column in texts} or None
