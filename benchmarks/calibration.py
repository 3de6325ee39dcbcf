"""How often intervals and sets hold the truth, before and after calibration.

    python benchmarks/calibration.py

Five tables, at most 3,000 rows of each; a model learns from half of them. The other half is cut 50
times by chance into rows to calibrate with and rows to judge by. Prints, for each table, method and
nominal coverage: the model's own coverage on the other half (of classes: sets whose probabilities
add up), the mean over the 50 calibrations, and the mean width of intervals or size of sets before
and after. Sets may be empty here; those of `predict_set` hold the most probable class by default
and then cover at least as often. Takes four minutes on one core; needs BATCHENSEMBLE_DATA.
"""

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from batchensemble import Classifier, Regressor
from batchensemble.conformal import promised_sets
from batchensemble.study.datasets import load_table
from batchensemble.training.methods import METHODS

TABLES = ("diabetes", "california", "breast_cancer", "phoneme", "adult")
NOMINAL = (0.8, 0.9)
N_ROWS, N_SPLITS = 3000, 50


def judge_intervals(model: Regressor, x: pd.DataFrame, y: np.ndarray, nominal: float) -> np.ndarray:
    low, high = model.predict_interval(x, nominal).T
    return np.array([np.mean((low <= y) & (y <= high)), np.mean(high - low)])


def judge_sets(model: Classifier, sets: np.ndarray, y: np.ndarray) -> np.ndarray:
    held = sets[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return np.array([held.mean(), sets.sum(axis=1).mean()])


def measure(name: str, method: str) -> list[dict[str, object]]:
    table = load_table(name)
    rows = np.random.default_rng(0).permutation(len(table.y))[:N_ROWS]
    learned, rest = np.array_split(rows, 2)
    x, y = table.X.iloc[rest], table.y[rest]
    is_regression = table.task == "regression"
    model = (Regressor if is_regression else Classifier)(method, random_state=0)
    model.fit(table.X.iloc[learned], table.y[learned])

    def judge(rows: np.ndarray, nominal: float) -> np.ndarray:
        if is_regression:
            return judge_intervals(model, x.iloc[rows], y[rows], nominal)
        sets = model.predict_set(x.iloc[rows], nominal, allow_empty=True)
        return judge_sets(model, sets, y[rows])

    if is_regression:
        own = [judge_intervals(model, x, y, nominal) for nominal in NOMINAL]
    else:
        p = model.predict_proba(x)
        own = [judge_sets(model, promised_sets(p, nominal), y) for nominal in NOMINAL]
    found = []
    for seed in range(N_SPLITS):
        known, new = train_test_split(np.arange(len(y)), test_size=0.5, random_state=seed)
        model.calibrate(x.iloc[known], y[known])
        found.append([judge(new, nominal) for nominal in NOMINAL])
    calibrated = np.mean(found, axis=0)
    return [
        {
            "table": name,
            "method": method,
            "nominal": nominal,
            "own": before[0],
            "calibrated": after[0],
            "own size": before[1],
            "calibrated size": after[1],
        }
        for nominal, before, after in zip(NOMINAL, own, calibrated, strict=True)
    ]


def main() -> None:
    lines = [line for name in TABLES for method in METHODS for line in measure(name, method)]
    sheet = pd.DataFrame(lines)
    print(sheet.to_string(index=False, float_format="{:.3f}".format))
    for column in ("own", "calibrated"):
        worst = (sheet[column] - sheet["nominal"]).abs().max()
        print(f"largest distance to the nominal coverage, {column}: {100 * worst:.1f} points")


if __name__ == "__main__":
    main()
