"""The target of a file: the rows that have one, and the task that it makes."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from batchensemble.cli.format import counted
from batchensemble.data.recognition import MEND
from batchensemble.data.table_files import TableFiles
from batchensemble.data.tables import FileTable, recognise_task
from batchensemble.words import one_of


def with_target(table: FileTable, target: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The rows that have one, and facts for the origin."""
    try:
        one_of(target, table.kinds, f"the target column of {table.name}")
    except ValueError as error:
        raise ValueError("; ".join([str(error), *table.file_notes])) from None
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
        "notes": (*table.file_notes, *([nameless] if table.nameless else [])),
    }


def with_all_targets(
    table: FileTable, targets: Sequence[str], facts: dict[str, Any]
) -> pd.DataFrame:
    """The rows that have all targets; facts about them are mended."""
    if len({*targets}) < len(targets):
        raise ValueError(
            f"expected different --target columns, got {', '.join(targets)}; name each once"
        )
    for name in targets:
        one_of(name, table.kinds, f"the target column of {table.name}")
        refuse_ambiguous(table, name, "numbers in the target")
    rows = table.frame.dropna(subset=list(targets))
    if rows.empty:
        raise ValueError(
            f"{table.name}: no row has all targets, {', '.join(targets)}; fit a model for each"
        )
    facts |= {"target": ", ".join(targets), "n_without_target": len(table.frame) - len(rows)}
    return rows


def refuse_ambiguous(
    table: FileTable, name: str, wanted: str, cure: str = "", *, may_be_empty: bool = True
) -> None:
    """Raise if a column is almost, but not quite, what is needed."""
    if name in table.notes and table.kinds[name] == "category":
        note = table.notes[name]
        if not may_be_empty:
            note = note.replace(MEND, "correct these cells, or delete their rows,")
        raise ValueError(f"{table.name}: expected {wanted}, but {note}{cure}")


def task_of(table: FileTable, y: pd.Series, files: TableFiles | None = None) -> tuple[str, str]:
    """The task and the reason for it; of files, the table may be a sample."""
    task, why = recognise_task(y)
    if files is not None and not files.sample.is_whole:
        why += f" in a sample of {len(y):,} rows"
    if table.kinds[str(y.name)] == "category" and y.nunique() > len(y) / 2:
        raise ValueError(
            f"{table.name}: expected a target of numbers, or of classes that occur several times, "
            f"but {why} in {len(y):,} rows; choose another --target, or add --task classification"
        )
    if task == "classification" and table.kinds[str(y.name)] == "number":
        why += "; for amounts, add --task regression"
    return task, why


def without_rows(every: pd.Series, kept: pd.Series) -> tuple[str, ...]:
    """A note about series that are not forecast, since no row of theirs has a target."""
    lost = [str(name) for name in every.dropna().unique() if name not in set(kept)]
    some = ", ".join(lost[:3]) + (", ..." if len(lost) > 3 else "")
    return (f"not forecast, since no row has a value: series {some}",) if lost else ()
