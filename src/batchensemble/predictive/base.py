"""What every predictive is: frozen rows of all members' predictions, and their uncertainty."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from batchensemble.predictive.checks import Array, check_array

CHUNK = 1 << 17  # float64 values per temporary array


class Uncertainty(NamedTuple):
    """Per row: total = aleatoric (noise) + epistemic (disagreement of the members)."""

    total: Array
    aleatoric: Array
    epistemic: Array


class Predictive(ABC):
    """Every member's prediction, row by row: arrays (samples, members, ...) that never change."""

    _by_row: ClassVar[tuple[str, ...]]

    def __len__(self) -> int:
        return len(getattr(self, self._by_row[0]))

    def __getitem__(self, rows: Any) -> Self:
        """The chosen rows (slice, index array, mask); an integer keeps its row as a row."""
        chosen = rows if isinstance(rows, slice) else np.atleast_1d(np.asarray(rows))
        if isinstance(rows, list | tuple) and not rows:  # which numpy takes for numbers
            chosen = slice(0)
        arrays = {name: getattr(self, name)[chosen] for name in self._by_row}
        return replace(self, **arrays)  # type: ignore[type-var]

    def __reduce__(self) -> Any:
        """Copies never change, either."""
        return type(self), tuple(getattr(self, one.name) for one in fields(self))  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} samples, {self.n_members} members)"

    @property
    def n_members(self) -> int:
        return int(getattr(self, self._by_row[0]).shape[1])

    @property
    @abstractmethod
    def total(self) -> Array: ...

    @property
    @abstractmethod
    def aleatoric(self) -> Array: ...

    @property
    @abstractmethod
    def epistemic(self) -> Array: ...

    def uncertainty(self) -> Uncertainty:
        """Total, aleatoric and epistemic, with one entry per row (and step)."""
        return Uncertainty(self.total, self.aleatoric, self.epistemic)

    def _freeze(self, **arrays: Array) -> None:
        for name, array in arrays.items():
            if 0 in array.shape[1:]:
                raise ValueError(
                    f"{name}: expected at least one member and no empty axis but the rows, got "
                    f"shape {array.shape}; give every axis its entries"
                )
            object.__setattr__(self, name, read_only(array))


class NumericPredictive(Predictive):
    """Of numbers: uncertainties are variances, one per row (and step)."""

    @property
    @abstractmethod
    def variance(self) -> Array: ...

    @property
    def total(self) -> Array:
        """The same as `variance`."""
        return self.variance

    @property
    def std(self) -> Array:
        """Square root of `variance`."""
        return np.sqrt(self.variance)


class MixturePredictive(NumericPredictive):
    """An equal-weight mixture of members, each with its mean and variance, (samples, members)."""

    if TYPE_CHECKING:

        @property
        def means(self) -> Array: ...

        @property
        def variances(self) -> Array: ...

    @property
    def mean(self) -> Array:
        """(samples,)."""
        return self.means[:, 0] + average(self._offsets, 1)

    @property
    def variance(self) -> Array:
        """(samples,) of the mixture: the members' noise and their disagreement."""
        return self.aleatoric + self.epistemic

    @property
    def aleatoric(self) -> Array:
        """(samples,) mean of the members' variances."""
        return average(self.variances, 1)

    @property
    def epistemic(self) -> Array:
        """(samples,) variance of the members' means; exactly 0 where they agree."""
        offsets = self._offsets
        return average(np.square(offsets - average(offsets, 1)[:, None]), 1)

    def _truths(self, y: ArrayLike) -> Array:
        """(samples,), of one for each or of one for all."""
        y = check_array("y", y)
        return check_array("y", np.full(len(self), y) if y.ndim == 0 else y, len(self))

    @property
    def _offsets(self) -> Array:
        """Of the means from the first member's, which lose no digits where members nearly agree."""
        return self.means - self.means[:, :1]


def chunks(n_rows: int, width: int) -> Iterator[slice]:
    """Slices of rows, so that a temporary (rows, width) stays small."""
    step = max(1, CHUNK // width)
    return (slice(start, start + step) for start in range(0, n_rows, step))


def read_only(array: Array) -> Array:
    """The same array, locked."""
    array.setflags(write=False)
    return array


def average(values: Array, axis: int | tuple[int, ...]) -> Array:
    """`values.mean(axis)`, bit for bit: for one row, numpy's takes twice as long."""
    total: Array = np.add.reduce(values, axis=axis)
    return total / (values.size // max(1, total.size))
