"""A table of one's own, from a file."""

import csv
import gzip
import zlib
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.datasets.tables import Table
from batchensemble.words import one_of

Task = Literal["regression", "classification"]
FEW = 20


def read_table(path: str | Path, target: str, task: Task | None = None) -> Table:
    """A .csv, .csv.gz or .parquet file as a table, its rows in the file's order.

    Every column but `target` is a feature; an empty cell of a feature is a gap. Unless `task`
    is given, texts and truth values are classes, and so are whole numbers with at most 20
    different values that each occur twice on average; all other numbers make a regression.
    """
    path = Path(path)
    frame = _read(path)
    if frame.empty:
        raise ValueError(f"expected {path} to have rows and columns, got {frame.shape}")
    one_of(target, frame.columns, f"the target column of {path.name}")
    if len(frame.columns) < 2:
        raise ValueError(f"expected a column besides the target {target!r} in {path}")
    gaps = np.flatnonzero(frame[target].isna())
    if len(gaps):
        raise ValueError(
            f"expected a value of {target!r} in every row of {path}, got {len(gaps)} gaps, the "
            f"first in row {gaps[0] + 1}; drop these rows, or the file is cut off"
        )
    if frame[target].nunique() < 2:
        raise ValueError(f"expected {target!r} to vary in {path}, got one value in all rows")
    kind = task or _task(frame[target])
    one_of(kind, ("regression", "classification"), "task")
    y = _numbers(frame[target], path) if kind == "regression" else _labels(frame[target])
    return Table(
        path.name.removesuffix(".gz").rpartition(".")[0], kind, frame.drop(columns=target), y
    )


def _read(path: Path) -> pd.DataFrame:
    is_parquet = path.name.endswith((".parquet", ".pq"))
    if not is_parquet and not path.name.endswith((".csv", ".csv.gz")):
        raise ValueError(f"expected a .csv, .csv.gz or .parquet file, got {path}")
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        if is_parquet:
            return pd.read_parquet(path).rename(columns=str)
        # Without index_col=False rows that end with a comma would move all names by one column.
        frame = pd.read_csv(path, index_col=False, float_precision="round_trip")
        if len(frame) and pd.isna(frame.iloc[-1, -1]):
            _refuse_short_rows(path)
    except ImportError as error:
        raise ImportError("reading Parquet needs pyarrow: pip install pyarrow") from error
    except (ValueError, OSError, EOFError, zlib.error) as error:
        cause = " ".join(str(error).split())[:200]
        raise ValueError(
            f"{path} cannot be read: {cause}; it may be cut off or of another format"
        ) from error
    return frame


def _refuse_short_rows(path: Path) -> None:
    """pandas fills the cells that a row lacks with gaps, so a file that is cut off looks whole."""
    opened: Any = gzip.open if path.name.endswith(".gz") else open
    with opened(path, "rt", newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        width = len(next(rows))
        for row in rows:
            if row and len(row) < width:
                raise ValueError(
                    f"expected {width} cells in every row, got {len(row)} in line {rows.line_num}"
                )


def _task(y: pd.Series) -> Task:
    if not pd.api.types.is_numeric_dtype(y) or pd.api.types.is_bool_dtype(y):
        return "classification"
    is_few = y.nunique() <= min(FEW, len(y) / 2)
    return "classification" if is_few and _is_whole(y) else "regression"


def _numbers(y: pd.Series, path: Path) -> NDArray[np.float64]:
    if not pd.api.types.is_numeric_dtype(y):
        raise ValueError(
            f"expected numbers in the target {y.name!r} of {path} for a regression, got {y.dtype}"
        )
    values: NDArray[np.float64] = y.to_numpy(dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError(f"expected finite numbers in the target {y.name!r} of {path}")
    return values


def _labels(y: pd.Series) -> NDArray[Any]:
    labels: NDArray[Any]
    if pd.api.types.is_bool_dtype(y):
        labels = y.to_numpy(dtype=bool)
    elif pd.api.types.is_integer_dtype(y) or (pd.api.types.is_float_dtype(y) and _is_whole(y)):
        labels = y.to_numpy(dtype=np.int64)
    else:
        labels = y.astype(object).to_numpy()
    return labels


def _is_whole(y: pd.Series) -> bool:
    return bool((y == y.round()).all())
