"""The step of `batchensemble.training.engines.adam.Adam`, for one network."""

import math

import numpy as np

from batchensemble.training.engines.adam import BETA1, BETA2, EPS
from batchensemble.training.engines.fused.compiling import F, Floats, compiled


@compiled
def adam_step(
    theta: Floats,
    gradient: Floats,
    moment1: Floats,
    moment2: Floats,
    count: float,
    decay: Floats,
    lr: float,
    clip_norm: float,
) -> None:
    """`decay` may be empty."""
    factor = F(1)
    if clip_norm < math.inf:
        total = F(0)
        for g in gradient:
            total += g * g
        factor = F(clip_norm / max(math.sqrt(total), clip_norm))
    for i in range(len(decay)):
        theta[i] *= F(1) - F(lr) * decay[i]
    rate, spread = F(lr / (1 - BETA1**count)), F(1 / (1 - BETA2**count))
    for i in range(len(theta)):
        g = gradient[i] * factor
        moment1[i] += (g - moment1[i]) * F(1 - BETA1)
        moment2[i] += (g * g - moment2[i]) * F(1 - BETA2)
        theta[i] -= rate * moment1[i] / (np.sqrt(moment2[i] * spread) + F(EPS))
