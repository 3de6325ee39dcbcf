"""Checks of what goes into a predictive or a metric; errors say how to fix it."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
Rng = np.random.Generator | int

LARGEST = 1e150  # its square is still a float64
UNREADABLE = (OverflowError, RuntimeError, TypeError, ValueError)  # what numpy says of others' data
MOST_DRAWN = 2**26  # values of all draws together: half a gigabyte


def check_array(name: str, value: ArrayLike, *axes: str | int, largest: float = LARGEST) -> Array:
    """A float64 copy of `value`, finite and of the expected shape; a number fixes an axis' length.

    Without `axes` every shape is welcome.
    """
    array = as_numbers(name, value)
    pairs = zip(axes, array.shape, strict=False)
    wrong = [axis for axis, n in pairs if axis != n and not isinstance(axis, str)]
    if axes and (wrong or array.ndim != len(axes)):
        expected = ", ".join(map(str, axes)) + ("," if len(axes) == 1 else "")
        cure = _cure_of_shape(name, array, axes)
        raise ValueError(f"{name}: expected shape ({expected}), got {array.shape}; {cure}")
    good = np.abs(array) <= largest  # also false for NaN
    if not good.all():
        raise ValueError(
            f"{name}: expected finite numbers of size at most {largest:g}, got {array[~good][0]} "
            f"({np.count_nonzero(~good)} such values); remove the rows or look where they come from"
        )
    return array


def _cure_of_shape(name: str, array: Array, axes: tuple[str | int, ...]) -> str:
    if array.ndim == 0 and not any(isinstance(axis, str) for axis in axes):
        shape = axes[0] if len(axes) == 1 else axes
        return f"to use one number everywhere, pass np.full({shape}, {name})"
    if array.ndim == len(axes) - 1 and axes[-1] == "classes":
        return "pass one column per class, also if there are only two"
    if array.ndim == len(axes) - 1 and axes[0] == "windows":
        return f"for one window, pass {name}[None]"
    if array.ndim == len(axes) - 1 > 0:
        return f"to add an axis of length 1, pass {name}[:, None]"
    if array.ndim == len(axes) + 1 and array.shape[-1] == 1:
        return f"to drop the last axis, pass {name}[..., 0]"
    return "check that the rows and axes match"


def as_numbers(name: str, value: ArrayLike) -> Array:
    if type(value) is np.ndarray and value.dtype.kind in "biuf":  # no time for more
        return np.array(value, dtype=np.float64)
    refuse_masked(name, value)
    try:
        given = np.asarray(value)
        cells = given.ravel().tolist() if given.dtype == object else []
        is_other = given.dtype.kind in "cmMSUT" or any(isinstance(c, str | bytes) for c in cells)
        array = None if is_other else np.array(given, dtype=np.float64)
    except UNREADABLE:  # tensors with gradients, texts, odd lengths
        array = None
    if array is None:
        raise ValueError(f"{name}: expected numbers, got {value!r:.80}; convert them")
    return array


def check_probabilities(name: str, value: ArrayLike, *axes: str | int) -> Array:
    """A float64 copy of `value`, non-negative and summing to 1 over the last axis."""
    array = check_array(name, value, *axes)
    sums = array.sum(axis=-1, keepdims=True)
    if array.size and (array.min() < 0 or np.abs(sums - 1).max() > 1e-3):
        raise ValueError(
            f"{name}: expected values >= 0 that sum to 1 over the last axis (classes), got values "
            f"from {array.min():g} with sums {sums.min():g} to {sums.max():g}; "
            "apply a softmax to logits first; for two classes pass both columns"
        )
    # Float32 sums are mended; sums that are 1 already keep their bits.
    return array if np.all(np.abs(sums - 1) < 1e-12) else array / sums


def refuse_masked(name: str, value: Any) -> None:
    """Numpy alone would bring the masked values back."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ValueError(
            f"{name}: expected a value for each row, got a masked array that hides "
            f"{np.ma.getmaskarray(value).sum()} of them; leave out those rows"
        )


def as_given(name: str, value: ArrayLike) -> NDArray[Any]:
    """An array, or one None if numpy cannot read it: tensors with gradients, odd lengths."""
    refuse_masked(name, value)
    try:
        return np.asarray(value)
    except UNREADABLE:
        return np.array(None)


def check_labels(name: str, value: ArrayLike, *, n_rows: int, n_classes: int) -> Labels:
    """An int64 copy of `value`: `n_rows` class indices in 0 .. n_classes - 1."""
    array = as_given(name, value)
    if array.shape != (n_rows,) or array.dtype.kind not in "iub":
        raise ValueError(
            f"{name}: expected {n_rows} integer class indices, shape ({n_rows},), got shape "
            f"{array.shape} of {array.dtype}; encode class names as their column in probabilities"
        )
    labels = array.astype(np.int64)
    if labels.size and (labels.min() < 0 or labels.max() >= n_classes):
        raise ValueError(
            f"{name}: expected class indices 0 to {n_classes - 1}, got {labels.min()} to "
            f"{labels.max()}; classes are counted from 0 in the order of probabilities' columns"
        )
    return labels


def check_coverage(coverage: float) -> float:
    """A share strictly between 0 and 1."""
    is_share = isinstance(coverage, Real) and 0 < coverage < 1
    if not is_share or 1 - (1 - float(coverage)) / 2 == 1:  # no float lies above the interval
        raise ValueError(
            f"coverage: expected one share strictly between 0 and 1, got {coverage!r}; "
            "for 90 % pass 0.9"
        )
    return float(coverage)


def check_levels(q: ArrayLike) -> Array:
    """A float64 copy of `q`: one probability, or several on one axis."""
    try:
        levels = as_numbers("q", q)
        given = np.ravel(np.asarray(q, dtype=object))
    except UNREADABLE:  # texts, or lists of different lengths
        levels = given = np.array([])
    is_number = levels.ndim < 2 and not any(isinstance(q, bool | np.bool_) for q in given)
    if not is_number or levels.size == 0 or not np.all((levels >= 0) & (levels <= 1)):
        raise ValueError(
            f"q: expected one probability or a list of them, each in [0, 1], got {q!r}; "
            "for the 90 % quantile pass 0.9"
        )
    return levels


def check_draws(n: int, rng: Rng, n_values: int) -> np.random.Generator:
    """The generator for n draws of so many values each."""
    if isinstance(n, bool) or not isinstance(n, Integral) or n < 1:
        raise ValueError(f"expected n to be a whole number of draws above 0, got {n!r:.80}")
    if int(n) * n_values > MOST_DRAWN:
        raise ValueError(
            f"{n:,} draws of {n_values:,} values do not fit into memory: at most {MOST_DRAWN:,} "
            "values at a time; ask for fewer draws, or for fewer rows at a time"
        )
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"rng: expected a numpy Generator or a seed, a whole number of at least 0, got "
            f"{rng!r:.80}; pass 0, for example"
        ) from error


def central_levels(coverage: float) -> list[float]:
    """The levels with `coverage` between them and as much below as above."""
    tail = (1 - check_coverage(coverage)) / 2
    return [tail, 1 - tail]
