"""Columns of a file as the encoders of a model know them, whatever types the file has."""

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.data.columns import Kind
from batchensemble.data.date_columns import not_durations
from batchensemble.data.durations import durations_in, seconds_of, spans_of
from batchensemble.data.file_notation import Usual
from batchensemble.data.file_parts import refuse_zones
from batchensemble.data.notation import Notation
from batchensemble.data.reading import TableFile
from batchensemble.data.table_encoder import TableEncoder
from batchensemble.data.telling import tell
from batchensemble.data.text import read_as
from batchensemble.data.units import numbers_of_fit
from batchensemble.estimators.answers import zones_of


def usual_numbers(encoder: TableEncoder) -> dict[str, NDArray[np.float64]]:
    """The numbers of fit by column, or quantiles of them."""
    return {encoder.names_[j]: numbers for j, numbers in numbers_of_fit(encoder)}


def words_like_gaps(encoders: Iterable[TableEncoder]) -> dict[str, Collection[str]]:
    """By column, the categories of fit that files write for no value, such as NA for Namibia."""
    return {
        encoder.names_[j]: spelling.like_gaps
        for encoder in encoders
        for j, spelling in encoder.spellings().items()
        if spelling.like_gaps
    }


def read_typed(
    rows: pd.DataFrame,
    file: TableFile,
    kinds: Mapping[str, Kind],
    notations: Mapping[str, Notation],
    encoders: Collection[TableEncoder],
    usual: Usual = MappingProxyType({}),
) -> pd.DataFrame:
    """The columns of `kinds`; where fit had durations, texts such as 08:30 are some."""
    spans = {
        name: seconds
        for encoder in encoders
        for name in spans_of(encoder) & {*kinds}
        if (seconds := seconds_of(rows[name], file.name, file.unit)) is not None
    }
    others = {name: kind for name, kind in kinds.items() if name not in spans}
    usual = dict(usual)
    for encoder in encoders:
        usual |= usual_numbers(encoder)
    read = read_as(rows, others, file, notations, usual, kept=words_like_gaps(encoders))
    for encoder in encoders:
        _check_types(encoder, rows, read, file)
    return read.assign(**spans)[[*kinds]]


def _check_types(
    encoder: TableEncoder, rows: pd.DataFrame, read: pd.DataFrame, file: TableFile
) -> None:
    """Zones of dates, as far as they are there, and durations, which reading makes seconds of."""
    for name, had_zones in zones_of(encoder).items():
        if name in rows:
            refuse_zones(rows[name], file, had_zones=had_zones, place="in fit")
    found, spans = durations_in(rows, file), vars(encoder).get("spans_", ())
    for name, kind, was_span in zip(encoder.names_, encoder.kinds_, spans, strict=False):
        if name in found and kind == "number" and not was_span:
            raise ValueError(f"{file.name}: {not_durations(name)}")
        if was_span and name not in found and name in read and read[name].notna().any():
            tell(f"column {name!r}: fit had durations, so these numbers are taken as seconds", 4)
