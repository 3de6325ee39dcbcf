"""Errors in one line, and exit codes for scripts."""

import errno
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape

from batchensemble.cli.format import is_unicode
from batchensemble.cli.wording import in_options

CODES = (
    "Exit codes: 0 success; 1 the data or the model cannot be used (the reason is on standard "
    "error); 2 wrong command or option; 130 stopped with Ctrl-C; 141 the output pipe was closed "
    "early, for example by head; 143 terminated (SIGTERM)."
)


TRACEBACK = "BATCHENSEMBLE_TRACEBACK"
AS_WORDS, EXAMPLE = " is read as words", ", such as "


class Terminal(Console):
    """A console that leaves a closed pipe to `one_line_errors`."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


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
    from batchensemble.data.doubts import BatchEnsembleWarning

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
    try:
        with _terminable():
            yield
    except KeyboardInterrupt as error:
        typer.echo(str(error) or stopped, err=True)
        raise typer.Exit(143 if isinstance(error, Terminated) else 130) from None
    except BrokenPipeError:
        _discard_output()
        raise typer.Exit(141) from None
    except (typer.BadParameter, typer.Exit, typer.Abort):
        raise
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        typer.echo(f"Error: {_one_line(error)}", err=True)
        if getattr(error, "errno", None) == errno.ENOSPC:
            _discard_output()  # it may be what is full: do not try again at the end
        raise typer.Exit(1) from None


def _discard_output() -> None:
    with suppress(OSError, ValueError):  # it may be no file, in a notebook for example
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM as an exception; signals can be caught in the main thread only."""

    def stop(*_: object) -> None:
        raise Terminated

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _one_line(error: Exception) -> str:
    words = " ".join(str(error).split())
    if isinstance(error, MemoryError) or "allocate memory" in words:
        return (
            "the memory of this machine does not suffice; use fewer rows or columns, fewer "
            "members, a smaller network or a shorter horizon"
        )
    if isinstance(error, OSError) and error.strerror:
        is_full = error.errno == errno.ENOSPC and not error.strerror.endswith("was not written")
        where = error.filename or ("standard output" if is_full else "")
        return " ".join(f"{error.strerror}{f': {where}' if where else ''}".split())
    is_ours = type(error).__module__.startswith("batchensemble.")  # a training that diverged
    if is_ours or isinstance(error, (ImportError, OSError, ValueError)):
        return in_options(words)
    return (
        f"this should not have happened: {type(error).__name__}: {words[:300]}; please report it, "
        f"with what {TRACEBACK}=1 before the command shows"
    )
