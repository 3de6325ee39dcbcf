"""Memory of prediction: what is needed beyond the input, for more and more rows.

    python benchmarks/memory.py

Each number of rows has a process of its own, whose peak is compared with that before predicting.
Ours is the mean and the standard deviation of every row, from the estimator; others' are the
outputs of all members, from the network alone.
"""

import resource
import subprocess
import sys

import numpy as np
import torch
from rivals import EagerBatchEnsemble, Loop, Net, tabm_layer

from batchensemble import Regressor

INPUTS, K = 8, 10
LAYERS = {
    "plain eager": lambda: lambda i, o: EagerBatchEnsemble(i, o, K),
    "tabm's layer": lambda: tabm_layer(K),
}


def peak() -> float:
    """Mebibytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(method: str, n_rows: int) -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(500, INPUTS))
    if method in LAYERS:
        rows = torch.tensor(x)
        loop = Loop(Net(LAYERS[method](), INPUTS), rows, rows[:, 0], n_members=K)

        def predict(new: np.ndarray) -> object:
            return loop.predict(torch.from_numpy(new))
    else:
        model = Regressor(method, preset="paper", epochs=1, random_state=0).fit(x, x[:, 0])

        def predict(new: np.ndarray) -> object:
            return model.predict(new, return_std=True)

    predict(x)
    new = random.normal(size=(n_rows, INPUTS))
    before = peak()
    predict(new)
    print(peak() - before, new.nbytes / 2**20)


def main() -> None:
    for method in ("batch_ensemble", "deep_ensemble", "mc_dropout", "single", *LAYERS):
        for n_rows in (10_000, 100_000, 1_000_000):
            command = [sys.executable, __file__, method, str(n_rows)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            extra, size = map(float, done.stdout.split())
            print(
                f"{method:15} {n_rows:>9,} rows of {INPUTS}: {extra:6.0f} MiB beyond the input, "
                f"{extra / size:5.1f} times its size",
                flush=True,
            )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(sys.argv[1], int(sys.argv[2]))
    else:
        main()
