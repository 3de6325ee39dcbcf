"""What is learned from columns, as plain numbers and texts: by scikit-learn; it is applied here.

So an encoder can be saved without pickle, and exported to other programs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from batchensemble.data.vocabulary import Spelling

SATURATION = 4.0  # how far out "robust" numbers can be
SHARED = "infrequent_sklearn"  # the output of rare words, named as scikit-learn names it
EDGE = 1e-7  # probabilities closer to 0 or 1 are beyond the quantiles
SHARE_OF_STEP = 1e-3  # from one quantile to the next


@dataclass(frozen=True, eq=False)
class Numbers:
    """Fills gaps, adds indicators of gaps, and scales the columns `scaled`.

    fill        (columns,), for gaps
    gaps        the columns that have an indicator
    scaled      the columns that are scaled, by (x - center) / spread
    quantiles   (levels, scaled), empty unless numbers go through them to a normal distribution
    """

    fill: NDArray[np.float64]
    gaps: NDArray[np.int64]
    scaled: NDArray[np.int64]
    center: NDArray[np.float64]
    spread: NDArray[np.float64]
    quantiles: NDArray[np.float64]
    saturates: bool

    @classmethod
    def learn(
        cls,
        numbers: NDArray[np.float64],
        scaled: NDArray[np.int64],
        scaling: str,
        random_state: int | None,
    ) -> Self:
        """numbers (rows, columns): no column is all NaN."""
        fill, gaps = np.zeros(0), np.zeros(0, np.int64)
        if numbers.shape[1]:
            from sklearn.impute import SimpleImputer  # what fit alone needs takes long to import

            imputer = SimpleImputer(strategy="median", add_indicator=True).fit(numbers)
            fill, gaps = imputer.statistics_, np.asarray(imputer.indicator_.features_, np.int64)
        scales = _scales(without_gaps(numbers, fill)[:, scaled], scaling, random_state)
        return cls(fill, gaps, scaled, *scales, saturates=scaling == "robust")

    def apply(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """(rows, columns) -> (rows, columns + indicators)."""
        if not numbers.shape[1]:
            return numbers
        filled = without_gaps(numbers, self.fill)
        if len(self.scaled):
            filled[:, self.scaled] = self._scale(filled[:, self.scaled])
        if not len(self.gaps):
            return filled
        return np.concatenate([filled, np.isnan(numbers[:, self.gaps])], axis=1)

    def _scale(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        if len(self.quantiles):
            columns = zip(numbers.T, self.quantiles.T, strict=True)
            return np.column_stack([_through_quantiles(*pair) for pair in columns])
        scaled = (numbers - self.center) / self.spread
        return scaled / np.hypot(1.0, scaled / SATURATION) if self.saturates else scaled


def without_gaps(numbers: NDArray[np.float64], fill: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isnan(numbers), fill, numbers)


def _scales(
    numbers: NDArray[np.float64], scaling: str, random_state: int | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """-> center, spread and quantiles of the columns."""
    from sklearn.preprocessing import (
        MinMaxScaler,
        QuantileTransformer,
        RobustScaler,
        StandardScaler,
    )

    n_rows, n = numbers.shape
    center, spread, quantiles = np.zeros(n), np.ones(n), np.zeros((0, n))
    if n == 0:
        pass
    elif scaling == "quantile":
        n_quantiles = min(n_rows, max(10, min(n_rows // 30, 1000)))
        how = {"subsample": 10_000, "random_state": random_state}
        quantiles = QuantileTransformer(n_quantiles=n_quantiles, **how).fit(numbers).quantiles_
    elif scaling == "minmax":
        extremes = MinMaxScaler().fit(numbers)
        center, spread = extremes.data_min_, 1 / extremes.scale_
    elif scaling == "standard":
        moments = StandardScaler().fit(numbers)
        center, spread = moments.mean_, moments.scale_
    else:
        quartiles = RobustScaler(unit_variance=True).fit(numbers)
        center, spread = quartiles.center_, quartiles.scale_
    return center, spread, quantiles


def _through_quantiles(
    x: NDArray[np.float64], quantiles: NDArray[np.float64]
) -> NDArray[np.float64]:
    """To a normal distribution; a value that many rows have goes to the middle of its levels."""
    levels = np.linspace(0, 1, len(quantiles))
    from_below = np.interp(x, quantiles, levels)
    from_above = -np.interp(-x, -quantiles[::-1], -levels[::-1])
    probability = 0.5 * (from_below + from_above)
    first, last = ends(quantiles)
    probability[x >= last] = 1
    probability[x <= first] = 0
    edge = EDGE - np.spacing(1)
    normal: NDArray[np.float64] = ndtri(np.clip(probability, edge, 1 - edge))
    return normal


def ends(quantiles: NDArray[np.float64]) -> tuple[float, float]:
    """Numbers up to the first and from the second on are at an end of the quantiles.

    A little inside them, since float32 rounds, but much nearer than the next quantile.
    """
    low, high = quantiles[0], quantiles[-1]
    inner = quantiles[(quantiles > low) & (quantiles < high)]
    room = SHARE_OF_STEP * (inner.min(initial=high) - low)
    first = low + min(EDGE * abs(low), room)
    room = SHARE_OF_STEP * (high - inner.max(initial=low))
    return first, high - min(EDGE * abs(high), room)


@dataclass(frozen=True, eq=False)
class Words:
    """One-hot outputs of category columns.

    categories  of each column, those with an output of their own, in order
    rare        of each column, those that share its last output
    """

    categories: tuple[tuple[str | None, ...], ...]
    rare: tuple[tuple[str | None, ...], ...]

    @classmethod
    def learn(
        cls, texts: NDArray[Any], known: Sequence[Sequence[str | None]] | None, most: int | None
    ) -> Self:
        """texts (rows, columns) of str and None; `known` are the categories, None to learn them."""
        if not texts.shape[1]:
            return cls((), ())
        from sklearn.preprocessing import OneHotEncoder

        encoder = OneHotEncoder(
            categories="auto" if known is None else [np.array(k, dtype=object) for k in known],
            max_categories=most,
            handle_unknown="infrequent_if_exist",
        ).fit(texts)
        infrequent = getattr(encoder, "infrequent_categories_", [None] * texts.shape[1])
        rare = tuple(() if words is None else tuple(words.tolist()) for words in infrequent)
        categories = tuple(
            tuple(word for word in words.tolist() if word not in few)
            for words, few in zip(encoder.categories_, rare, strict=True)
        )
        return cls(categories, rare)

    @cached_property
    def spellings(self) -> list[Spelling]:
        """Of each column."""
        return [
            Spelling(words + few) for words, few in zip(self.categories, self.rare, strict=True)
        ]

    @property
    def widths(self) -> list[int]:
        """How many outputs each column has."""
        return [
            len(words) + bool(few) for words, few in zip(self.categories, self.rare, strict=True)
        ]

    def names(self, columns: Sequence[str]) -> list[list[str]]:
        """Of each column's outputs."""
        return [
            [f"{column}_{word}" for word in words] + [f"{column}_{SHARED}"] * bool(few)
            for column, words, few in zip(columns, self.categories, self.rare, strict=True)
        ]

    def apply(self, texts: NDArray[Any]) -> NDArray[np.float32]:
        """(rows, columns) -> (rows, outputs); an unknown word is rare, or all zeros."""
        n_outputs, of_columns = self._places
        # The last output, -1, is for unknown words where none is rare.
        rows, outputs = np.arange(len(texts)), np.zeros((len(texts), n_outputs + 1), np.float32)
        for column, (place, unknown) in zip(texts.T, of_columns, strict=True):
            outputs[rows, [place.get(word, unknown) for word in column]] = 1
        return outputs[:, :-1]

    @cached_property
    def _places(self) -> tuple[int, list[tuple[dict[str | None, int], int]]]:
        """The number of outputs; of each column, the output of each word and of unknown ones."""
        of_columns, end = [], 0
        for words, few in zip(self.categories, self.rare, strict=True):
            place = {word: end + i for i, word in enumerate(words)}
            end += len(words) + bool(few)
            of_columns.append((place, end - 1 if few else -1))
        return end, of_columns
