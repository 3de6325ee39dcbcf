"""How commands end: what went wrong in one line, and a code for scripts."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console

CODES = (
    "Exit codes: 0 done; 1 the data or the model cannot be used, with the reason on standard "
    "error; 2 the command is not understood; 130 stopped with Ctrl-C; 141 whoever read the output "
    "has read enough."
)


class Terminal(Console):
    """Leaves it to `one_line_errors` to say that whoever reads has read enough."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


@contextmanager
def naming(file: Path | str | None) -> Iterator[None]:
    """What is wrong with a series is said with the file that it comes from."""
    try:
        yield
    except ValueError as error:
        if file is None or "series" not in str(error):
            raise
        raise ValueError(f"{file}: {error}") from error


@contextmanager
def one_line_errors(stopped: str = "Stopped. Nothing was written.") -> Iterator[None]:
    """What is wrong is said in a line, without a traceback."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(stopped, err=True)
        raise typer.Exit(130) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left goes nowhere
        raise typer.Exit(141) from None
    except (ImportError, OSError, ValueError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(1) from None
