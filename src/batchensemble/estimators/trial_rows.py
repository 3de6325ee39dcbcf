"""Rows that the encoder of a loaded model is tried on."""

from typing import Any

import numpy as np

from batchensemble.data.columns import MISSING, Column, Columns, Kind
from batchensemble.data.table_encoder import TableEncoder
from batchensemble.estimators.requirements import require

TYPICAL: dict[Kind, Any] = {
    "number": 1.0,
    "boolean": 1.0,
    "category": "a",
    "date": np.datetime64("2024-02-29T12:00", "us"),
}
EXTREME: dict[Kind, Any] = {
    "number": -1e300,
    "boolean": 0.0,
    "category": "",
    "date": np.datetime64("9999-12-31T23:59", "us"),
}


def tried_columns(encoder: TableEncoder) -> Columns:
    """Rows that it encodes, each as it would alone: no array is taken for one of another shape."""
    columns = _trial_columns(encoder)
    encoded = encoder.transform(columns)
    require(np.isfinite(encoded).all(), "an encoder that gives finite numbers")
    alone = [encoder.transform(columns.take(np.array([i]))) for i in range(columns.n_rows)]
    same = np.concatenate(alone)
    require(same.shape == encoded.shape and np.allclose(same, encoded), "an encoder of single rows")
    return columns


def _trial_columns(encoder: TableEncoder) -> Columns:
    """A row without values, a typical one and an extreme one."""
    columns = []
    for name, kind in zip(encoder.names_, encoder.kinds_, strict=True):
        dtype = object if kind == "category" else None
        values = np.array([MISSING[kind], TYPICAL[kind], EXTREME[kind]], dtype)
        columns.append(Column(name, kind, values))
    zoned = getattr(encoder, "zoned_", [False] * len(columns))  # files of 0.2 do not say
    require(type(zoned) is list and len(zoned) == len(columns), "which dates have zones")
    for column, is_zoned in zip(columns, zoned, strict=True):
        fits = type(is_zoned) is bool and (column.kind == "date" or not is_zoned)
        require(fits, "which dates have zones")
    spans = getattr(encoder, "spans_", [])  # older files do not say
    is_known = type(spans) is list and all(type(one) is bool for one in spans)
    require(is_known, "which numbers were durations")
    columns = [c._replace(is_zoned=z) for c, z in zip(columns, zoned, strict=True)]
    return Columns(tuple(columns))
