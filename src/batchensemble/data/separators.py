"""What stands between the cells of a text file, as its first lines show."""

import csv
from collections.abc import Sequence
from itertools import pairwise

SEPARATORS = (",", ";", "\t", "|")


def given_separator(line: str) -> str:
    """What a spreadsheet may say in the first line: sep=;"""
    word = line.lower().removeprefix("sep=").rstrip("\r\n")
    word = word if word == "\t" else word.strip()
    return word if len(word) == 1 and line.lower().startswith("sep=") else ""


def find_separator(lines: Sequence[str]) -> str:
    """The one that makes the most names of the first line, and as many cells of all others.

    If there is none, as in files with a line that is incomplete, names decide.
    """
    lines = [line for line in lines if line.strip()]
    found = [separator for separator in SEPARATORS if separator in lines[0]] or [*SEPARATORS[:1]]
    if len(found) == 1:
        return found[0]
    widths = {separator: _widths(lines, separator) for separator in found}
    return max(found, key=lambda s: (len({*widths[s]}) == 1 < widths[s][0], widths[s][0]))


def table_begin(lines: Sequence[str]) -> int:
    """The line with the names of columns, if a title may stand above them; otherwise 0."""
    width, at = 1, 0
    for separator in SEPARATORS:
        widths = _widths(lines, separator)
        for i, (one, following) in enumerate(pairwise(widths)):
            if width < one == following == max(widths):
                width, at = one, i
    return at


def _widths(lines: Sequence[str], separator: str) -> list[int]:
    return [len(_cells(line, separator)) for line in lines]


def _cells(line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator, skipinitialspace=True))
    except csv.Error:
        return []
