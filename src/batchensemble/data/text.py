"""Cells of files -> values of a kind: recognised once, read the same way ever after.

Numbers are numbers if all are; codes such as 007 are not. Dates are those written year first, as
ISO 8601 has them: others can be read in two ways. Texts are trimmed, and an empty cell is a gap,
as are NA, NaN, null and their like.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.data.frames import Column, Kind, read_columns
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
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")
_SIGN = r"([^\w\s.,+-]|[A-Z]{3})?"  # of money or percent, or a currency's letters
_OTHER_NUMBER = re.compile(
    rf"{_SIGN}\s?[+-]?{_SIGN}\s?(\d{{1,3}}([,.'’\s]\d{{3}})+|\d+)([.,]\d+)?\s?{_SIGN}"
)
_OTHER_DATE = re.compile(r"\d{1,2}([-/.])\d{1,2}\1(\d{4}|\d{2})(?!\d)")


@dataclass(frozen=True)
class Recognised:
    """The kind of a column, and what somebody might want to know about the choice."""

    kind: Kind
    note: str = ""
    has_zones: bool = False


def recognise(frame: pd.DataFrame, file: TableFile) -> dict[str, Recognised]:
    """The kind of every column of a whole table."""
    columns = _columns(frame, file)
    found = {name: _recognise(column, frame.index, file) for name, column in columns.items()}
    dates = [name for name, one in found.items() if one.kind == "date"]
    return found | {name: _recognise_zones(frame[name], file) for name in dates}


def read_as(frame: pd.DataFrame, kinds: Mapping[str, Kind], file: TableFile) -> pd.DataFrame:
    """The columns named in `kinds`, in that order; every batch gives the same types.

    Dates are in UTC. What is not of its kind is refused with the file, the column and the row.
    """
    own, index = _columns(frame[list(kinds)], file), frame.index
    read = pd.DataFrame({n: _read(own[n], kind, index, file) for n, kind in kinds.items()})
    return read.set_axis(index)


def zoned(column: pd.Series) -> pd.Series:
    """Of the cells with dates: whether they have a zone."""
    cells = column.dropna()
    if not all(isinstance(cell, str) for cell in cells[:1]):
        return pd.Series(_zone_of(column.dtype) is not None, cells.index)
    words = pd.Series([cell.strip() for cell in cells], cells.index, dtype=object)
    words = words[~words.isin(GAPS)]
    return words.map(lambda word: bool(_ZONE.fullmatch(word))).astype(bool)


def _zone_of(dtype: Any) -> Any:
    return getattr(getattr(dtype, "pyarrow_dtype", dtype), "tz", None)


def _recognise_zones(column: pd.Series, file: TableFile) -> Recognised:
    has_zone = zoned(column)
    if not has_zone.any():
        return Recognised("date")
    if has_zone.all():
        note = f"the times of {column.name!r} have zones: they are read, and written, in UTC"
        return Recognised("date", note, has_zones=True)
    return Recognised(
        "category",
        f"{column.name!r} is read as words: some of its times have zones and others do not, the "
        f"first of these in {file.unit} {has_zone.idxmin()}; write all alike to have them read as "
        "dates",
    )


def _columns(frame: pd.DataFrame, file: TableFile) -> dict[str, Column]:
    try:
        return {column.name: column for column in read_columns(frame)}
    except (TypeError, ValueError) as error:
        raise ValueError(f"{file.name}: {error}") from None


def _recognise(column: Column, index: pd.Index, file: TableFile) -> Recognised:
    if column.kind != "category":
        return Recognised(column.kind)
    texts, is_gap = _trimmed(column.values)
    words = texts[~is_gap]
    if not len(words):
        return Recognised("number")
    if file.is_text:
        numbers = _numbers(words, has_comma=file.has_comma)
        is_number = ~np.isnan(numbers)
        if file.has_comma:
            is_number &= ~_may_be_thousands(words)
        if is_number.all():
            is_code = any(map(_CODE.match, words))
            return Recognised("category" if is_code else "number")
        if all(word.lower() in BOOLEANS for word in words):
            return Recognised("boolean")
        is_like_one = is_number | [bool(_OTHER_NUMBER.fullmatch(word)) for word in words]
        if is_number.mean() >= MOSTLY and not is_like_one.all():
            return _almost("number", ~is_number, column.name, words, index[~is_gap], file)
        if is_like_one.mean() >= MOSTLY:
            odd = words[~is_number][0]
            return Recognised(
                "category",
                f"{column.name!r} is read as words: {odd!r:.80} may be a number, but is not plain. "
                "Write numbers such as 1234.5, without separators or signs of money and percent, "
                "to have them read as numbers",
            )
    is_date = ~np.isnat(_dates(words))
    if is_date.all():
        return Recognised("date")
    if is_date.mean() >= MOSTLY:
        return _almost("date", ~is_date, column.name, words, index[~is_gap], file)
    if all(map(_OTHER_DATE.match, words)):
        return Recognised(
            "category",
            f"{column.name!r} is read as words: {words[0]!r:.80} may be a date, but which? "
            "Write dates year first, such as 2026-01-31, to have them read as dates",
        )
    return Recognised("category")


def _almost(
    kind: Kind,
    is_other: NDArray[np.bool_],
    name: str,
    words: NDArray[Any],
    index: pd.Index,
    file: TableFile,
) -> Recognised:
    """Words all the same, with a note where the others are."""
    first = np.flatnonzero(is_other)[0]
    return Recognised(
        "category",
        f"{name!r} is read as words: all but {_count(is_other, 'cell')} are {kind}s, the first of "
        f"them {words[first]!r:.80} in {file.unit} {index[first]}; empty what is no {kind} to "
        f"have it read as {kind}s",
    )


def _read(column: Column, kind: Kind, index: pd.Index, file: TableFile) -> Any:
    if column.kind != "category":
        try:
            return _typed(column.as_kind(kind))
        except ValueError as error:
            raise ValueError(f"{file.name}: {error}") from None
    texts, is_gap = _trimmed(column.values)
    words = texts[~is_gap]
    if kind == "category":
        texts[is_gap] = None
        return _typed(Column(column.name, kind, texts))
    if kind == "date":
        values: NDArray[Any] = np.full(len(texts), "NaT", dtype="datetime64[us]")
        values[~is_gap] = _dates(words)
    else:
        values = np.full(len(texts), np.nan)
        if kind == "boolean":
            numbers = _numbers(words, has_comma=False)
            zero_one = np.where(np.isin(numbers, (0, 1)), numbers, np.nan)
            values[~is_gap] = [
                BOOLEANS.get(word.lower(), number)
                for word, number in zip(words, zero_one, strict=True)
            ]
        else:
            values[~is_gap] = _numbers(words, has_comma=file.has_comma)
    read = Column(column.name, kind, values)
    wrong = read.missing & ~is_gap
    if kind == "number":
        wrong |= np.isinf(values)
    for row in np.flatnonzero(wrong)[:1]:
        raise ValueError(
            f"{file.name}, {file.unit} {index[row]}, column {column.name!r}: expected "
            f"{_EXPECTED[kind]}, got {texts[row]!r:.80}{_more(wrong)}; correct the cell, or empty "
            "it"
        )
    return _typed(read)


_EXPECTED = {
    "number": "a finite number, written plainly",
    "boolean": "true or false",
    "date": "a date such as 2026-01-31",
}


def _typed(column: Column) -> Any:
    """In one pandas type for each kind, whatever the values are."""
    if column.kind == "boolean":
        return pd.array(np.where(column.missing, None, column.values == 1), dtype="boolean")
    return column.values if column.kind != "category" else pd.Series(column.values, dtype=object)


def _trimmed(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    texts = np.array(["" if value is None else value.strip() for value in values], dtype=object)
    return texts, np.array([text in GAPS for text in texts], dtype=bool)


def _numbers(words: NDArray[Any], *, has_comma: bool) -> NDArray[np.float64]:
    """NaN where a word is no number. Python would also read 1_000."""
    if has_comma:
        words = np.array([_pointed(word) for word in words], dtype=object)
    if "_" not in "".join(words):
        try:
            numbers: NDArray[np.float64] = words.astype(np.float64)
            return numbers
        except ValueError:
            pass
    return np.array([_number(word) for word in words], dtype=np.float64)


def _may_be_thousands(words: NDArray[Any]) -> NDArray[np.bool_]:
    """Where 1.000 is a thousand or one: among words without a point, and none has a point else."""
    has_point = np.array(["." in word for word in words], dtype=bool)
    if has_point.all() or not all(map(_THOUSANDS.fullmatch, words[has_point])):
        return np.zeros(len(words), dtype=bool)
    return has_point


def _pointed(word: str) -> str:
    return word.replace(",", ".") if "." not in word else word


def _number(word: str) -> float:
    try:
        return float("nan") if "_" in word else float(word)
    except ValueError:
        return float("nan")


def _dates(words: NDArray[Any]) -> NDArray[Any]:
    """In UTC; NaT where a word is no date, or one beyond the years that columns may have."""
    plain = [word.replace("/", "-") if _DATE.fullmatch(word) else None for word in words]
    dates = pd.to_datetime(
        pd.Series(plain, dtype=object), format="ISO8601", utc=True, errors="coerce"
    )
    moments: NDArray[Any] = dates.dt.tz_localize(None).to_numpy().astype("datetime64[us]")
    return np.where((moments >= FIRST) & (moments < END), moments, np.datetime64("NaT"))


def _count(mask: NDArray[np.bool_], thing: str) -> str:
    n = int(mask.sum())
    return f"{n} {thing}{'s' * (n != 1)}"


def _more(wrong: NDArray[np.bool_]) -> str:
    n = int(wrong.sum()) - 1
    return f" (and {n} more such cell{'s' * (n != 1)} near it)" if n else ""
