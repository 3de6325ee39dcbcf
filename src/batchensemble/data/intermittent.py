"""Intermittent demand: series that are zero every few steps, and paths made from their history."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LONGEST_INTERVAL = 1.32  # mean steps between demands of a regular series (Syntetos and Boylan)


def is_intermittent(values: Floats) -> bool:
    """Whether values are never negative, not all zero, and on average too far apart above zero."""
    n_above = int((values > 0).sum())
    return bool(n_above and values.min() >= 0 and len(values) > LONGEST_INTERVAL * n_above)


def reordered(paths: Floats, history: Floats) -> Floats:
    """Draws from a history in the order of paths, (members, paths, steps): a Schaake shuffle.

    At every step the smallest draw goes to the path that was smallest, and so on: steps and
    members hang together as they did, and no value appears that the series has never had.
    """
    flat = paths.reshape(-1, paths.shape[-1])
    levels = (np.arange(len(flat)) + 0.5) / len(flat)
    draws = np.quantile(history, levels, method="inverted_cdf")
    ranks = flat.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
    shuffled: Floats = draws[ranks].reshape(paths.shape)
    return shuffled
