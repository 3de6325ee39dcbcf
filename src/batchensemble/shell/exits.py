"""How commands end: what went wrong in one line, and a code for scripts."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

CODES = (
    "Exit codes: 0 done; 1 the data or the model cannot be used, with the reason on standard "
    "error; 2 the command is not understood; 130 stopped with Ctrl-C."
)


@contextmanager
def one_line_errors(stopped: str = "Stopped. Nothing was written.") -> Iterator[None]:
    """What is wrong is said in a line, without a traceback."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(stopped, err=True)
        raise typer.Exit(130) from None
    except BrokenPipeError:
        raise  # whoever read our output has read enough
    except (ImportError, OSError, ValueError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(1) from None
