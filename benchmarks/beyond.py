"""How good are predictions for rows beyond those of fit?

    BATCHENSEMBLE_DATA=FOLDER python benchmarks/beyond.py [--device cuda]

Default preset, the tables of `benchmarks/quality` to choose by. For each of three columns of a
table and both of its ends, the rows of the outer 15 per cent are left out of training and
predicted. Printed are means over all of them, by how many bins learned curves go on beyond the
numbers of fit (0: they end flat; 4 is what `fit` takes) and by how much farther members are apart
for each bin (`predict` takes 0.25): the score (CRPS, or log-loss of classes) as a ratio to that of
flat curves, the coverage of 90 % intervals (of numbers), the accuracy (of classes), and the AUROC
of the epistemic part for these rows beside held-out rows of the usual kind.
"""

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import gmean
from sklearn.metrics import log_loss, roc_auc_score

from batchensemble import Classifier, Regressor
from batchensemble.estimators import table_model

sys.path.insert(0, str(Path(__file__).parent / "quality"))
import loader

N_COLUMNS, OUTER, MOST_ROWS, FEWEST_VALUES = 3, 0.15, 6_000, 20
WAYS = ((0, 0.0), (4, 0.0), (16, 0.0), (4, 0.1), (4, 0.25), (4, 0.5), (4, 1.0))  # reach and apart


def splits(X: pd.DataFrame) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Rows inside and outside, for each of some columns and its ends."""
    names = [name for name in X.select_dtypes("number") if X[name].nunique() > FEWEST_VALUES]
    found = []
    for name in np.random.default_rng(1).permutation(names)[:N_COLUMNS]:
        for sign in (1, -1):
            values = sign * X[name].to_numpy(float)
            is_outer = values > np.quantile(values, 1 - OUTER)
            if is_outer.sum() >= 30:
                inside = np.random.default_rng(0).permutation(np.flatnonzero(~is_outer))
                found.append((inside, np.flatnonzero(is_outer)))
    return found


def reaching(model: Any, reach: int, apart: float) -> Any:
    """The same model with curves that go on so far, and members so far apart."""
    table_model.APART_A_BIN = apart
    encoder = model.model_.encoder
    encoder.binned_ = dataclasses.replace(encoder.binned_, reach=reach)
    return model


def measure(name: str, device: str) -> list[dict[str, Any]]:
    table, rows = loader.load(name), []
    kind = Classifier if table.n_classes else Regressor
    for split, (inside, outside) in enumerate(splits(table.X)):
        n = min(len(inside) * 4 // 5, MOST_ROWS)
        train, usual = inside[:n], inside[n : n + 3_000]
        model = kind(random_state=0, device=device).fit(table.X.iloc[train], table.y[train])
        X, y = table.X.iloc[outside], table.y[outside]
        for reach, apart in WAYS:
            dist = reaching(model, reach, apart).predict_dist(X)
            doubt = [model.predict_dist(table.X.iloc[usual]).epistemic, dist.epistemic]
            is_outer = np.repeat([0, 1], [len(usual), len(outside)])
            row = {"table": name, "split": split, "reach": reach, "apart": apart}
            row["auroc"] = roc_auc_score(is_outer, np.concatenate(doubt))
            if table.n_classes:
                row["score"] = log_loss(y, model.predict_proba(X), labels=model.classes_)
                row["accuracy"] = model.score(X, y)
            else:
                row["score"] = float(np.mean(dist.crps(y)))
                low, high = model.predict_interval(X, coverage=0.9).T
                row["coverage"] = float(np.mean((low <= y) & (y <= high)))
            rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--tables", nargs="+", default=[*loader.REGRESSION, *loader.CLASSES])
    args = parser.parse_args()
    found = pd.DataFrame([row for name in args.tables for row in measure(name, args.device)])
    flat = found.groupby(["table", "split"])["score"].transform("first")
    found["ratio"] = found["score"] / flat
    names = {"ratio": gmean, "coverage": "mean", "accuracy": "mean", "auroc": "mean"}
    of_both = {name: how for name, how in names.items() if name in found}
    print(found.groupby(["reach", "apart"]).agg({"split": "size", **of_both}).round(3).to_string())
    print(found.groupby(["table", "reach", "apart"]).agg(of_both).round(3).to_string())


if __name__ == "__main__":
    main()
