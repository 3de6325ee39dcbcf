"""Every number of every run as a row of one tidy frame."""

from collections.abc import Iterable
from functools import cache

import numpy as np
import pandas as pd

from batchensemble.metrics import COVERAGES, LEVELS
from batchensemble.study.store import Result

COLUMNS = ("dataset", "variant", "entrant", "seed", "quantity", "value")
CURVES = {"selective": COVERAGES, "coverage": LEVELS}
AREA = "selective_area"


@cache
def points(curve: str, low: float = 0, high: float = 100) -> tuple[str, ...]:
    """The names of a curve's points in the frame, from `low` to `high` per cent."""
    percents = np.round(100 * CURVES[curve], 6)
    return tuple(f"{curve} at {at:g} %" for at in percents if low <= at <= high)


def numbers_of(result: Result) -> dict[str, float]:
    """Metrics, size, points of curves, and the area under the selective curve."""
    numbers = dict(result.metrics)
    if "n_parameters" in result.about:
        numbers["n_parameters"] = result.about["n_parameters"]
    for curve, at in CURVES.items():
        if curve in result.curves:
            values = np.asarray(result.curves[curve], dtype=np.float64)
            if values.shape != at.shape:
                raise ValueError(
                    f"expected {at.size} points of the curve {curve!r} in {result.run.name}, got "
                    f"{values.size}; delete that result and run it again with this version"
                )
            numbers |= zip(points(curve), values.tolist(), strict=True)
            if curve == "selective":  # by trapezoids
                numbers[AREA] = float(np.sum(np.diff(at) * (values[1:] + values[:-1]) / 2))
    return numbers


def tidy(results: Iterable[Result]) -> pd.DataFrame:
    """Every number of every run, a row each."""
    rows = [
        (run.dataset, run.variant, run.entrant, run.seed, quantity, value)
        for run, numbers in ((result.run, numbers_of(result)) for result in results)
        for quantity, value in numbers.items()
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))
