"""Functions of single numbers without branches, so that loops can vectorise them."""

import numpy as np

from batchensemble.nn.dropout import FACTOR1, FACTOR2, SHIFT1, SHIFT2, SHIFT3
from batchensemble.training.engines.fused.compiling import F, inlined


@inlined
def exp(x: F) -> F:
    """Exact to the last digit or two; infinite above float32's range, and never quite zero."""
    x = min(max(x, F(-87)), F(89))
    k = np.floor(x * F(1.44269504) + F(0.5))  # e**x = 2**k * e**f
    f = x - k * F(0.693359375) + k * F(2.12194440e-4)
    value = F(1 / 5040)
    value = value * f + F(1 / 720)
    value = value * f + F(1 / 120)
    value = value * f + F(1 / 24)
    value = value * f + F(1 / 6)
    value = value * f + F(1 / 2)
    value = value * f + F(1)
    value = value * f + F(1)
    power = np.int32((np.int32(k) + np.int32(127)) << np.int32(23)).view(F)
    return F(value * power)


@inlined
def sigmoid(x: F) -> F:
    return F(1) / (F(1) + exp(-x))


@inlined
def tanh(x: F) -> F:
    return F(2) * sigmoid(F(2) * x) - F(1)


@inlined
def softplus(x: F) -> F:
    """log(1 + e) = 2 artanh(e / (2 + e)), by the series of artanh."""
    e = exp(-abs(x))
    z = e / (F(2) + e)
    z2 = z * z
    series = F(1 / 13)
    series = series * z2 + F(1 / 11)
    series = series * z2 + F(1 / 9)
    series = series * z2 + F(1 / 7)
    series = series * z2 + F(1 / 5)
    series = series * z2 + F(1 / 3)
    series = series * z2 + F(1)
    return max(x, F(0)) + F(2) * z * series


@inlined
def is_kept(unit: int, key: np.int32, threshold: np.int32) -> bool:
    """`nn.dropout.keep_masks` of one unit."""
    x = np.uint32(np.uint32(unit) + np.uint32(key))
    x = np.uint32(x ^ (x >> np.uint32(SHIFT1)))
    x = np.uint32(x * np.uint32(FACTOR1))
    x = np.uint32(x ^ (x >> np.uint32(SHIFT2)))
    x = np.uint32(x * np.uint32(FACTOR2))
    x = np.uint32(x ^ (x >> np.uint32(SHIFT3)))
    return bool(np.int32(x) >= threshold)
