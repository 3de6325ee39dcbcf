"""Numbers, values and JSON as the commands print them."""

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

NAMED = 5  # groups or series, in a sentence


def counted(n: int, thing: str) -> str:
    return f"{n:,} {thing}{'s' * (n != 1)}"


def named(names: Sequence[Any]) -> str:
    """The first of many, and how many more there are."""
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(map(repr, names[:NAMED])) + more


def percent(share: float) -> str:
    """At most one decimal; a no-break space before the sign."""
    return f"{round(100 * share, 1):g}\N{NO-BREAK SPACE}%"


def size(n_bytes: int) -> str:
    return f"{n_bytes / 1e3:,.0f} kB" if n_bytes < 1e6 else f"{n_bytes / 1e6:,.1f} MB"


def plain(value: Any) -> str:
    """A setting as text: lists and dicts with commas, True as yes."""
    match value:
        case dict():
            return ", ".join(f"{name} {plain(one)}" for name, one in value.items())
        case list() | tuple() if value:
            return ", ".join(map(plain, value))
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:g}"
        case None | [] | ():
            return "-"
        case _:
            return str(value)


def print_grid(console: Console, rows: Iterable[Sequence[str]]) -> None:
    """Text in columns; those in the middle are numbers, and the last one may wrap."""
    table = Table.grid(padding=(0, 2))
    for row in rows:
        last = len(row) - 1
        for j in range(len(table.columns), len(row)):
            table.add_column(justify="right" if 0 < j < last else "left", no_wrap=j < last)
        table.add_row("  " + escape(row[0]), *map(escape, row[1:]))
    if table.rows:
        console.print(table)


def is_unicode(stream: Any) -> bool:
    """Whether any letter can be written to it."""
    return str(getattr(stream, "encoding", None) or "utf-8").lower().startswith("utf")


def as_json(value: Any) -> str:
    """One line; NaN and infinity become null, and letters codes where they cannot be printed."""
    finite = json.loads(json.dumps(value, default=_jsonable), parse_constant=lambda word: None)
    return json.dumps(finite, ensure_ascii=not is_unicode(sys.stdout))


def _jsonable(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if hasattr(value, "tolist"):  # numpy's arrays and numbers
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"expected plain values for JSON, got {type(value).__name__}")
