"""The canonical table of a dataset: the same from every source of the data.

Named columns in a fixed order with fixed types, numbers rounded to 12 significant digits, texts
trimmed, and the rows sorted by all columns, the target last. So every source gives the same rows to
the same split, and has the same checksum.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Kind = Literal["float", "int", "text", "label", "date"]
"""A "label" is a text without the dot at its end that some sources of Adult put there."""
Check = Callable[[pd.DataFrame], None]
"""Raises a ValueError that says what is wrong with a canonical table."""


def read_csv(path: Path) -> pd.DataFrame:
    """Every cell as text; the columns' kinds decide which become numbers."""
    return pd.read_csv(path, dtype=str, keep_default_na=False, skipinitialspace=True)


def canonical(frame: pd.DataFrame, kinds: Mapping[str, Kind]) -> pd.DataFrame:
    """`kinds` are the table's columns in order, the target last."""
    if not {*kinds} <= {*frame}:
        raise ValueError(
            f"expected the columns {', '.join(kinds)}, got {', '.join(map(str, frame))[:200]}"
        )
    tidy = pd.DataFrame({name: _tidy(frame[name], kind) for name, kind in kinds.items()})
    return tidy.sort_values(list(kinds), kind="stable", ignore_index=True)


def checksum(table: pd.DataFrame) -> str:
    """The sha256 of a canonical table: for each column a JSON list of its name and its cells.

    Floats are written with 12 significant digits, dates as yyyy-mm-dd, all else as text, in UTF-8.
    """
    digest = hashlib.sha256()
    for name in table:
        cells = [str(name), *_texts(table[name])]
        digest.update(json.dumps(cells, ensure_ascii=False).encode() + b"\n")
    return digest.hexdigest()


def equals(expected: str, n_rows: int) -> Check:
    """A check for a table that never changes."""

    def check(table: pd.DataFrame) -> None:
        if len(table) != n_rows:
            raise ValueError(f"expected {n_rows} rows, got {len(table)}")
        if (actual := checksum(table)) != expected:
            raise ValueError(
                f"expected a table with the checksum {expected[:12]}..., got {actual[:12]}...: "
                "some values differ"
            )

    return check


def _tidy(column: pd.Series, kind: Kind) -> Any:
    if kind == "date":
        return pd.DatetimeIndex(pd.to_datetime(column, format="ISO8601")).normalize()
    if kind in ("text", "label"):
        texts = column.astype(str).str.strip()
        return texts.str.removesuffix(".") if kind == "label" else texts
    numbers = _numbers(column)
    if kind == "int":
        whole = numbers.astype(np.int64)
        if (whole != numbers).any():
            raise ValueError(f"expected whole numbers in the column {column.name!r}")
        return whole
    # Adding zero turns a negative zero into zero.
    return np.array([float(text) for text in _digits(numbers)]) + 0.0


def _numbers(column: pd.Series) -> NDArray[np.float64]:
    try:
        numbers: NDArray[np.float64] = column.to_numpy(dtype=object).astype(np.float64)
    except ValueError as error:
        raise ValueError(f"expected numbers in the column {column.name!r}: {error}") from None
    if not np.isfinite(numbers).all():
        raise ValueError(f"expected a finite number in every row of the column {column.name!r}")
    return numbers


def _digits(numbers: Iterable[float]) -> list[str]:
    return [format(number, ".12g") for number in numbers]


def _texts(column: pd.Series) -> list[str]:
    if column.dtype.kind == "f":
        return _digits(column)
    if column.dtype.kind == "M":
        return list(column.dt.strftime("%Y-%m-%d"))
    return [str(cell) for cell in column]
