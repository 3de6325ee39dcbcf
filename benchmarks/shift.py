"""Do scores know unfamiliar rows? The AUROC of `shift_score`, for the methods with members.

    python benchmarks/shift.py

Five tables, at most 3,000 rows of each, default preset. Three kinds of unfamiliar rows:
`far`, held-out rows whose numbers were all moved by four standard deviations, up or down by chance;
`one`, the same with one number of each row moved, as by a slip of the pen;
`tail`, the rows that `make_shift` keeps from training: the ends of two influential columns.
0.5 is chance, 1 is perfect. Takes six minutes on one core; needs BATCHENSEMBLE_DATA.
"""

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from batchensemble import Classifier, Regressor
from batchensemble.metrics import shift_auroc
from batchensemble.study.datasets import Table, load_table, make_shift

TABLES = ("diabetes", "california", "breast_cancer", "phoneme", "adult")
METHODS = ("batch_ensemble", "deep_ensemble", "mc_dropout")
N_ROWS, FAR = 3000, 4.0


def moved(x: pd.DataFrame, random: np.random.Generator, *, one: bool) -> pd.DataFrame:
    """The rows, with every number, or one of each row, far away from where it was."""
    numbers = x.select_dtypes("number")
    steps = FAR * random.choice([-1.0, 1.0], size=numbers.shape) * numbers.std().to_numpy()
    if one:
        n_rows, n_columns = numbers.shape
        steps *= np.arange(n_columns) == random.integers(n_columns, size=(n_rows, 1))
    return x.assign(**(numbers + steps))


def learned(table: Table, method: str, rows: np.ndarray) -> Regressor | Classifier:
    kind = Regressor if table.task == "regression" else Classifier
    return kind(method, random_state=0).fit(table.X.iloc[rows], table.y[rows])


def measure(name: str, method: str) -> dict[str, object]:
    table = load_table(name)
    random = np.random.default_rng(0)
    rows = random.permutation(len(table.y))[:N_ROWS]
    known, new = train_test_split(rows, test_size=0.2, random_state=0)
    model, usual = learned(table, method, known), table.X.iloc[new]
    found: dict[str, object] = {"table": name, "method": method}
    for kind in ("far", "one"):
        rows_of_both = pd.concat([usual, moved(usual, random, one=kind == "one")])
        is_moved = np.arange(len(rows_of_both)) >= len(usual)
        found[kind] = shift_auroc(is_moved, score=model.shift_score(rows_of_both))

    split = make_shift(table.X.iloc[rows], table.y[rows], task=table.task, seed=0)
    model = learned(table, method, rows[split.train])
    scores = model.shift_score(table.X.iloc[rows[split.test]])
    return found | {"tail": shift_auroc(split.is_tail, score=scores)}


def main() -> None:
    lines = [measure(name, method) for name in TABLES for method in METHODS]
    print(pd.DataFrame(lines).to_string(index=False, float_format="{:.2f}".format))


if __name__ == "__main__":
    main()
