"""What `fit` learns from: a file's task and columns, and what is left out of it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.cli.censoring import censored_rows
from batchensemble.cli.columns import NO_NAME, long_frame
from batchensemble.cli.target_column import (
    refuse_ambiguous,
    task_of,
    with_all_targets,
    with_target,
    without_rows,
)
from batchensemble.cli.useless_columns import row_numbers, useless_columns
from batchensemble.data.columns import Kind
from batchensemble.data.file_lists import is_pattern
from batchensemble.data.file_options import AS_FOUND, FileOptions
from batchensemble.data.notation import PLAIN, Notation
from batchensemble.data.table_files import SAMPLE_ROWS, TableFiles, open_files, sampled
from batchensemble.data.tables import FileTable, check_told_apart, read_file, read_target
from batchensemble.data.text import example_value, with_zone
from batchensemble.estimators.splits import ANY_ORDER, Order, read_order
from batchensemble.words import one_of

LARGE_FILE = 2**28  # bytes


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
    notations: dict[str, Notation] = field(default_factory=dict)  # of columns not written plainly
    warnings: tuple[str, ...] = ()
    censored: dict[str, Kind] = field(default_factory=dict)  # the column that says so, if any


@dataclass(frozen=True)
class TrainingData:
    """A table with its targets `y`, or (without) a long frame of series and its columns' roles."""

    origin: Origin
    frame: pd.DataFrame
    y: NDArray[Any] | None = None
    order: Order = ANY_ORDER  # of a table's rows
    censored: NDArray[np.bool_] | None = None
    files: TableFiles | None = None  # all rows, if `frame` and `y` are a sample of them
    roles: Mapping[str, Any] = field(default_factory=dict)  # parameters of Forecaster
    targets: tuple[str, ...] = ()  # names of y's columns, if it has several
    durations: frozenset[str] | None = None  # as in `FileTable`
    by: NDArray[Any] | None = None  # labels of a table's rows, if each shall have its own model


def read_training_table(
    path: Path,
    target: str,
    *,
    task: str | None,
    why: str = "set with --task",
    drop: Sequence[str],
    category: Sequence[str] = (),
    groups: str | None = None,
    in_time: str | None = None,
    by: str | None = None,
    censored: str | None = None,
    more_targets: Sequence[str] = (),
    options: FileOptions = AS_FOUND,
    seed: int = 0,
) -> TrainingData:
    """A table for a regression or a classification; with several targets, `y` has columns.

    `why` is the reason for the task, if it is given.
    """
    used = {target, *more_targets, groups, in_time, by, censored, *category}
    unread = [name for name in drop if name not in used]
    how: Any = {"words": [*category, *([by] if by else [])], "drop": unread, "options": options}
    if is_large(path):
        files = open_files(path, target, skip_gaps=True, with_plain=True, seed=seed, **how)
        table, sample = sampled(files), files.sample
    else:
        table, files = _with_zones(read_file(path, names=[groups], **how)), None
    rows, facts = with_target(table, target)
    targets = [target, *more_targets]
    if more_targets:
        rows = with_all_targets(table, targets, facts)
    rows, order = _in_order(table, rows, groups=groups, in_time=in_time)
    others = [name for name in table.kinds if name not in targets]
    read = [name for name in drop if name not in unread]
    for word, names in (("--drop", read), ("--category", category)):
        for name in names:
            one_of(name, others, f"the {word} column of {table.name}")
    if task != "classification":
        cure = "; to predict it as classes, add --task classification"
        refuse_ambiguous(table, target, "numbers or classes in the target", cure)
    reason = "several targets" if more_targets else why
    task, why = (task, reason) if task else task_of(table, rows[target], files)
    y = read_target(rows[target], task, table.name)
    if more_targets:
        y = np.column_stack([read_target(rows[name], task, table.name) for name in targets])
    left_out = dict.fromkeys(drop, "dropped with --drop")
    if groups in others and groups not in category:  # rows to come are of other groups
        left_out[groups] = "says which rows are held out together; to learn from it, add --category"
    labels, mask, said = None, None, dict[str, Kind]()
    if by is not None:
        labels = _labels(rows, one_of(by, others, f"the --by column of {table.name}"), table)
        left_out[by] = "chooses the model"
    if censored is not None:
        one_of(censored, others, f"the --censored column of {table.name}")
        mask, said = censored_rows(rows[censored], table.name), {censored: table.kinds[censored]}
        left_out[censored] = f"says which values of {target} are censored: {mask.sum():,}"
    candidates = {n: table.kinds[n] for n in others if n not in left_out}
    useless = useless_columns(rows, candidates)
    # A column that could be of use, read otherwise, says so in the same line.
    doubts = {
        name: table.notes[name].partition(" is ")[2] for name in useless if name in table.notes
    }
    left_out |= {n: f"{why}; {doubts[n]}" if n in doubts else why for n, why in useless.items()}
    columns = {name: kind for name, kind in candidates.items() if name not in left_out}
    if not columns:
        reasons = [f"{name!r} {reason}" for name, reason in left_out.items()]
        raise ValueError(
            f"{table.name}: expected a column besides the target {target!r} to learn from, got "
            + "; ".join(["none", *reasons, *facts["notes"]])
        )
    read_how = _read_how(table, [*columns, *targets])
    facts["notes"] += read_how.pop("notes")
    for name in row_numbers(table.frame, columns):
        facts["notes"] += (f"{name!r} numbers the rows; if it means nothing, add --drop {name}",)
    origin = Origin(
        task=task, why=why, columns=columns, left_out=left_out, censored=said, **facts, **read_how
    )
    if files is not None:
        n_rows = sample.n_rows + sample.n_without_target
        origin = replace(origin, n_rows=n_rows, n_without_target=sample.n_without_target)
    more: dict[str, Any] = {"targets": tuple(targets), "durations": table.durations, "by": labels}
    data = TrainingData(origin, rows[list(columns)], y, order, mask, **more)
    if files is None or sample.is_whole:
        return data
    if order.matters or mask is not None or labels is not None or more_targets:
        raise ValueError(
            f"{table.name} has {sample.n_rows:,} rows, and several targets, --groups, --in-time, "
            f"--censored and --by are for tables of up to {SAMPLE_ROWS:,}; omit them, or fit to "
            "fewer rows"
        )
    return replace(data, files=files.select(columns))


def _labels(rows: pd.DataFrame, by: str, table: FileTable) -> NDArray[Any]:
    """The group of each row."""
    is_gap = rows[by].isna()
    labels = rows[by].astype(str).where(~is_gap, "\0")  # where pandas stops reading
    for row in rows.index[labels.map(lambda label: "\0" in label)][:1]:
        got = "none; fill it in, or delete the row" if is_gap[row] else "one with NUL; remove it"
        raise ValueError(
            f"{table.name}, {table.unit} {row}: expected a group in the --by column {by!r}, got "
            f"{got}"
        )
    return np.array(labels, dtype=object)


def is_large(path: Path) -> bool:
    """Whether to read a table in passes: a folder, several files, or one that is very large."""
    if path.is_file():
        return path.stat().st_size > LARGE_FILE
    return path.is_dir() or is_pattern(path)


def _with_zones(table: FileTable) -> FileTable:
    """Dates are read in UTC; those that had a zone say so."""
    return replace(table, frame=with_zone(table.frame, table.zoned_dates))


def read_training_series(
    path: Path,
    target: str,
    *,
    time: str,
    series: str | None,
    future: Sequence[str],
    past: Sequence[str],
    static: Sequence[str] = (),
    options: FileOptions = AS_FOUND,
) -> TrainingData:
    """A long table of series for a forecast."""
    every = [target, time, *([series] if series else []), *future, *past, *static]
    if len({*every}) < len(every):
        raise ValueError(
            "expected different columns for --target, --time, --series, --future, --past and "
            f"--static, got {every}; name each column once"
        )
    table = read_file(path, names=[series], options=options)
    rows, facts = with_target(table, target)
    refuse_ambiguous(table, target, "numbers in the target")
    refuse_ambiguous(table, time, "dates or whole numbers as times", may_be_empty=False)
    if table.kinds[target] != "number":
        read_target(rows[target], "regression", table.name)  # raises the error that fits
    roles: dict[str | None, str] = {time: "--time", series: "--series"}
    roles |= dict.fromkeys(future, "--future")
    roles |= dict.fromkeys(past, "--past")
    roles |= dict.fromkeys(static, "--static")
    named = [name for name in roles if name is not None]
    for name in named:
        one_of(name, table.kinds, f"the {roles[name]} column of {table.name}")
    if series is not None:
        facts["notes"] += without_rows(table.frame[series], rows[series])
    names: Any = {"time": time, "series": series, "zone": table.zoned.get(time)}
    df = long_frame(rows, table.kinds, table.name, table.unit, **names)
    df = with_zone(df, [name for name in table.zoned_dates if name in (*future, *past, *static)])
    columns = {name: table.kinds[name] for name in (*future, *past, *static)}
    reason = "not named with --future, --past or --static"
    left_out = {name: reason for name in table.kinds if name not in every}
    how = _read_how(table, every)
    facts["notes"] += how.pop("notes")
    n_series = 1 if series is None else df[series].nunique()
    why = f"--time was given; {n_series:,} series" if n_series > 1 else "--time was given"
    return TrainingData(
        Origin(task="forecast", why=why, columns=columns, left_out=left_out, **facts, **how),
        df[[*named, target]],
        roles={
            "id_col": series or NO_NAME,
            "time_col": time,
            "target_col": target,
            "future_columns": list(future),
            "past_columns": list(past),
            "static_columns": list(static),
        },
        durations=table.durations,
    )


def _read_how(table: FileTable, names: Collection[str]) -> dict[str, Any]:
    """How the columns were read that are learned from, and doubts about that; for the origin."""
    notations = {name: table.notations[name] for name in names if name in table.notations}
    examples = {name: table.examples[name] for name in names if name in table.examples}
    read = [
        f"{name} ({' '.join(cell.split())!r} as "
        f"{example_value(cell, table.kinds[name], table.notations.get(name, PLAIN))})"
        for name, cell in examples.items()
    ]
    doubts = [table.notes[name] for name in names if name in table.notes]
    notes = [*([f"read {', '.join(read)}"] if read else []), *doubts]
    return {"notes": tuple(notes), "notations": notations}


def _in_order(
    table: FileTable, rows: pd.DataFrame, *, groups: str | None, in_time: str | None
) -> tuple[pd.DataFrame, Order]:
    """The rows, sorted if they come in time, and which of them belong together."""
    if groups is not None:
        one_of(groups, table.kinds, f"the --groups column of {table.name}")
        check_told_apart(rows[groups], "group names", table.name, "write them as texts")
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
