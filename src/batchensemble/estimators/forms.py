"""What a model's file may hold beside plain values: a closed table."""

import datetime as dt
import math
from collections.abc import Callable, Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from batchensemble.conformal import IntervalCalibration, SetCalibration
from batchensemble.data.columns import Column, Columns
from batchensemble.data.embedded import Bins, Codes
from batchensemble.data.encodings import Numbers, Words
from batchensemble.data.panels import Names, Panel
from batchensemble.data.series_encoder import SeriesEncoder
from batchensemble.data.table_encoder import EncodedColumn, TableEncoder
from batchensemble.estimators.spread import Spread
from batchensemble.modelfile.codec import Codec, Form, NotKept
from batchensemble.predictive import Transform
from batchensemble.training.history import History
from batchensemble.training.methods import METHOD_CLASSES

# A new class that estimators hold, of such fields as are kept: add it here.
OURS = (
    *METHOD_CLASSES,
    Bins,
    Codes,
    Column,
    Columns,
    EncodedColumn,
    IntervalCalibration,
    Names,
    Numbers,
    Panel,
    SeriesEncoder,
    SetCalibration,
    Spread,
    TableEncoder,
    Transform,
    Words,
)

LONGEST = 100
UNITS = ("s", "ms", "us", "ns")
PLAIN_DTYPES = {
    dtype.__name__: dtype
    for dtype in (
        *(nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.Int128),
        *(nw.UInt8, nw.UInt16, nw.UInt32, nw.UInt64, nw.UInt128),
        *(nw.Float32, nw.Float64, nw.Decimal, nw.Boolean, nw.String, nw.Categorical, nw.Binary),
        *(nw.Date, nw.Time, nw.Object, nw.Unknown),
    )
}


def _faithful(taken: Callable[[Any], Any], made: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Taken apart only if the same comes out again: a frequency's word may not say it all."""

    def checked(value: Any) -> Any:
        try:
            parts = taken(value)
            same = bool(made(parts) == value)
        except (TypeError, ValueError, KeyError, AttributeError, NotImplementedError) as error:
            raise NotKept(str(error)) from None
        if not same:
            raise NotKept("it does not come out the same")
        return parts

    return checked


def _short(text: Any, what: str = "text") -> str:
    """What pandas shall make sense of: long texts would keep it busy."""
    if not isinstance(text, str) or len(text) > LONGEST:
        raise ValueError(f"expected a {what} of at most {LONGEST} letters, got {text!r:.80}")
    return text


def _unit(word: Any) -> Any:
    if word not in UNITS:
        raise ValueError(f"expected a unit of time out of {UNITS}, got {word!r:.80}")
    return word


def _zone(times: Any) -> str | None:
    if times.tz is None:
        return None
    name = str(times.tz)
    try:
        pd.Timestamp(0, tz=_known_zone(name))
    except (ValueError, KeyError) as error:
        raise NotKept(f"its time zone is none that pandas finds by name: {error}") from None
    return name


def _known_zone(name: Any) -> str:
    if _short(name, "name of a time zone").startswith("dateutil/"):  # which may be any file
        raise ValueError(f"expected the name of a time zone, got {name!r:.80}")
    return str(name)


def _timestamp(parts: Any) -> Any:
    text, unit, zone = parts
    time = pd.Timestamp(_short(text))
    return (time if zone is None else time.tz_convert(_known_zone(zone))).as_unit(_unit(unit))


def _dates(parts: Any) -> Any:
    ticks, unit, zone, name = parts
    times = pd.DatetimeIndex(ticks.view(f"M8[{_unit(unit)}]"), name=name)
    return times if zone is None else times.tz_localize("UTC").tz_convert(_known_zone(zone))


def _index(parts: Any) -> Any:
    values, name = parts
    return pd.Index(values, name=name)


def _offset_parts(freq: Any) -> Any:
    """By its word, or made by hand: pd.DateOffset(months=2)."""
    if type(freq) is pd.DateOffset:
        return [freq.n, dict(freq.kwds)]
    return freq.freqstr


def _offset(parts: Any) -> Any:
    if isinstance(parts, str):
        return pd.tseries.frequencies.to_offset(_short(parts))
    n, steps = parts
    return pd.DateOffset(n, **{str(name): int(step) for name, step in steps.items()})


def _dtype_parts(dtype: Any) -> list[Any]:
    if isinstance(dtype, nw.Datetime):
        return ["Datetime", dtype.time_unit, dtype.time_zone]
    if isinstance(dtype, nw.Duration):
        return ["Duration", dtype.time_unit]
    if isinstance(dtype, nw.Enum):
        return ["Enum", list(dtype.categories)]
    return [type(dtype).__name__]


def _dtype(parts: Any) -> Any:
    name, *details = parts
    if name == "Datetime":
        _, zone = details
        if not isinstance(zone, str | None):
            raise ValueError(f"expected the name of a time zone, got {zone!r}")
        return nw.Datetime(*details)
    if name == "Duration":
        return nw.Duration(*details)
    if name == "Enum":
        return nw.Enum(*details)
    return PLAIN_DTYPES[name]()


def _history(parts: Any) -> History:
    losses, scores, best_epochs, ended, seconds = parts
    if {losses.dtype, scores.dtype} != {np.dtype(np.float64)}:
        raise ValueError(f"expected float64 in a history, got {losses.dtype} and {scores.dtype}")
    return History(losses.tolist(), scores.tolist(), best_epochs, ended, seconds)


def _timestamp_parts(time: Any) -> list[Any]:
    return [time.isoformat(), time.unit, _zone(time)]


FORMS = (
    Form("NA", type(pd.NA), lambda _: None, lambda _: pd.NA),
    Form("NaT", type(pd.NaT), lambda _: None, lambda _: pd.NaT),
    Form("date", dt.date, dt.date.isoformat, dt.date.fromisoformat),
    Form("datetime", dt.datetime, dt.datetime.isoformat, dt.datetime.fromisoformat),
    Form("timestamp", pd.Timestamp, _faithful(_timestamp_parts, _timestamp), _timestamp),
    Form("dates", pd.DatetimeIndex, lambda t: [t.asi8, t.unit, _zone(t), t.name], _dates),
    Form("index", pd.Index, lambda i: [i.to_numpy(), i.name], _index),
    Form("offset", pd.offsets.BaseOffset, _faithful(_offset_parts, _offset), _offset, exact=False),
    Form("dtype", nw.dtypes.DType, _faithful(_dtype_parts, _dtype), _dtype, exact=False),
    Form(
        "History",
        History,
        lambda h: [np.array(h.losses), np.array(h.scores), h.best_epochs, h.ended, h.seconds],
        _history,
    ),
)

CODEC = Codec(FORMS, OURS)


def shown(value: Any) -> Any:
    """For people, in JSON: what is not plain as Python writes it."""
    if isinstance(value, Mapping):
        return {str(name): shown(each) for name, each in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [shown(each) for each in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    return value if isinstance(value, float) and math.isfinite(value) else str(value)
