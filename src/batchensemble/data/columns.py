"""Named columns, each of one kind: number, boolean, category or date. Every table is read so."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.data import scalars

Kind = Literal["number", "boolean", "category", "date"]
MISSING = {
    "number": np.nan,
    "boolean": np.nan,
    "category": None,
    "date": scalars.NO_DATE,
}
MOST_EXACT = 2**53  # from here on, neighbours among whole numbers are one float


class Column(NamedTuple):
    """One column: a name, a kind, and values in that kind's one form.

    number    float64, NaN = missing (durations in seconds, times of day in seconds after midnight)
    boolean   float64 of 0 and 1, NaN = missing
    category  object array of str, None = missing; see `category_text` for what is the same category
    date      datetime64[us] in UTC, NaT = missing
    """

    name: str
    kind: Kind
    values: NDArray[Any]
    is_zoned: bool = False  # whether dates came with a time zone
    is_coded: bool = False  # whether categories came as such, not as mere texts
    is_span: bool = False  # whether numbers came as durations or times of day

    @property
    def missing(self) -> NDArray[np.bool_]:
        """(rows,), True where there is no value."""
        if self.kind == "category":
            return np.array([value is None for value in self.values], dtype=bool)
        return np.asarray(np.isnat(self.values) if self.kind == "date" else np.isnan(self.values))

    def as_kind(self, kind: Kind) -> "Column":
        """This column read as `kind`, where that loses nothing; otherwise a ValueError.

        Without any value it can be of every kind, booleans and 0/1 numbers are the same,
        and numbers can be read as categories, never the other way round.
        """
        if kind == self.kind:
            return self
        missing = self.missing
        if missing.all():
            dtype = object if kind == "category" else None
            return Column(self.name, kind, np.full(len(missing), MISSING[kind], dtype))
        if kind == "category" and self.kind != "date":
            values = self.values
            self.check_told_apart()
            if self.kind == "boolean":
                values = np.array([None, False, True])[np.where(missing, 0, 1 + values).astype(int)]
            return Column(self.name, kind, scalars.texts(values.tolist()))
        if kind == "number" and self.kind == "boolean":
            return Column(self.name, kind, self.values)
        if kind == "boolean" and self.kind == "number":
            for row in np.flatnonzero(~np.isin(self.values, (0, 1)) & ~missing)[:1]:
                raise ValueError(
                    f"column {self.name!r}: expected True/False or 1/0 as in fit, got the number "
                    f"{self.values[row]:g} in row {row}; correct it, or make it missing"
                )
            return Column(self.name, kind, self.values)
        row = int(np.flatnonzero(~missing)[0])
        value = self.values[row]
        raise ValueError(
            f"column {self.name!r}: expected a {kind} column as in fit, got a {self.kind} column "
            f"(row {row} is {repr(value) if isinstance(value, str) else value}); "
            f"{_cure(self, kind)}"
        )

    def check_told_apart(self) -> None:
        """Refuse numbers whose neighbours may have become one."""
        largest = (
            np.abs(self.values).max(initial=0, where=~self.missing) if self.kind == "number" else 0
        )
        if largest >= MOST_EXACT:
            raise ValueError(
                f"column {self.name!r}: expected words, or numbers of at most 15 digits, which "
                f"can be told apart, got {largest:.4g}; convert the column to texts"
            )


@dataclass(frozen=True, eq=False)
class Columns:
    """A table as columns of equal length, in the user's order."""

    columns: tuple[Column, ...]

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, index: int) -> Column:
        return self.columns[index]

    def take(self, rows: NDArray[Any] | slice) -> "Columns":
        """The same columns with the chosen rows."""
        return Columns(tuple(c._replace(values=c.values[rows]) for c in self.columns))

    @property
    def n_rows(self) -> int:
        return len(self.columns[0].values)

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def kinds(self) -> list[Kind]:
        return [column.kind for column in self.columns]


def _cure(column: Column, kind: Kind) -> str:
    if kind == "number" and column.kind == "category":
        words = [value for value in column.values if value is not None]
        try:
            [float(word) for word in words]
        except ValueError:
            if not np.isnat(pd.to_timedelta(np.array(words, object), errors="coerce")).any():
                return f"if they are durations, convert them: pd.to_timedelta(X[{column.name!r}])"
            return "make what is not a number missing and convert the column to numbers"
        return "all its strings read as numbers: convert the column first, to float for example"
    return f"convert it to the kind {kind}, or fit again with the column as it is now"
