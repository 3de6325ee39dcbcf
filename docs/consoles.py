"""Writes below each command of a page what it prints now: python docs/consoles.py PAGE ...

Blocks marked ```python and commands in blocks marked ```console run, from the top of the page to
the end, in a folder that is empty except for our results. A shown line `...` stands for any lines.
"""

import re
import shlex
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from typer.testing import CliRunner

from batchensemble.cli.app import app

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.M)
NUMBER = re.compile(r"[-+]?\d[\d.,]*(e[-+]?\d+)?")
EXIT_CODE = "echo $?"


class Step(NamedTuple):
    """A command, the lines shown below it (`start` to `end` in the page), and those it prints."""

    command: str
    shown: list[str]
    printed: list[str]
    start: int
    end: int

    def matched(self) -> list[str] | None:
        """What is printed, shortened as on the page; None if the page shows something else."""
        if self.command == EXIT_CODE:
            return self.printed if self.printed == self.shown else None
        return _matched(self.shown, self.printed)


def run_page(text: str) -> list[Step]:
    """Every command must end with 0, or with an exit code that `echo $?` shows after it."""
    names: dict[str, object] = {}
    steps = []
    with TemporaryDirectory() as folder, chdir(folder):
        Path("results").symlink_to(Path(__file__).parents[1] / "results")
        for block in BLOCK.finditer(text):
            if block[1] == "python":
                line = text.count("\n", 0, block.start(2))
                exec(compile("\n" * line + block[2], "page", "exec"), names)
            elif block[1] == "console":
                steps += _run_console(text, *block.span(2))
    return steps


def _run_console(text: str, start: int, end: int) -> list[Step]:
    steps, code = [], 0
    for match in COMMAND.finditer(text, start, end):
        command, shown = match[1], match[2].splitlines()
        if command == EXIT_CODE:
            printed, code = str(code), 0
        else:
            _expect_success(code, steps)
            code, printed = _run_pipe(command)
        steps.append(Step(command, shown, printed.splitlines(), *match.span(2)))
    _expect_success(code, steps)
    return steps


def _expect_success(code: int, steps: list[Step]) -> None:
    if code:
        raise ValueError(
            f"expected {steps[-1].command!r} to end with 0, got {code}: {steps[-1].printed}; "
            f"fix it, or show the code with `$ {EXIT_CODE}`"
        )


def _run_pipe(line: str) -> tuple[int, str]:
    """The exit code of the last of our commands in a pipe, and all that a terminal would show."""
    code, text, errors = 0, "", ""
    for stage in line.split(" | "):
        program, *words = shlex.split(stage)
        if program == "batchensemble":
            wide = CliRunner(env={"COLUMNS": "1000"})  # no line wraps
            done = wide.invoke(app, words, input=text, prog_name=program)
            code, text, errors = done.exit_code, done.stdout, errors + done.stderr
        else:
            other = subprocess.run(
                [program, *words], input=text, check=True, capture_output=True, text=True
            )
            text = other.stdout
    return code, re.sub(r" +$", "", (errors + text).replace("\xa0", " "), flags=re.M)


def _matched(shown: list[str], printed: list[str]) -> list[str] | None:
    if not shown:
        return None if printed else []
    if shown[0] == "...":
        ends = (_matched(shown[1:], printed[skipped:]) for skipped in range(len(printed) + 1))
        end = next((end for end in ends if end is not None), None)
    elif not printed or _words(shown[0]) != _words(printed[0]):
        return None
    else:
        end = _matched(shown[1:], printed[1:])
    first = shown[0] if shown[0] == "..." else printed[0]
    return None if end is None else [first, *end]


def _words(line: str) -> str:
    """What is the same on every machine: an error, or else everything but numbers and blanks.

    A line that begins with a number is a row of a table, where another row may come first.
    """
    if line.startswith("Error: "):
        return line
    line = " ".join(NUMBER.sub("0", line).split())
    return "0" if line.startswith("0") else line


def refreshed(text: str) -> str:
    """The page with what its commands print now, shortened as before where that still fits."""
    for step in reversed(run_page(text)):
        lines = step.matched()
        lines = step.printed if lines is None else lines
        text = text[: step.start] + "".join(f"{line}\n" for line in lines) + text[step.end :]
    return text


if __name__ == "__main__":
    for page in map(Path, sys.argv[1:]):
        page.write_text(refreshed(page.read_text(encoding="utf-8")), encoding="utf-8")
