"""A deep ensemble of ten: trained as one bank, and network by network.

    python benchmarks/bank.py

Prints the ratio of the times, at the paper's setting, with a warm-up and interleaved repeats.
"""

import statistics
import time

import numpy as np
from sklearn.datasets import load_diabetes

from batchensemble import Regressor

EPOCHS, REPEATS = 40, 5


def seconds(x: np.ndarray, y: np.ndarray, *, one_by_one: bool) -> tuple[float, float]:
    model = Regressor(
        "deep_ensemble", preset="paper", epochs=EPOCHS, one_by_one=one_by_one, random_state=0
    )
    start = time.perf_counter()
    model.fit(x, y)
    elapsed = time.perf_counter() - start
    return elapsed, float(np.mean([history.losses[-1] for history in model.history_]))


def main() -> None:
    diabetes = load_diabetes(return_X_y=True)
    random = np.random.default_rng(0)
    x = random.normal(size=(2000, 8))
    tables = {
        "diabetes (442 rows)": diabetes,
        "synthetic (2,000 rows)": (x, x[:, 0] * x[:, 1] + random.normal(size=2000)),
    }
    print("deep ensemble of ten, one by one / as a bank")
    for name, (x, y) in tables.items():
        seconds(x[:100], y[:100], one_by_one=False)
        bank, alone = [], []
        for _ in range(REPEATS):
            bank.append(seconds(x, y, one_by_one=False))
            alone.append(seconds(x, y, one_by_one=True))
        ratios = [a[0] / b[0] for a, b in zip(alone, bank, strict=True)]
        print(
            f"{name:24} {statistics.median(ratios):.1f}x  (from {min(ratios):.1f} to "
            f"{max(ratios):.1f}); final losses {bank[0][1]:.3f} and {alone[0][1]:.3f}"
        )


if __name__ == "__main__":
    main()
