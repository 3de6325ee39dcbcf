"""Parts of a file: how often predictions hold in each, and why the least certain rows are so."""

import math
from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.cli.scores import RANGE, sampling_words
from batchensemble.plots.charts import Chart
from batchensemble.plots.sheets import Cell, Sheet

MOST_VALUES, FEWEST_ROWS = 8, 10
THIRDS = ("lowest third", "middle third", "highest third")
N_EXPLAINED = 3
MOST_EXPLAINED_COLUMNS = 20  # more would take minutes


def by_subgroup(
    X: pd.DataFrame,
    doubt: NDArray[np.float64],
    holds: Mapping[str, NDArray[np.bool_]],
    independent: float = 1.0,
) -> Sheet | None:
    """Shares of rows for which something holds, by the values of columns and by certainty.

    `independent` is the share of rows that count for chance: those of one forecast err alike.
    """
    parts = {"predicted uncertainty": _thirds(pd.Series(doubt))}
    parts |= {str(name): _labels(X[name].reset_index(drop=True)) for name in X}
    rows: list[tuple[Cell, ...]] = []
    for name, labels in parts.items():
        for label in sorted(set(labels.dropna()), key=_place):
            is_inside = (labels == label).to_numpy()
            n = int(is_inside.sum())
            if FEWEST_ROWS <= n < len(X):
                shares = [float(one[is_inside].mean()) for one in holds.values()]
                n_apart = max(1, round(independent * n))
                likely: list[tuple[Cell, ...]] = [(p, sampling_words(p, n_apart)) for p in shares]
                rows.append((name, str(label), n, *chain(*likely)))
    if not rows:
        return None
    note = (
        f"Parts of fewer than {FEWEST_ROWS} rows are left out. The range is a 95 % "
        "confidence interval; among many parts, one or two miss by chance."
    )
    columns = ("column", "part", "rows", *chain(*((what, RANGE) for what in holds)))
    title = f"{' and '.join(holds).capitalize()} in parts of the file"
    return Sheet("subgroups", title, columns, tuple(rows), note)


def _labels(column: pd.Series) -> pd.Series:
    """A part for each value, or thirds of numbers; none for columns of many words or dates."""
    if column.nunique() <= MOST_VALUES:
        return column.map(_word, na_action="ignore")
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        return _thirds(column)
    return pd.Series(None, column.index, dtype=object)


def _place(label: str) -> tuple[float, str]:
    """Thirds from the lowest, numbers by their size, then words."""
    if label in THIRDS:
        return THIRDS.index(label), ""
    try:
        return float(label), label
    except ValueError:
        return math.inf, label


def _word(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _thirds(column: pd.Series) -> pd.Series:
    ranks = column.rank(pct=True, method="average")
    places = np.minimum((3 * ranks.fillna(0)).astype(int), 2)
    words = pd.Series(np.array(THIRDS)[places], column.index, dtype=object)
    return words.where(ranks.notna())


def reasons(
    model: Any, X: pd.DataFrame, doubt: NDArray[np.float64], unit: str
) -> dict[str, list[Chart]]:
    """What drives the least certain rows' predictions and doubts, by Shapley values."""
    if len(X.columns) > MOST_EXPLAINED_COLUMNS:
        return {}
    least = np.argsort(-doubt, kind="stable")[:N_EXPLAINED]
    found = model.explain(X.iloc[least], X)
    return {f"{unit} {X.index[row]}": found.charts(i) for i, row in enumerate(least)}
