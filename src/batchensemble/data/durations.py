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
_WRITTEN = re.compile(r"-?\d+ days?|(-?\d+ days? )?\+?\d{1,2}:\d\d(:\d\d(\.\d{1,9})?)?")


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


def seconds_of(cells: pd.Series) -> pd.Series | None:
    """Those of texts, if all are durations or times of day."""
    if not all(isinstance(cell, str) for cell in cells.dropna()):
        return None
    texts, is_gap = trimmed(cells.astype(object).where(cells.notna(), None).to_numpy(object))
    words = texts[~is_gap]
    if not len(words) or not all(map(_WRITTEN.fullmatch, words)):
        return None
    whole = [f"{word}:00" if word.count(":") == 1 else word for word in words]
    seconds = pd.Series(np.nan, cells.index)
    seconds[~is_gap] = pd.to_timedelta(whole).total_seconds()
    return seconds
