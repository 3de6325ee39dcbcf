"""Encoded rows on disk, in shards that fit into memory; each is a random sample of all rows.

Every row goes to a shard at random when it is written, so that rows which stand side by side in
the user's files (of one day, of one class) do not come side by side in training.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from batchensemble.training.engines import Data


@dataclass(frozen=True)
class Shards:
    """The rows of a table, each in one of some parts: for folds, or to be held out.

    watched  rows held out, in memory; all that is asked of a `Source` is about them
    seed     of the order in which shards are read
    """

    folder: Path
    n_shards: int
    watched: Data
    seed: int = 0

    @property
    def weight(self) -> Tensor | None:
        return self.watched.weight

    @property
    def device(self) -> torch.device:
        return self.watched.device

    @property
    def dtype(self) -> torch.dtype:
        return self.watched.dtype

    def contents(self) -> Iterator[bytes]:
        """All that is on disk."""
        for shard in range(self.n_shards):
            with _path(self.folder, shard).open("rb") as file:
                yield from iter(lambda: file.read(2**20), b"")

    def take(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        return self.watched.take(rows)

    def epoch(self, number: int, *, is_pass: bool) -> Iterator[tuple[Data, Tensor]]:
        """What an epoch learns from: all shards if it is a pass over the rows, or else the next.

        Of each its rows, and the part that each of them is in.
        """
        if is_pass:
            for shard in self._order(number):
                yield self._read(shard)
        else:
            turn, place = divmod(number, self.n_shards)
            yield self._read(self._order(turn)[place])

    def _order(self, turn: int) -> list[int]:
        order: list[int] = (
            np.random.default_rng([self.seed, turn]).permutation(self.n_shards).tolist()
        )
        return order

    def _read(self, shard: int) -> tuple[Data, Tensor]:
        x, y, parts = read_shard(self.folder, shard, self.watched.x.shape[1])
        data = Data(
            torch.from_numpy(x).to(self.device),
            torch.from_numpy(y).to(self.device, self.watched.y.dtype),
        )
        return data, torch.from_numpy(parts)


def write_rows(
    folder: Path,
    n_shards: int,
    x: NDArray[np.float32],
    y: NDArray[Any],
    parts: NDArray[np.int64],
    random: np.random.Generator,
) -> None:
    """Add rows to random shards."""
    rows = np.column_stack([x, y.astype(np.float32), parts.astype(np.float32)])
    shards = random.integers(n_shards, size=len(rows))
    order = np.argsort(shards, kind="stable")
    ends = np.searchsorted(shards[order], np.arange(n_shards), side="right")
    for shard, some in enumerate(np.split(order, ends[:-1])):
        with _path(folder, shard).open("ab") as file:
            file.write(rows[some].tobytes())


def read_shard(
    folder: Path, shard: int, n_features: int
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]]:
    """x (rows, features), y (rows,) and parts (rows,)."""
    rows = np.fromfile(_path(folder, shard), np.float32).reshape(-1, n_features + 2)
    x, y = np.ascontiguousarray(rows[:, :-2]), np.ascontiguousarray(rows[:, -2])
    return x, y, rows[:, -1].astype(np.int64)


def _path(folder: Path, shard: int) -> Path:
    return folder / f"{shard}.rows"
