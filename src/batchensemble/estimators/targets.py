"""Targets, weights and groups as they come, checked: one for each row."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import _check_sample_weight, assert_all_finite, column_or_1d

from batchensemble.conformal import read_groups
from batchensemble.data import date_texts
from batchensemble.data.columns import MOST_EXACT, Column, Columns
from batchensemble.data.scalars import array_of, is_missing
from batchensemble.data.sparse_matrices import dense
from batchensemble.data.table_encoder import TableEncoder
from batchensemble.words import one_of


def read_target(y: Any, n_rows: int) -> NDArray[Any]:
    """One value a row, without gaps."""
    if isinstance(y, np.ma.MaskedArray):  # numpy alone would bring the masked values back
        mask, y = np.ma.getmaskarray(y), y.data.astype(object)
        y[mask] = None
    # Not a plain asarray of a list: it would turn [1, "a"] into texts.
    values = array_of(y, "y", object if isinstance(y, list | tuple) else None)
    if values.ndim == 0:
        raise ValueError(f"expected one target per row, got {type(y).__name__} {y!r:.80}")
    if values.ndim == 2 and values.shape[1] > 1:
        raise ValueError(
            f"y should be a 1d array, got {values.shape[1]} columns; for several numbers use "
            "JointRegressor, for several classes MultiOutputClassifier of sklearn.multioutput"
        )
    if values.dtype.kind == "c":
        raise ValueError(
            f"Complex data not supported, but y holds {values.flat[0]}; pass its real part, its "
            "imaginary part or its size"
        )
    column: NDArray[Any] = column_or_1d(values, warn=True)
    if column.dtype == object and len(column) and all(isinstance(v, Decimal) for v in column):
        column = _numbers(column)
    elif column.dtype == object and _are_alike(column):
        column = _as_one_type(column.tolist())
    if len(column) != n_rows:
        raise ValueError(
            f"expected as many targets as rows, got inconsistent numbers of samples: "
            f"{n_rows} rows in X and {len(column)} values in y"
        )
    if column.dtype.kind == "f":
        with np.errstate(invalid="ignore", over="ignore"):  # it adds all values up first
            assert_all_finite(column, input_name="y")
    missing = [row for row, value in enumerate(column) if is_missing(value)]
    if missing:
        raise ValueError(
            f"expected a target in every row, got a missing value (NaN or None) in row "
            f"{missing[0]} and {len(missing) - 1} more; drop these rows"
        )
    return column


def read_targets(
    Y: Any, n_rows: int, known: Sequence[str] | None = None
) -> dict[str, NDArray[Any]]:
    """Several targets by name, each with one value a row.

    Those without names are y0, y1, ..., or have the names that are `known` since fit.
    """
    if sparse.issparse(Y):
        Y = dense(Y)
    if hasattr(Y, "columns"):
        names = list(getattr(Y, "column_names", Y.columns))  # a Table of pyarrow has both
        if len({*names}) < len(names):
            raise ValueError(f"expected different names of targets, got {names}; rename them")
        columns = [Y[name] for name in names]
    else:
        # Not a plain asarray of a list: it would turn [1, "a"] into texts.
        table = Y if isinstance(Y, np.ndarray) else array_of(Y, "Y", object)
        if table.ndim != 2:
            raise ValueError(
                f"expected targets of shape (rows, targets), got {table.shape}; for one target use "
                "Regressor"
            )
        columns = list(table.T)
    if known is not None and len(columns) != len(known):
        raise ValueError(
            f"expected {len(known)} targets as in fit, {known}, got {len(columns)} columns"
        )
    if len(columns) < 2:
        raise ValueError(f"expected several targets, got {len(columns)}; for one use Regressor")
    if not hasattr(Y, "columns") or not all(isinstance(name, str) for name in names):
        names = list(known or [f"y{i}" for i in range(len(columns))])
    if known is not None and names != list(known):
        raise ValueError(
            f"expected the targets of fit, {known}, got {names}; select them in that order"
        )
    targets = {}
    for name, column in zip(names, columns, strict=True):
        with about_target(name):
            targets[name] = read_target(column, n_rows)
    return targets


@contextmanager
def about_target(name: str) -> Iterator[None]:
    """Say which of several targets an error is about."""
    try:
        yield
    except ValueError as error:
        if type(error) is not ValueError:  # of parameters, or a training that diverged
            raise
        raise ValueError(f"target {name!r}: {error}") from None


def check_weight(sample_weight: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    """One finite number of at least 0 for each row."""
    given = array_of(sample_weight, "sample_weight")
    numbers = (Real, Decimal, np.bool_, type(None), type(pd.NA))
    odd = [] if given.dtype.kind in "biuf" else given.ravel().tolist()
    if given.dtype == object:
        odd = [value for value in odd if not isinstance(value, numbers) or _is_past_floats(value)]
        gaps = np.array([is_missing(value) for value in given.ravel()]).reshape(given.shape)
        given = given if odd else np.where(gaps, np.nan, given)
    if given.ndim == 0:
        raise ValueError(
            f"expected sample_weight to be numbers, one for each of {n_rows} rows, got "
            f"the one number {given}; omit it: equal weights need none"
        )
    if odd:
        raise ValueError(
            f"expected sample_weight to be numbers, one for each of {n_rows} rows, got "
            f"{given.dtype} values such as {odd[:1]}; convert them"
        )
    with np.errstate(invalid="ignore", over="ignore"):  # it adds all values up first
        weight: NDArray[np.float64] = _check_sample_weight(
            given, np.empty((n_rows, 1)), ensure_non_negative=True
        )
    return weight


def _is_past_floats(value: Any) -> bool:
    return isinstance(value, int) and abs(value) > 1e300


def read_weight(sample_weight: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    """Weights of mean 1 over the rows that count."""
    weight = check_weight(sample_weight, n_rows)
    if not weight.any():
        raise ValueError("expected a sample_weight above zero for some row, got only zeros")
    weight = weight / weight.max()
    scaled: NDArray[np.float64] = weight / weight[weight > 0].mean()
    return scaled


def read_censored(censored: Any, n_rows: int) -> NDArray[np.bool_] | None:
    """Which targets are lower bounds; None if none is."""
    if censored is None:
        return None
    mask = array_of(censored, "censored")
    if mask.shape != (n_rows,):
        raise ValueError(
            f"expected censored to be True or False for each of {n_rows} rows, got an array of "
            f"shape {mask.shape}"
        )
    odd = [value for value in mask.tolist() if not (isinstance(value, Real) and value in (0, 1))]
    if odd:
        raise ValueError(
            "expected censored to be True (the true value is at least y) or False (it is y), got "
            f"{odd[0]!r}"
        )
    return some_censored(mask.astype(bool))


def some_censored(mask: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
    """The mask, None if no target is censored; raises if every one is."""
    if mask.all():
        raise ValueError(
            "every target is censored, so nothing says how large they are; censored is True where "
            "the true value is unknown, not where an event was seen"
        )
    return mask if mask.any() else None


def group_labels(columns: Columns, groups: Any, encoder: TableEncoder) -> NDArray[Any]:
    """One for each row: those given, or the values of the column with that name.

    They are of the kind that the column had in fit, and words are those of fit, however these rows
    alone would be read.
    """
    if not isinstance(groups, str):
        return read_groups(groups, columns.n_rows)
    at = columns.names.index(one_of(groups, columns.names, "the column of groups"))
    form, column = encoder.date_formats_.get(groups), columns[at]
    if form is not None and column.kind == "date":  # texts that are dates are groups by their texts
        column = Column(groups, "category", date_texts.written(column.values, form))
    column = column.as_kind(encoder.kinds_[at] if form is None else "category")
    column.check_told_apart()
    values, spelling = column.values, encoder.spellings().get(at)
    if spelling is not None:
        values = np.array([*map(spelling, values)], dtype=object)
    is_word = values.dtype.kind in "OM"
    return read_groups(values.astype(str) if is_word else values, columns.n_rows)


def _as_one_type(values: list[Any]) -> NDArray[Any]:
    array = np.array(values)
    for before, after in zip(values, array.tolist(), strict=True):
        if before != after and before == before:  # not NaN
            raise ValueError(
                f"the targets mix types: {before} would become {after}; make all of them strings, "
                "or whole numbers of at most 15 digits"
            )
    return array


def _numbers(decimals: NDArray[Any]) -> NDArray[Any]:
    """Floats, or whole numbers where floats would make one class of several."""
    floats = decimals.astype(np.float64)
    are_whole = np.isfinite(floats).all() and all(one == round(one) for one in decimals)
    if are_whole and np.abs(floats).max() >= MOST_EXACT and len({*floats}) < len({*decimals}):
        return _as_one_type([round(one) for one in decimals])
    return floats


def _are_alike(values: NDArray[Any]) -> bool:
    """Whether Python objects are all numbers, or all texts, so that an array can hold them."""
    kinds = (Real, np.number, np.bool_), (str,)
    return any(all(isinstance(value, kind) for value in values) for kind in kinds)
