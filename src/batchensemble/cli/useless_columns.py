"""Columns of a file from which nothing can be learned, and why."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from batchensemble.data.columns import Kind
from batchensemble.data.doubts import are_sentences


def useless_columns(rows: pd.DataFrame, kinds: Mapping[str, Kind]) -> dict[str, str]:
    """The columns from which nothing can be learned, and why; numbers that vary at once."""
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    block = rows[numbers].to_numpy(dtype=np.float64)
    varies = (block != block[0]).any(axis=0) & ~np.isnan(block).any(axis=0)
    fine = {name for name, is_fine in zip(numbers, varies.tolist(), strict=True) if is_fine}
    why = {n: _why_useless(rows[n], k) for n, k in kinds.items() if n not in fine}
    return {name: reason for name, reason in why.items() if reason}


def _why_useless(column: pd.Series, kind: Kind) -> str:
    """Why nothing can be learned from a column; empty if something can."""
    n_values, n_gaps = column.nunique(), int(column.isna().sum())
    if n_values == 0:
        return "is empty"
    if n_values == 1 and not n_gaps:
        return "is the same in every row"
    if kind == "category" and n_values == len(column) and len(column) > 2:
        is_text = are_sentences(column.astype(str).tolist())
        return f"differs in every row, like {'free text' if is_text else 'an ID'}"
    return ""


def row_numbers(frame: pd.DataFrame, kinds: Mapping[str, Kind]) -> list[str]:
    """The columns that count the rows."""
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    if len(frame) < 10:
        return []
    with np.errstate(over="ignore"):
        counts = (np.diff(frame[numbers].to_numpy(dtype=np.float64), axis=0) == 1).all(axis=0)
    return [name for name, is_count in zip(numbers, counts.tolist(), strict=True) if is_count]
