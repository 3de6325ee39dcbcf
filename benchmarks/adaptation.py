"""Coverage of adaptive, forgetting and static bounds on errors whose spread doubles half-way.

python benchmarks/adaptation.py: a few seconds.
"""

import numpy as np

from batchensemble.conformal import Adaptation, conformal_quantile

N, CHANGE, N_FIRST, LEVEL, SEEDS = 600, 300, 150, 0.8, 12
AFTER = CHANGE + 50
STRETCHES = {"before": (N_FIRST, CHANGE), "50 after": (CHANGE, AFTER), "last 200": (N - 200, N)}


def held(scores: np.ndarray) -> dict[str, np.ndarray]:
    """By kind of bounds: whether they held, from N_FIRST on."""
    times = np.arange(N_FIRST, N)
    factors = {
        "adaptive": Adaptation(scores[:, None], np.arange(N)).factors(LEVEL, times)[:, 0],
        "forgetting": np.array([conformal_quantile(scores[t - N_FIRST : t], LEVEL) for t in times]),
        "static": conformal_quantile(scores[:N_FIRST], LEVEL),
    }
    return {name: scores[N_FIRST:] <= factor for name, factor in factors.items()}


for factor in (1.0, 2.0):
    scale = np.where(np.arange(N) < CHANGE, 1.0, factor)
    draws = [np.random.default_rng(seed).normal(size=N) for seed in range(SEEDS)]
    runs = [held(np.abs(draw) * scale) for draw in draws]
    print(f"spread times {factor:g}")
    for name in runs[0]:
        shares = [
            f"{where} {np.mean([run[name][a - N_FIRST : b - N_FIRST] for run in runs]):.1%}"
            for where, (a, b) in STRETCHES.items()
        ]
        print(f"  {name:10}  " + "  ".join(shares))
