"""Public holidays of a country, and the days around them, as columns that are known ahead."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from batchensemble.data.columns import Column, Columns
from batchensemble.data.time_words import freq_word
from batchensemble.words import one_of

_DAY = pd.Timedelta(days=1)
AROUND = {"public holiday": 0, "day before a public holiday": 1, "day after a public holiday": -1}


def holiday_names(country: str | None) -> tuple[str, ...]:
    """What the columns are called, for example "public holiday (NO)"."""
    return () if country is None else tuple(f"{name} ({country})" for name in AROUND)


def check_holidays(
    country: str, freq: pd.offsets.BaseOffset | int, own: Iterable[Column] = ()
) -> None:
    """The package is here, it knows the country, and the series have a value a day or more.

    None of the user's `own` columns is called as those of holidays.
    """
    for name in {column.name for column in own}.intersection(holiday_names(country)):
        raise ValueError(
            f"holidays={country!r} adds a column {name!r}, and the data have one of this name; "
            "omit holidays, or rename yours"
        )
    if isinstance(freq, int):
        raise ValueError(
            f"holidays={country!r} needs series with dates, got numbered times; omit holidays"
        )
    is_daily = isinstance(freq, pd.offsets.Day | pd.offsets.BusinessDay) and freq.n == 1
    if not (is_daily or (isinstance(freq, pd.offsets.Tick) and pd.Timedelta(freq) <= _DAY)):
        raise ValueError(
            f"holidays={country!r} is for series of days or shorter steps, got the frequency "
            f"{freq_word(freq)}; omit holidays, or pass a column of your own as future_columns"
        )
    _holidays_of(country, [2000])


def holiday_columns(times: pd.DatetimeIndex, country: str) -> Columns:
    """One row for each time, by the clock on the wall."""
    days = times.tz_localize(None).normalize()
    years = range((days.min() - _DAY).year, (days.max() + _DAY).year + 1)
    holidays = pd.DatetimeIndex(sorted(_holidays_of(country, years)))
    return Columns(
        tuple(
            Column(name, "boolean", np.asarray((days + ahead * _DAY).isin(holidays), np.float64))
            for name, ahead in zip(holiday_names(country), AROUND.values(), strict=True)
        )
    )


def _holidays_of(country: str, years: Any) -> Any:
    """Dates, by a word such as "NO", or "DE-BY" for a part of a country."""
    try:
        import holidays
    except ImportError as error:
        raise ImportError(
            f"holidays={country!r} needs the package: pip install 'batchensemble[holidays]'"
        ) from error
    name, _, part = country.partition("-")
    parts = holidays.list_supported_countries()
    if name not in parts and (code := _codes().get(name.replace(" ", "").lower())):
        raise ValueError(
            f"expected the code of a country for holidays, got {name!r}; write {code!r}"
        )
    one_of(name, parts, "the country of holidays")
    if part:
        one_of(part, parts[name], f"the part of {name} of holidays")
    return holidays.country_holidays(name, subdiv=part or None, years=years)


def _codes() -> dict[str, str]:
    """Of countries by their English names, in small letters without blanks."""
    from holidays.registry import COUNTRIES

    return {name.lower(): code for name, code, *_ in COUNTRIES.values()}
