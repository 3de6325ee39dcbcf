"""Numbers in another unit than those of fit, or with a misread mark: one factor mends them all.

`21,784` of an American file may be read as 21.784. A false alarm is worse than silence: numbers
must lie far outside those of fit, and like them after the factor, in range, middle and spread.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.data.columns import Columns
from batchensemble.data.panel import Panel
from batchensemble.data.table_encoder import TableEncoder

Floats = NDArray[np.float64]

LARGE_FACTORS = (1e3, 1e-3, 1e6, 1e-6)
FACTORS = (*LARGE_FACTORS, 1e2, 1e-2)  # per cents and shares, too; a series may fall so deep
FEWEST_ROWS = 3
FAR = 5.0  # times the largest, or as small a part of the smallest
NEARLY_ALL, MOST = 0.9, 0.5
SLACK = 2.0  # new rows are not all between the smallest and the largest of fit
USUAL = 16  # one in so many is below what is usual, and one above
LEAST_SPREAD = 0.1  # of what is usual: numbers that count up do not spread so far
LIKE = 3.0  # times a prediction
NEAR = 2.0  # standard deviations, within which nearly all numbers are


_CURE = (
    "use the unit of the training data or, if a decimal or thousands separator was misread, add "
    "--decimal . or --decimal , on the command line"
)


class Misfit(NamedTuple):
    """A number that is far from those that are known, and the factor that would mend all."""

    example: float
    low: float
    high: float
    factor: float

    def __str__(self) -> str:
        return (
            f"such as {self.example:.6g} instead of about {self.low:.6g} to {self.high:.6g}, and "
            f"would be in that range if they were {_times(self.factor)}; {_CURE}"
        )


def _times(factor: float) -> str:
    return f"{max(factor, 1 / factor):,.0f} times {'larger' if factor > 1 else 'smaller'}"


def misfit(numbers: Floats, known: Floats, factors: Sequence[float] = FACTORS) -> Misfit | None:
    """Of numbers with gaps; `known` are numbers of fit, or quantiles of them, rising."""
    if not len(known):
        return None
    if known[0] <= known[-1] < 0:
        other = misfit(-numbers, -known[::-1], factors)
        return other and Misfit(-other.example, -other.high, -other.low, other.factor)
    low, high = float(known[0]), float(known[-1])
    if not 0 < low < high or low / FAR <= numbers[0] <= FAR * high:
        return None
    x, apart = numbers[~np.isnan(numbers)], len(known) // USUAL
    usual_low, usual_high = known[apart], known[-1 - apart]
    if len(x) < FEWEST_ROWS:
        return None
    with np.errstate(over="ignore", invalid="ignore"):  # numbers may be as large as floats are
        for factor in factors:
            is_far = (FAR * x < low).all() if factor > 1 else (x > FAR * high).all()
            if not is_far or usual_high >= usual_low * max(factor, 1 / factor):
                continue
            mended = x * factor
            is_inside = (low <= SLACK * mended) & (mended <= SLACK * high)
            is_spread = np.ptp(mended) > LEAST_SPREAD * (usual_high - usual_low)
            is_usual = usual_low <= np.median(mended) <= usual_high
            if is_inside.mean() >= NEARLY_ALL and is_spread and is_usual:
                return Misfit(float(x[0]), low, high, factor)
    return None


def doubts_about_units(columns: Columns, encoder: TableEncoder) -> Iterator[str]:
    """Sentences about columns of rows to predict, found by their names; there may be others."""
    if columns.n_rows < FEWEST_ROWS:
        return
    by_name = {column.name: column for column in columns}
    for j, known in numbers_of_fit(encoder):
        column = by_name.get(encoder.names_[j])
        if column is None or column.kind != "number":
            continue
        if found := misfit(column.values, known):
            yield f"column {column.name!r}: all values lie far outside the training range, {found}"


def numbers_of_fit(encoder: TableEncoder) -> Iterator[tuple[int, Floats]]:
    """Positions of columns, and quantiles of their numbers, as far as the encoder has kept some."""
    pairs = enumerate(zip(encoder.kinds_, encoder.empty_, strict=True))
    numeric = [j for j, (kind, is_empty) in pairs if kind != "category" or is_empty]
    for i, quantiles in _quantiles(encoder):
        if encoder.kinds_[numeric[i]] == "number":
            with np.errstate(over="ignore"):  # files may hold any exponents
                numbers = np.ldexp(quantiles, encoder.exponents_[i])
            if np.isfinite(numbers).all():
                yield numeric[i], numbers


def _quantiles(encoder: TableEncoder) -> Iterator[tuple[int, Floats]]:
    numbers, bins = encoder.numbers_, encoder.binned_
    scaled = numbers.scaled.tolist()
    if bins.edges:
        yield from zip(bins.columns.tolist(), bins.edges, strict=True)
    elif len(numbers.quantiles):
        yield from zip(scaled, numbers.quantiles.T, strict=True)
    else:
        ends = (0.0, 1.0) if encoder.scaling == "minmax" else (-NEAR, NEAR)
        known = np.linspace(*ends, USUAL)[:, None] * numbers.spread + numbers.center
        for pair in zip(scaled, known.T, strict=True):
            if not encoder.constant_[pair[0]]:
                yield pair


def doubts_about_series(known: Panel, ids: NDArray[Any], values: Floats) -> Iterator[str]:
    """A sentence about new values of series that are known; `ids` and `values` row by row."""
    codes, names = pd.factorize(ids)
    parts = np.split(values[np.argsort(codes, kind="stable")], np.cumsum(np.bincount(codes))[:-1])
    before, found = known.observed, {}
    for part, i in zip(parts, known.numbers_of(names).tolist(), strict=True):
        if i >= 0:
            past = before[known.rows(i)]
            found[i] = misfit(part, np.sort(past[~np.isnan(past)]), LARGE_FACTORS)
    odd = [i for i, one in found.items() if one]
    for i in odd[:1]:
        more = f" and {len(odd) - 1} more" * (len(odd) > 1)
        yield f"{known.label(i)}{more}: all values lie far outside its known range, {found[i]}"


def doubt_about_truth(
    name: str, truth: Floats, mean: Floats, lower: Floats, upper: Floats
) -> Iterator[str]:
    """A sentence about true values beside what is predicted for them, with intervals."""
    if len(truth) < FEWEST_ROWS or not (mean != 0).all():
        return
    is_outside = (truth < lower) | (truth > upper)
    if is_outside.mean() < NEARLY_ALL:
        return
    for factor in FACTORS:
        mended = factor * truth
        is_inside = (lower <= mended) & (mended <= upper)
        is_like = 1 / LIKE <= np.median(mended / mean) <= LIKE
        if is_inside.mean() >= MOST and is_like:
            yield (
                f"column {name!r}: its values lie far from the predictions, such as "
                f"{truth[0]:.6g} where {mean[0]:.6g} is predicted, and would be like them if they "
                f"were {_times(factor)}; {_CURE}"
            )
            return
