"""CRPS, NLL and RMSE of the default preset, for comparison with an earlier version.

    BATCHENSEMBLE_DATA=FOLDER PYTHONPATH=SRC python benchmarks/earlier.py [--device cuda]

The tables of `benchmarks/quality` to choose by that have a number to predict, three splits, both
ensembles. The script uses what version 0.1 has, too: SRC is the `src` of either version.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from batchensemble import Regressor

sys.path.insert(0, str(Path(__file__).parent / "quality"))
import loader
from measure import number_scores

METHODS, N_SPLITS = ("batch_ensemble", "deep_ensemble"), 3


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    device = parser.parse_args().device
    print("table,split,method,crps,nll,rmse")
    for name in loader.GROUPS["choosing"]:
        table = loader.load(name)
        for split in range(0 if table.n_classes else N_SPLITS):
            train, test = loader.split(name, split, len(table.y))
            for method in METHODS:
                model = Regressor(method, random_state=split, device=device)
                model.fit(table.X.iloc[train], np.asarray(table.y)[train])
                scores = number_scores(table.y[test], model.predict_dist(table.X.iloc[test]))
                found = (f"{scores[score]:.6g}" for score in ("crps", "nll", "rmse"))
                print(name, split, method, *found, sep=",", flush=True)


if __name__ == "__main__":
    main()
