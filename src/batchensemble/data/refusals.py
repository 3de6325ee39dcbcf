"""What is said about cells of a file that are not of their column's kind, and what helps."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchensemble.data import date_texts
from batchensemble.data.columns import Kind
from batchensemble.data.notation import BY_DECIMAL, DECIMALS, PLAIN, Notation, Survey, parse

PERCENT = "%"
CORRECT = "correct the cell, or empty it"
FIT_AGAIN = "or fit again from a file like this one"
_EXPECTED = {
    "number": "a finite number, written plainly",
    "boolean": "true or false",
    "date": "a date such as 2026-01-31",
}


def expected(kind: Kind, notation: Notation | None) -> str:
    if kind == "date" and notation and notation.date:
        return f"a date as in fit, such as {date_texts.example(notation.date)}"
    if kind == "number" and notation and notation.sign:
        decimals = f"{notation.decimal}5" if notation.decimal else ""
        return f"a number as in fit, such as 12{decimals} {notation.sign}"
    if kind == "number" and notation and notation.decimal == ",":
        return "a finite number with a decimal comma, such as 1234,5"
    return _EXPECTED[kind]


def advice(word: str, words: NDArray[Any], kind: Kind, notation: Notation | None) -> str:
    """What to do about a word, one of the `words` of a column; an option only if it helps."""
    if kind == "date":
        orders = _orders(words)
        return f"add {' or '.join(orders)}, {CORRECT}" if orders else CORRECT
    if kind != "number":
        return CORRECT
    known, survey = notation or PLAIN, Survey.of([word])
    (sign,) = survey.signs or [known.sign]
    if not notation and not survey.others and len(Survey.of(words).signs) > 1:
        return f"write one unit in the whole column, {CORRECT}"
    if known.sign != sign and (notation or sign == PERCENT):
        return _about_signs(word, known, sign)
    known = replace(known, sign=sign)
    marks = [mark for mark in DECIMALS if _is_read(words, known, mark)]
    asked = " or ".join(f"--decimal {mark}" for mark in marks)
    return f"add {asked} if all numbers are written so, {CORRECT}" if marks else CORRECT


def _about_signs(word: str, known: Notation, sign: str) -> str:
    if known.sign:
        return f"write {known.sign} in all cells, {FIT_AGAIN}"
    if sign == PERCENT:
        digits = word.replace(PERCENT, "").strip()
        return (
            f"{word} may be {digits} or a hundredth of it: write the numbers as in the training "
            f"file, {FIT_AGAIN}"
        )
    return CORRECT


def _orders(words: NDArray[Any]) -> list[str]:
    """The options with which all words are dates."""
    forms = date_texts.formats(words[0])
    if len(forms) < 2:
        return []
    named = zip(("--dayfirst", "--no-dayfirst"), forms, strict=True)
    return [name for name, form in named if not np.isnat(date_texts.parse(words, form)).any()]


def _is_read(words: NDArray[Any], known: Notation, mark: str) -> bool:
    """Whether all words are numbers with this decimal mark."""
    asked = replace(known, decimal=mark, thousands=BY_DECIMAL[mark].thousands)
    return bool(np.isfinite(parse(words, asked)).all())


def typed_percent(value: float) -> str:
    """Why a number of a typed file is none that had a % in fit, and what to do."""
    return (
        f"expected a number with %, as in the training file, such as 12 %, got {value:g} without "
        "%, which may be a share, since spreadsheets store 12 % as 0.12; write the cells with % "
        f"(as in the .csv that a spreadsheet saves), {FIT_AGAIN}"
    )
