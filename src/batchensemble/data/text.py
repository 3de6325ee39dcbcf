"""Texts of files -> values of a kind: recognised once, read the same way ever after.

A column holds numbers if all its cells are numbers; codes such as 007 are words. Dates are written
year first, as in ISO 8601: others can be read in two ways. Texts are trimmed, and an empty cell is
a gap, as are NA, NaN, null and the like.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.data.frames import MISSING, Column, Kind, read_columns
from batchensemble.data.reading import TableFile

GAPS = frozenset(
    ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-nan", "NULL", "null", "None")
)
BOOLEANS = {"true": 1.0, "false": 0.0}
MOSTLY = 0.9
FIRST, END = np.datetime64("0001-01-01"), np.datetime64("10000-01-01")  # of dates
_CODE = re.compile(r"[+-]?0\d")
_DATE = re.compile(
    r"\d{4}([-/])\d{2}(\1\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?( ?(Z|[+-]\d{2}:?\d{2}))?)?)?"
)
_ZONE = re.compile(r".{10}.*(Z|[+-]\d{2}:?\d{2})")
_CODES = re.compile(r"\0[ +-]*0[0-9]")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")
_SIGN = r"([^\w\s.,+-]|[A-Z]{3})?"  # of money or percent, or a currency's letters
_OTHER_NUMBER = re.compile(
    rf"{_SIGN}\s?[+-]?{_SIGN}\s?(\d{{1,3}}([,.'’\s]\d{{3}})+|\d+)([.,]\d+)?\s?{_SIGN}"
)
_OTHER_DATE = re.compile(r"\d{1,2}([-/.])\d{1,2}\1(\d{4}|\d{2})(?!\d)")
_EXPECTED = {
    "number": "a finite number, written plainly",
    "boolean": "true or false",
    "date": "a date such as 2026-01-31",
}


@dataclass(frozen=True)
class Recognised:
    """The kind of a column, and a note for the user where the choice is in doubt.

    `numbers` are its values where they are known already.
    """

    kind: Kind
    note: str = ""
    has_zones: bool = False
    numbers: NDArray[np.float64] | None = None


def recognise(frame: pd.DataFrame, file: TableFile) -> dict[str, Recognised]:
    """The kind of every column of a whole table."""
    columns = _columns(frame, file)
    kinds = {name: _recognise(column, frame.index, file) for name, column in columns.items()}
    dates = [name for name, recognised in kinds.items() if recognised.kind == "date"]
    return kinds | {name: _recognise_zones(frame[name], file) for name in dates}


def read_as(
    frame: pd.DataFrame,
    kinds: Mapping[str, Kind],
    file: TableFile,
    recognised: Mapping[str, Recognised] | None = None,
) -> pd.DataFrame:
    """The columns named in `kinds`, in that order; every batch gives the same types.

    Dates are in UTC. A cell of another kind is an error that names its file, row and column.
    Values that were `recognised` need not be read again.
    """
    columns = _columns(frame if list(kinds) == list(frame) else frame[list(kinds)], file)
    known = {name: each.numbers for name, each in (recognised or {}).items()}
    read = {
        name: _read(columns[name], kind, frame.index, file)
        if kind != "number" or known.get(name) is None
        else known[name]
        for name, kind in kinds.items()
    }
    return pd.DataFrame(read).set_axis(frame.index)


def zoned(column: pd.Series) -> pd.Series:
    """Of the cells with dates: whether they have a zone."""
    cells = column.dropna()
    if not all(isinstance(cell, str) for cell in cells[:1]):
        dtype = getattr(column.dtype, "pyarrow_dtype", column.dtype)
        return pd.Series(getattr(dtype, "tz", None) is not None, cells.index)
    words = pd.Series([cell.strip() for cell in cells], cells.index, dtype=object)
    words = words[~words.isin(GAPS)]
    return words.map(lambda word: bool(_ZONE.fullmatch(word))).astype(bool)


def _recognise_zones(column: pd.Series, file: TableFile) -> Recognised:
    has_zone = zoned(column)
    if not has_zone.any():
        return Recognised("date")
    if has_zone.all():
        note = f"the times of {column.name!r} have zones: they are read, and written, in UTC"
        return Recognised("date", note, has_zones=True)
    return _as_words(
        column.name,
        "some of its times have zones and others do not, the first of these in "
        f"{file.unit} {has_zone.idxmin()}; write all alike to have them read as dates",
    )


def _columns(frame: pd.DataFrame, file: TableFile) -> dict[str, Column]:
    if file.is_text:  # every cell is a text
        cells = frame.to_numpy(dtype=object)
        return {str(n): Column(str(n), "category", cells[:, j]) for j, n in enumerate(frame)}
    try:
        return {column.name: column for column in read_columns(frame)}
    except (TypeError, ValueError) as error:
        raise ValueError(f"{file.name}: {error}") from None


def _recognise(column: Column, index: pd.Index, file: TableFile) -> Recognised:
    if column.kind != "category":
        return Recognised(column.kind)
    if file.is_text and not file.has_comma:
        numbers = _plain_numbers(column.values)
        if numbers is not None:
            return Recognised("number", numbers=numbers)
    texts, is_gap = _trimmed(column.values)
    words, index = texts[~is_gap], index[~is_gap]
    if not len(words):
        return Recognised("number")

    def almost(kind: Kind, is_other: NDArray[np.bool_]) -> Recognised:
        first = is_other.argmax()
        return _as_words(
            column.name,
            f"all but {_count(is_other, 'cell')} are {kind}s, the first of them "
            f"{words[first]!r:.80} in {file.unit} {index[first]}; empty what is no {kind} to have "
            f"it read as {kind}s",
        )

    if file.is_text:
        is_number = ~np.isnan(_numbers(words, has_comma=file.has_comma))
        if file.has_comma:
            is_number &= ~_may_be_thousands(words)
        if is_number.all():
            is_code = any(map(_CODE.match, words))
            return Recognised("category" if is_code else "number")
        if all(word.lower() in BOOLEANS for word in words):
            return Recognised("boolean")
        is_like_one = is_number | [bool(_OTHER_NUMBER.fullmatch(word)) for word in words]
        if is_number.mean() >= MOSTLY and not is_like_one.all():
            return almost("number", ~is_number)
        if is_like_one.mean() >= MOSTLY:
            return _as_words(
                column.name,
                f"{words[~is_number][0]!r:.80} may be a number, but is not plain. Write numbers "
                "such as 1234.5, without separators or signs of money and percent, to have them "
                "read as numbers",
            )
    is_date = ~np.isnat(_dates(words))
    if is_date.all():
        return Recognised("date")
    if is_date.mean() >= MOSTLY:
        return almost("date", ~is_date)
    if all(map(_OTHER_DATE.match, words)):
        return _as_words(
            column.name,
            f"{words[0]!r:.80} may be a date, but which? Write dates year first, such as "
            "2026-01-31, to have them read as dates",
        )
    return Recognised("category")


def _as_words(name: Any, why: str) -> Recognised:
    return Recognised("category", f"{name!r} is read as words: {why}")


def _read(column: Column, kind: Kind, index: pd.Index, file: TableFile) -> Any:
    if column.kind != "category":
        try:
            return _typed(column.as_kind(kind))
        except ValueError as error:
            raise ValueError(f"{file.name}: {error}") from None
    if kind == "number" and file.is_text and not file.has_comma:
        numbers = _plain_numbers(column.values)
        if numbers is not None:
            return numbers
    texts, is_gap = _trimmed(column.values)
    if kind == "category":
        texts[is_gap] = None
        return _typed(Column(column.name, kind, texts))
    values = np.full(len(texts), MISSING[kind])
    values[~is_gap] = _parsed(texts[~is_gap], kind, file)
    read = Column(column.name, kind, values)
    wrong = read.missing & ~is_gap
    if kind == "number":
        wrong |= np.isinf(values)
    for row in np.flatnonzero(wrong)[:1]:
        more = _count(wrong[row + 1 :], "more such cell")
        raise ValueError(
            f"{file.name}, {file.unit} {index[row]}, column {column.name!r}: expected "
            f"{_EXPECTED[kind]}, got {texts[row]!r:.80}"
            f"{f' (and {more} near it)' if wrong.sum() > 1 else ''}; correct the cell, or empty it"
        )
    return _typed(read)


def _parsed(words: NDArray[Any], kind: Kind, file: TableFile) -> Any:
    """The values of words, missing where a word is not of the kind."""
    if kind == "date":
        return _dates(words)
    if kind == "number":
        return _numbers(words, has_comma=file.has_comma)
    numbers = _numbers(words, has_comma=False)
    zero_one = np.where(np.isin(numbers, (0, 1)), numbers, np.nan)
    return [BOOLEANS.get(word.lower(), n) for word, n in zip(words, zero_one, strict=True)]


def _typed(column: Column) -> Any:
    """One pandas type for each kind, whatever the values are."""
    if column.kind == "boolean":
        return pd.array(np.where(column.missing, None, column.values == 1), dtype="boolean")
    return column.values if column.kind != "category" else pd.Series(column.values, dtype=object)


def _trimmed(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    texts = np.array(["" if value is None else value.strip() for value in values], dtype=object)
    return texts, np.array([text in GAPS for text in texts], dtype=bool)


def _numbers(words: NDArray[Any], *, has_comma: bool) -> NDArray[np.float64]:
    """NaN where a word is no number; 1_000 is none, though Python would read it."""
    if has_comma:
        pointed = [word if "." in word else word.replace(",", ".") for word in words]
        words = np.array(pointed, dtype=object)
    try:
        if "_" not in "".join(words):
            return np.asarray(words, dtype=np.float64)
    except ValueError:
        pass
    return np.array([_number(word) for word in words], dtype=np.float64)


def _plain_numbers(cells: NDArray[Any]) -> NDArray[np.float64] | None:
    """The fast way for the usual column: every cell a plain number; None if it is not one."""
    values = cells.tolist()
    joined = "\0".join(["", *values])
    if any(letter in joined for letter in "_nN") or _CODES.search(joined):  # 1_0, nan, INF; 007
        return None
    try:
        numbers = np.array(values, dtype=np.float64)
    except ValueError:  # a gap, for example
        return None
    return numbers if np.isfinite(numbers).all() else None


def _may_be_thousands(words: NDArray[Any]) -> NDArray[np.bool_]:
    """Cells such as 1.000, which may be 1 or 1000: some cells have no point, and none another."""
    has_point = np.array(["." in word for word in words], dtype=bool)
    if has_point.all() or not all(map(_THOUSANDS.fullmatch, words[has_point])):
        return np.zeros(len(words), dtype=bool)
    return has_point


def _number(word: str) -> float:
    try:
        return float("nan") if "_" in word else float(word)
    except ValueError:
        return float("nan")


def _dates(words: NDArray[Any]) -> NDArray[Any]:
    """In UTC; NaT where a word is no date, or its year is not between 1 and 9999."""
    plain = [word.replace("/", "-") if _DATE.fullmatch(word) else None for word in words]
    dates = pd.to_datetime(
        pd.Series(plain, dtype=object), format="ISO8601", utc=True, errors="coerce"
    )
    moments: NDArray[Any] = dates.dt.tz_localize(None).to_numpy().astype("datetime64[us]")
    return np.where((moments >= FIRST) & (moments < END), moments, np.datetime64("NaT"))


def _count(mask: NDArray[np.bool_], thing: str) -> str:
    n = int(mask.sum())
    return f"{n} {thing}{'s' * (n != 1)}"
