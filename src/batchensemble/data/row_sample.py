"""Rows that stand for all rows of a table, drawn in one pass over it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

MOST_CLASSES = 1000

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of a table: all, or so many at random and those with the most extreme numbers.

    random_rows  the numbers of those drawn at random, without the extreme ones
    n_rows       how many rows the table has
    """

    frame: pd.DataFrame
    random_rows: Ints
    n_rows: int
    n_without_target: int = 0

    @property
    def is_whole(self) -> bool:
        return len(self.frame) == self.n_rows


def draw_sample(
    batches: Iterable[tuple[pd.DataFrame, int]],
    numbers: Sequence[str],
    target: str,
    n: int,
    seed: int,
) -> Sample:
    """At most `n` of the rows, drawn uniformly, and the rows with what must not be missed.

    These are the smallest and the largest number of each column, its first gap, and a row of each
    class: then scales and classes are those of all rows. Batches come with the number of rows
    without a target that were passed over.
    """
    drawn, extremes = Drawn(n, np.random.default_rng([seed, 4])), Extremes(numbers, target)
    n_rows = n_without_target = 0
    for frame, n_gaps in batches:
        drawn.add(frame)
        extremes.add(frame)
        n_rows += len(frame)
        n_without_target += n_gaps
    rows, extreme = drawn.rows(), pd.concat(extremes.rows) if extremes.rows else pd.DataFrame()
    random_rows = np.setdiff1d(rows.index, extreme.index)
    rows = pd.concat([rows, extreme[~extreme.index.isin(rows.index)]]).sort_index()
    return Sample(rows[~rows.index.duplicated()], random_rows, n_rows, n_without_target)


class Drawn:
    """Every row gets a random key; those with the smallest keys are kept."""

    def __init__(self, size: int, random: np.random.Generator) -> None:
        self.size, self.random, self.limit = size, random, 1.0
        self.frames: list[pd.DataFrame] = []
        self.keys: list[NDArray[np.float64]] = []

    def add(self, frame: pd.DataFrame) -> None:
        keys = self.random.random(len(frame))
        low = keys < self.limit
        self.frames.append(frame[low])
        self.keys.append(keys[low])
        if sum(map(len, self.keys)) > 2 * self.size:
            self._trim()

    def _trim(self) -> None:
        keys, frame = np.concatenate(self.keys), pd.concat(self.frames)
        if len(keys) > self.size:
            kept = np.sort(np.argpartition(keys, self.size)[: self.size])
            keys, frame = keys[kept], frame.iloc[kept]
            self.limit = float(keys.max())
        self.frames, self.keys = [frame], [keys]

    def rows(self) -> pd.DataFrame:
        self._trim()
        return self.frames[0]


class Extremes:
    """Rows with a number smaller or larger than all before, a first gap, or a new class."""

    def __init__(self, numbers: Sequence[str], target: str) -> None:
        self.numbers, self.target = list(numbers), target
        shape = (2, len(self.numbers))
        self.best = np.full(shape, -np.inf)  # of the negative and of the number itself
        self.has_gap = np.zeros(len(self.numbers), bool)
        self.classes: set[Any] = set()
        self.n_rows = 0
        self.rows: list[pd.DataFrame] = []

    def add(self, frame: pd.DataFrame) -> None:
        chosen: set[int] = set()
        block = frame[self.numbers].to_numpy(np.float64)
        if block.size:
            is_gap = np.isnan(block)
            for i, sign in enumerate((-1, 1)):
                signed = np.where(is_gap, -np.inf, sign * block)
                at = signed.argmax(axis=0)
                most = signed[at, np.arange(len(at))]
                chosen.update(at[most > self.best[i]].tolist())
                self.best[i] = np.maximum(self.best[i], most)
            new = is_gap.any(axis=0) & ~self.has_gap
            chosen.update(is_gap[:, new].argmax(axis=0).tolist())
            self.has_gap |= new
        self.n_rows += len(frame)
        if len(self.classes) <= MOST_CLASSES:
            firsts = frame[self.target].drop_duplicates()
            new_classes = firsts[~firsts.isin(self.classes)]
            self.classes.update(new_classes.tolist())
            if len(self.classes) <= min(MOST_CLASSES, self.n_rows / 2):  # they repeat
                chosen.update(frame.index.get_indexer(new_classes.index).tolist())
        if chosen:
            self.rows.append(frame.iloc[sorted(chosen)])
