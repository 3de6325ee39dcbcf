"""A guarantee for each group of rows instead of one for all together (Mondrian)."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from batchensemble.conformal.ranks import conformal_quantile, fewest_rows
from batchensemble.data.columns import MOST_EXACT
from batchensemble.data.scalars import array_of, category_text, is_missing, microseconds, seconds
from batchensemble.predictive import Array

MOST_NAMED = 5
GAP, FORMER_GAPS = "None", ("nan", "<NA>", "NaT")  # labels of rows without one; those of old files


def read_groups(groups: Any, n_rows: int, name: str = "groups") -> NDArray[Any]:
    """A copy, one label for each row: texts as texts, other labels as numbers or texts.

    Arrays of dates without a zone and of durations name groups as a column of them does.
    """
    is_listed = isinstance(groups, list | tuple) and all(map(_is_word_or_gap, groups))
    labels = array_of(groups, name, object if is_listed else None)  # numpy would spell out gaps
    if labels.dtype.kind == "M":
        labels = microseconds(name, labels).astype(str)
    elif labels.dtype.kind == "m":
        labels = seconds(name, labels)
    if labels.dtype == object and labels.ndim == 1:  # not by astype, which unpacks tuples
        kinds = {_kind(label) for label in labels}
        numbers = np.array(labels.tolist()) if len(kinds) == 1 and None not in kinds else labels
        is_read = numbers.dtype != object  # integers of any size may not be
        labels = numbers if is_read else np.array([_word(label) for label in labels])
    if labels.shape != (n_rows,) or labels.dtype.kind not in "biufUS":
        raise ValueError(
            f"{name}: expected one label for each of {n_rows} rows, got {labels.dtype} of shape "
            f"{labels.shape}; pass numbers or texts, such as a column of X"
        )
    if labels.dtype.kind == "f" and np.nanmax(np.abs(labels), initial=0) >= MOST_EXACT:
        _refuse_long(groups, name)
    return labels.copy()


def _refuse_long(groups: Any, name: str) -> None:
    """Whole numbers of which others, such as gaps, have made floats."""
    for one in groups:
        if isinstance(one, int | np.integer) and abs(int(one)) >= MOST_EXACT:
            raise ValueError(
                f"{name}: expected words, or beside missing labels numbers of at most 15 digits, "
                f"got {one}; convert them to texts"
            )


def _is_word_or_gap(label: Any) -> bool:
    return isinstance(label, str) or is_missing(label)


def _word(label: Any) -> str:
    """Of a label that is no number; missing ones have one name, as in a column of X."""
    return GAP if is_missing(label) else str(label)


def _kind(label: Any) -> str | None:
    """Of a single boolean or number; None for any other label."""
    if isinstance(label, bool | np.bool_):
        return "boolean"
    return "number" if isinstance(label, int | float | np.integer | np.floating) else None


def quantiles_by_group(
    scores: Array,
    coverage: float,
    *,
    groups: NDArray[Any],
    of: ArrayLike,
    what: str = "group",
    quantile: Callable[[Array, float], Array] = conformal_quantile,
) -> Array:
    """For each label in `of`, (m,) -> (m, ...), the quantile of the scores of its group alone."""
    labels, places = np.unique(_as_in(groups, np.asarray(of)), return_inverse=True)
    check_enough(groups, coverage, labels.tolist(), what)
    limits = [quantile(scores[_are(groups, one)], coverage) for one in labels]
    return np.array(limits)[places.ravel()]


def _as_in(groups: NDArray[Any], labels: NDArray[Any]) -> NDArray[Any]:
    """Labels as those groups are written that are texts: numbers among words, and missing ones."""
    if groups.dtype.kind != "U" or labels.dtype.kind == "S":
        return labels
    if labels.dtype.kind != "U":
        return np.array([str(category_text(label) or math.nan) for label in labels.tolist()])
    former = [name for name in FORMER_GAPS if name in groups and GAP not in groups]
    return np.where(labels == GAP, former[0], labels) if former else labels


def each_group(groups: NDArray[Any]) -> Iterator[NDArray[np.bool_]]:
    """Which rows belong to a group, for one group after the other."""
    for label in np.unique(groups):
        yield _are(groups, label)


def check_enough(
    groups: NDArray[Any], coverage: float, labels: Sequence[Any] | None = None, what: str = "group"
) -> None:
    """Refuse groups with too few rows for a guarantee of their own."""
    known, counts = np.unique(groups, return_counts=True)
    rows = dict(zip(map(_key, known.tolist()), counts.tolist(), strict=True))
    asked = [*map(_key, labels or rows)]
    unknown = [one for one in asked if one not in rows]
    if unknown and what == "group":
        some, others = (", ".join(map(repr, [*each][:MOST_NAMED])) for each in (rows, unknown))
        raise ValueError(
            f"expected groups of the calibration rows, such as {some}, got {others}; pass "
            "labels of the same type, or calibrate with rows of these groups, too"
        )
    need = fewest_rows(coverage)
    few = {one: rows.get(one, 0) for one in asked if rows.get(one, 0) < need}
    if few:
        some = ", ".join(f"{one!r} ({n})" for one, n in list(few.items())[:MOST_NAMED])
        raise ValueError(
            f"expected at least {need} calibration rows of every {what} for a coverage of "
            f"{coverage:g}, got fewer of {some}; calibrate with more rows, or ask for less coverage"
        )


def _are(groups: NDArray[Any], one: Any) -> NDArray[np.bool_]:
    """Which labels are this one; NaN, a missing number, is a label, too."""
    same: NDArray[np.bool_] = groups == one if one == one else groups != groups
    return same


def _key(label: Any) -> Any:
    """The same object for every NaN, so that a dict finds it."""
    return label if label == label else math.nan
