"""The rows of columns that are known ahead: one for each of the next times of every series."""

from collections.abc import Iterator, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from batchensemble.data import longframes
from batchensemble.data.clocks import alike
from batchensemble.data.columns import Columns
from batchensemble.data.frames import as_frame, read_columns
from batchensemble.data.panel import Panel
from batchensemble.data.stamps import starts_of_periods
from batchensemble.data.time_words import when


def read_future(
    panel: Panel, frame: Any, h: int, columns: Sequence[str], *, at_start: bool = False
) -> Columns:
    """The exogenous `columns` at `panel.future_times(h)`, in that order; other rows are ignored.

    `at_start`: a row belongs to its month, day, ..., wherever in it its time lies.
    """
    table = as_frame(frame)
    if not isinstance(table, nw.DataFrame):
        raise TypeError(
            f"expected a frame with the next {h} times of each series and the columns "
            f"{list(columns)}, got {type(frame).__name__}; pass a pandas or polars frame"
        )
    if not len(table):
        raise ValueError(
            f"expected rows for the next {h} times of each series, got an empty frame; add them"
        )
    needs_ids = len(panel) > 1 or panel.names.id in table.columns
    needed = [*([panel.names.id] if needs_ids else []), panel.names.time, *columns]
    longframes.check_present(table, needed, panel.names, "the frame of the future")
    series = np.zeros(len(table), np.int64)
    if needs_ids:
        series = panel.numbers_of(longframes.read_ids(table, panel.names))
    times = alike(longframes.read_times(table[panel.names.time])[0], panel.times)
    moved = starts_of_periods(times, panel.freq) if at_start else None
    times = times if moved is None else moved
    # A row is found by series and time: one number for both, -1 for a series not in the panel.
    wanted = panel.future_times(h)
    moments, _ = pd.factorize(wanted.append(times))
    both = np.concatenate([np.repeat(np.arange(len(panel)), h), series])
    keys = np.where(both < 0, -1, both * (moments.max() + 1) + moments)
    asked, offered = pd.Index(keys[: len(wanted)]), pd.Index(keys[len(wanted) :])
    is_asked = offered.isin(asked)
    for row in np.flatnonzero(offered.duplicated() & is_asked)[:1]:
        raise ValueError(
            f"expected one row for each series and time, got more than one for "
            f"{panel.label(series[row])} at {when(times[row])}; drop the others"
        )
    kept = np.flatnonzero(is_asked)
    at = offered[kept].get_indexer(asked)
    absent = np.flatnonzero(at < 0)
    for row in absent[:1]:
        seen = "" if len(kept) else f"; the rows begin at {when(times.min())}"
        raise ValueError(
            f"expected a row for each of the next {h} times of every series, got none for "
            f"{panel.label(row // h)} at {when(wanted[row])} ({absent.size} of "
            f"{len(wanted)} rows are missing{seen}); add them"
        )
    return read_columns(table.select(columns).to_native()).take(kept[at])


def doubts_about_future(ahead: Columns, known: Columns | None) -> Iterator[str]:
    """Sentences about columns that have gaps ahead and had none before."""
    had_gaps = {column.name: column.missing.any() for column in known or ()}
    for column in ahead:
        if column.missing.any() and not had_gaps.get(column.name, True):
            yield (
                f"column {column.name!r}: {column.missing.sum():,} of {ahead.n_rows:,} values "
                "ahead are missing, though none was missing in training, so a typical value "
                "replaces them; fill them in"
            )
