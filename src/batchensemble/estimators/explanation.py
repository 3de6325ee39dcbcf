"""Which columns drive a row's prediction, its noise and the members' disagreement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.data.columns import Column, Columns
from batchensemble.data.table_encoder import TableEncoder
from batchensemble.data.telling import silenced
from batchensemble.estimators.requirements import is_count
from batchensemble.training.importing import import_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from batchensemble.plots.charts import Chart

Floats = NDArray[np.float64]

BACKGROUND_ROWS, ORDERS, SEED = 50, 10, 0
SUBSETS_AT_ONCE = 200
CHANCE = "probability of "
_DRAWING = Lock()


@dataclass(frozen=True)
class Explanation:
    """Shapley values: a part of a prediction is its base plus what every column contributes.

    parts   "mean" or a probability for each class, "aleatoric" and "epistemic"
    base    (parts,), their means over the background rows
    values  (rows, columns, parts)
    """

    columns: list[str]
    parts: list[str]
    base: Floats
    values: Floats

    @property
    def totals(self) -> Floats:
        """(rows, parts): what the model predicts."""
        totals: Floats = self.base + self.values.sum(axis=1)
        return totals

    def to_frame(self) -> pd.DataFrame:
        """A line for each row, part and column: what the column contributes."""
        labels = pd.MultiIndex.from_product(
            [range(len(self.values)), self.columns, self.parts], names=["row", "column", "part"]
        )
        return pd.DataFrame({"contribution": self.values.ravel()}, labels).reset_index()

    def plot(self, row: int = 0) -> Figure:
        """What each column contributes to a row, the strongest first; of classes the likeliest."""
        from batchensemble.plots.reasons import plot_reasons  # late, as drawing is rare

        return plot_reasons(self.charts(row))

    def charts(self, row: int) -> list[Chart]:
        """One for each part of a row; of the classes' probabilities that of the likeliest."""
        from batchensemble.plots.reasons import reasons_chart
        from batchensemble.plots.sheets import brief

        if not is_count(row, least=0) or row >= len(self.values):
            raise IndexError(f"expected a row from 0 to {len(self.values) - 1}, got {row!r:.80}")
        totals = self.totals[row]
        chances = [k for k, part in enumerate(self.parts) if part.startswith(CHANCE)]
        others = [k for k in range(len(self.parts)) if k not in chances]
        likeliest = [max(chances, key=lambda k: totals[k])] if chances else []
        return [
            reasons_chart(
                f"{self.parts[k]}: {brief(float(totals[k]))}", self.columns, self.values[row, :, k]
            )
            for k in likeliest + others
        ]


def explained(
    rows: Columns,
    background: Columns,
    parts: Sequence[str],
    answer: Callable[[Columns], Floats],
) -> Explanation:
    """The Shapley values of answers (rows, parts); left out, a column is as in background rows.

    Exact for up to seven columns, otherwise from random orders of the columns, each there and back;
    they add up either way. The explainer knows a value by the number of its row, whatever kind of
    value it is.
    """
    from batchensemble.plots.page import need

    with silenced():  # importing it warns of its own future
        if find_spec("shap") is not None:
            import_whole("shap")
        need("shap", "explanations need", "explain")
        import shap

    some = np.random.default_rng(SEED).permutation(background.n_rows)[:BACKGROUND_ROWS]
    usual = background.take(some)
    pool = [_joined(*both) for both in zip(usual, rows, strict=True)]

    def answers(numbers: Floats) -> Floats:
        at = numbers.astype(np.int64)
        chosen = (c._replace(values=c.values[at[:, j]]) for j, c in enumerate(pool))
        return answer(Columns(tuple(chosen)))

    every = np.arange(len(some) + rows.n_rows, dtype=np.float64)
    numbers = np.repeat(every[:, None], len(pool), axis=1)
    masker = shap.maskers.Independent(numbers[: len(some)], max_samples=len(some))
    n_subsets, n_in_order = 2 ** len(pool), 2 * ORDERS * len(pool) + 1
    algorithm = "exact" if n_subsets <= n_in_order else "permutation"
    with _own_random_numbers():
        explainer = shap.Explainer(answers, masker, algorithm=algorithm, seed=SEED)
        found = []
        for row in numbers[len(some) :]:  # each with the same orders, whatever rows are beside it
            np.random.seed(SEED)  # noqa: NPY002  the explainer draws from these
            words = {"max_evals": n_in_order, "batch_size": SUBSETS_AT_ONCE, "silent": True}
            found.append(explainer(row[None], **words).values)
    base = answer(usual).mean(axis=0)
    values = np.concatenate(found).reshape(rows.n_rows, len(pool), len(parts))
    return Explanation(rows.names, list(parts), base, values)


@contextmanager
def _own_random_numbers() -> Iterator[None]:
    """Inside, the numbers that numpy draws for all alike are ours; the caller's go on after it."""
    with _DRAWING:
        state = np.random.get_state()  # noqa: NPY002
        try:
            yield
        finally:
            np.random.set_state(state)  # noqa: NPY002


def of_kinds_at_fit(columns: Columns, encoder: TableEncoder) -> Columns:
    """Each column as the kind that fit found, as a prediction reads it."""
    known = zip(encoder.as_at_fit(columns), encoder.kinds_, encoder.empty_, strict=True)
    return Columns(tuple(c if is_empty else c.as_kind(kind) for c, kind, is_empty in known))


def _joined(first: Column, second: Column) -> Column:
    """The values of both; a column without any value is of the other's kind."""
    kind = first.kind if second.missing.all() else second.kind
    values = [column.as_kind(kind).values for column in (first, second)]
    return first._replace(kind=kind, values=np.concatenate(values))
