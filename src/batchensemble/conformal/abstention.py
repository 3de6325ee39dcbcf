"""Up to which uncertainty a model's predictions are good enough."""

import math
from numbers import Real

import numpy as np

from batchensemble.predictive import Array

FEWEST_KEPT = 10  # rows whose error means something
LARGEST_ERROR = 1e300


def largest_threshold(thresholds: Array, kept: Array, errors: Array, max_error: float) -> float:
    """The largest threshold whose kept rows, at least `FEWEST_KEPT`, err by at most `max_error`.

    An estimate from these rows, without a guarantee for others.
    """
    if (
        not isinstance(max_error, Real)
        or isinstance(max_error, bool)
        or not 0 <= max_error <= LARGEST_ERROR
    ):
        raise ValueError(
            f"max_error: expected a number of at least 0, got {max_error!r}; it is in the units of "
            "the target, or a share of wrong classes"
        )
    enough = kept >= FEWEST_KEPT
    fits = enough & (errors <= max_error)
    if not fits.any():
        best = min(errors[enough], default=math.nan)
        raise ValueError(
            f"max_error: expected at least {best:g}, the smallest error on the {FEWEST_KEPT} or "
            f"more most certain of the {kept.max():.0f} calibration rows, got "
            f"{float(max_error):g}; allow a larger error, calibrate with more rows, or fit a "
            "better model"
        )
    return float(np.max(thresholds[fits]))
