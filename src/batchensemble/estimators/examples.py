"""Rows to learn from: a table, its targets, and what the user says about them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from batchensemble.data.columns import Columns
from batchensemble.estimators.splits import ANY_ORDER, Order
from batchensemble.estimators.targets import read_weight, some_censored
from batchensemble.training.engines import Data


@dataclass(frozen=True, eq=False)
class Examples:
    """A table with a target for each row.

    weight    of mean 1; None: all rows count alike
    censored  True where the target is only known to be at least so large; None: nowhere
    order     which rows belong together, and whether they come in time
    """

    columns: Columns
    values: NDArray[Any]
    weight: NDArray[np.float64] | None = None
    censored: NDArray[np.bool_] | None = None
    order: Order = ANY_ORDER

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: NDArray[Any]) -> "Examples":
        """Some of the rows."""
        weight, censored = (
            None if each is None else each[rows] for each in (self.weight, self.censored)
        )
        columns, order = self.columns.take(rows), self.order.take(rows)
        return Examples(columns, self.values[rows], weight, censored, order)

    def that_count(self) -> "Examples":
        """Without the rows of weight 0."""
        if self.weight is None:
            return self
        kept = self.take(np.flatnonzero(self.weight))
        mask = kept.censored
        return replace(kept, censored=None if mask is None else some_censored(mask))

    def weighed_anew(self) -> "Examples":
        """With weights of mean 1, after some rows were taken."""
        if self.weight is None:
            return self
        return replace(self, weight=read_weight(self.weight, len(self)))


def training_data(
    x: NDArray[np.float32], target: NDArray[Any], examples: Examples, device: torch.device
) -> Data:
    """Encoded rows on the device; where some targets are censored, y has a column that says so."""
    y, weight = torch.tensor(target, device=device), examples.weight
    if examples.censored is not None:
        y = torch.stack([y, torch.tensor(examples.censored, device=device).to(y.dtype)], 1)
    return Data(
        torch.tensor(x, device=device),
        y,
        None if weight is None else torch.tensor(weight, dtype=torch.float32, device=device),
    )


def read_eval_set(eval_set: Any) -> tuple[Any, ...]:
    """X, y and, if given, which targets are censored; also as a list of one such tuple."""
    if isinstance(eval_set, list) and len(eval_set) == 1 and isinstance(eval_set[0], tuple):
        eval_set = eval_set[0]
    is_one = isinstance(eval_set, tuple | list) and len(eval_set) in (2, 3)
    if not is_one or (isinstance(eval_set, list) and isinstance(eval_set[0], tuple)):
        raise ValueError(
            f"expected eval_set=(X, y), one table and its targets, got {_shown(eval_set)}"
        )
    return tuple(eval_set)


def _shown(value: Any) -> str:
    size = f" of {len(value)}" if isinstance(value, tuple | list) else ""
    return f"a {type(value).__name__}{size}"
