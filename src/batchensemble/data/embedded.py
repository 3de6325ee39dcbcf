"""What embeddings read in place of values: positions of numbers in bins, and numbers of words."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from batchensemble.data.vocabulary import Spelling

BINNED_ROWS = 100_000  # so many are enough to find bins
FARTHEST = 1e300  # ranges
# Bins beyond the numbers of fit. On rows beyond them CRPS and log-loss were 6 % lower than with 0,
# and than with 16 by 2 % (`benchmarks/beyond.py`).
REACH = 4
FEWEST_OF_A_WORD = 3  # rows with a word, from which on it has a number of its own


@dataclass(frozen=True, eq=False)
class Bins:
    """Positions of numbers among quantiles: 2.25 is a quarter of the way into the third bin.

    columns  the columns that have a position
    edges    of each of them, where bins begin and the last one ends, rising
    reach    how many bins as wide as the outermost positions go on beyond the edges
    """

    columns: NDArray[np.int64]
    edges: tuple[NDArray[np.float64], ...]
    reach: int = 0  # of files that do not say

    @classmethod
    def learn(
        cls,
        numbers: NDArray[np.float64],
        columns: Sequence[int],
        most: int,
        random_state: int | None,
    ) -> Self:
        """At most so many bins a column; one that does not vary has no position."""
        if len(numbers) > BINNED_ROWS:
            some = np.random.default_rng(random_state).choice(len(numbers), BINNED_ROWS, False)
            numbers = numbers[some]
        edges = {j: _edges(numbers[:, j], most) for j in columns}
        kept = [j for j in columns if len(edges[j]) > 1]
        return cls(np.array(kept, np.int64), tuple(edges[j] for j in kept), REACH)

    @property
    def n_bins(self) -> int:
        """Of the column with the most."""
        return max((len(edges) - 1 for edges in self.edges), default=0)

    def apply(self, numbers: NDArray[np.float64]) -> NDArray[np.float32]:
        """(rows, columns) -> (rows, those with a position)."""
        positions = np.empty((len(numbers), len(self.edges)), np.float32)
        for i, (column, ladder) in enumerate(
            zip(self.columns.tolist(), self._ladders, strict=True)
        ):
            positions[:, i] = np.interp(numbers[:, column], *ladder)
        return positions

    @cached_property
    def _ladders(self) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Of each column, edges and their positions, with those at its reach."""
        ladders = []
        for edges in self.edges:
            places = np.arange(len(edges), dtype=np.float64)
            if self.reach:
                first, last = (self.reach * (edges[i + 1] - edges[i]) for i in (0, -2))
                edges = np.array([edges[0] - first, *edges, edges[-1] + last])
                places = np.array([-self.reach, *places, places[-1] + self.reach])
            ladders.append((edges, places))
        return ladders

    def bins_beyond(self, positions: NDArray[np.float32]) -> NDArray[np.float64]:
        """(rows, those with a position) -> (rows,), how many bins outside all edges a row lies.

        The length of what its columns lie outside, each by at most `reach`.
        """
        outside = np.maximum(-positions, positions - self._lasts)
        lengths: NDArray[np.float64] = np.sqrt(
            np.square(np.maximum(outside, 0), dtype=np.float64).sum(1)
        )
        return lengths

    @cached_property
    def _lasts(self) -> NDArray[np.float32]:
        """The position of each column's last edge."""
        return np.array([len(edges) - 1 for edges in self.edges], np.float32)

    def beyond(self, numbers: NDArray[np.float64], flags: NDArray[np.bool_]) -> NDArray[np.float64]:
        """(rows, columns) -> (rows,), how far outside all edges the farthest number lies.

        In lengths from the first edge of its column to the last; 0 where all lie inside. The edges
        of `flags`, which have no position, are 0 and 1.
        """
        outside = np.abs(numbers[:, flags] - np.clip(numbers[:, flags], 0, 1))
        farthest: NDArray[np.float64] = outside.max(axis=1, initial=0.0)
        for column, edges in zip(self.columns.tolist(), self.edges, strict=True):
            x, first, last = numbers[:, column], edges[0], edges[-1]
            with np.errstate(over="ignore"):
                outside = np.abs(x - np.clip(x, first, last)) / (last - first)
            np.maximum(farthest, outside, out=farthest)
        return np.minimum(farthest, FARTHEST)


def _edges(numbers: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """Different values, or different quantiles of them if there are more."""
    values: NDArray[np.float64] = np.unique(numbers)
    if len(values) > most + 1:
        levels = np.linspace(0, 1, most + 1)
        values = np.unique(np.quantile(numbers, levels, method="nearest"))
    return values


@dataclass(frozen=True, eq=False)
class Codes:
    """A number for each word of a category column; 0 for rare and unknown ones.

    words  of each column, the one of number 1 first
    """

    words: tuple[tuple[str | None, ...], ...]

    @classmethod
    def learn(cls, texts: NDArray[Any]) -> Self:
        """texts (rows, columns) of str and None."""
        words = []
        for column in texts.T:
            counts = Counter(column.tolist())
            often = [word for word, count in counts.items() if count >= FEWEST_OF_A_WORD]
            words.append(tuple(sorted(often, key=lambda word: (word is not None, word))))
        return cls(tuple(words))

    @property
    def counts(self) -> tuple[int, ...]:
        """How many numbers each column has."""
        return tuple(len(words) + 1 for words in self.words)

    @cached_property
    def spellings(self) -> list[Spelling]:
        """Of each column."""
        return [Spelling(words) for words in self.words]

    def apply(self, texts: NDArray[Any]) -> NDArray[np.float32]:
        """(rows, columns) -> the same."""
        codes = np.zeros(texts.shape, np.float32)
        for i, place in enumerate(self._numbers):
            codes[:, i] = [place.get(word, 0) for word in texts[:, i]]
        return codes

    @cached_property
    def _numbers(self) -> list[dict[str | None, int]]:
        return [{word: n for n, word in enumerate(words, 1)} for words in self.words]
