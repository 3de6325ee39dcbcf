"""How the numbers of a file are written where its model does not say: one answer for all rows.

A file is read in batches. What one of them shows holds for those that follow, and what contradicts
an earlier one is refused.
"""

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.data import date_texts
from batchensemble.data.columns import Column, Kind
from batchensemble.data.doubts import BatchEnsembleWarning
from batchensemble.data.notation import (
    BY_DECIMAL,
    COMMA,
    PLAIN,
    Notation,
    Survey,
    has_thousands,
    parse,
    shows_point,
)
from batchensemble.data.reading import TableFile
from batchensemble.data.refusals import PERCENT

_THOUSANDS = r"[+-]?[1-9][0-9]{0,2}(?:\.[0-9]{3})+"
_WITH_THOUSANDS = re.compile(rf"{_THOUSANDS}(?:,[0-9]*)?")
_UNCLEAR = re.compile(rf"\0\s*({_THOUSANDS})\s*(?=\0)")

Known = Mapping[str, Notation | None]


def has_decimal_commas(notations: Iterable[Notation | None]) -> bool:
    """Whether all columns of a model that show a decimal mark have a comma."""
    return {one.decimal for one in notations if one and not one.date} - {""} == {","}


def with_point(word: str) -> str:
    """A number of a file with decimal commas; in some of its cells a point may be one, too."""
    if _WITH_THOUSANDS.fullmatch(word):
        word = word.replace(".", "")
    return word if "." in word else word.replace(",", ".")


def has_commas(
    numbers: Mapping[str, Column], known: Known, index: pd.Index, file: TableFile
) -> bool:
    """Whether numbers have decimal commas, as nearly all do where semicolons part the cells."""
    found = file.found
    if not file.is_text or found.decimal == ".":
        return False
    if found.decimal == "," and file.separator != ";":
        _refuse_unclear(_unclear(numbers, known, index, file), file)
    if found.decimal == ",":
        return True
    if _part_thousands(numbers, known, index, file):
        return True
    if not _is_open(file):
        return False
    with_commas = (c for n, c in numbers.items() if (known[n] or COMMA).decimal != ".")
    if not any("," in "".join(column.values) for column in with_commas):
        return has_decimal_commas(known[name] for name in numbers)
    _refuse_unclear(found.unclear, file)
    if _has_points(numbers, known, file):
        found.decimal = "."
    return not found.decimal


def refuse_doubt(numbers: Mapping[str, Column], known: Known, file: TableFile) -> None:
    """Numbers of fit had decimal commas; in files of programs, commas part cells and thousands."""
    had_commas = [n for n in numbers if (known[n] or PLAIN).decimal == ","]
    if not had_commas or not file.is_text or file.separator != "," or file.options.decimal_mark:
        return
    if file.found.decimal == ",":
        return
    surveys = {n: _survey(column) for n, column in numbers.items()}
    if any("," in (*survey.decimals, survey.likely()) for survey in surveys.values()):
        return
    for name in had_commas:
        survey = surveys[name]
        if survey.unclear and not survey.decimals:
            cell = next(iter(survey.unclear.values()))
            raise ValueError(
                f"{file.name}, column {name!r}: expected numbers with a decimal comma as at fit, "
                f"got {cell!r:.80}, whose mark may be decimal or part thousands; add --decimal . "
                "or --decimal ,"
            )


def _survey(column: Column) -> Survey:
    return Survey.of(filter(None, map(str.strip, column.values)))


def _part_thousands(
    numbers: Mapping[str, Column], known: Known, index: pd.Index, file: TableFile
) -> bool:
    """Whether points do so in columns that the model does not know: as `fit` would take them."""
    had_commas = has_decimal_commas(known.values())
    if file.separator == ",":  # as all programs write it, unless there are commas in the cells
        is_open = had_commas and any("," in "".join(column.values) for column in numbers.values())
    else:
        is_open = had_commas or not file.found.notations
    cell = _unclear(numbers, known, index, file) if is_open else ""
    if not cell or file.options.decimal_mark is not None:
        return False
    new = [column for n, column in numbers.items() if known[n] is None]
    if any(shows_point(column.values) for column in new):
        return False
    surveys = [*map(_survey, new)]
    if any(survey.decimals or survey.others for survey in surveys):
        return False  # what follows knows what to do
    if {one.decimal for one in known.values() if one and not one.date} - {""}:
        return had_commas
    likely = {survey.likely() for survey in surveys} - {None}
    if not likely and any(survey.has_bare for survey in surveys if survey.unclear):
        raise ValueError(
            f"{file.name}: expected numbers that can be read in one way, got {cell}, where the "
            "point may be decimal or part thousands; add --decimal . or --decimal ,"
        )
    parts_thousands = likely == {","}
    if parts_thousands or (not likely and file.separator == ";" and not file.found.unclear):
        how, other = ("to part thousands", ".") if parts_thousands else ("for a decimal one", ",")
        text = f"{file.name}: took the point in {cell} {how}; otherwise add --decimal {other}"
        warnings.warn(text, BatchEnsembleWarning, stacklevel=2)
    return parts_thousands


def _refuse_unclear(cell: str, file: TableFile) -> None:
    if cell:
        raise ValueError(
            f"{file.name}: expected one decimal mark in the whole file, got {cell}, which may have "
            "a decimal point, and decimal commas in other rows; add --decimal , if points part "
            "thousands, or write all numbers alike"
        )


def _has_points(numbers: Mapping[str, Column], known: Known, file: TableFile) -> bool:
    """Whether decimal points are certain; a doubt about a column that had them at fit is refused.

    Commas are in doubt if all of them could part thousands.
    """
    new = [cell for n, column in numbers.items() if known[n] is None for cell in column.values]
    if Survey.of(cell.strip() for cell in new if "." in cell or "," in cell).decimals.keys() == {
        "."
    }:
        return True
    for name, column in numbers.items():
        marked = [cell for cell in column.values if "." in cell or "," in cell]
        if (known[name] or COMMA).decimal == "." and marked:
            if Survey.of(marked).decimals.keys() == {"."}:
                return True
            raise ValueError(
                f"{file.name}: expected one decimal mark in the whole file, got {marked[0]!r} in "
                f"column {name!r}, which had decimal points at fit, beside commas in others; add "
                "--decimal . or --decimal , if all numbers are written so, or write all alike"
            )
    return False


def remember(
    numbers: Mapping[str, Column], known: Known, index: pd.Index, file: TableFile, *, commas: bool
) -> None:
    """What a batch has shown, after it was read."""
    found = file.found
    found.is_begun |= bool(numbers)
    if commas:
        found.decimal = ","
    elif not found.decimal and not found.unclear and _is_open(file):
        found.unclear = _unclear(numbers, known, index, file)


def _unclear(numbers: Mapping[str, Column], known: Known, index: pd.Index, file: TableFile) -> str:
    """Where a point may part thousands in a column whose notation is not known."""
    for name in (name for name in numbers if known[name] is None):
        joined = "\0".join(["", *numbers[name].values, ""])
        match = _UNCLEAR.search(joined) if "." in joined else None
        if match:
            row = index[joined.count("\0", 0, match.start())]
            return f"{match[1]!r} in {file.unit} {row}, column {name!r}"
    return ""


def find_notations(
    words: Mapping[str, NDArray[Any]], kinds: Mapping[str, Kind], known: Known, file: TableFile
) -> dict[str, Notation]:
    """Of columns with signs, thousands or names of months: as `fit` would read them.

    None if the rows so far leave a doubt. A % is in doubt, since a spreadsheet stores 12 % as 0.12.
    """
    signs = {name: one.sign for name, one in known.items() if one and not one.decimal}
    known = {**known, **dict.fromkeys(signs), **file.found.notations}
    dates = _dates(words, kinds, known)
    file.found.notations |= dates
    return dates | _numbers(words, kinds, known, signs, file)


def _dates(
    words: Mapping[str, NDArray[Any]], kinds: Mapping[str, Kind], known: Known
) -> dict[str, Notation]:
    """Those with named months; for others there are options."""
    styles = {
        name: date_texts.recognise(words[name])
        for name in words
        if kinds[name] == "date" and known[name] is None
        if len(date_texts.formats(words[name][0])) == 1
    }
    return {name: Notation(date=style.format) for name, style in styles.items() if style}


def _numbers(
    words: Mapping[str, NDArray[Any]],
    kinds: Mapping[str, Kind],
    known: Known,
    signs: Mapping[str, str],
    file: TableFile,
) -> dict[str, Notation]:
    """`signs` are those of columns in which fit saw no decimal mark."""
    found, numbers = file.found, [name for name in words if kinds[name] == "number"]
    every = {n: Survey.of(words[n]) for n in numbers if not (known[n] or PLAIN).sign}
    surveys = {n: s for n, s in every.items() if not s.others and len(s.signs) == 1}
    surveys = {
        n: s
        for n, s in surveys.items()
        if (PERCENT not in s.signs or signs.get(n) == PERCENT)
        and found.signs.get(n, *s.signs) in s.signs
        and signs.get(n, *s.signs) in s.signs
    }
    unknown = [survey for name, survey in surveys.items() if known[name] is None]
    marks = {mark for survey in unknown for mark in _decimals(survey, file)} | {*found.decimal}
    mark = "".join(marks) if len(marks) == 1 else ""
    if marks and not mark and any(s.unclear and not s.decimals for s in unknown):
        return {}
    decided = dict[str, Notation]()
    for name, survey in surveys.items():
        own, certain = known[name], next(iter(survey.decimals), mark)
        notation = replace(own or BY_DECIMAL[certain or "."], sign=next(iter(survey.signs)))
        is_clear = own is not None or certain or not survey.unclear
        is_other = notation.sign or (own is None and has_thousands(words[name], notation))
        if is_clear and is_other and not np.isnan(parse(words[name], notation)).any():
            decided[name] = notation
    was_open = found.is_begun and not found.decimal and (file.separator != ";" or found.unclear)
    if was_open and any(known[n] is None and one.decimal == "," for n, one in decided.items()):
        return {}
    if decided and mark:
        found.decimal = mark
    for name, notation in decided.items():
        found.signs[name] = notation.sign
        if known[name] or mark or surveys[name].decimals:  # $ 12 leaves open what $ 1.234 is
            found.notations[name] = notation
    return decided


def _decimals(survey: Survey, file: TableFile) -> Iterator[str]:
    """The decimal marks of a column, as far as it shows them."""
    yield from survey.decimals
    if "," in survey.unclear and file.separator == ",":  # nobody has decimal commas in such files
        yield "."
    if "." in survey.unclear and file.separator != ";" and "" in survey.signs:  # as programs write
        yield "."


def _is_open(file: TableFile) -> bool:
    return file.is_text and file.separator == ";" and file.options.decimal_mark is None
