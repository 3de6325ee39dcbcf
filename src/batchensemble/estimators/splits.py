"""Which rows train, which are held out for early stopping, which are held back to calibrate."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from batchensemble.conformal import read_groups
from batchensemble.training.methods import Method, in_folds
from batchensemble.training.models import Rows
from batchensemble.training.processes import Team

FEWEST_ROWS_HELD_OUT = 8
WATCHED_ROWS = 4_000  # at most, for early stopping: more say little more, and cost time
MOST_OVER = 1.5  # times as many rows as wanted, where groups stay together
CALIBRATION_SHARE = 0.2  # of the rows or of the shortest series, with fit(calibrate=True)

Ints = NDArray[np.int64]


class Seeds(NamedTuple):
    split: int
    training: int
    prediction: int


def draw_seeds(random_state: Any, *, to_repeat: bool = False) -> Seeds:
    """The same ones in all processes, and in another start if that is `to_repeat` this one."""
    random = check_random_state(0 if random_state is None and to_repeat else random_state)
    return Seeds(*Team.here().of_first(random.randint(2**31 - 1, size=3).tolist()))


@dataclass(frozen=True, eq=False)
class Order:
    """Which rows belong together, and whether they come in time; for splits that do not leak.

    Rows of one group stay on one side of a split, and of rows in time the last are held out.
    """

    groups: NDArray[Any] | None = None
    in_time: bool = False

    def take(self, rows: Any) -> "Order":
        return Order(None if self.groups is None else self.groups[rows], self.in_time)

    def cut(self, n_rows: int, n_held_out: int, seed: int) -> tuple[Ints, Ints]:
        """Rows to keep, and about `n_held_out` others."""
        rows = np.arange(n_rows)
        if self.groups is None:
            return rows[: n_rows - n_held_out], rows[n_rows - n_held_out :]
        places, counts = np.unique(self.groups, return_inverse=True, return_counts=True)[1:]
        chosen, total = [], 0
        for i in np.random.default_rng([seed, 2]).permutation(len(counts)):
            if total < n_held_out and total + counts[i] <= MOST_OVER * n_held_out:
                chosen.append(i)
                total += counts[i]
        # Where every group is too large, the smallest.
        is_held_out = np.isin(places, chosen or [counts.argmin()])
        return rows[~is_held_out], rows[is_held_out]

    @property
    def matters(self) -> bool:
        return self.in_time or self.groups is not None


ANY_ORDER = Order()


def read_order(groups: Any, in_time: bool, n_rows: int) -> Order:
    """As `fit` got it, checked."""
    if groups is None:
        return Order(None, in_time)
    if in_time:
        raise ValueError("expected groups or in_time=True, got both; omit one of the two")
    labels = read_groups(groups, n_rows)
    if len(np.unique(labels)) < 2:
        raise ValueError(f"expected at least 2 groups, got one: {labels[0].item()!r}; omit groups")
    return Order(labels)


def hold_back(n_rows: int, fewest: int, seed: int, order: Order = ANY_ORDER) -> tuple[Ints, Ints]:
    """Rows to learn from, and rows to calibrate with.

    At random, not by class: the guarantee is about rows as they come.
    """
    n_held_back = round(CALIBRATION_SHARE * n_rows)
    shuffled = np.random.default_rng([seed, 1]).permutation(n_rows)
    learned, held_back = np.sort(shuffled[n_held_back:]), np.sort(shuffled[:n_held_back])
    if order.matters:
        learned, held_back = order.cut(n_rows, n_held_back, seed)
    if len(held_back) < fewest:
        raise ValueError(
            f"expected at least {fewest} rows among the {CALIBRATION_SHARE:.0%} held back for "
            f"calibration, got {len(held_back)} of {n_rows}; collect more, or fit without "
            "calibrate=True"
        )
    return learned, held_back


def folds_of(
    target: NDArray[Any], n_folds: int, seed: int, order: Order = ANY_ORDER
) -> list[tuple[Ints, Ints]] | None:
    """For each fold, rows to train on and rows for early stopping.

    None if rows or groups are too few, or if they come in time, where only the last can be held
    out.
    """
    if n_folds < 2 or len(target) < n_folds * FEWEST_ROWS_HELD_OUT or order.in_time:
        return None
    from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

    is_label = (
        target.dtype.kind == "i" and np.unique(target, return_counts=True)[1].min() >= n_folds
    )
    kind: Any = StratifiedKFold if is_label else KFold
    groups = None
    if order.groups is not None:
        kind = StratifiedGroupKFold if is_label else GroupKFold
        groups = np.unique(order.groups, return_inverse=True)[1]  # labels may be any numbers
        if groups.max() + 1 < n_folds:
            return None
    cut = kind(n_folds, shuffle=True, random_state=seed)
    folds = list(cut.split(target, target if is_label else None, groups))
    return folds if all(len(held_out) for _, held_out in folds) else None


def hold_out(
    target: NDArray[Any], fraction: float, seed: int, order: Order = ANY_ORDER
) -> tuple[Ints, Ints | None]:
    """Rows to train on and, where there are enough, rows for early stopping."""
    rows = np.arange(len(target))
    n_held_out = round(fraction * len(rows))
    if not FEWEST_ROWS_HELD_OUT <= n_held_out <= len(rows) - FEWEST_ROWS_HELD_OUT:
        return rows, None
    if order.groups is not None and len(np.unique(order.groups)) < 2:
        return rows, None  # calibration took the others
    if order.matters:
        return order.cut(len(rows), n_held_out, seed)
    counts = np.unique(target, return_counts=True)[1]
    smaller = min(n_held_out, len(rows) - n_held_out)
    few_labels = target.dtype.kind == "i" and len(counts) <= smaller and counts.min() > 1
    stratify = target if few_labels else None
    from sklearn.model_selection import train_test_split  # what fit alone needs takes long

    kept, held_out = train_test_split(
        rows, test_size=n_held_out, random_state=seed, stratify=stratify
    )
    return kept, held_out


def rows_of(
    method: Method,
    most_folds: int,
    share: float,
    target: NDArray[Any],
    n_watched: int,
    seeds: Seeds,
    order: Order,
) -> tuple[Method, list[Rows]]:
    """The method, and rows for each of its folds or for all of it.

    `n_watched` rows of an eval_set follow those of the target: then all others train.
    """
    cut, n_folds = in_folds(method, most_folds)
    if n_watched:
        rows = torch.arange(len(target) + n_watched)
        return cut, [Rows(seeds.training, rows[: len(target)], rows[len(target) :])]
    folds = folds_of(target, n_folds, seeds.split, order) if share else None
    if folds is not None:
        return cut, [
            Rows(own, torch.tensor(kept), torch.tensor(held_out))
            for own, (kept, held_out) in zip(own_seeds(seeds, n_folds), folds, strict=True)
        ]
    kept, held_out = hold_out(target, share, seeds.split, order)
    last = None if held_out is None else torch.tensor(held_out)
    return method, [Rows(seeds.training, torch.tensor(kept), last)]


def own_seeds(seeds: Seeds, n_folds: int) -> list[int]:
    """A seed for the training of each fold."""
    drawn: list[int] = np.random.SeedSequence(seeds.training).generate_state(n_folds).tolist()
    return drawn


def fewer_watched(rows: Rows) -> Rows:
    """Early stopping with so many rows at most."""
    if rows.held_out is None or len(rows.held_out) <= WATCHED_ROWS:
        return rows
    some = torch.randperm(len(rows.held_out), generator=torch.Generator().manual_seed(rows.seed))
    return replace(rows, held_out=rows.held_out[some[:WATCHED_ROWS]])
