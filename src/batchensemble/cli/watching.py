"""How far a file is, on standard error, where somebody looks."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from batchensemble.cli.answering import Watch


@contextmanager
def watching() -> Iterator[Watch]:
    """What to call with the rows that are done and the share of the file that is read."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.fields[rows]:,} rows"), BarColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task("", total=None, rows=0)

        def watch(n_rows: int, share: float | None) -> None:
            total = None if share is None else 1.0
            progress.update(task, completed=share or 0.0, total=total, rows=n_rows)

        yield watch
