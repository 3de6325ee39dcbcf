"""How much of the spread over seeds comes from the split, and how much from the training.

`reproduce --only starts` trains every split of the main study three more times, with another
initialisation, shuffling and dropout. Each seed is then a split with several starts.
"""

import numpy as np

from batchensemble.plots.looks import ERROR, NAMES, dataset_name, label
from batchensemble.plots.sheets import Cell, Sheet
from batchensemble.study.results import Place, Study
from batchensemble.study.spec import Change, Run

MOST_STARTS = 100


def variance_sheet(study: Study) -> Sheet:
    """Standard deviations between splits and between starts of a split, for error and NLL."""
    rows: list[tuple[Cell, ...]] = []
    for place in study.places():
        for method in study.methods(place):
            for metric in (ERROR[study.tasks()[place.dataset]], "nll"):
                table = _by_start(study, place, method, metric)
                if table.shape[0] > 1 and table.shape[1] > 1:
                    split, start = components(table)
                    share = split**2 / (split**2 + start**2) if split or start else None
                    names = (dataset_name(place.dataset), place.variant, label(method))
                    rows.append((*names, NAMES[metric], *table.shape[::-1], split, start, share))
    return Sheet(
        "variance",
        "Where the spread over seeds comes from",
        (
            *("dataset", "variant", "method", "metric", "splits", "starts"),
            *("sd of splits", "sd of starts", "share of the split in the variance"),
        ),
        tuple(rows),
        "Of one run: sd of splits is the standard deviation between splits, sd of starts that "
        "between initialisations, shuffling and dropout on one split (analysis of variance).",
    )


def components(table: np.ndarray) -> tuple[float, float]:
    """Standard deviations of the split and of the start, from (starts, splits).

    One-way random effects: the mean square between splits is that within plus `starts` times the
    variance of splits, which is taken as 0 where it would be negative.
    """
    n_starts = len(table)
    within = float(table.var(axis=0, ddof=1).mean())
    between = n_starts * float(table.mean(axis=0).var(ddof=1))
    return max(0.0, (between - within) / n_starts) ** 0.5, within**0.5


def _by_start(study: Study, place: Place, method: str, metric: str) -> np.ndarray:
    """(starts, splits): the seeds that all starts have."""
    values = [study.values(place, method, metric)]
    for start in range(1, MOST_STARTS):
        entrant = Run(*place, method, 0, change=Change(start=start)).entrant
        own = study.values(place, entrant, metric)
        if not own:
            break
        values.append(own)
    seeds = sorted(set.intersection(*(set(own) for own in values)))
    return np.array([[own[seed] for seed in seeds] for own in values])
