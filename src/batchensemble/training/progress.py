"""Progress bars, for those who ask for them: on standard error, beside what is printed."""

from collections.abc import Iterable, Iterator, Sequence, Sized
from types import TracebackType
from typing import Self, TypeVar

Part = TypeVar("Part", bound=Sized)


def track(parts: Iterable[Part], total: int, what: str, *, verbose: bool) -> Iterator[Part]:
    """Hand on the parts of a whole of `total` things, and if asked show how far it is."""
    if not verbose:
        yield from parts
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    columns = (TextColumn(what), MofNCompleteColumn(), BarColumn(), TimeLeft())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=total)
        for part in parts:
            progress.update(task, advance=len(part))
            yield part


class ProgressBar:
    """Epochs done, time left, and the latest numbers."""

    def __init__(self, epochs: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.progress import TimeRemainingColumn as TimeLeft

        self.progress = Progress(
            TextColumn("epoch"),
            MofNCompleteColumn(),
            BarColumn(),
            TimeLeft(),
            TextColumn("{task.description}"),
            console=Console(stderr=True),
        )
        self.task = self.progress.add_task("", total=epochs)

    def __enter__(self) -> Self:
        self.progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.progress.stop()

    def advance(self, *, loss: Sequence[float], score: Sequence[Sequence[float]]) -> None:
        words = f"loss {sum(loss) / len(loss):.4f}"
        if score:
            words += f", held-out score {sum(score[0]) / len(score[0]):.4f}"
        self.progress.update(self.task, advance=1, description=words)
