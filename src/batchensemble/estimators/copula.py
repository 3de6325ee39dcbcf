"""How the errors of several targets go together, from rows that no network saw."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from batchensemble.predictive import NumberPredictive

Floats = NDArray[np.float64]

FEWEST_ROWS = 30


def levels(y: Floats, dist: NumberPredictive) -> Floats:
    """Where each truth lies in its predicted distribution, from 0 to 1: (rows,).

    Halfway between P(Y < y) and P(Y <= y), which differ where a value has a probability of its own.
    """
    return 0.5 * (dist.cdf(y) + 1 - np.exp(dist.log_survival(y)))


def learned_correlation(at: Floats) -> Floats:
    """The correlation of a Gaussian copula, (targets, targets), from `levels` (rows, targets).

    Only the order of the levels counts, so that predictions which are all too wide or too narrow
    do not matter. Shrunk towards independence by Ledoit and Wolf's rule: the more, the fewer rows.
    """
    n_rows, n_targets = at.shape
    if n_rows < FEWEST_ROWS:
        return np.eye(n_targets)
    from sklearn.covariance import ledoit_wolf  # what fit alone needs takes long

    scores = ndtri(rankdata(at, axis=0) / (n_rows + 1))
    covariance, _ = ledoit_wolf(scores)
    stds = np.sqrt(np.maximum(np.diagonal(covariance), 1e-12))  # 0 where all levels are the same
    correlation: Floats = covariance / np.outer(stds, stds)
    np.fill_diagonal(correlation, 1.0)
    return correlation
