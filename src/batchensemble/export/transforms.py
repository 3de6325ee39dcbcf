"""A transform as nodes, piece by piece, and moments of what it does to a Gaussian.

These are found by Gauss-Legendre quadrature.
"""

import math

from batchensemble.export.graph import Value
from batchensemble.predictive import Transform
from batchensemble.predictive.transformed import NODES, REACH, WEIGHTS


def member_moments(
    means: Value, stds: Value, *, tail_share: float, tail_width: float, transform: Transform
) -> tuple[Value, Value]:
    """Means and variances of members (rows, members) before the transform -> after it."""
    if not tail_share:
        return _moments(means, stds, transform)
    core = stds * (1 + tail_share * (tail_width**2 - 1)) ** -0.5
    middle, variance = _moments(means, core, transform)
    tail_middle, tail_variance = _moments(means, core * tail_width, transform)
    apart = tail_middle - middle
    within = variance * (1 - tail_share) + tail_variance * tail_share
    return middle + apart * tail_share, within + apart * apart * (tail_share * (1 - tail_share))


def _moments(means: Value, stds: Value, transform: Transform) -> tuple[Value, Value]:
    m, s = means.insert(2), stds.insert(2)
    edges = (-math.inf, *transform.starts, transform.end, math.inf)
    parts = []
    for i, (value, slope, start, rate) in enumerate(transform.pieces):
        low, high = edges[i : i + 2]
        if low == high:
            continue
        first, last = (_standardised(end, m, s) for end in (low, high))
        half = (last - first) * 0.5
        u = first + half * (1 + NODES)
        weights = half * WEIGHTS * (u * u * -0.5).apply("Exp") * (2 * math.pi) ** -0.5
        rise = _rise((m + s * u).clip(max(low, -1e100), min(high, 1e100)) - start, rate)
        parts.append((weights, rise * slope + value))
    mean = _total([weights * values for weights, values in parts])
    apart = [(weights, values - mean.insert(2)) for weights, values in parts]
    return mean, _total([weights * values * values for weights, values in apart])


def transformed(z: Value, transform: Transform) -> Value:
    """What each piece adds between its ends: pieces begin where those before them end."""
    ends, y = (*transform.starts[1:], transform.end), z * 0.0 + transform.low
    for end, (_, slope, start, rate) in zip(ends, transform.pieces[1:-1], strict=True):
        y = y + _rise(z.clip(start, min(end, 1e100)) - start, rate) * slope
    return y


def _rise(distance: Value, rate: float) -> Value:
    return ((distance * rate).apply("Exp") - 1.0) * (1 / rate) if rate else distance


def _standardised(end: float, m: Value, s: Value) -> Value:
    if math.isinf(end):
        return m * 0.0 + math.copysign(REACH, end)
    return ((end - m) / s).clip(-REACH, REACH)


def _total(parts: list[Value]) -> Value:
    """(rows, members, nodes) of every piece -> (rows, members)."""
    first, *others = (part.sum(2) for part in parts)
    for other in others:
        first = first + other
    return first
