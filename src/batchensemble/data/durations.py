"""Durations and times of day in files: some have types for them, others have texts such as 08:30.

Both are numbers, in seconds.
"""

import re
from typing import Any

import numpy as np
import pandas as pd

from batchensemble.data.cells import trimmed
from batchensemble.data.frames import DURATIONS
from batchensemble.data.reading import TableFile
from batchensemble.data.scalars import is_missing

TYPES = ("duration", "time32", "time64", "timedelta64")  # of Arrow and numpy
_DAYS = r"-?\d{1,5} days?"
_WRITTEN = re.compile(rf"{_DAYS}|({_DAYS} )?\+?\d{{1,2}}:[0-5]\d(:[0-5]\d(\.\d{{1,9}})?)?")


def durations_in(rows: pd.DataFrame, file: TableFile) -> frozenset[str]:
    """Columns of durations or times of day: by their types or, in a sheet, their first cells."""
    if file.is_text:
        return frozenset()
    types = dict(zip(rows, map(str, rows.dtypes), strict=True))
    cells = {
        name: next((cell for cell in rows[name] if not is_missing(cell)), None)
        for name, type_ in types.items()
        if type_ == "object"
    }
    return frozenset(
        name
        for name, type_ in types.items()
        if type_.startswith(TYPES) or isinstance(cells.get(name), DURATIONS)
    )


def spans_of(encoder: Any) -> frozenset[str]:
    """The columns in which fit had durations or times of day; older files do not say."""
    spans = getattr(encoder, "spans_", ())
    return frozenset(name for name, is_span in zip(encoder.names_, spans, strict=False) if is_span)


def seconds_of(cells: pd.Series, file: str, unit: str) -> pd.Series | None:
    """Those of texts, if there is a duration or a time of day; numbers beside them are seconds."""
    values = cells.astype(object).where(cells.notna(), None)
    is_text = np.array([isinstance(value, str) for value in values], dtype=bool)
    texts, is_gap = trimmed(values[is_text].to_numpy(dtype=object))
    words = pd.Series(texts, values.index[is_text])[~is_gap]
    is_written = np.array([bool(_WRITTEN.fullmatch(word)) for word in words], dtype=bool)
    if not is_written.any():
        return None
    others = pd.to_numeric(words[~is_written], errors="coerce")
    for row in others.index[~np.isfinite(others)][:1]:
        raise ValueError(
            f"{file}, {unit} {row}, column {cells.name!r}: expected a duration or a time of day "
            f"such as 08:30, or seconds, got {cells[row]!r:.80}; correct the cell, or empty it"
        )
    written = [word if word.count(":") != 1 else f"{word}:00" for word in words[is_written]]
    seconds = pd.to_numeric(values.where(~is_text, None)).astype(float)
    seconds[others.index] = others
    seconds[words.index[is_written]] = pd.to_timedelta(written).total_seconds()
    return seconds
