"""Columns of texts that are all dates: recognised in fit, read in the same format ever after."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from batchensemble.data import date_texts
from batchensemble.data.columns import Column, Columns, Kind


def recognise_dates(
    columns: Columns, words: Collection[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """The formats of columns that are dates, and why others may be; those in `words` are none."""
    formats, doubts = {}, {}
    for column in columns:
        is_text = column.kind == "category" and not column.is_coded
        style = _style(column) if is_text and column.name not in words else None
        if style is not None and style.doubt:
            why = style.doubt.partition(";")[0]
            doubts[column.name] = f"{why}, so it is read as words; convert it with pd.to_datetime"
        elif style is not None:
            formats[column.name] = style.format
    return formats, doubts


def with_dates(columns: Columns, names: Sequence[str], formats: Mapping[str, str]) -> Columns:
    """Texts as dates; `names` are those of fit, by position."""
    if not formats:
        return columns
    return Columns(
        tuple(
            _as_dates(column, formats[name])
            if name in formats and column.kind == "category"
            else column
            for column, name in zip(columns, names, strict=True)
        )
    )


def with_written_dates(
    columns: Columns, names: Sequence[str], kinds: Sequence[Kind], formats: Collection[str]
) -> Columns:
    """Texts as dates where fit had dates that were no texts, in the format that these texts have.

    `names`, `kinds` and `formats` are those of fit, the first two by position.
    """
    known = zip(columns, names, kinds, strict=True)
    are_new = [
        kind == "date" and name not in formats and column.kind == "category" and not column.is_coded
        for column, name, kind in known
    ]
    if not any(are_new):
        return columns
    pairs = zip(columns, are_new, strict=True)
    return Columns(tuple(_written(column) if is_new else column for column, is_new in pairs))


def _written(column: Column) -> Column:
    style = _style(column)
    if style is not None and style.doubt:
        raise ValueError(
            f"column {column.name!r}: expected dates as in fit, got texts, and "
            f"{style.doubt.partition(';')[0]}; convert it with pd.to_datetime"
        )
    return column if style is None else _as_dates(column, style.format)


def _style(column: Column) -> date_texts.DateStyle | None:
    """How a column is written, if all its texts are dates; most fail at the first word."""
    words = column.values[~column.missing]
    if not len(words) or date_texts.recognise(words[:1], True) is None:
        return None
    style = date_texts.recognise(words)
    if style is None or style.format or style.doubt:
        return style
    zoned = {date_texts.has_zone(word) for word in set(words)}
    return style if len(zoned) == 1 else None


def _as_dates(column: Column, form: str) -> Column:
    """A cell that is no date is an error."""
    missing = column.missing
    words = column.values[~missing]
    dates = np.full(len(missing), np.datetime64("NaT", "us"))
    dates[~missing] = date_texts.parse(words, form)
    for row in np.flatnonzero(np.isnat(dates) & ~missing)[:1]:
        raise ValueError(
            f"column {column.name!r}: expected dates such as {date_texts.example(form)!r} as in "
            f"fit, got {column.values[row]!r:.80} in row {row}; make it missing, or convert the "
            "column with pd.to_datetime"
        )
    is_zoned = bool(len(words)) and not form and date_texts.has_zone(words[0])
    return Column(column.name, "date", dates, is_zoned)


def check_zones(columns: Columns, zoned: Iterable[bool]) -> None:
    """A time with a zone is not the same time without; `zoned` says what the columns of fit had."""
    for column, was_zoned in zip(columns, zoned, strict=False):
        if column.kind == "date" and column.is_zoned != was_zoned and not column.missing.all():
            had, has = ("with", "without") if was_zoned else ("without", "with")
            raise ValueError(
                f"column {column.name!r}: expected dates {had} a time zone as in fit, got "
                f"dates {has} one; convert them with .dt.tz_localize(...) or .dt.tz_convert"
            )


def check_spans(columns: Columns, spans: Iterable[bool]) -> None:
    """Durations are in seconds, whatever the unit of the numbers of fit; no `spans`: not known."""
    for column, was_span in zip(columns, spans, strict=False):
        if column.is_span and column.kind == "number" and not was_span:
            raise ValueError(not_durations(column.name))


def not_durations(name: str) -> str:
    return (
        f"column {name!r}: expected numbers as in fit, got durations or times of day; convert them "
        "to numbers of the same unit"
    )


def has_time_of_day(column: Column) -> bool:
    moments = column.values[~column.missing]
    return bool(np.any(moments != moments.astype("datetime64[D]")))
