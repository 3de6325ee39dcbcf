"""What a whole column of a file is: numbers, dates, true and false, or words.

A column holds numbers if all its cells are numbers in one `notation`; codes such as 007 are words,
and so are digits that a typed file has as texts, if the column's name or type says that they are.
It holds dates if all its cells are dates of one format (`date_texts`). Where a column can be read
in two ways, its neighbours in the file decide, or else the user.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.data import date_texts
from batchensemble.data.cells import fast_numbers, tells_no_number, trimmed
from batchensemble.data.columns import Column, Columns, Kind
from batchensemble.data.date_columns import recognise_dates
from batchensemble.data.doubts import MANY_NUMBERS, says_codes
from batchensemble.data.notation import (
    BY_DECIMAL,
    PLAIN,
    Notation,
    Survey,
    is_code,
    is_plain,
    parse,
    plain_numbers,
    readings,
    shows_point,
)
from batchensemble.data.reading import TableFile
from batchensemble.data.text import (
    BOOLEANS,
    count,
    read_column,
    text_columns,
    zone_of,
    zoned,
)

MOSTLY, HALF, FEW_WORDS = 0.9, 0.5, 3
MEND = "correct or empty these cells"  # which is enough unless every row needs a value
_LONG = re.compile(r"\d{16,}")  # a float would not hold them


@dataclass(frozen=True)
class Recognised:
    """The kind of a column, and a note for the user where the choice is in doubt.

    `numbers` are its values where they are known already. `decimal` and `dayfirst` are what the
    column's cells say for certain; it is `unclear` if other columns may decide, and `likely` is the
    decimal mark then that it would have alone.
    """

    kind: Kind
    note: str = ""
    zone: str = ""  # of dates: UTC if each cell has its own
    numbers: NDArray[np.float64] | None = None
    notation: Notation = PLAIN
    example: str = ""  # a cell that is not written plainly
    decimal: str | None = None
    dayfirst: bool | None = None
    unclear: bool = False
    marks: Mapping[str, str] = field(default_factory=dict)  # that may be either, with a cell
    likely: str | None = None


def recognise(
    frame: pd.DataFrame, file: TableFile, *, with_plain: bool = True
) -> dict[str, Recognised]:
    """The kind of every column of a whole table.

    Plain numbers that a typed file has as texts are numbers only `with_plain`.
    """
    columns = text_columns(frame, file)
    types = {} if file.is_text else dict(zip(columns, map(str, frame.dtypes), strict=True))
    chosen = ("category", "dictionary")  # somebody made categories of the column
    words = {n for n, t in types.items() if not with_plain or says_codes(n) or t.startswith(chosen)}
    decimal, dayfirst = file.options.decimal_mark, file.options.dayfirst
    kinds = {
        name: _recognise(column, frame.index, file, decimal, dayfirst, is_code=name in words)
        for name, column in columns.items()
    }
    unclear = [name for name, recognised in kinds.items() if recognised.unclear]
    if "," in {one.decimal for one in kinds.values()}:  # then points may not be decimal after all
        taken = [name for name, one in kinds.items() if one.numbers is not None and one.decimal]
        for name in taken:
            kinds[name] = _recognise(columns[name], frame.index, file, ",", dayfirst, name in words)
    if unclear:
        decimals = {one.decimal for one in kinds.values()} - {None}
        decimals = decimals or {one.likely for one in kinds.values()} - {None}
        orders = {one.dayfirst for one in kinds.values()} - {None}
        marks = {mark for one in kinds.values() for mark in one.marks}
        is_mixed = not decimals and len(marks) > 1 and file.separator != ","
        decimal = decimals.pop() if len(decimals) == 1 else decimal
        dayfirst = orders.pop() if len(orders) == 1 else dayfirst
        for name in unclear:
            if is_mixed and kinds[name].marks:
                cell = next(iter(kinds[name].marks.values()))
                kinds[name] = _as_words(
                    name,
                    f"{cell!r} may be {' or '.join(readings(cell))}, and other columns have the "
                    "other mark; add --decimal . or --decimal ,",
                )
                continue
            kinds[name] = _recognise(
                columns[name], frame.index, file, decimal, dayfirst, name in words, is_last=True
            )
    kinds |= _with_marks(kinds)
    dates = [name for name, one in kinds.items() if one.kind == "date" and not one.notation.date]
    return kinds | {name: _recognise_zones(frame[name], file) for name in dates}


def _with_marks(kinds: Mapping[str, Recognised]) -> dict[str, Recognised]:
    """Columns of whole numbers, in whose later cells the mark of the other columns may stand."""
    decimals = {one.decimal for one in kinds.values()} - {None}
    if len(decimals) != 1:
        return {}
    (mark,) = decimals
    return {
        name: replace(one, notation=replace(BY_DECIMAL[str(mark)], sign=one.notation.sign))
        for name, one in kinds.items()
        if not one.notation.decimal
    }


def check_words(
    names: Collection[str], columns: Mapping[str, Recognised], frame: pd.DataFrame, file: TableFile
) -> None:
    """Refuse times with a zone, unless they came as texts: there are many ways to write one."""
    for name in names:
        is_text = name in columns and isinstance(next(iter(frame[name].dropna()), None), str)
        if name in columns and columns[name].zone and not is_text:
            raise ValueError(
                f"{file.name}: the column {name!r} for --by or --category holds times with a zone, "
                "which cannot name groups; write them as texts, or choose another column"
            )


def read_recognised(
    frame: pd.DataFrame,
    columns: Mapping[str, Recognised],
    kinds: Mapping[str, Kind],
    file: TableFile,
) -> pd.DataFrame:
    """The values of columns, as they were recognised or, some of them, as other kinds."""
    cells = text_columns(frame, file, kinds)
    read = {
        name: one.numbers
        if one.numbers is not None and kinds[name] == "number"
        else read_column(cells[name], kinds[name], frame.index, file, one.notation)
        for name, one in columns.items()
    }
    return known_as_words(pd.DataFrame(read).set_axis(frame.index), kinds)


def known_as_words(frame: pd.DataFrame, kinds: Mapping[str, Kind]) -> pd.DataFrame:
    """Words that look like dates as categories: `fit` would take mere texts for dates again."""
    words = [
        Column(name, "category", frame[name].to_numpy())
        for name, kind in kinds.items()
        if kind == "category"
    ]
    formats, _ = recognise_dates(Columns(tuple(words)), ())
    return frame.astype(dict.fromkeys(formats, "category")) if formats else frame


def _recognise_zones(column: pd.Series, file: TableFile) -> Recognised:
    has_zone = zoned(column)
    zone = zone_of(column) if has_zone.all() else ""
    if zone:
        note = f"the times of {column.name!r} have zones: they are read, and written, in {zone}"
        return Recognised("date", note, zone=zone)
    if not has_zone.any():
        return Recognised("date")
    return _as_words(
        column.name,
        "some of its times have zones and others do not, the first of these in "
        f"{file.unit} {has_zone.idxmin()}; write all alike to have them read as dates",
    )


def _recognise(
    column: Column,
    index: pd.Index,
    file: TableFile,
    decimal: str | None,
    dayfirst: bool | None,
    is_code: bool,
    is_last: bool = False,
) -> Recognised:
    if column.kind != "category":
        return Recognised(column.kind)
    if file.is_text and decimal != ",":
        numbers, has_point = fast_numbers(column.values)
        is_sure = not has_point or file.separator == "," or shows_point(column.values)
        if numbers is not None and is_sure:
            return Recognised("number", numbers=numbers, decimal="." if has_point else None)
    texts, is_gap = trimmed(column.values)
    words, index = texts[~is_gap], index[~is_gap]
    if not len(words):
        return Recognised("number")
    if file.is_text and all(word.lower() in BOOLEANS for word in words):
        return Recognised("boolean")
    survey = Survey.of(words)
    if file.is_text or not (survey.others or (is_code and all(map(is_plain, words)))):
        found = _as_numbers(column, words, index, survey, file, decimal, is_last=is_last)
        if found is not None:
            return found
    style = date_texts.recognise(words, dayfirst)
    if style is not None and style.doubt:
        return _as_words(column.name, style.doubt, unclear=not is_last)
    if style is not None:
        notation = Notation(date=style.format)
        example = words[0] if style.format else ""
        return Recognised("date", notation=notation, example=example, dayfirst=style.dayfirst)
    is_other = _no_dates(words, dayfirst)
    if is_other.mean() <= 1 - MOSTLY:
        return _almost(column.name, "date", words, index, is_other, file)
    if not is_other.all() and date_texts.recognise(words[is_other], dayfirst):
        first, other = is_other.argmin(), is_other.argmax()
        places = (f"{words[i]!r} in {file.unit} {index[i]}" for i in (first, other))
        why = f"its dates are written in two ways, {' and '.join(places)}; write all alike"
        return _as_words(column.name, why)
    return Recognised("category")


def _as_numbers(
    column: Column,
    words: NDArray[Any],
    index: pd.Index,
    survey: Survey,
    file: TableFile,
    decimal: str | None,
    *,
    is_last: bool,
) -> Recognised | None:
    """None if they are none, or not nearly all of them."""
    if survey.others:
        others = set(survey.others)
        is_other = np.array([word in others for word in words], dtype=bool)
        is_few = len(others) <= FEW_WORDS or all(map(tells_no_number, others))
        is_amounts = is_few and len({*words} - others) >= MANY_NUMBERS
        if is_other.mean() > 1 - (HALF if is_amounts else MOSTLY):
            return None
        return _almost(column.name, "number", words, index, is_other, file)
    if any(map(is_code, words)) or (not file.is_text and any(map(_LONG.fullmatch, words))):
        return Recognised("category")
    if survey.unclear and not survey.decimals and decimal is None and not is_last:
        is_programs = file.is_text and file.separator == "," and "" in survey.signs
        likely = None if is_programs else survey.likely()
        return Recognised("category", unclear=True, marks=survey.unclear, likely=likely)
    notation = survey.decide(decimal, separator=file.separator)
    if isinstance(notation, str):
        return _as_words(column.name, notation)
    numbers = parse(words, notation)
    if all(map(is_plain, words)) and (plain_numbers(words) == numbers).all():
        notation = PLAIN
    commas = notation.decimal == ","  # between semicolons, so common that nobody needs an example
    usual = plain_numbers(np.array([w.replace(",", ".") if commas else w for w in words], object))
    example = next((w for w, is_other in zip(words, usual != numbers, strict=True) if is_other), "")
    is_guessed = survey.unclear and not survey.decimals and decimal is None
    is_doubtful = file.separator == ";" or survey.likely() not in (None, notation.decimal)
    if not file.is_text or (is_guessed and is_doubtful):  # worth an example
        example = example or words[0]
    certain = next(iter(survey.decimals), None)
    return Recognised("number", notation=notation, example=example, decimal=certain)


def _almost(
    name: str,
    kind: Kind,
    words: NDArray[Any],
    index: pd.Index,
    is_other: NDArray[np.bool_],
    file: TableFile,
) -> Recognised:
    first = is_other.argmax()
    return _as_words(
        name,
        f"all but {count(is_other, 'cell')} are {kind}s, the first exception being "
        f"{words[first]!r:.80} in {file.unit} {index[first]}; {MEND} to have it read as {kind}s",
    )


def _no_dates(words: NDArray[Any], dayfirst: bool | None) -> NDArray[np.bool_]:
    """Which words are not of the format that the first, or one beside it, has."""
    for word in words[:3]:
        style = date_texts.recognise(np.array([word], dtype=object), dayfirst is not False)
        if style is not None and not style.doubt:
            return np.asarray(np.isnat(date_texts.parse(words, style.format)))
    return np.ones(len(words), dtype=bool)


def _as_words(name: Any, why: str, *, unclear: bool = False) -> Recognised:
    return Recognised("category", f"{name!r} is read as words: {why}", unclear=unclear)
