"""Which calibrated intervals are sharper: equal sides, two sides, or conformalised quantiles?

The interval score at 80, 90 and 95 % on rows that are new, as a ratio to that of equal sides, and
whether the rows of fit chose two sides; `preset="fast"`. The tables are those of
`benchmarks/quality`, to choose by, and three with generated noise.

    BATCHENSEMBLE_DATA=FOLDER python benchmarks/sides.py
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble import Regressor
from batchensemble.conformal import IntervalCalibration, conformal_quantile
from batchensemble.metrics import interval_score

sys.path.insert(0, str(Path(__file__).parent / "quality"))
import loader

LEVELS = 0.8, 0.9, 0.95
MOST_ROWS = 8_000

Floats = NDArray[np.float64]


def tables() -> Iterator[tuple[str, pd.DataFrame, Floats]]:
    for name in loader.REGRESSION:
        table = loader.load(name)
        yield name, table.X, table.y.astype(float)
    random, n = np.random.default_rng(0), 3_000
    X = pd.DataFrame(random.normal(size=(n, 5))).add_prefix("x")
    level = X["x0"].to_numpy()
    yield "log-normal", X, np.exp(level + 0.8 * random.normal(size=n))
    yield "exponential", X, level + (1 + np.abs(X["x1"])) * random.exponential(size=n)
    heaps = np.where(random.random(n) < 0.3, 3.0, -1.0)
    yield "two heaps", X, level + heaps + 0.3 * random.normal(size=n)


def ratios(model: Regressor, known: tuple, new: tuple) -> list[list[float]]:
    """Of two sides and of conformalised quantiles, level by level."""
    dist, judged = model.predict_dist(known[0]), model.predict_dist(new[0])
    equal = replace(IntervalCalibration.of(known[1], dist), two_sided=False)
    lines = []
    for level in LEVELS:
        own, ends = dist.interval(level), judged.interval(level)
        sides = [
            conformal_quantile(side, (1 + level) / 2)
            for side in (own[:, 0] - known[1], known[1] - own[:, 1])
        ]
        quantiles = np.column_stack([ends[:, 0] - sides[0], ends[:, 1] + sides[1]])
        tried = (
            equal.interval(judged, level),
            replace(equal, two_sided=True).interval(judged, level),
            quantiles,
        )
        scores = [
            interval_score(new[1], lower=each.min(axis=1), upper=each.max(axis=1), coverage=level)
            for each in tried
        ]
        lines.append([score / scores[0] for score in scores[1:]])
    return lines


def main() -> None:
    print(
        f"{'table':14}{'chosen':>8}"
        + "".join(f"{f'{100 * level:.0f} %: two, quantiles':>24}" for level in LEVELS)
    )
    for name, X, y in tables():
        rows = np.random.default_rng(5).permutation(len(y))[:MOST_ROWS]
        train, known, new = (
            (X.iloc[part], y[part])
            for part in np.split(rows, [int(0.6 * len(rows)), int(0.8 * len(rows))])
        )
        model = Regressor(preset="fast", random_state=0).fit(*train)
        chosen = "two" if model.spread_.skewed else "equal"
        lines = ratios(model, known, new)
        print(
            f"{name:14}{chosen:>8}"
            + "".join(f"{two:>15.2f}{quantiles:>9.2f}" for two, quantiles in lines),
            flush=True,
        )


if __name__ == "__main__":
    main()
