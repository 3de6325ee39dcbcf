"""How the numbers of a file are written where its model does not say: one answer for all rows.

A file is read in batches. What one of them shows holds for those that follow, and what contradicts
an earlier one is refused.
"""

import re
from collections.abc import Mapping

import pandas as pd

from batchensemble.data.columns import Column
from batchensemble.data.notation import COMMA, Notation
from batchensemble.data.reading import TableFile

_THOUSANDS = r"[+-]?[1-9][0-9]{0,2}(?:\.[0-9]{3})+"
_WITH_THOUSANDS = re.compile(rf"{_THOUSANDS}(?:,[0-9]*)?")
_UNCLEAR = re.compile(rf"\0\s*({_THOUSANDS})\s*(?=\0)")

Known = Mapping[str, Notation | None]


def with_point(word: str) -> str:
    """A number of a file with decimal commas; in some of its cells a point may be one, too."""
    if _WITH_THOUSANDS.fullmatch(word):
        word = word.replace(".", "")
    return word if "." in word else word.replace(",", ".")


def has_commas(numbers: Mapping[str, Column], known: Known, file: TableFile) -> bool:
    """Whether numbers have decimal commas, as nearly all do where semicolons part the cells."""
    found = file.found
    if not _is_open(file) or found.has_commas:
        return found.has_commas
    with_commas = (c for n, c in numbers.items() if (known[n] or COMMA).decimal == ",")
    if not any("," in "".join(column.values) for column in with_commas):
        return False
    if found.unclear:
        raise ValueError(
            f"{file.name}: expected one decimal mark in the whole file, got {found.unclear}, which "
            "was read with a decimal point, and decimal commas in other rows; add --decimal , if "
            "points part thousands, or write all numbers alike"
        )
    return True


def remember(
    numbers: Mapping[str, Column], known: Known, index: pd.Index, file: TableFile, *, commas: bool
) -> None:
    """What a batch has shown, after it was read."""
    found = file.found
    found.has_commas = commas
    if commas or found.unclear or not _is_open(file):
        return
    for name in (name for name in numbers if known[name] is None):
        joined = "\0".join(["", *numbers[name].values, ""])
        match = _UNCLEAR.search(joined) if "." in joined else None
        if match:
            row = index[joined.count("\0", 0, match.start())]
            found.unclear = f"{match[1]!r} in {file.unit} {row}, column {name!r}"
            return


def _is_open(file: TableFile) -> bool:
    return file.is_text and file.separator == ";" and file.options.decimal_mark is None
