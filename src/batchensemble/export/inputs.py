"""A user's data as the arrays that an exported model is asked with."""

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from batchensemble.data.columns import Column, Columns, Kind
from batchensemble.data.table_encoder import TableEncoder
from batchensemble.estimators.forecaster import Forecaster
from batchensemble.export.interface import GAP, Model, column_slots, inputs_of, outputs_of
from batchensemble.training.models import path_noise

Inputs = dict[str, NDArray[Any]]


def onnx_inputs(
    model: Model,
    data: Any = None,
    *,
    h: int | None = None,
    X_df: Any = None,
    n_paths: int | None = None,
    seed: int | None = None,
) -> Inputs:
    """Arrays by name, for an `onnxruntime.InferenceSession` of the exported model.

    For tables, `data` is what `predict` takes. For a forecaster it is the `df` of `predict` (None:
    the series of fit), and h, X_df, n_paths and seed mean what they mean in `simulate`: the noise
    is that of `predict_dist`.

    Examples
    --------
    >>> session.run(["mean", "std"], onnx_inputs(model, X))  # doctest: +SKIP
    """
    check_is_fitted(model, "model_")
    if isinstance(model, Forecaster):
        return _series(model, data, h, X_df, n_paths, seed)
    given = {"h": h, "X_df": X_df, "n_paths": n_paths, "seed": seed}
    if odd := [name for name, value in given.items() if value is not None]:
        raise ValueError(
            f"expected only a table for a {type(model).__name__}, got {', '.join(odd)}; "
            "omit them: they are for a Forecaster"
        )
    return column_values(model.model_.encoder, model.read(data), outputs_of(model))


def column_values(encoder: TableEncoder, columns: Columns, outputs: Collection[str]) -> Inputs:
    """(rows, 1) for each column."""
    slots = column_slots(encoder, outputs)
    return {
        slot.name: _values(column, kind, slot.dtype, is_empty)[:, None]
        for slot, column, kind, is_empty in zip(
            slots, encoder.as_at_fit(columns), encoder.kinds_, encoder.empty_, strict=True
        )
    }


def _values(column: Column, kind: Kind, dtype: type, is_empty: bool) -> NDArray[Any]:
    if is_empty:  # in fit: now it may hold anything of any kind, and does not matter
        return np.full(len(column.values), GAP if kind == "category" else 0, dtype)
    column = column.as_kind(kind)
    if kind == "category" and GAP in column.values:
        raise ValueError(
            f"column {column.name!r}: the word {GAP!r} stands for a gap in an exported model; "
            "rename that category"
        )
    values = np.where(column.missing, GAP, column.values) if kind == "category" else column.values
    return values.astype(dtype)


def _series(
    model: Forecaster, df: Any, h: int | None, X_df: Any, n_paths: int | None, seed: int | None
) -> Inputs:
    forecast = model.forecast(h, n_paths=n_paths, X_df=X_df, df=df)
    panel, ahead, fitted = forecast.panel, forecast.ahead, forecast.model
    n_series, reach = len(panel), fitted.reach
    encoded = ahead.encoded
    by_series = encoded.covariates.reshape(n_series, reach + ahead.h, -1)
    is_direct = fitted.kind == "direct"
    noise = path_noise(
        fitted.seeds(ahead, seed),
        fitted.paths_per_member(forecast.n_paths),
        fitted.ensemble.members.n_members,
        ahead.h,
    )
    arrays = {
        "values": encoded.raw.reshape(n_series, -1)[:, :reach],
        "observed": by_series[:, :reach, 0] if is_direct else None,
        "location": encoded.location[ahead.starts],
        "scale": encoded.scale[ahead.starts],
        "lowest": encoded.lowest[ahead.starts],
        "effect": encoded.effect.reshape(n_series, -1),
        "covariates": by_series[:, reach:, 1:] if is_direct else by_series,
        "noise": noise.numpy(),
    }
    return {
        slot.name: np.ascontiguousarray(arrays[slot.name], slot.dtype) for slot in inputs_of(model)
    }
