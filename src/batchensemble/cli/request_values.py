"""The values of a JSON request, as those of a file."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.data.columns import Kind
from batchensemble.data.file_options import AS_FOUND, FileOptions
from batchensemble.data.notation import Found, Notation
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
    name: str, kind: Kind, notations: Mapping[str, Notation], cells: list[Any]
) -> NDArray[Any]:
    """Texts are read as those of files, in the notations of fit; numbers are what they are."""

    def read(words: NDArray[Any]) -> Any:
        frame = pd.DataFrame({name: words}, index=row_numbers(cells), dtype=object)
        file = Rows(frame, is_text=True, separator="")
        return read_as(frame, {name: kind}, file, notations)[name]

    if kind not in NUMBERS:
        return np.asarray(read(texts(cells)))
    given = [None if isinstance(cell, str) else cell for cell in cells]
    numbers = np.array(given, dtype=np.float64)  # None is a gap
    if given == cells:
        return numbers
    words = pd.Series(read(np.array([c if isinstance(c, str) else "" for c in cells], object)))
    return np.where(words.isna(), numbers, words.to_numpy(np.float64, na_value=np.nan))
