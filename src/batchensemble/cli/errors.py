"""Errors in one line, and exit codes for scripts."""

import errno
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Any, ClassVar

import typer
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from batchensemble.cli.format import is_unicode
from batchensemble.cli.wording import in_options

CODES = (
    "Exit codes: 0 success; 1 the data or the model cannot be used (the reason is on standard "
    "error); 2 wrong command or option; 130 stopped with Ctrl-C; 141 the output pipe was closed "
    "early, for example by head; 143 terminated (SIGTERM)."
)


TRACEBACK = "BATCHENSEMBLE_TRACEBACK"
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
AS_WORDS, EXAMPLE = " is read as words", ", such as "


class Terminal(Console):
    """A console whose pipe may be closed: a model is fitted and a report written all the same.

    Names from files cannot command the terminal.
    """

    was_closed: ClassVar[bool] = False

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(harmless(text), **options)

    def on_broken_pipe(self) -> None:
        Terminal.was_closed = self.quiet = True
        _discard_output()


def harmless(text: str) -> str:
    """Control characters as escapes, but for tabs and new lines."""
    return _CONTROLS.sub(lambda found: repr(found[0])[1:-1], text)


@contextmanager
def about_file(file: Path | str | None) -> Iterator[None]:
    """Put the file's name, if there is one, before every ValueError raised inside."""
    try:
        yield
    except ValueError as error:
        if not file:
            raise
        raise ValueError(f"{file}: {error}") from error


@contextmanager
def plain_warnings(console: Console, notes: Collection[str] = ()) -> Iterator[list[str]]:
    """Print the library's warnings raised inside as one line each, once; they are in the list.

    Once also where only examples differ, as in the batches of a file. Not those about columns that
    are read as words, if a note has said so.
    """
    from batchensemble.data.telling import BatchEnsembleWarning

    said: list[str] = []
    known: set[str] = set()
    noted = tuple(f"column {note.partition(AS_WORDS)[0]}" for note in notes if AS_WORDS in note)
    with warnings.catch_warnings():
        warnings.simplefilter("always", BatchEnsembleWarning)
        show = warnings.showwarning

        def shown(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
            if not issubclass(category, BatchEnsembleWarning):
                show(message, category, *where, **more)
                return
            text = in_options(str(message))
            is_noted = AS_WORDS in text and text.startswith(noted)
            beginning = text.partition(EXAMPLE)[0]
            if beginning not in known and not is_noted:
                known.add(beginning)
                said.append(text)
                print_warning(console, text)

        warnings.showwarning = shown
        yield said


def print_warning(console: Console, text: str) -> None:
    console.print(f"[bold yellow]Warning[/]: {escape(text)}")


class Terminated(KeyboardInterrupt):
    """SIGTERM, which cleans up as Ctrl-C does."""


@contextmanager
def if_stopped(say: Callable[[], str]) -> Iterator[None]:
    """What to say about Ctrl-C and SIGTERM raised inside, in place of the usual line."""
    try:
        yield
    except KeyboardInterrupt as error:
        error.args = (say(),)
        raise


@contextmanager
def one_line_errors(stopped: str = "Stopped. Nothing was written.") -> Iterator[None]:
    """Print an error as one line without a traceback, and end with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and not is_unicode(stream):
            stream.reconfigure(errors="replace")  # a letter that it does not know costs no model
    if not os.environ.get("COLUMNS", "1").strip("0 "):  # no width is not known, not zero
        del os.environ["COLUMNS"]
    Terminal.was_closed = False
    signals: list[KeyboardInterrupt] = []
    try:
        with _stoppable(signals):
            yield
        if Terminal.was_closed:
            raise typer.Exit(141)
    except KeyboardInterrupt as error:
        raise _stopped(error, stopped) from None
    except BrokenPipeError:
        _discard_output()
        raise typer.Exit(141) from None
    except (typer.BadParameter, typer.Exit, typer.Abort):
        raise
    except Exception as error:
        if signals:  # within an import, another error may take the place of the one raised
            raise _stopped(signals[0], stopped) from None
        if os.environ.get(TRACEBACK):
            raise
        typer.echo(f"Error: {_one_line(error)}", err=True)
        if getattr(error, "errno", None) == errno.ENOSPC:
            _discard_output()  # it may be what is full: do not try again at the end
        raise typer.Exit(1) from None


def _discard_output() -> None:
    with suppress(OSError, ValueError):  # it may be no file, in a notebook for example
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _stopped(error: KeyboardInterrupt, stopped: str) -> typer.Exit:
    typer.echo(str(error) or stopped, err=True)
    return typer.Exit(143 if isinstance(error, Terminated) else 130)


@contextmanager
def _stoppable(signals: list[KeyboardInterrupt]) -> Iterator[None]:
    """SIGTERM and Ctrl-C as exceptions, and in the list; only the main thread can catch them."""

    def stop(number: int, _: object) -> None:
        signals.append(Terminated() if number == signal.SIGTERM else KeyboardInterrupt())
        raise signals[-1]

    def lost(what: Any) -> None:
        """Python drops what is raised in `__del__`, as of the compiler: so raise it again later."""
        if not isinstance(what.exc_value, KeyboardInterrupt):
            tell_lost(what)
            return
        is_term = isinstance(what.exc_value, Terminated)
        number = signal.SIGTERM if is_term else signal.SIGINT
        threading.Timer(0.1, signal.raise_signal, [number]).start()

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    tell_lost, sys.unraisablehook = sys.unraisablehook, lost
    before = {signal.SIGTERM: signal.signal(signal.SIGTERM, stop)}
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell may ignore it
        before[signal.SIGINT] = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        sys.unraisablehook = tell_lost
        for number, handler in before.items():
            signal.signal(number, handler)


def _one_line(error: Exception) -> str:
    words = harmless(" ".join(str(error).split()))
    if isinstance(error, MemoryError) or "allocate memory" in words:
        return (
            "out of memory; use fewer rows or columns, fewer members, a smaller network "
            "or a shorter horizon"
        )
    if isinstance(error, OSError) and error.strerror:
        is_full = error.errno == errno.ENOSPC and not error.strerror.endswith("was not written")
        where = error.filename or ("standard output" if is_full else "")
        return " ".join(f"{error.strerror}{f': {where}' if where else ''}".split())
    if isinstance(error, RuntimeError) and words.startswith("Symlink loop"):  # of Path.resolve
        return f"{words}; remove the link, or choose another name"
    is_ours = type(error).__module__.startswith("batchensemble.")  # a training that diverged
    if is_ours or isinstance(error, (ImportError, OSError, ValueError)):
        return in_options(words)
    return (
        f"this is a bug: {type(error).__name__}: {words[:300]}; please report it, "
        f"with what {TRACEBACK}=1 before the command shows"
    )
