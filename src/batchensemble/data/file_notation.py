"""How the columns of a file are written, where that may not be as in fit: one decision a batch.

Most cells show their decimal mark: 12,5 has a comma, 0.125 a point. In 1.234 it may be either, and
`_Batch.weighed` says what decides then. A file is read in batches: what one has shown holds for
those that follow, and what contradicts an earlier one is refused.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.data import date_texts
from batchensemble.data.cells import fast_numbers, trimmed
from batchensemble.data.columns import Column
from batchensemble.data.notation import (
    BY_DECIMAL,
    COMMA,
    PLAIN,
    Guess,
    Notation,
    Survey,
    has_thousands,
    is_plain,
    parse,
    readings,
    shows_point,
)
from batchensemble.data.reading import TableFile
from batchensemble.data.refusals import PERCENT

Known = Mapping[str, Notation | None]
Usual = Mapping[str, NDArray[np.float64]]  # numbers of fit, or quantiles of them, by column
MARKS = {".": "points", ",": "commas"}
RARE = 0.02  # so many of the numbers of fit are smaller than what is usual
ROOM = 2.0  # times the largest number of fit, or as small a part of the smallest that is usual
NEARLY_ALL = 0.9


class Surveyed(NamedTuple):
    """A column of texts: its cells, its words, what these show, and its numbers if that is easy."""

    cells: NDArray[Any]
    words: NDArray[Any]  # without gaps
    survey: Survey
    numbers: NDArray[np.float64] | None = None
    notation: Notation | None = None  # of the numbers; None if all are plain

    @classmethod
    def of(cls, column: Column) -> "Surveyed":
        words = column.values
        is_gap = np.zeros(len(words), dtype=bool)
        numbers, has_point = fast_numbers(words)
        if numbers is None:
            texts, is_gap = trimmed(words)
            words = texts[~is_gap]
            numbers, has_point = fast_numbers(words)
        mark, points = ".", words
        if numbers is None and "." not in "".join(words):
            mark, points = ",", np.array([word.replace(",", ".") for word in words], dtype=object)
            numbers, has_point = fast_numbers(points)
        if numbers is None or (has_point and not shows_point(points)):
            survey = Survey.of(map(str.strip, words))
        else:
            survey = Survey(signs={"": ""}, decimals={mark: ""} if has_point else {})
        if numbers is None:
            return cls(column.values, words, survey)
        values = np.full(len(is_gap), np.nan)
        values[~is_gap] = numbers
        return cls(column.values, words, survey, values, None if mark == "." else COMMA)

    @property
    def is_plain(self) -> bool:
        return self.numbers is not None and self.notation is None


def find_dates(column: Column, known: Notation | None, file: TableFile) -> dict[str, str]:
    """Remember how dates are written, if not as in fit, and only one reading is usual.

    They have names of months, or points, or start with the year; for others there are options. The
    column, if it is new, with a cell.
    """
    if column.name in file.found.dates or column.kind != "category":
        return {}
    texts, is_gap = trimmed(column.values)
    words = texts[~is_gap]
    if not len(words) or not np.isnat(date_texts.parse(words[:1], known.date if known else ""))[0]:
        return {}
    style = date_texts.recognise(words)
    if style is None or style.doubt or style.format.startswith(("%m", "%d-", "%d/")):
        return {}
    file.found.dates[column.name] = Notation(date=style.format)
    return {column.name: words[0]}


def find_notations(
    columns: Mapping[str, Surveyed],
    known: Known,
    index: pd.Index,
    file: TableFile,
    usual: Usual,
    *,
    is_new: bool = True,
) -> dict[str, Notation | None]:
    """Of columns of numbers; None where all are plain.

    `known` is how fit read columns, or how the user asks for them to be read. Signs and thousands
    that are not known are read only if the file `is_new`.
    """
    batch = _Batch(columns, known, index, file, usual, is_new)
    batch.check_guesses()
    return {name: batch.notation(name) for name in columns}


def surprises(
    columns: Mapping[str, Surveyed], known: Known, notations: Known, file: TableFile
) -> Iterator[tuple[str, str]]:
    """Columns that are not written as in fit, or that may be read otherwise, each with a cell."""
    for name, column in columns.items():
        notation = notations[name]
        if name in file.found.told or not _is_surprise(name, column, known[name], notation, file):
            continue
        odd = (word for word in column.words if not is_plain(word.strip()))
        cell = next(iter(column.survey.unclear.values()), None) or next(odd, "")
        if not np.isnan(parse(np.array([cell], dtype=object), notation or PLAIN)).any():
            file.found.told.add(name)
            yield name, cell


def _is_surprise(
    name: str,
    column: Surveyed,
    known: Notation | None,
    notation: Notation | None,
    file: TableFile,
) -> bool:
    is_open = file.separator == ";" and getattr(file.found.guesses.get(name), "why", "") == "usual"
    if notation is None:  # decimal points are rare where semicolons part cells
        return is_open
    if notation.sign != (known.sign if known else ""):
        return True
    if file.options.decimal_mark or (known and known.decimal):
        return known is not None and notation.decimal != known.decimal
    if known is None and notation.decimal == "," and (is_open or file.separator != ";"):
        return True
    is_easy = column.numbers is not None and column.notation == notation
    return not is_easy and has_thousands(column.words, notation)


@dataclass
class _Batch:
    columns: Mapping[str, Surveyed]
    known: Known
    index: pd.Index
    file: TableFile
    usual: Usual
    is_new: bool

    def __post_init__(self) -> None:
        for name, column in self.columns.items():
            if len(column.survey.decimals) == 1:
                self.file.found.marks.setdefault(name, *column.survey.decimals)

    @cached_property
    def shown(self) -> set[str]:
        """Decimal marks that are certain in some column."""
        return {*self.file.found.marks.values()}

    @cached_property
    def of_fit(self) -> set[str]:
        return {one.decimal for one in self.known.values() if one and not one.date} - {""}

    @cached_property
    def unclear(self) -> set[str]:
        return {mark for column in self.columns.values() for mark in column.survey.unclear}

    @cached_property
    def sizes(self) -> set[str]:
        """Decimal marks of columns that are known by the size of their numbers."""
        earlier = {guess.mark for guess in self.file.found.guesses.values() if guess.why == "size"}
        return earlier | {*map(self._by_size, self.columns)} - {""}

    @cached_property
    def likely(self) -> set[str]:
        """What bare numbers tell, in columns whose mark fit has not seen."""
        new = (c.survey for n, c in self.columns.items() if not self._of_fit(n))
        return {mark for survey in new if (mark := survey.likely())}

    @property
    def is_of_program(self) -> bool:
        """Whether commas part cells: then few write decimal commas."""
        return self.file.is_text and self.file.separator == ","

    def check_guesses(self) -> None:
        """Raise if a mark was taken in earlier rows for what it cannot be."""
        found = self.file.found
        for name, guess in found.guesses.items():
            marks = {found.marks[name]} if name in found.marks else self.shown
            for mark in marks - {guess.mark}:
                self._refuse(guess.cell, f", and later rows have decimal {MARKS[mark]}")

    def notation(self, name: str) -> Notation | None:
        known, mark = self.known[name], self._mark(name)
        if known is None and mark != "," and (self.columns[name].is_plain or not self.is_new):
            return None
        if known is None or mark not in ("", known.decimal):
            known = replace(BY_DECIMAL[mark or "."], sign=known.sign if known else "")
        return replace(known, sign=known.sign or self._sign(name))

    def _sign(self, name: str) -> str:
        """Beside all numbers of a column, where fit saw none; 12 % may be 12 or 0.12."""
        signs, found = {*self.columns[name].survey.signs}, self.file.found.signs
        if self.is_new and len(signs) == 1 and not signs & {"", PERCENT}:
            found.setdefault(name, *signs)
        return found.get(name, "")

    def _mark(self, name: str) -> str:
        """Before the decimals of a column; "" if no cell has a mark, or some cells have either."""
        survey, found = self.columns[name].survey, self.file.found
        mark = self.file.options.decimal_mark or found.marks.get(name, "")
        if mark or survey.decimals or not survey.unclear:
            return mark
        if name not in found.guesses:
            mark, why = self.weighed(name)
            found.guesses[name] = Guess(mark, self._where(name), why)
        return found.guesses[name].mark

    def weighed(self, name: str) -> tuple[str, str]:
        """The mark of a column with cells such as 1.234, by the strongest evidence, and this.

        Certain cells of other columns; how large the numbers of fit were, here or elsewhere; how
        the file of fit wrote this column, or others; bare numbers; the separator.
        """
        survey, own, size = self.columns[name].survey, self._of_fit(name), self._by_size(name)
        if len(survey.unclear) > 1:
            self._ask(name, ", and other cells of the column have the other mark")
        for mark in self.shown:
            if {size or own} - {"", mark} or len(self.shown) > 1:
                self._ask(name, f", and other columns have decimal {MARKS[mark]}")
            return mark, "shown"
        if size or len(self.sizes) == 1:
            return size or next(iter(self.sizes)), "size"
        likely = survey.likely()
        if own == "," and self.is_of_program:
            if not likely:
                self._ask(name, ", and the file of fit had decimal commas")
            return likely, "bare"
        if own or (len(self.of_fit) == 1 and not (self.is_of_program and "," in self.of_fit)):
            return own or next(iter(self.of_fit)), "fit"
        if len(self.likely) == 1 and not self.is_of_program:
            return next(iter(self.likely)), "bare"
        if len(self.unclear) > 1 and not self.is_of_program:
            self._ask(name, ", and other columns have the other mark")
        usual = survey.decide(None, separator=self.file.separator)
        is_signed = "" not in survey.signs and not (self.is_of_program and "," in survey.unclear)
        if is_signed or isinstance(usual, str):
            self._ask(name)
        return usual.decimal, "usual"

    def _of_fit(self, name: str) -> str:
        known = self.known[name]
        return known.decimal if known else ""

    def _by_size(self, name: str) -> str:
        """The mark with which numbers are as large as those of fit, if the other's are not."""
        words, survey = self.columns[name].words, self.columns[name].survey
        is_open = survey.unclear and not survey.decimals
        if not is_open or name not in self.usual or len(survey.signs) != 1:
            return ""
        sizes = np.abs(self.usual[name])
        low, high = np.quantile(sizes, RARE) / ROOM, sizes.max() * ROOM
        (sign,) = survey.signs
        read = {m: np.abs(parse(words, replace(n, sign=sign))) for m, n in BY_DECIMAL.items()}
        differ = read["."] != read[","]
        usual = {m: np.mean((low <= x[differ]) & (x[differ] <= high)) for m, x in read.items()}
        for mark, other in (".,", ",."):
            if usual[mark] >= NEARLY_ALL and usual[other] <= 1 - NEARLY_ALL:
                return mark
        return ""

    def _ask(self, name: str, why: str = "") -> NoReturn:
        self._refuse(self._where(name), why)

    def _refuse(self, cell: str, why: str) -> NoReturn:
        raise ValueError(
            f"{self.file.name}: expected numbers that can be read in one way, got {cell}{why}; "
            f"add --decimal . or --decimal ,"
        )

    def _where(self, name: str) -> str:
        """The first cell of a column whose mark may be either."""
        cells, _, survey, *_ = self.columns[name]
        word = next(iter(survey.unclear.values()))
        row = next(i for i, cell in enumerate(cells) if cell and cell.strip() == word)
        place = f"{self.file.unit} {self.index[row]}, column {name!r}"
        return f"{word!r} in {place}, which may be {' or '.join(readings(word))}"
