"""What values a target can take, as the rows show it or the user says it."""

import math
from collections.abc import Sequence
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from batchensemble.predictive import Transform
from batchensemble.words import one_of

Floats = NDArray[np.float64]

KINDS = ("auto", "real", "positive", "count", "bounded")
FEWEST_ROWS = 30  # fewer show too little to recognise anything
NEAR_ZERO = 0.2  # standard deviations: a smallest value so near to 0 is hardly there by chance
SKEWED = 1.0
LOGARITHMIC_FROM = 0.25  # a quantile of the targets
REPEATED = 10  # rows for each value
MOST_RATIO = 1e30
FULL = 0.05  # shares that come so near to 0 and 1
USUAL_BOUNDS = ((0.0, 1.0), (0.0, 100.0))


def learn_kind(
    y: Floats, word: str, bounds: Sequence[float] | None = None, *, logarithmic: bool = False
) -> tuple[str, Transform | None]:
    """The kind of target, and the transform that keeps predictions where it can be.

    `logarithmic` is never chosen by itself: the likelihood gains by it, and the error of large
    values grows as often as not.
    """
    kind = one_of(word, KINDS, "target")
    if logarithmic and kind == "auto" and bounds is None and y.min() < 0:
        raise ValueError(
            f"target_scaling='log' is for targets of at least 0, got {y.min():g}; omit it"
        )
    if bounds is not None and kind not in ("auto", "bounded"):
        raise ValueError(
            f"target_bounds belong to target='bounded', got target={kind!r}; omit one of the two"
        )
    if kind == "auto":
        kind = recognise(y) if bounds is None else "bounded"
        kind = "positive" if logarithmic and kind == "real" else kind
    if kind == "real" and logarithmic:
        raise ValueError(
            "target_scaling='log' is for targets of at least 0, got target='real'; omit one of "
            "the two"
        )
    if kind == "real":
        return kind, None
    if kind == "bounded":
        low, high = _checked_bounds(y, bounds)
        return kind, (logarithmic and _between(y, low, high)) or Transform.straight(low, high)
    _check_range(y, kind)
    return kind, (logarithmic and _logarithmic(y)) or Transform.straight(0.0)


def recognise(y: Floats) -> str:
    """The kind that the rows show; "real" where they show none."""
    if len(y) < FEWEST_ROWS or y.min() < 0 or y.std() < 1e-9 * y.max() or y.max() < 1e-90:
        return "real"
    if _is_share(y):
        return "bounded"
    is_whole = bool((y == np.round(y)).all())
    is_near = bool(y.min() <= NEAR_ZERO * y.std())
    n_values = len(np.unique(y))
    # Prices are often whole numbers, but large ones that hardly repeat.
    if is_whole and is_near and n_values > 2 and (y.min() <= 1 or n_values <= len(y) / REPEATED):
        return "count"
    is_skewed = _skewness(y) > SKEWED and y.min() < np.median(y) / 2
    return "positive" if is_near or is_skewed else "real"


def described(kind: str, transform: Transform | None) -> str:
    """In words, for people."""
    if transform is None:
        return f"{kind}: any number"
    if transform.high < math.inf:
        ends = f"from {transform.low:.6g} to {transform.high:.6g}"
    else:
        ends = f"never below {transform.low:.6g}"
    return f"{kind}: {ends}{', on a logarithmic scale' if any(transform.rates) else ''}"


def _logarithmic(y: Floats) -> Transform | None:
    """All but the smallest values count by their ratio; None if they are all alike."""
    values = y[y > 0]
    if not len(values):
        return None
    a, b = float(np.quantile(values, LOGARITHMIC_FROM)), float(values.max())
    return Transform.logarithmic(a, b) if max(1.001 * a, 1e-60) < b < MOST_RATIO * a else None


def _between(y: Floats, low: float, high: float) -> Transform | None:
    """The same from both ends."""
    from_end = np.minimum(y - low, high - y)
    from_end = from_end[from_end > 0]
    if not len(from_end):
        return None
    a, middle = float(np.quantile(from_end, LOGARITHMIC_FROM)), (high - low) / 2
    fits = middle / MOST_RATIO < a < middle / 1.001
    return Transform.between(low, high, a) if fits else None


def _is_share(y: Floats) -> bool:
    """Whether values fill the range from 0 to 1, or reach 100 again and again."""
    if y.max() <= 1:
        fills = y.min() <= FULL and y.max() >= 1 - FULL
        # One value at each end looks like a target that was scaled by its smallest and largest.
        was_scaled = np.count_nonzero(y == 0) == 1 == np.count_nonzero(y == 1)
        return bool(fills and not was_scaled and len(np.unique(y)) > 2)
    return bool(y.max() == 100 and np.count_nonzero(y == 100) > 1 and y.min() <= 100 * FULL)


def _checked_bounds(y: Floats, bounds: Sequence[float] | None) -> tuple[float, float]:
    """Those given, or 0 and 1, or 0 and 100."""
    if bounds is None:
        known = [each for each in USUAL_BOUNDS if each[0] <= y.min() and y.max() <= each[1]]
        if not known:
            raise ValueError(
                f"target='bounded': which bounds? The targets go from {y.min():g} to {y.max():g}; "
                "pass target_bounds=(low, high)"
            )
        low, high = known[0]
    else:
        is_pair = len(bounds) == 2 and all(isinstance(end, Real) for end in bounds)
        low, high = bounds if is_pair else (math.nan, math.nan)
    if not -1e100 <= low < high <= 1e100:
        raise ValueError(
            "expected target_bounds=(low, high), two numbers of size at most 1e100 with "
            f"low < high, got {bounds}"
        )
    if y.min() < low or y.max() > high:
        raise ValueError(
            f"expected targets from {low:g} to {high:g}, got values from {y.min():g} to "
            f"{y.max():g}; pass other target_bounds, or target='real'"
        )
    return float(low), float(high)


def _check_range(y: Floats, kind: str) -> None:
    if y.min() < 0:
        raise ValueError(
            f"expected targets of at least 0 with target={kind!r}, got {y.min():g}; "
            "use target='real'"
        )
    if kind == "count" and (y != np.round(y)).any():
        raise ValueError(
            f"expected whole numbers with target='count', got {y[y != np.round(y)][0]:g}; "
            "use target='positive'"
        )


def _skewness(y: Floats) -> float:
    """0 if all are the same."""
    z = (y - y.mean()) / max(float(y.std()), 1e-90)
    return float((z**3).mean())
