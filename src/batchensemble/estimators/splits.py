"""Which rows train, which are held out for early stopping, which are held back to calibrate."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

FEWEST_ROWS_HELD_OUT = 8
CALIBRATION_SHARE = 0.2  # of the rows or of the shortest series, with fit(calibrate=True)

Ints = NDArray[np.int64]


def hold_back(n_rows: int, fewest: int, seed: int) -> tuple[Ints, Ints]:
    """Rows to learn from, and rows to calibrate with.

    At random, not by class: the guarantee is about rows as they come.
    """
    n_held_back = round(CALIBRATION_SHARE * n_rows)
    if n_held_back < fewest:
        raise ValueError(
            f"expected at least {fewest} rows among the {CALIBRATION_SHARE:.0%} held back for "
            f"calibration, got {n_held_back} of {n_rows}; collect more, or fit without "
            "calibrate=True"
        )
    order = np.random.default_rng([seed, 1]).permutation(n_rows)
    return np.sort(order[n_held_back:]), np.sort(order[:n_held_back])


def folds_of(target: NDArray[Any], n_folds: int, seed: int) -> list[tuple[Ints, Ints]] | None:
    """For each fold, rows to train on and rows for early stopping; None if rows are too few."""
    if n_folds < 2 or len(target) < n_folds * FEWEST_ROWS_HELD_OUT:
        return None
    is_label = (
        target.dtype.kind == "i" and np.unique(target, return_counts=True)[1].min() >= n_folds
    )
    kind = StratifiedKFold if is_label else KFold
    cut = kind(n_folds, shuffle=True, random_state=seed)
    return list(cut.split(target, target if is_label else None))


def hold_out(target: NDArray[Any], fraction: float, seed: int) -> tuple[Ints, Ints | None]:
    """Rows to train on and, where there are enough, rows for early stopping."""
    rows = np.arange(len(target))
    n_held_out = round(fraction * len(rows))
    if not FEWEST_ROWS_HELD_OUT <= n_held_out <= len(rows) - FEWEST_ROWS_HELD_OUT:
        return rows, None
    counts = np.unique(target, return_counts=True)[1]
    smaller = min(n_held_out, len(rows) - n_held_out)
    few_labels = target.dtype.kind == "i" and len(counts) <= smaller and counts.min() > 1
    stratify = target if few_labels else None
    kept, held_out = train_test_split(
        rows, test_size=n_held_out, random_state=seed, stratify=stratify
    )
    return kept, held_out
