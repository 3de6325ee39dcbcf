"""Do intervals hold as many new rows as they say, however few rows there were to learn from?

    BATCHENSEMBLE_DATA=FOLDER python benchmarks/new_rows.py [--device cuda]

Default preset, random rows of the tables of `benchmarks/quality` to choose by. Printed by number of
rows: the coverage of 90 % and 50 % intervals if the networks of folds were taken to differ as much
on new rows as on rows that they trained on, and as `fit` takes them to, and the ratio of CRPS.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from batchensemble import Regressor
from batchensemble.estimators import spread

sys.path.insert(0, str(Path(__file__).parent / "quality"))
import loader

SIZES, N_SEEDS, N_NEW = (150, 350, 1200, 5000), 3, 2000


def measure(name: str, n: int, seed: int, device: str) -> dict[str, Any] | None:
    table, random = loader.load(name), np.random.default_rng([seed, n])
    rows = random.permutation(len(table.y))[: n + N_NEW]
    if len(rows) < n + 100:
        return None
    (X, y), (new, truth) = ((table.X.iloc[r], table.y[r]) for r in (rows[:n], rows[n:]))
    found: dict[str, Any] = {"table": name, "n": n, "seed": seed}
    usual = spread.NEW_ROWS
    for way, many in (("before", 1e-9), ("as fit", usual)):
        spread.NEW_ROWS = many
        model = Regressor(random_state=seed, device=device).fit(X, y)
        for share in (90, 50):
            low, high = model.predict_interval(new, coverage=share / 100).T
            found[f"{share} % {way}"] = np.mean((low <= truth) & (truth <= high))
        found[f"crps {way}"] = model.predict_dist(new).crps(truth).mean()
    spread.NEW_ROWS = usual
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    device = parser.parse_args().device
    jobs = [(name, n, s) for name in loader.REGRESSION for n in SIZES for s in range(N_SEEDS)]
    found = pd.DataFrame([row for job in jobs if (row := measure(*job, device)) is not None])
    found["crps"] = found["crps as fit"] / found["crps before"]
    names = ["90 % before", "90 % as fit", "50 % before", "50 % as fit", "crps"]
    print(found.groupby("n")[names].mean().round(3).to_string())
    print(found.groupby("table")[names].mean().round(3).to_string())


if __name__ == "__main__":
    main()
