"""Errors in one line, and exit codes for scripts."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console

CODES = (
    "Exit codes: 0 success; 1 the data or the model cannot be used (the reason is on standard "
    "error); 2 wrong command or option; 130 stopped with Ctrl-C; 141 the output pipe was closed "
    "early, for example by head."
)


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
def one_line_errors(stopped: str = "Stopped. Nothing was written.") -> Iterator[None]:
    """Print an error as one line without a traceback, and end with its exit code."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(stopped, err=True)
        raise typer.Exit(130) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # discard the rest
        raise typer.Exit(141) from None
    except (ImportError, OSError, ValueError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(1) from None
