"""How a table or a series is cut into training and test data, and scaled on the training part."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from batchensemble.data.frames import read_columns
from batchensemble.data.table_encoder import TableEncoder
from batchensemble.estimators.presets import SERIES_PRESETS
from batchensemble.study.datasets import Series, Table, make_shift
from batchensemble.study.spec import VARIANTS
from batchensemble.words import one_of

CONTEXT, HORIZON = (SERIES_PRESETS["paper"][name] for name in ("context", "horizon"))


@dataclass(frozen=True)
class TableSplit:
    """A table cut in two by one seed, encoded and scaled on its training rows.

    outputs   of a network: two heads, mean and log-variance, or one with the logits of the classes
    is_tail   the test rows from the tails that a shifted split keeps out of training
    shifted   the features whose tails these are
    """

    outputs: tuple[int, ...]
    x_train: NDArray[np.float32]
    y_train: NDArray[Any]
    x_test: NDArray[np.float32]
    y_test: NDArray[Any]
    is_tail: NDArray[np.bool_]
    shifted: tuple[str, ...] = ()

    @property
    def is_regression(self) -> bool:
        return self.y_train.dtype.kind == "f"


def split_table(
    table: Table, seed: int, *, variant: str = "id", most_rows: int | None = None
) -> TableSplit:
    """Variant "id" is a shuffled 80/20 split; "shift" keeps the tails for the test set.

    Of the training rows the first `most_rows` are kept, scaled as all of them.
    """
    if one_of(variant, VARIANTS, "variant") == "shift":
        shift = make_shift(table.X, table.y, task=table.task, seed=seed)
        train_rows, test_rows, is_tail = shift.train, shift.test, shift.is_tail
        shifted = shift.features
    else:
        shifted = ()
        every = np.arange(len(table.y))
        train_rows, test_rows = train_test_split(every, test_size=0.2, random_state=seed)
        is_tail = np.zeros(len(test_rows), dtype=bool)
    encoder = TableEncoder("minmax", max_categories=None, categories=_vocabulary(table))
    take = getattr(table.X, "iloc", table.X)
    inputs = clone(encoder).fit(table.X).get_feature_names_out().tolist()
    x_train = _in_columns(inputs, encoder, encoder.fit_transform(take[train_rows])[:most_rows])
    x_test = _in_columns(inputs, encoder, encoder.transform(take[test_rows]))
    outputs: tuple[int, ...]
    if table.task == "regression":
        y = table.y.astype(np.float64)
        low, high = y[train_rows].min(), y[train_rows].max()
        if low == high:
            raise ValueError(
                f"the target of {table.name} is {low} in all {len(train_rows)} training rows; "
                "the table needs more rows, or a target that varies"
            )
        target, outputs = ((y - low) / (high - low)).astype(np.float32), (1, 1)
    else:
        classes, labels = np.unique(table.y, return_inverse=True)
        target, outputs = labels.astype(np.int64), (len(classes),)
    y_train = target[train_rows][:most_rows]
    return TableSplit(outputs, x_train, y_train, x_test, target[test_rows], is_tail, shifted)


def _in_columns(
    inputs: list[str], encoder: TableEncoder, x: NDArray[np.float32]
) -> NDArray[np.float32]:
    """In the inputs of the whole table: the training rows of a seed may have none of its gaps."""
    own = encoder.get_feature_names_out().tolist()
    if own == inputs:
        return x
    every, place = np.zeros((len(x), len(inputs)), np.float32), 0
    for j, name in enumerate(own):
        place = inputs.index(name, place) + 1
        every[:, place - 1] = x[:, j]
    return every


def _vocabulary(table: Table) -> dict[str, list[str]] | None:
    """The categories of the whole table: those of a split may lack one."""
    if not hasattr(table.X, "columns"):
        return None
    texts = [column for column in read_columns(table.X) if column.kind == "category"]
    return {column.name: sorted(set(column.values), key=str) for column in texts} or None


@dataclass(frozen=True)
class SeriesSplit:
    """A series cut in two by time, scaled to [0, 1] on the first part; windows by their start.

    A training window lies in the first part. A test window forecasts only times of the second
    part, but may look back into the first.
    """

    values: NDArray[np.float32]
    train: NDArray[np.int64]
    test: NDArray[np.int64]

    @property
    def y_test(self) -> NDArray[np.float64]:
        """(windows, horizon)."""
        steps = CONTEXT + np.arange(HORIZON)
        return np.asarray(self.values[self.test[:, None] + steps], dtype=np.float64)


def split_series(series: Series, *, most_windows: int | None = None) -> SeriesSplit:
    """The first 80 % of the series are for training.

    At most `most_windows` windows are kept on each side of the cut, those next to it.
    """
    n = len(series.values)
    n_train, most = int(0.8 * n), most_windows or n
    low, high = series.values[:n_train].min(), series.values[:n_train].max()
    return SeriesSplit(
        ((series.values - low) / (high - low)).astype(np.float32),
        np.arange(n_train - CONTEXT - HORIZON + 1)[-most:],
        np.arange(n_train - CONTEXT, n - CONTEXT - HORIZON + 1)[:most],
    )
