"""Texts of files -> values of a kind, read the same way in every batch and every file.

Texts are trimmed, and an empty cell is a gap, as are NA, NaN, null and the like.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.data import date_texts
from batchensemble.data.cells import CODES, fast_numbers, trimmed
from batchensemble.data.columns import MISSING, Column, Kind
from batchensemble.data.file_notation import (
    Known,
    Surveyed,
    Usual,
    find_dates,
    find_notations,
    surprises,
)
from batchensemble.data.frames import read_columns
from batchensemble.data.notation import BY_DECIMAL, PLAIN, Notation, parse, plain_numbers
from batchensemble.data.reading import TableFile
from batchensemble.data.refusals import PERCENT, advice, expected, typed_percent
from batchensemble.data.scalars import GAPS
from batchensemble.data.telling import tell
from batchensemble.data.vocabulary import without_midnight
from batchensemble.data.zones import zone_of_texts

_OF_BATCH = re.compile(r"row (\d+) \(counted from 0\)")
BOOLEANS = {"true": 1.0, "false": 0.0}


def settle(
    frame: pd.DataFrame,
    kinds: Mapping[str, Kind],
    file: TableFile,
    notations: Mapping[str, Notation],
    usual: Usual,
) -> None:
    """Decide by all these rows what the marks of a file mean, before they are read in parts."""
    columns = text_columns(frame[list(kinds)], file)
    known = {name: _asked(columns[name], file, notations.get(name)) for name in kinds}
    find_notations(_surveyed(columns, kinds), known, frame.index, file, usual, is_new=True)


def _surveyed(columns: Mapping[str, Column], kinds: Mapping[str, Kind]) -> dict[str, Surveyed]:
    """Columns of numbers that are texts."""
    return {
        name: Surveyed.of(columns[name])
        for name, kind in kinds.items()
        if kind == "number" and columns[name].kind == "category"
    }


def read_as(
    frame: pd.DataFrame,
    kinds: Mapping[str, Kind],
    file: TableFile,
    notations: Mapping[str, Notation] | None = None,
    usual: Usual | None = None,
    *,
    codes: bool = True,
    kept: Mapping[str, Collection[str]] | None = None,
) -> pd.DataFrame:
    """The columns named in `kinds`, in that order; every batch gives the same types.

    Dates are in UTC. A cell of another kind is an error that names its file, row and column.
    Columns are read in the notation that the user asked for with options, or else in that of
    `notations`, unless the file shows another; `usual` is how large the numbers of fit were. Unless
    `codes` are welcome among numbers, 007 is none. Words to be `kept` are no gaps: fit knew them.
    """
    columns = text_columns(frame if list(kinds) == list(frame) else frame[list(kinds)], file, kinds)
    notations = notations or {}
    known: dict[str, Notation | None] = {**notations}
    known |= {name: _asked(columns[name], file, notations.get(name)) for name in kinds}
    surveyed = _surveyed(columns, kinds)
    found = find_notations(surveyed, known, frame.index, file, usual or {}, is_new=codes)
    cells = dict(surprises(surveyed, known, found, file)) if codes else {}
    for name in (n for n, kind in kinds.items() if kind == "date" and codes):
        cells |= find_dates(columns[name], known[name], file)
        found[name] = file.found.dates.get(name, known[name])
    _tell(cells, kinds, found, file)
    known |= found
    read = {}
    for name, kind in kinds.items():
        easy = surveyed.get(name)
        if easy and easy.numbers is not None and easy.notation == known[name]:
            read[name] = easy.numbers
        else:
            words = (kept or {}).get(name, ())
            read[name] = read_column(
                columns[name], kind, frame.index, file, known[name], codes=codes, kept=words
            )
    return pd.DataFrame(read).set_axis(frame.index)


def _tell(
    cells: Mapping[str, str], kinds: Mapping[str, Kind], found: Known, file: TableFile
) -> None:
    """Warn of columns that are not written as in fit, with a cell of each."""
    if not cells:
        return
    told = [
        f"{name} ({cell!r:.80} as {example_value(cell, kinds[name], found[name] or PLAIN)})"
        for name, cell in cells.items()
    ]
    guesses = [file.found.guesses[name] for name in cells if name in file.found.guesses]
    marks = ["," if guess.mark == "." else "." for guess in guesses if guess.why != "shown"]
    otherwise = [f"; otherwise add --decimal {mark}" for mark in marks[:1]]
    tell(
        f"{file.name} is written differently from the training file: read "
        f"{', '.join(told)}{''.join(otherwise)}",
        2,
    )


def example_value(cell: str, kind: Kind, notation: Notation) -> str:
    """How a cell is read, as a text."""
    value = _parsed(np.array([cell], dtype=object), kind, notation)[0]
    if kind == "date":
        return str(value.astype("datetime64[s]")).removesuffix("T00:00:00").replace("T", " ")
    return f"{value:.15g}"


def zoned(column: pd.Series) -> pd.Series:
    """Of the cells with dates: whether they have a zone."""
    cells = column.dropna()
    if not all(isinstance(cell, str) for cell in cells[:1]):
        dtype = getattr(column.dtype, "pyarrow_dtype", column.dtype)
        return pd.Series(getattr(dtype, "tz", None) is not None, cells.index)
    words = pd.Series([cell.strip() for cell in cells], cells.index, dtype=object)
    words = words[~words.isin(GAPS)]
    return words.map(date_texts.has_zone).astype(bool)


def zone_of(column: pd.Series) -> str:
    """Of dates with zones, or without values: that of the column, or one whose clock texts show."""
    dtype = getattr(column.dtype, "pyarrow_dtype", column.dtype)
    if zone := getattr(dtype, "tz", None):
        return str(zone)
    cells = column.astype(object).where(column.notna(), None)
    texts, is_gap = trimmed(cells.to_numpy(dtype=object))
    words = texts[~is_gap]
    return zone_of_texts(words, date_texts.parse(words)) if len(words) else ""


def with_zone(frame: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """Dates of these columns, which were read in UTC, say so."""
    frame = frame.copy()
    for name in names:
        frame[name] = frame[name].dt.tz_localize("UTC")
    return frame


def text_columns(
    frame: pd.DataFrame, file: TableFile, kinds: Mapping[str, Kind] | None = None
) -> dict[str, Column]:
    """The columns as the file has them; whole numbers that are categories keep all their digits."""
    if file.is_text:  # every cell is a text
        cells = frame.to_numpy(dtype=object)
        return {str(n): Column(str(n), "category", cells[:, j]) for j, n in enumerate(frame)}
    coded = [name for name, kind in (kinds or {}).items() if kind == "category"]
    coded = [name for name in coded if pd.api.types.is_integer_dtype(frame[name].dtype)]
    frame = frame.astype(dict.fromkeys(coded, "string")) if coded else frame
    try:
        return {column.name: column for column in read_columns(frame)}
    except (TypeError, ValueError) as error:
        said = _OF_BATCH.sub(lambda row: f"{file.unit} {frame.index[int(row[1])]}", str(error))
        raise ValueError(f"{file.name}: {said}") from None


def read_column(
    column: Column,
    kind: Kind,
    index: pd.Index,
    file: TableFile,
    notation: Notation | None,
    *,
    codes: bool = True,
    kept: Collection[str] = (),
) -> Any:
    """The values of one column, in a notation; None is a plain one."""
    if column.kind != "category":
        column = _with_words(column) if kind == "category" else column
        try:
            typed = column.as_kind(kind)
        except ValueError as error:
            raise ValueError(f"{file.name}: {error}") from None
        if kind == "number" and notation is not None and notation.sign == PERCENT:
            for row in np.flatnonzero(~typed.missing)[:1]:
                where = f"{file.name}, {file.unit} {index[row]}, column {column.name!r}"
                raise ValueError(f"{where}: {typed_percent(typed.values[row])}")
        return typed_values(typed)
    if kind == "number" and notation in (None, PLAIN) and file.is_text:
        numbers, _ = fast_numbers(column.values)
        if numbers is not None:
            return numbers
    texts, is_gap = trimmed(column.values)
    if kind == "category":
        texts[is_gap & ~np.isin(texts, [*kept])] = None
        return typed_values(Column(column.name, kind, texts))
    words = texts[~is_gap]
    if kind == "number" and not codes:
        _refuse_codes(column, index, file)
    values = np.full(len(texts), MISSING[kind])
    values[~is_gap] = _parsed(words, kind, notation or PLAIN)
    read = Column(column.name, kind, values)
    wrong = read.missing & ~is_gap
    if kind == "number":
        wrong |= np.isinf(values)
    for row in np.flatnonzero(wrong)[:1]:
        more = count(wrong[row + 1 :], "more such cell")
        raise ValueError(
            f"{file.name}, {file.unit} {index[row]}, column {column.name!r}: expected "
            f"{expected(kind, notation)}, got {texts[row]!r:.80}"
            f"{f' (and {more} near it)' if wrong.sum() > 1 else ''}; "
            f"{advice(texts[row], texts[~is_gap], kind, notation)}"
        )
    return typed_values(read)


def _refuse_codes(column: Column, index: pd.Index, file: TableFile) -> None:
    for row in (i for i, cell in enumerate(column.values) if CODES.match(f"\0{cell}")):
        raise ValueError(
            f"{file.name}, {file.unit} {index[row]}, column {column.name!r}: expected a number as "
            f"in the first rows, got the code {column.values[row]!r}; if all cells are codes, have "
            "them read as words (--category on the command line)"
        )


def _asked(column: Column, file: TableFile, known: Notation | None) -> Notation | None:
    """The notation of the options, or else the one that is known, if it is."""
    options = file.options
    if column.kind != "category" or (options.decimal_mark is None and options.dayfirst is None):
        return known
    asked = known or PLAIN
    if options.decimal_mark:
        thousands = options.thousands or BY_DECIMAL[options.decimal_mark].thousands
        asked = replace(asked, decimal=options.decimal_mark, thousands=thousands)
    if options.dayfirst is not None:
        texts, is_gap = trimmed(column.values)
        forms = date_texts.formats(texts[~is_gap][0]) if not is_gap.all() else []
        if len(forms) == 2:
            asked = replace(asked, date=forms[0 if options.dayfirst else 1])
    return known if asked == PLAIN else asked


def _parsed(words: NDArray[Any], kind: Kind, notation: Notation) -> Any:
    """The values of words, missing where a word is not of the kind."""
    if kind == "date":
        return date_texts.parse(words, notation.date)
    if kind == "number":
        return parse(words, notation)
    numbers = plain_numbers(words)
    zero_one = np.where(np.isin(numbers, (0, 1)), numbers, np.nan)
    return [BOOLEANS.get(word.lower(), n) for word, n in zip(words, zero_one, strict=True)]


def _with_words(column: Column) -> Column:
    """Dates as the words that a CSV would have; a day has no hour."""
    if column.kind != "date" or column.is_zoned:
        return column
    dates = pd.DatetimeIndex(column.values)
    words = [None if pd.isna(date) else without_midnight(str(date)) for date in dates]
    return Column(column.name, "category", np.array(words, dtype=object))


def typed_values(column: Column) -> Any:
    """One pandas type for each kind, whatever the values are."""
    if column.kind == "boolean":
        return pd.array(np.where(column.missing, None, column.values == 1), dtype="boolean")
    return column.values if column.kind != "category" else pd.Series(column.values, dtype=object)


def count(mask: NDArray[np.bool_], thing: str) -> str:
    n = int(mask.sum())
    return f"{n} {thing}{'s' * (n != 1)}"
