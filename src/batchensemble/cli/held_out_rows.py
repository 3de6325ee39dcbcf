"""Which rows of a table are held out, to score and to calibrate the model with."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchensemble.cli.format import percent
from batchensemble.cli.training_data import TrainingData
from batchensemble.estimators.splits import ANY_ORDER, Order

FEWEST_ROWS = 20  # fewer say too little
FEWEST_OF_A_CLASS = 10  # held out, so that 90 % sets can hold each class as often as they say
NO_HOLDOUT = "--holdout is 0"


def hold_out(
    y: NDArray[Any], holdout: float, seed: int, *, is_classes: bool, order: Order = ANY_ORDER
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows to learn from and to score, drawn at random and not by class, or as `order` says.

    The guarantee of calibration is about rows as they come. A class that was not learned could not
    be scored, so its rows are learned from: with all others of their group, or of the time before.
    """
    n_judges = round(holdout * len(y))
    if n_judges < FEWEST_ROWS or len(y) - n_judges < FEWEST_ROWS:
        n_judges = 0
    if order.matters and n_judges:
        kept, judges = order.cut(len(y), n_judges, seed)
    else:
        judges, kept = np.split(np.random.default_rng(seed).permutation(len(y)), [n_judges])
    if is_classes:
        is_new = ~np.isin(y[judges], y[kept])
        if order.groups is not None:
            is_new = np.isin(order.groups[judges], order.groups[judges[is_new]])
        elif order.in_time and is_new.any():
            firsts = [np.flatnonzero(y[judges] == label)[0] for label in set(y[judges[is_new]])]
            is_new = np.arange(len(judges)) <= max(firsts)
        if order.matters and np.count_nonzero(~is_new) < FEWEST_ROWS:
            is_new[:] = True
        judges, kept = judges[~is_new], np.concatenate([kept, judges[is_new]])
    return np.sort(kept), np.sort(judges)


def hold_out_of_each(
    y: NDArray[Any], holdout: float, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The same, with that share of each class, and enough for a guarantee of its own."""
    order = np.random.default_rng(seed).permutation(len(y))
    is_judge = np.zeros(len(y), bool)
    for label, n in zip(*np.unique(y, return_counts=True), strict=True):
        n_judges = max(round(holdout * int(n)), FEWEST_OF_A_CLASS)
        is_judge[order[y[order] == label][:n_judges]] = True
    return np.flatnonzero(~is_judge), np.flatnonzero(is_judge)


def check_per_class(data: TrainingData, holdout: float, calibrate: bool) -> None:
    """Refuse a guarantee for each class that cannot be given."""
    if data.origin.task != "classification" or data.files is not None or data.order.matters:
        raise ValueError(
            "--per-class is for classes, without --groups and --in-time, and for tables that fit "
            "into memory; omit it"
        )
    if not holdout or not calibrate:
        raise ValueError("--per-class calibrates with held-out rows; omit --no-calibrate")
    labels, counts = np.unique(np.asarray(data.y), return_counts=True)
    few = [
        f"{one!s} ({n})" for one, n in zip(labels, counts, strict=True) if n < 2 * FEWEST_OF_A_CLASS
    ]
    if few:
        raise ValueError(
            f"--per-class needs {2 * FEWEST_OF_A_CLASS} rows of every class, half of them to "
            f"calibrate with, got fewer of {', '.join(few[:5])}; collect more, join classes, or "
            "omit --per-class"
        )


def too_few(holdout: float, n_rows: int) -> str:
    """Why nothing was held out, and the share that would do."""
    if not holdout:
        return NO_HOLDOUT
    share = math.ceil(100 * FEWEST_ROWS / n_rows) / 100
    cure = f"; use --holdout {share:g}" if share <= 0.5 else ""
    n_judges = round(holdout * n_rows)
    if min(n_judges, n_rows - n_judges) >= FEWEST_ROWS:
        return "some classes are only among the rows that would be held out"
    return (
        f"{percent(holdout)} of {n_rows} rows is {n_judges}, and scoring needs {FEWEST_ROWS}{cure}"
    )
