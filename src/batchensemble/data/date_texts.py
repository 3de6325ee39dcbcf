"""Dates as people write them: 2024-06-19, 19/06/2024, 19.6.24, Jan 1949, June 19, 2024 18:20.

A column has one format, found once and kept. Day and month can be told apart if some cell has a day
past 12; dates with points start with the day.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.data.scalars import in_microseconds

FIRST, END = np.datetime64("0001-01-01"), np.datetime64("10000-01-01")
_ISO = re.compile(
    r"\d{4}([-/])\d{2}(\1\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?( ?(Z|[+-]\d{2}:?\d{2}))?)?)?"
)
_BARE = re.compile(  # without zeros, or with a zone as databases write it
    r"\d{4}([-/])\d{1,2}\1\d{1,2}"
    r"([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?(Z|UTC|[+-]\d{2}(:?\d{2})?))?)?"
)
_LONE_DIGIT = re.compile(r"(?<![\d.])\d(?!\d)")
_ZONE = re.compile(r".{8}.*:.*(Z|UTC|[+-]\d{2}(:?\d{2})?)")
_DAYS = re.compile(r"\d{1,2}([-/.])\d{1,2}\1(\d{4}|\d{2})")
_YEARS = re.compile(r"\d{4}([-/])\d{1,2}\1\d{1,2}")
_TIME = re.compile(r" \d{1,2}:\d{2}(:\d{2})?( ?[AaPp][Mm])?$")
_MONTH = re.compile(r"[^\W\d_]{3,}\.?")
MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar jän jänner janv janvier",
            "feb february februar févr fév février",
            "mar march mär märz mrz mars",
            "apr april avr avril",
            "may mai",
            "jun june juni juin",
            "jul july juli juil juillet",
            "aug august août aoû",
            "sep sept september septembre",
            "oct october okt oktober octobre",
            "nov november novembre",
            "dec december dez dezember déc décembre",
        ),
        1,
    )
    for name in names.split()
}
BY_NAME = (
    *("%m-%Y", "%m %Y", "%m/%Y", "%m-%y", "%m %y", "%m/%y", "%Y-%m", "%Y %m", "%Y/%m"),
    *("%d-%m-%Y", "%d %m %Y", "%d/%m/%Y", "%d. %m %Y", "%d-%m-%y", "%d %m %y", "%d/%m/%y"),
    *("%m %d, %Y", "%m %d %Y", "%Y-%m-%d", "%Y %m %d"),
)
_CLOCKS = r"( (%H:%M|%I:%M)(:%S)?( ?%p)?)?$"
_NUMBERED = re.compile(rf"(?:%([dm])([-/.])%(?!\1)[dm]\2%[Yy]|%Y([-/])%m\3%d){_CLOCKS}")
LONGEST = 32  # letters of a date with a month's name and a time
ASK = "add --dayfirst or --no-dayfirst"
NAMED = "named "  # before a format whose months are names


@dataclass(frozen=True)
class DateStyle:
    """A format ("" if dates start with the year), or why it is not clear."""

    format: str = ""
    doubt: str = ""

    @property
    def dayfirst(self) -> bool | None:
        """Whether days come before months, where both are numbers."""
        numbers = "%d" in self.format and not self.format.startswith((NAMED, "%Y"))
        return self.format.startswith("%d") if numbers else None


def recognise(words: NDArray[Any], dayfirst: bool | None = None) -> DateStyle | None:
    """How all these words are written as dates; None if some are none."""
    if _iso(words[0]):
        return DateStyle() if not np.isnat(parse(words)).any() else None
    forms = formats(words[0])
    read = {form: parse(words, form) for form in forms}
    fit = [form for form, dates in read.items() if not np.isnat(dates).any()]
    if fit and fit[0].startswith(NAMED):
        return DateStyle(fit[0])
    if fit and dayfirst is None and fit[0].startswith(("%d-%m-%y", "%m-%d-%y")):
        return DateStyle(doubt=f"{words[0]!r} may start with the day, the month or the year; {ASK}")
    if len(fit) > 1:
        if dayfirst is None and "." not in fit[0]:
            days, months = (read[form].astype("datetime64[D]") for form in forms)
            i = (days != months).argmax()  # 11/11 would be no example
            either = f"{days[i]} or {months[i]}"
            if days[i] == months[i]:
                either = "written with the day or the month first"
            return DateStyle(doubt=f"{words[i]!r} may be {either}; {ASK}")
        fit = [forms[0] if dayfirst is not False else forms[1]]
    if fit:
        return DateStyle(fit[0])
    if len(forms) == 2 and not any(np.isnat(dates).all() for dates in read.values()):
        days, months = (np.isnat(read[form]) for form in forms)
        if not (days & months).any():
            return DateStyle(
                doubt=f"{words[months][0]!r} starts with the day and {words[days][0]!r} with the "
                "month; write all alike"
            )
    return None


def formats(word: str) -> list[str]:
    """The formats that a date may have; the day first, where day and month are numbers."""
    time = _TIME.search(word)
    day, clock = (word[: time.start()], _clock(*time.groups())) if time else (word, "")
    if match := _DAYS.fullmatch(day):
        mark, year = match.groups()
        if len(year) == 2 and mark == "." and not re.match(r"\d\d\.\d\d", word):
            return []  # more like a version, 1.2.10
        last = ("%Y" if len(year) == 4 else "%y") + clock
        return [mark.join([*order, last]) for order in (("%d", "%m"), ("%m", "%d"))]
    match = _YEARS.fullmatch(day)
    if match and "%p" in clock:  # others are read as ISO 8601
        return [match[1].join(("%Y", "%m", "%d")) + clock]
    numbered = _numbered(day)
    if numbered is None:
        return []
    several = pd.Series([numbered], dtype=object)
    dates = (pd.to_datetime(several, format=form, errors="coerce") for form in BY_NAME)
    fit = (form for form, date in zip(BY_NAME, dates, strict=True) if date.notna().all())
    return [NAMED + form + clock for form in fit if "%d" in form or not clock][:1]


def _clock(second: str | None, noon: str | None) -> str:
    """The format of a time after a date."""
    clock = f" {'%I' if noon else '%H'}:%M{':%S' if second else ''}"
    return clock + (f"{' ' if noon.startswith(' ') else ''}%p" if noon else "")


def is_format(text: Any) -> bool:
    """Whether it is one of the formats here, or none."""
    if text == "":
        return True
    if not isinstance(text, str):
        return False
    if text.startswith(NAMED):
        return re.sub(_CLOCKS, "", text.removeprefix(NAMED)) in BY_NAME
    return bool(_NUMBERED.fullmatch(text))


def example(form: str) -> str:
    """A date in one of the formats."""
    if form.startswith(NAMED):
        form = form.removeprefix(NAMED).replace("%m", "%b")
    return pd.Timestamp("2026-01-31 14:30").strftime(form) if form else "2026-01-31"


def parse(words: NDArray[Any], form: str = "") -> NDArray[Any]:
    """In UTC; NaT where a word is no such date, or its year is not between 1 and 9999."""
    if not form:
        read = pd.to_datetime(
            pd.Series([_iso(word) for word in words], dtype=object),
            format="ISO8601",
            utc=True,
            errors="coerce",
        ).dt.tz_localize(None)
    else:
        texts: Iterable[Any] = words
        if form.startswith(NAMED):
            known = {word: _numbered(word) for word in set(words)}
            texts, form = [known[word] for word in words], form.removeprefix(NAMED)
        read = pd.to_datetime(pd.Series(list(texts), dtype=object), format=form, errors="coerce")
    moments = in_microseconds(read.to_numpy())
    return np.where((moments >= FIRST) & (moments < END), moments, np.datetime64("NaT", "us"))


def written(moments: NDArray[Any], form: str) -> NDArray[Any]:
    """The texts of dates as short as they can be, None where there is none."""
    dates = pd.Series(moments)
    units = ("D", ""), ("min", " %H:%M"), ("us", " %H:%M:%S")
    known = dates.dropna()
    clock = next(text for unit, text in units if (known.dt.floor(unit) == known).all())
    texts = dates.dt.strftime(form.removeprefix(NAMED) or f"%Y-%m-%d{clock}").astype(object)
    words: NDArray[Any] = texts.where(dates.notna(), None).to_numpy(dtype=object)
    return words


def has_zone(word: str) -> bool:
    return bool(_ZONE.fullmatch(word))


def _iso(word: str) -> str | None:
    """A date that starts with the year, as ISO 8601 writes it."""
    if _ISO.fullmatch(word):
        return word.replace("/", "-")
    if _BARE.fullmatch(word):
        return _LONE_DIGIT.sub(r"0\g<0>", word.replace("/", "-")).replace("UTC", "Z")
    return None


def _numbered(word: str) -> str | None:
    """With the number of the month instead of its name, if there is one name."""
    names = _MONTH.findall(word)
    if len(names) != 1 or len(word) > LONGEST:
        return None
    number = MONTHS.get(names[0].rstrip(".").lower())
    return None if number is None else word.replace(names[0], str(number))
