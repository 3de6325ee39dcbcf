"""What `fit` learns from: a file's task and columns, and what is left out of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.cli.columns import long_frame
from batchensemble.cli.format import counted
from batchensemble.data.frames import Kind
from batchensemble.data.tables import FileTable, read_file, read_target, recognise_task
from batchensemble.estimators.splits import ANY_ORDER, Order, read_order
from batchensemble.words import one_of


@dataclass(frozen=True)
class Origin:
    """How a file was read and what came of it; kept in the model's file.

    `columns` are those learned from, with their kinds; `why` is the reason for the task. What
    follows `notes` is known after training; `scores` are empty if nothing was held out.
    """

    file: str
    task: str
    why: str
    target: str
    n_rows: int
    n_without_target: int
    columns: dict[str, Kind]
    left_out: dict[str, str]
    notes: tuple[str, ...]
    n_learned: int = 0
    n_judged: int = 0
    scores: dict[str, float] = field(default_factory=dict)
    judged_on: str = ""
    calibrated: str = ""


@dataclass(frozen=True)
class TrainingData:
    """A table with its targets `y`, or (without) a long frame of series and its columns' roles."""

    origin: Origin
    frame: pd.DataFrame
    y: NDArray[Any] | None = None
    order: Order = ANY_ORDER  # of a table's rows
    roles: Mapping[str, Any] = field(default_factory=dict)  # parameters of Forecaster


def read_training_table(
    path: Path,
    target: str,
    *,
    task: str | None,
    drop: Sequence[str],
    groups: str | None = None,
    in_time: str | None = None,
) -> TrainingData:
    """A table for a regression or a classification."""
    table = read_file(path)
    rows, facts = _with_target(table, target)
    rows, order = _in_order(table, rows, groups=groups, in_time=in_time)
    for name in drop:
        one_of(name, [n for n in table.kinds if n != target], f"the --drop column of {table.name}")
    if task != "classification":
        cure = "; to predict it as classes, add --task classification"
        _refuse_ambiguous(table, target, "numbers or classes in the target", cure)
    task, why = (task, "set with --task") if task else _recognise_task(table, rows[target])
    y = read_target(rows[target], task, table.name)
    left_out = dict.fromkeys(drop, "dropped with --drop")
    candidates = {n: k for n, k in table.kinds.items() if n != target and n not in left_out}
    left_out |= _useless(rows, candidates)
    kept = {name: kind for name, kind in candidates.items() if name not in left_out}
    for name in _row_numbers(table.frame, kept):
        facts["notes"] += (f"{name!r} numbers the rows; if it means nothing, add --drop {name}",)
    columns = {n: k for n, k in table.kinds.items() if n != target and n not in left_out}
    if not columns:
        reasons = [*(f"{name!r} {reason}" for name, reason in left_out.items()), *facts["notes"]]
        raise ValueError(
            f"{table.name}: expected a column besides the target {target!r} to learn from, got "
            + "; ".join(["none", *reasons])
        )
    origin = Origin(task=task, why=why, columns=columns, left_out=left_out, **facts)
    return TrainingData(origin, rows[list(columns)], y, order)


def read_training_series(
    path: Path,
    target: str,
    *,
    time: str,
    series: str | None,
    future: Sequence[str],
    past: Sequence[str],
) -> TrainingData:
    """A long table of series for a forecast."""
    table = read_file(path, names=[series])
    rows, facts = _with_target(table, target)
    _refuse_ambiguous(table, target, "numbers in the target")
    _refuse_ambiguous(table, time, "dates or whole numbers as times")
    if table.kinds[target] != "number":
        read_target(rows[target], "regression", table.name)  # raises the error that fits
    options: dict[str | None, str] = {time: "--time", series: "--series"}
    options |= dict.fromkeys(future, "--future")
    options |= dict.fromkeys(past, "--past")
    named = [name for name in options if name is not None]
    for name in named:
        one_of(name, table.kinds, f"the {options[name]} column of {table.name}")
    every = [target, time, *([series] if series else []), *future, *past]
    if len({*every}) < len(every):
        raise ValueError(
            f"expected different columns for --target, --time, --series, --future and --past, got "
            f"{every}"
        )
    names: Any = {"time": time, "series": series, "is_zoned": time in table.zoned}
    df = long_frame(rows, table.kinds, table.name, table.unit, **names)
    columns = {name: table.kinds[name] for name in (*future, *past)}
    left_out = dict.fromkeys(
        (name for name in table.kinds if name not in every), "not named with --future or --past"
    )
    n_series = 1 if series is None else df[series].nunique()
    why = f"--time was given; {n_series:,} series" if n_series > 1 else "--time was given"
    return TrainingData(
        Origin(task="forecast", why=why, columns=columns, left_out=left_out, **facts),
        df[[*named, target]],
        roles={
            "id_col": series or "unique_id",
            "time_col": time,
            "target_col": target,
            "future_columns": list(future),
            "past_columns": list(past),
        },
    )


def _with_target(table: FileTable, target: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The rows that have one, and facts for the origin."""
    one_of(target, table.kinds, f"the target column of {table.name}")
    rows = table.frame[table.frame[target].notna()]
    if rows.empty:
        raise ValueError(
            f"{table.name}: the target {target!r} is empty in every row; choose another --target"
        )
    n = len(table.frame)
    nameless = f"left out {counted(table.nameless, 'column')} without a name"
    return rows, {
        "file": table.name,
        "target": target,
        "n_rows": n,
        "n_without_target": n - len(rows),
        "notes": (*table.notes.values(), *([nameless] if table.nameless else [])),
    }


def _in_order(
    table: FileTable, rows: pd.DataFrame, *, groups: str | None, in_time: str | None
) -> tuple[pd.DataFrame, Order]:
    """The rows, sorted if they come in time, and which of them belong together."""
    if groups is not None:
        one_of(groups, table.kinds, f"the --groups column of {table.name}")
        return rows, read_order(rows[groups].astype(str).to_numpy(), False, len(rows))
    if in_time is None:
        return rows, ANY_ORDER
    one_of(in_time, table.kinds, f"the --in-time column of {table.name}")
    if table.kinds[in_time] not in ("date", "number") or rows[in_time].isna().any():
        raise ValueError(
            f"{table.name}: expected dates or numbers without gaps in the --in-time column "
            f"{in_time!r}, got {table.kinds[in_time]} values or gaps; choose another column"
        )
    return rows.sort_values(in_time, kind="stable"), Order(in_time=True)


def _refuse_ambiguous(table: FileTable, name: str, wanted: str, cure: str = "") -> None:
    """Raise if a column is almost, but not quite, what is needed."""
    if name in table.notes and table.kinds[name] == "category":
        raise ValueError(f"{table.name}: expected {wanted}, but {table.notes[name]}{cure}")


def _recognise_task(table: FileTable, y: pd.Series) -> tuple[str, str]:
    """The task and the reason for it."""
    task, why = recognise_task(y)
    if table.kinds[str(y.name)] == "category" and y.nunique() > len(y) / 2:
        raise ValueError(
            f"{table.name}: expected a target of numbers, or of classes that occur several times, "
            f"but {why} in {len(y):,} rows; choose another --target, or add --task classification"
        )
    return task, why


def _useless(rows: pd.DataFrame, kinds: Mapping[str, Kind]) -> dict[str, str]:
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
        return "differs in every row, like an ID"
    return ""


def _row_numbers(frame: pd.DataFrame, kinds: Mapping[str, Kind]) -> list[str]:
    """The columns that count the rows."""
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    if len(frame) < 10:
        return []
    counts = (np.diff(frame[numbers].to_numpy(dtype=np.float64), axis=0) == 1).all(axis=0)
    return [name for name, is_count in zip(numbers, counts.tolist(), strict=True) if is_count]
