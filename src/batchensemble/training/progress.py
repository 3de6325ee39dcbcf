"""Progress bars on stderr, only with verbose=True."""

from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import TypeVar

Part = TypeVar("Part", bound=Sized)


@contextmanager
def progress_bar(what: str, total: int, *, verbose: bool) -> Iterator[Callable[[int, str], None]]:
    """A function that moves the bar by so many and shows a text; it does nothing if not verbose."""
    if not verbose:
        yield lambda count, text: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    text = TextColumn("{task.description}")
    columns = (TextColumn(what), MofNCompleteColumn(), BarColumn(), TimeLeft(), text)
    with Progress(*columns, console=Console(stderr=True), redirect_stdout=False) as progress:
        task = progress.add_task("", total=total)
        yield lambda count, text: progress.update(task, advance=count, description=text)


def track(parts: Iterable[Part], total: int, what: str, *, verbose: bool) -> Iterator[Part]:
    """Yield the parts of a whole of `total` things; if verbose, show how many have been yielded."""
    with progress_bar(what, total, verbose=verbose) as advance:
        for part in parts:
            advance(len(part), "")
            yield part
