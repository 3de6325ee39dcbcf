"""A shifted test set from any table: the tails of its most influential numbers leave training."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import train_test_split

from batchensemble.data.columns import Column, Columns
from batchensemble.data.frames import read_columns
from batchensemble.data.table_encoder import TableEncoder
from batchensemble.words import one_of


@dataclass(frozen=True)
class Shift:
    """Row numbers of the split, and how it was made."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]
    is_tail: NDArray[np.bool_]  # for each row of `test`
    features: tuple[str, ...]
    quantiles: tuple[tuple[float, float], ...]  # (lower, upper) for each feature


def make_shift(
    X: Any,
    y: ArrayLike,
    *,
    task: Literal["regression", "classification"],
    seed: int,
    test_size: float = 0.2,
    n_features: int = 2,
    q: float = 0.025,
) -> Shift:
    """Split a table so that rows in the tails of influential features are only in the test set.

    A linear (regression) or logistic (classification) model on the scaled base training rows
    names the numeric features with the largest coefficients. A row is a tail row if it lies
    strictly below the q- or above the (1 - q)-quantile of the base training rows in any of them.
    The base split is made smaller, so that the final test set has about `test_size` of the rows.
    """
    one_of(task, ("regression", "classification"), "task")
    columns, target = read_columns(X), np.asarray(y)
    if target.shape != (columns.n_rows,):
        raise ValueError(f"expected {columns.n_rows} targets, got an array {target.shape}")
    p_tail = 1 - (1 - 2 * q) ** n_features
    if not 0 < p_tail < test_size < 1:
        raise ValueError(
            f"expected q above 0 and n_features whose tails, {p_tail:.3f} of the rows, fit a test "
            f"set of {test_size}; take a smaller q or fewer features"
        )
    base_share = (test_size - p_tail) / (1 - p_tail)
    base_train, base_test = train_test_split(
        np.arange(len(target)), test_size=base_share, random_state=seed
    )
    chosen = _influential(columns, target, base_train, task, n_features)
    tail = np.zeros(len(target), dtype=bool)
    quantiles = []
    for column in chosen:
        lower, upper = np.nanquantile(column.values[base_train], [q, 1 - q])
        quantiles.append((float(lower), float(upper)))
        tail |= (column.values < lower) | (column.values > upper)
    train = base_train[~tail[base_train]]
    test = np.concatenate([base_test, base_train[tail[base_train]]])
    return Shift(train, test, tail[test], tuple(c.name for c in chosen), tuple(quantiles))


def _influential(
    columns: Columns, target: NDArray[Any], rows: NDArray[np.int64], task: str, n_features: int
) -> list[Column]:
    numbers = {column.name: column for column in columns if column.kind == "number"}
    if len(numbers) < n_features:
        raise ValueError(
            f"expected at least {n_features} numeric columns, got {len(numbers)}: {list(numbers)}"
        )
    encoder = TableEncoder("minmax", max_categories=None)
    x = encoder.fit_transform(columns.take(rows)).astype(np.float64)
    model = LinearRegression() if task == "regression" else LogisticRegression(max_iter=1000)
    model.fit(x, target[rows])
    weight = np.abs(np.atleast_2d(model.coef_)).max(axis=0)
    # The encoder's first outputs are the numeric columns, in their order; a category's output may
    # bear the same name as a number.
    first = encoder.get_feature_names_out()[: sum(c.kind != "category" for c in columns)]
    by_name = dict(zip(first, weight, strict=False))
    names = sorted(numbers, key=lambda name: by_name.get(name, 0.0), reverse=True)
    return [numbers[name] for name in names[:n_features]]
