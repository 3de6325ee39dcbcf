"""The values of a JSON request, as those of a file."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.data.columns import Kind
from batchensemble.data.durations import seconds_of
from batchensemble.data.file_notation import Usual
from batchensemble.data.file_options import AS_FOUND, FileOptions
from batchensemble.data.notation import POINT, Found, Notation
from batchensemble.data.scalars import texts
from batchensemble.data.text import read_as

REQUEST = "the request"
NUMBERS = ("number", "boolean")


@dataclass
class Rows:
    """The rows of a JSON request, as a file."""

    frame: pd.DataFrame
    name: str = REQUEST
    unit: str = "row"
    is_text: bool = False
    separator: str = ","
    options: FileOptions = AS_FOUND
    nameless: int = 0
    found: Found = field(default_factory=Found)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.names = list(self.frame)

    def batches(self, n_rows: int = 0) -> Iterator[pd.DataFrame]:
        yield self.frame

    def share_read(self) -> float | None:
        return None


def row_numbers(rows: list[Any]) -> pd.RangeIndex:
    return pd.RangeIndex(1, len(rows) + 1)


def values_of(
    name: str,
    kind: Kind,
    notations: Mapping[str, Notation],
    cells: list[Any],
    usual: Usual | None = None,
    *,
    is_span: bool = False,
    kept: Collection[str] = (),
) -> NDArray[Any]:
    """Texts are read as those of files for the model; numbers are what they are."""
    if is_span:
        column = pd.Series(cells, row_numbers(cells), dtype=object, name=name)
        if (seconds := seconds_of(column, REQUEST, "row")) is not None:
            return np.asarray(seconds)

    def read(words: NDArray[Any]) -> Any:
        frame = pd.DataFrame({name: words}, index=row_numbers(cells), dtype=object)
        commas = any(one.decimal == "," for one in notations.values())
        file = Rows(frame, is_text=True, separator="" if commas else ",")  # or of a program
        return read_as(frame, {name: kind}, file, notations, usual, kept={name: kept})[name]

    if kind not in NUMBERS:
        return np.asarray(read(texts(cells)))
    is_text = np.array([isinstance(cell, str) for cell in cells], dtype=bool)
    given = [None if text else cell for cell, text in zip(cells, is_text, strict=True)]
    numbers = np.array(given, dtype=np.float64)  # None is a gap
    if not is_text.any():
        return numbers
    own = notations.get(name, POINT)
    shows = own.decimal != "," and not own.sign  # otherwise no number is written so
    words = [cell if isinstance(cell, str) else _text(cell) * shows for cell in cells]
    read_texts = pd.Series(read(np.array(words, dtype=object)))
    return np.where(is_text, read_texts.to_numpy(np.float64, na_value=np.nan), numbers)


def _text(number: float | None) -> str:
    """As a program writes it; numbers beside texts show how these are written."""
    return "" if number is None else f"{float(number):.17g}"
