"""The files of a table: what their columns are together, and whether all are written alike.

Reading would not tell times with a zone from those without, nor durations from numbers. A frame
with both in one column is refused, too.
"""

from collections.abc import Collection, Iterable, Mapping

import pandas as pd

from batchensemble.data.columns import Kind
from batchensemble.data.durations import durations_in
from batchensemble.data.reading import TableFile
from batchensemble.data.recognition import MOSTLY, Recognised, recognise
from batchensemble.data.text import zoned


class Parts:
    """What the files of a table must have in common.

    first  the file that says what columns are
    kinds  those of the columns that are read
    known  all columns that a file may have
    zoned  for each column of dates, whether they have a zone
    """

    def __init__(
        self,
        first: str,
        kinds: Mapping[str, Kind],
        known: Collection[str],
        zoned: Mapping[str, bool],
    ) -> None:
        self._first, self._kinds, self._known, self._zoned = first, kinds, known, zoned
        self._durations: dict[str, tuple[bool, str]] = {}  # whether they are, and in which file

    def check_names(self, file: TableFile) -> None:
        missing = [repr(name) for name in self._kinds if name not in file.names]
        new = [repr(name) for name in file.names if name not in self._known]
        if missing or new:
            pair = (file.name, self._first) if missing else (self._first, file.name)
            raise ValueError(
                f"{pair[0]}: expected the columns of {pair[1]}, got none called "
                f"{', '.join(missing or new)}; all files of a table need the same columns: add "
                "what is missing, leave a file out, or drop the column (--drop on the command line)"
            )

    def check_cells(self, rows: pd.DataFrame, read: pd.DataFrame, file: TableFile) -> None:
        """Rows of a file, as they are there and as they were read."""
        durations = durations_in(rows, file)
        for name, kind in self._kinds.items():
            if kind == "date":
                place = f"in {self._first}"
                refuse_zones(rows[name], file, had_zones=self._zoned[name], place=place)
                continue
            are, (were, place) = name in durations, self._durations.get(name, (None, ""))
            row = read[name].first_valid_index() if are != were else None
            if row is None:
                continue
            if were is None:
                self._durations[name] = are, file.name
                continue
            some = "a duration or a time of day" if were else "neither a duration nor a time of day"
            raise ValueError(
                f"{file.name}, {file.unit} {row}, column {name!r}: expected {some}, as in {place}, "
                f"got {rows.at[row, name]}; write all files alike"
            )


def with_later(
    columns: Mapping[str, Recognised],
    head: pd.DataFrame,
    later: Iterable[tuple[TableFile, pd.DataFrame]],
    target: str,
    *,
    with_plain: bool,
) -> dict[str, Recognised]:
    """What columns are by the first rows, `head`, or, where these do not tell, by later files."""
    known, empty = dict(columns), {name for name in columns if head[name].isna().all()}
    for file, rows in later:
        found = recognise(rows[[*known]], file, with_plain=with_plain)
        shown = {name for name in empty if rows[name].notna().any()}
        known |= {name: found[name] for name in shown}
        empty -= shown
        numbers = [n for n, one in known.items() if one.kind == "number" and n != target]
        codes = [n for n in numbers if _is_code(head[n], rows[n])]
        known |= {n: found[n] for n in codes if found[n].kind == "category"}
    return known


def _is_code(*parts: pd.Series) -> bool:
    """Whether whole numbers of a file are words, since many in another are; a few are mistakes."""
    cells = (part.dropna().astype(object) for part in parts)
    first, other = (pd.to_numeric(part, errors="coerce").astype(float) for part in cells)
    return bool((first % 1 == 0).all()) and bool(other.isna().mean() > 1 - MOSTLY)


def refuse_zones(times: pd.Series, file: TableFile, *, had_zones: bool, place: str) -> None:
    """Raise if a time has a zone where those of a place had none, or the other way round."""
    has_zone = zoned(times)
    for row in has_zone.index[has_zone != had_zones][:1]:
        raise ValueError(
            f"{file.name}, {file.unit} {row}, column {times.name!r}: expected a time "
            f"{'with' if had_zones else 'without'} a zone as {place}, got {times[row]}; write all "
            "times alike"
        )
