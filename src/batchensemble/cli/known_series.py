"""What a forecaster knows of the series in a file, and which of them it leaves out."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.cli.format import named
from batchensemble.data.panel import Panel
from batchensemble.data.stamps import are_at_start, starts_of_periods
from batchensemble.data.telling import tell
from batchensemble.data.text import typed_values, with_zone
from batchensemble.data.time_words import when
from batchensemble.estimators.forecaster import Forecaster

Gap = tuple[Any, Any, Any]  # a series, its last time in fit, and its first after that


def with_history(model: Forecaster, df: pd.DataFrame) -> pd.DataFrame:
    """Rows of a file, after those that the model knows of the times before.

    Only where a series has fewer rows than a forecast reads, or intervals adapt to all that is new,
    and it begins no later than as many steps after the end of what is known: what was before could
    only be read through values that are made up. Series stay in the order of the file, and those
    with a gap are named.
    """
    panel, reach = model.panel_, model.model_.reach
    ids = df[model.id_col] if model.id_col in df else pd.Series(panel.ids[0], df.index)
    begins = in_periods(model, df[model.time_col]).groupby(ids, sort=False).agg(["min", "size"])
    order = begins.index
    if not model.adapts:
        begins = begins[begins["size"] < reach]
    which = panel.numbers_of(begins.index.to_numpy())
    steps = max(reach, 2)
    ahead = panel.future_times(steps)
    parts, gaps, late = [], list[Gap](), list[Gap]()
    for i, name, first in zip(which, begins.index, begins["min"], strict=True):
        is_near = i >= 0 and first <= ahead[i * steps + reach - 1]
        if i >= 0 and first >= ahead[i * steps + 1]:
            (gaps if is_near else late).append((name, panel.last_times[i], first))
        if is_near:
            rows = np.arange(panel.starts[i], panel.starts[i + 1])
            parts.append(rows_known(model, rows[panel.times[rows] < first]))
    _tell(gaps, "the steps between count as missing")
    _tell(late, "they are forecast from the new rows alone, since the training data are too old")
    if not parts:
        return df
    whole = pd.concat([*parts, df], ignore_index=True)
    if model.id_col in df:
        places = order.get_indexer(pd.Index(whole[model.id_col]))
        whole = whole.iloc[np.argsort(places, kind="stable")].reset_index(drop=True)
    return whole[list(df)]


def in_periods(model: Forecaster, times: pd.Series) -> pd.Series:
    """Times of a file as the model will read them: at the start of their month, day, ..."""
    panel = model.panel_
    if model.freq is None or not are_at_start(panel.times, panel.freq):
        return times
    return pd.Series(starts_of_periods(pd.DatetimeIndex(times), panel.freq), times.index)


def _tell(gaps: list[Gap], so: str) -> None:
    if gaps:
        names, lasts, firsts = zip(*gaps, strict=True)
        tell(
            f"{len(gaps):,} series with a gap after the training data ({named(names)}), the first "
            f"from {when(lasts[0])} to {when(firsts[0])}: {so}; add the rows between if there are "
            "any",
            3,
        )


def rows_known(model: Forecaster, rows: NDArray[np.int64]) -> pd.DataFrame:
    """These rows of fit as a file is read, without values where they were missing."""
    panel = model.panel_
    names = (*model.future_columns, *model.past_columns, *model.static_columns)
    taken = panel.columns.take(rows) if panel.columns else ()
    columns = [column for column in taken if column.name in names]
    known: dict[str, Any] = {
        model.id_col: panel.ids[np.searchsorted(panel.starts, rows, side="right") - 1],
        model.time_col: panel.times[rows],
        model.target_col: panel.observed[rows],
        **{column.name: typed_values(column) for column in columns},
    }
    zoned = [column.name for column in columns if column.is_zoned]
    return with_zone(pd.DataFrame(known), zoned)


def with_future(
    model: Forecaster, df: pd.DataFrame | None, future: pd.DataFrame | None
) -> pd.DataFrame | Panel | None:
    """The history of the series that have rows ahead: nobody knows promotions of a closed shop.

    None is that of fit, whole.
    """
    if future is None or model.id_col not in future:
        return df
    ids = model.panel_.ids if df is None else df[model.id_col].unique()
    has_rows = pd.Index(ids).isin(future[model.id_col].unique())
    if has_rows.all() or not has_rows.any():
        return df
    for told in left_out(ids[~has_rows], "no row of the columns known ahead"):
        tell(told, 2)
    kept = ids[has_rows]
    return model.panel_.only(kept) if df is None else df[df[model.id_col].isin(kept)]


def left_out(names: NDArray[Any], why: str) -> Iterator[str]:
    """A sentence about series, if there are any."""
    if len(names):
        yield f"{len(names):,} series left out ({why}): {named(names.tolist())}"
