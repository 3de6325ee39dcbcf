"""Numbers as people write them: 1,234.50 or 1.234,50 or 1'234.50, with a currency or per cent.

Only one question is hard: whether a point or a comma comes before the decimals. Most cells answer
it: 12,5 and 0,125 and 1.234,50 have a decimal comma. In 1,234 alone it may be either.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from batchensemble.data.date_texts import example, is_format

DECIMALS = (".", ",")
THOUSANDS = (",", ".", "'", " ")
LONGEST = 60  # letters of a number
_CURRENCIES = (
    "AED|AUD|BGN|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HKD|HUF|ILS|INR|JPY|KRW|MXN|NOK|NZD|PLN|RON|RUB|"
    "SAR|SEK|SGD|THB|TRY|USD|ZAR"
)
_SIGN = rf"%|(?:[A-Z]{{1,3}})?\$|[£¥¢฿\u20a0-\u20c0]|{_CURRENCIES}|Fr\.|kr\.?|zł|Kč|Ft"
_CODE = re.compile(r"[+-]?0\d")
_SHAPE = re.compile(
    rf"(\(?)([+-]?)\s?({_SIGN})?\s?([+-]?)\s?([\d.,][\d.,'\s]*)([eE][+-]?\d+)?\s?({_SIGN})?(\)?)"
)


@dataclass(frozen=True)
class Notation:
    """How the texts of a column are written; a model's file keeps it.

    decimal    the mark before decimals, "." or ","; "" if no cell has shown it
    thousands  all marks that may stand between thousands; a space is one of any width
    sign       a currency or "%" that stands beside every number, and is not read
    date       the format of dates in strptime's letters; "" if they start with the year
    """

    decimal: str = "."
    thousands: str = ""
    sign: str = ""
    date: str = ""

    @classmethod
    def of(cls, parts: Mapping[str, Any]) -> "Notation":
        """From a model's file, checked: it may have been made by anybody."""
        notation = cls(**{str(name): str(part) for name, part in parts.items()})
        marks = (notation.decimal in (*DECIMALS, ""), {*notation.thousands} <= {*THOUSANDS})
        if not all(marks) or not is_format(notation.date):
            raise ValueError(f"expected a known way to write a column, got {dict(parts)!r:.200}")
        return notation

    def example(self) -> str:
        """A value written so, for people."""
        if self.date:
            return example(self.date)
        decimals = f"{self.decimal}5" if self.decimal else ""
        return f"1{self.thousands[:1]}234{decimals} {self.sign}".strip()


class Guess(NamedTuple):
    """The decimal mark of a column whose cells leave it open, one of these cells, and why."""

    mark: str
    cell: str
    why: str  # "shown" by other columns, "size" of numbers, as at "fit", "bare" numbers, or "usual"


@dataclass
class Found:
    """What the batches of a file that were read have shown about how it is written, by column.

    marks    decimal marks that are certain
    guesses  those that are not
    signs    beside numbers, where their model expects none
    dates    with names of months, where their model expects none
    told     the columns of which the user knows how they are read
    words    notes on columns that would be numbers without a few words
    """

    marks: dict[str, str] = field(default_factory=dict)
    guesses: dict[str, Guess] = field(default_factory=dict)
    signs: dict[str, str] = field(default_factory=dict)
    dates: dict[str, Notation] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    words: list[str] = field(default_factory=list)


PLAIN = Notation()
POINT, COMMA, UNMARKED = Notation(".", ",' "), Notation(",", ".' "), Notation("", " '")
BY_DECIMAL = {".": POINT, ",": COMMA}


@dataclass
class Survey:
    """What the words of a column say about how its numbers are written, each with an example."""

    others: list[str] = field(default_factory=list)  # words that are no numbers
    signs: dict[str, str] = field(default_factory=dict)
    decimals: dict[str, str] = field(default_factory=dict)  # marks that must be decimal
    unclear: dict[str, str] = field(default_factory=dict)  # marks that may be either
    has_bare: bool = False  # a number without a mark
    has_long: bool = False  # one that would have a mark if thousands had marks
    has_round: bool = False  # an unclear one that ends in 0

    @classmethod
    def of(cls, words: Iterable[str]) -> "Survey":
        survey = cls()
        for word in dict.fromkeys(words):
            survey._add(word)
        return survey

    def _add(self, word: str) -> None:
        parts = _parts(word)
        if parts is None:
            self.others.append(word)
            return
        body = parts.digits
        may_be = [mark for mark in DECIMALS if _PATTERNS[mark].fullmatch(body)]
        marks = [mark for mark in DECIMALS if mark in body]
        if not may_be:
            self.others.append(word)
            return
        self.signs.setdefault(parts.sign, word)
        if parts.power and marks == ["."]:
            may_be = marks  # 1.234e5 is of a program
        if len(may_be) == 1:
            self.decimals.setdefault(may_be[0], word)
        elif marks:
            self.unclear.setdefault(marks[0], word)
            self.has_round |= body.endswith("0")
        else:
            self.has_bare = True
            self.has_long |= len(body) > 3 and body.isdigit()

    def decide(self, decimal: str | None, *, separator: str) -> Notation | str:
        """The notation, or why it is not clear; `decimal` is the mark that others have, if any."""
        if len(self.signs) > 1:
            one, other = [repr(word) for word in self.signs.values()][:2]
            return f"{one} and {other} differ in their signs; write one unit for the whole column"
        if len(self.decimals) > 1:
            point, comma = (repr(self.decimals[mark]) for mark in DECIMALS)
            return f"{point} has a decimal point and {comma} a decimal comma; write all alike"
        if len(self.unclear) > 1 and not self.decimals:
            point, comma = (repr(self.unclear[mark]) for mark in DECIMALS)
            return f"{point} and {comma} have different marks; write all alike"
        (sign,) = self.signs
        found = next(iter(self.decimals), None) or decimal
        for mark in self.unclear if found is None else ():
            found = self._decimal(mark, separator)
            if found is None:
                word, (a, b) = self.unclear[mark], readings(self.unclear[mark])
                return f"{word!r} may be {a} or {b}; add --decimal . or --decimal ,"
        return replace(BY_DECIMAL[found] if found else UNMARKED, sign=sign)

    def likely(self) -> str | None:
        """The decimal mark that bare numbers tell, if there are some beside unclear ones.

        Nobody marks decimals in some cells only and yet writes their last 0: where bare numbers of
        at most three digits stand beside 1,250, commas part thousands. Nor thousands in some cells
        only: beside 12345, they do not.
        """
        if self.decimals or len(self.unclear) != 1 or not self.has_bare:
            return None
        (mark,) = self.unclear
        if self.has_long:
            return mark
        other = "," if mark == "." else "."
        return other if self.has_round else None

    def _decimal(self, mark: str, separator: str) -> str | None:
        """Whether a mark that may be either is decimal, in a file without other evidence."""
        if separator == "," and (mark == "," or "" in self.signs):
            return "."  # who writes decimal commas has other marks between the cells
        if likely := self.likely():
            return likely
        is_usual = mark == "." or separator == ";"
        return mark if is_usual and not self.has_bare else None


def parse(words: NDArray[Any], notation: Notation) -> NDArray[np.float64]:
    """The numbers, NaN where a word is none in this notation; 1_000 is none."""
    if notation == PLAIN:
        return plain_numbers(words)
    pattern = _pattern(notation.decimal, notation.thousands)
    known = {word: _value(word, notation, pattern) for word in set(words)}
    return np.array([known[word] for word in words], dtype=np.float64)


def has_thousands(words: Iterable[str], notation: Notation) -> bool:
    """Whether some number has a mark between thousands."""
    digits = "".join(parts.digits for parts in map(_parts, words) if parts)
    return any(mark in digits for mark in notation.thousands)


def shows_point(cells: NDArray[Any]) -> bool:
    """Whether some number has a point that cannot part thousands; many cells take little time."""
    few = "\0".join(["", *cells[:20], ""])  # nearly always they are enough
    return bool(_POINT.search(few) or _POINT.search("\0".join(["", *cells, ""])))


def plain_numbers(words: NDArray[Any]) -> NDArray[np.float64]:
    try:
        if "_" not in "".join(words):
            return np.asarray(words, dtype=np.float64)
    except ValueError:
        pass
    return np.array([_float(word) for word in words], dtype=np.float64)


def is_plain(word: str) -> bool:
    return not np.isnan(_float(word))


def is_code(word: str) -> bool:
    """Whether digits are no amount, as in 007."""
    return bool(_CODE.match(word))


def _float(word: str) -> float:
    try:
        return float("nan") if "_" in word else float(word)
    except ValueError:
        return float("nan")


def _value(word: str, notation: Notation, pattern: re.Pattern[str]) -> float:
    parts = _parts(word)
    if parts is None:
        return float("nan")
    is_known = parts.sign == notation.sign or (not parts.sign and notation.sign != "%")
    if not is_known or not pattern.fullmatch(parts.digits):
        return float("nan")
    digits = parts.digits
    for mark in notation.thousands:
        digits = digits.replace(mark, "")
    if notation.decimal:
        digits = digits.replace(notation.decimal, ".")
    number = float(digits + parts.power)
    return -number if parts.is_negative else number


class _Parts(NamedTuple):
    is_negative: bool
    digits: str  # with their marks
    power: str  # of ten
    sign: str


def _parts(word: str) -> _Parts | None:
    if len(word) > LONGEST:
        return None
    match = _SHAPE.fullmatch(word.replace("\N{MINUS SIGN}", "-").replace("’", "'"))
    if match is None:
        return None
    opened, minus, before, later, digits, power, after, closed = match.groups(default="")
    if bool(opened) != bool(closed) or (before and after) or len(opened + minus + later) > 1:
        return None
    digits = re.sub(r"\s", " ", digits.strip())
    return _Parts(bool(opened) or "-" in minus + later, digits, power, before or after)


def _pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    point = re.escape(decimal)
    whole = r"\d+"
    if thousands:
        whole += rf"|[1-9]\d{{0,2}}([{re.escape(thousands)}])\d{{3}}(?:\1\d{{3}})*"
    return re.compile(rf"(?:{whole})(?:{point}\d*)?|{point}\d+")


_POINT = re.compile(
    r"\0\s*[+-]?(?:[0-9]+\.(?:[0-9]{0,2}|[0-9]{4,})|\.[0-9]+|(?:0[0-9]*|[0-9]{4,})\.[0-9]{3})\s*(?=\0)"
)
_PATTERNS = {mark: _pattern(mark, known.thousands) for mark, known in BY_DECIMAL.items()}


def readings(word: str) -> tuple[str, str]:
    """The two numbers that a word may be, the larger first."""
    sign = getattr(_parts(word), "sign", "")
    values = [
        _value(word, replace(known, sign=sign), _PATTERNS[mark])
        for mark, known in BY_DECIMAL.items()
    ]
    a, b = sorted(values, key=abs, reverse=True)
    return f"{a:.15g}", f"{b:.15g}"
