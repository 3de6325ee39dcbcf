"""How the errors of several targets go together, from rows that no network saw."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from batchensemble.estimators.heads import read_numbers
from batchensemble.estimators.table_model import HeldOut
from batchensemble.predictive import NumberPredictive

Floats = NDArray[np.float64]

FEWEST_ROWS = 30


def levels(y: Floats, dist: NumberPredictive) -> Floats:
    """Where each truth lies in its predicted distribution, from 0 to 1: (rows,).

    Halfway between P(Y < y) and P(Y <= y), which differ where a value has a probability of its own.
    """
    return 0.5 * (dist.cdf(y) + 1 - np.exp(dist.log_survival(y)))


def learned_correlation(parts: Sequence[HeldOut[NumberPredictive]]) -> Floats:
    """The correlation of a Gaussian copula, (targets, targets), from each target's held-out rows.

    Of the normal scores of the `levels`. Only their order counts, so that predictions which are all
    too wide or too narrow do not matter. Shrunk towards independence by Ledoit and Wolf's rule: the
    more, the fewer rows there are.
    """
    # One seed and one number of rows: the same rows were held out for every target.
    assert all(np.array_equal(part.rows, parts[0].rows) for part in parts)
    at = np.column_stack([levels(read_numbers(part.values), part.dist) for part in parts])
    from sklearn.covariance import ledoit_wolf  # what fit alone needs takes long

    covariance, _ = ledoit_wolf(ndtri(rankdata(at, axis=0) / (len(at) + 1)))
    stds = np.sqrt(np.maximum(np.diagonal(covariance), 1e-12))  # 0 where all levels are the same
    correlation: Floats = covariance / np.outer(stds, stds)
    np.fill_diagonal(correlation, 1.0)
    return correlation
