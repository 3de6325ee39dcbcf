"""Does the error fall as the least certain rows are left out?

    BATCHENSEMBLE_DATA=FOLDER python benchmarks/selective.py [--device cuda]

Default preset, the tables of `benchmarks/quality` to choose by, two splits, at most 6,000 rows to
learn from. `area` is that under the risk-coverage curve (mean squared error or error rate of the
rows kept, the least certain left out first), `order` the same as a share of the risk of all rows.
`far` is the AUROC of the epistemic part for rows whose numbers were all moved by four standard
deviations. The script uses what version 0.1 has, too: with its `src` in PYTHONPATH it compares.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import entropy
from sklearn.metrics import roc_auc_score

from batchensemble import Classifier, Regressor

sys.path.insert(0, str(Path(__file__).parent / "quality"))
import loader

N_SPLITS, MOST_ROWS, FAR = 2, 6_000, 4.0


def area(errors: NDArray[np.float64], uncertainty: NDArray[np.float64]) -> float:
    kept = errors[np.argsort(uncertainty, kind="stable")]
    return float(np.mean(np.cumsum(kept) / np.arange(1, len(kept) + 1)))


def moved(X: pd.DataFrame, like: pd.DataFrame) -> pd.DataFrame:
    numbers = X.select_dtypes("number").columns
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(len(X), len(numbers)))
    return X.assign(**(X[numbers] + FAR * signs * like[numbers].std().to_numpy()))


def measure(name: str, split: int, device: str) -> dict[str, float]:
    table = loader.load(name)
    train, test = loader.split(name, split, len(table.y))
    train = np.random.default_rng(split).permutation(train)[:MOST_ROWS]
    kind = Classifier if table.n_classes else Regressor
    model = kind(random_state=split, device=device).fit(table.X.iloc[train], table.y[train])
    X, y = table.X.iloc[test], table.y[test]
    dist = model.predict_dist(X)
    if table.n_classes:
        errors = (model.predict(X) != y).astype(float)
        doubt = entropy(model.predict_proba(X), axis=1)
    else:
        errors, doubt = np.square(y - dist.mean), dist.variance
    far = model.predict_dist(moved(X, table.X)).epistemic
    is_far = np.repeat([0, 1], [len(X), len(far)])
    own, risk = area(errors, doubt), float(errors.mean())
    auroc = float(roc_auc_score(is_far, np.concatenate([dist.epistemic, far])))
    return {"risk": risk, "area": own, "order": own / risk, "far": auroc}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    device = parser.parse_args().device
    for name in loader.REGRESSION + loader.CLASSES:
        runs = [measure(name, split, device) for split in range(N_SPLITS)]
        means = pd.DataFrame(runs).mean()
        print(
            f"{name:14}" + "".join(f"{key:>8} {means[key]:<9.3g}" for key in means.index),
            flush=True,
        )


if __name__ == "__main__":
    main()
