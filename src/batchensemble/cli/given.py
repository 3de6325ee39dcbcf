"""What a file gives to learn from: which task, from which columns, and what is left out."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.cli.scores import counted
from batchensemble.data.frames import Kind
from batchensemble.data.tables import (
    OwnTable,
    check_told_apart,
    read_own,
    read_target,
    recognise_task,
)
from batchensemble.words import one_of


@dataclass(frozen=True)
class Given:
    """How a file was understood. `columns` are those that are learned from, with their kinds."""

    file: str
    task: str
    why: str
    target: str
    n_rows: int
    n_without_target: int
    columns: dict[str, Kind]
    left_out: dict[str, str]
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class GivenTable:
    about: Given
    X: pd.DataFrame
    y: NDArray[Any]


@dataclass(frozen=True)
class GivenSeries:
    """A long frame: the series (if there are several), the time, the target, further columns."""

    about: Given
    df: pd.DataFrame
    time: str
    series: str | None
    future: tuple[str, ...]
    past: tuple[str, ...]


def read_table_to_learn(
    path: Path, target: str, *, task: str | None, drop: Sequence[str]
) -> GivenTable:
    """A table for a regression or a classification."""
    own = read_own(path)
    kept, n_without = _with_target(own, target, drop)
    if task != "classification":
        otherwise = "; for classes all the same: --task classification"
        _refuse_doubt(own, target, "numbers or classes in the target", otherwise)
    found, why = (task, "as asked for") if task else _recognised(own, kept[target])
    labels = read_target(kept[target], found, own.name)
    notes = _notes(own)
    left_out = dict.fromkeys(drop, "as asked for")
    for name, kind in own.kinds.items():
        if name not in (target, *drop):
            reason = _useless(kept[name], kind)
            if reason:
                left_out[name] = reason
            elif _counts_rows(own.frame[name], kind):
                notes.append(f"{name!r} counts the rows: if it means nothing, --drop {name}")
    columns = {n: k for n, k in own.kinds.items() if n != target and n not in left_out}
    if not columns:
        raise ValueError(
            f"{own.name}: expected a column besides the target {target!r} to learn from, got none"
            + "".join(f"; {name!r} {why}" for name, why in left_out.items())
            + "".join(f"; {note}" for note in notes)
        )
    about = Given(
        own.name, found, why, target, len(own.frame), n_without, columns, left_out, tuple(notes)
    )
    return GivenTable(about, kept[list(columns)], labels)


def read_series_to_learn(
    path: Path,
    target: str,
    *,
    time: str,
    series: str | None,
    future: Sequence[str],
    past: Sequence[str],
) -> GivenSeries:
    """A long table of series for a forecast."""
    own = read_own(path, names=[series])
    kept, n_without = _with_target(own, target, ())
    _refuse_doubt(own, target, "numbers in the target")
    _refuse_doubt(own, time, "dates or whole numbers as times")
    if own.kinds[target] != "number":
        read_target(kept[target], "regression", own.name)  # says what is wrong
    roles = {time: "--time", series: "--series"} | dict.fromkeys((*future, *past), "--future/past")
    wanted = [name for name in roles if name is not None]
    for name in wanted:
        one_of(name, own.kinds, f"{roles[name]} column of {own.name}")
    if len({*wanted, target}) <= len(wanted):
        raise ValueError(
            f"expected different columns for the target, time, series and others, got "
            f"{[target, *wanted]}"
        )
    df = long_frame(kept, own.kinds, own.name, own.unit, time=time, series=series)
    if time in own.zoned:
        df[time] = df[time].dt.tz_localize("UTC")
    columns = {name: own.kinds[name] for name in (*future, *past)}
    left_out = {
        name: "not named with --future or --past"
        for name in own.kinds
        if name not in (target, *wanted)
    }
    n_series = 1 if series is None else df[series].nunique()
    why = f"--time was given; {n_series:,} series" if n_series > 1 else "--time was given"
    about = Given(
        own.name,
        "forecast",
        why,
        target,
        len(own.frame),
        n_without,
        columns,
        left_out,
        tuple(_notes(own)),
    )
    return GivenSeries(about, df[[*wanted, target]], time, series, tuple(future), tuple(past))


def long_frame(
    frame: pd.DataFrame,
    kinds: dict[str, Kind],
    file: str,
    unit: str,
    *,
    time: str,
    series: str | None,
) -> pd.DataFrame:
    """Times as dates or whole numbers, series by words or whole numbers."""
    frame = frame.copy()
    for name, role in ((time, "time"), (series, "series")):
        if name is None:
            continue
        gaps = np.flatnonzero(frame[name].isna())
        if gaps.size:
            raise ValueError(
                f"{file}: expected a {role} in {name!r} of every row, got none in {unit} "
                f"{frame.index[gaps[0]]}; fill it in or take the row out"
            )
        if kinds[name] == "number":
            whole = frame[name].round()
            if (whole != frame[name]).any():
                raise ValueError(f"{file}: expected {role}s that are whole in {name!r}, got others")
            check_told_apart(whole, f"{role}s" if role == "time" else role, file)
            frame[name] = whole.astype(np.int64)
    if kinds[time] not in ("date", "number"):
        raise ValueError(
            f"{file}: expected dates such as 2026-01-31, year first, or whole numbers in the time "
            f"column {time!r}, got {frame[time].iloc[0]!r}; write its dates year first"
        )
    return frame.reset_index(drop=True)


def _with_target(own: OwnTable, target: str, drop: Sequence[str]) -> tuple[pd.DataFrame, int]:
    one_of(target, own.kinds, f"the target column of {own.name}")
    for name in drop:
        one_of(name, [n for n in own.kinds if n != target], f"a column of {own.name} to drop")
    has_target = own.frame[target].notna()
    if not has_target.any():
        raise ValueError(f"{own.name}: expected values of {target!r}, got only empty cells")
    return own.frame[has_target], int((~has_target).sum())


def _refuse_doubt(own: OwnTable, name: str, wanted: str, otherwise: str = "") -> None:
    """A column that is needed as what it almost is."""
    if name in own.notes and own.kinds[name] == "category":
        raise ValueError(f"{own.name}: expected {wanted}, but {own.notes[name]}{otherwise}")


def _recognised(own: OwnTable, y: pd.Series) -> tuple[str, str]:
    """The task and why; what looks like a mistake is asked about instead."""
    task, why = recognise_task(y)
    if own.kinds[str(y.name)] == "category" and y.nunique() > len(y) / 2:
        raise ValueError(
            f"{own.name}: expected a target of numbers, or of classes that occur several times, "
            f"but {why} in {len(y):,} rows; choose another --target, or insist with --task"
        )
    return task, why


def _notes(own: OwnTable) -> list[str]:
    nameless = f"left out without a name: {counted(own.nameless, 'column')}"
    return [*own.notes.values(), *([nameless] if own.nameless else [])]


def _useless(column: pd.Series, kind: Kind) -> str:
    """Why nothing can be learned from a column; empty if something can."""
    n_values, n_gaps = column.nunique(), int(column.isna().sum())
    if n_values == 0:
        return "is empty"
    if n_values == 1 and not n_gaps:
        return "is the same in every row"
    if kind == "category" and n_values == len(column) and len(column) > 2:
        return "has another word in every row, like a name or a number of the row"
    return ""


def _counts_rows(column: pd.Series, kind: Kind) -> bool:
    if kind != "number" or len(column) < 10:
        return False
    return bool((np.diff(column.to_numpy()) == 1).all())
