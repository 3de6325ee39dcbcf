"""Memory and speed of a fit to a table larger than memory, beside others on the same file.

    OMP_NUM_THREADS=1 python benchmarks/scale.py [--rows 10_000_000] [--seconds 60]

Writes a Parquet file of so many rows and 20 columns by row groups, then fits each model to it in a
process of its own. Ours trains for --seconds: its training is bounded by steps, not by rows. Peak
memory is that of the process, with all that it has imported. Rows a second are those of the file,
by the processor's seconds for all of it: reading, encoding, training. For a model of another
environment: --only MODEL --file FILE there.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

GROUP, N_NUMBERS = 2**17, 18


def table(n: int, random: np.random.Generator) -> dict[str, np.ndarray]:
    """Numbers, a category, a flag, and a target with noise that depends on the row."""
    x = random.normal(size=(n, N_NUMBERS)).astype(np.float32)
    city, flag = random.integers(0, 200, n), random.random(n) < 0.3
    noise = (0.1 + 0.3 * (x[:, 4] > 0)) * random.normal(size=n)
    y = np.sin(2 * x[:, 0]) + 0.5 * x[:, 1] * x[:, 2] + 0.3 * x[:, 3] + 0.1 * (city % 7) + noise
    columns = {f"x{i}": x[:, i] for i in range(N_NUMBERS)}
    return columns | {"city": np.char.add("c", city.astype(str)), "flag": flag, "y": y + 0.5 * flag}


def write(path: Path, n_rows: int) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    random, writer = np.random.default_rng(0), None
    for start in range(0, n_rows, GROUP):
        group = pa.table(table(min(GROUP, n_rows - start), random))
        writer = writer or parquet.ParquetWriter(path, group.schema)
        writer.write_table(group)
    writer.close()


def new_rows() -> "tuple[object, np.ndarray]":
    import pandas as pd

    frame = pd.DataFrame(table(20_000, np.random.default_rng(1)))
    return frame.drop(columns="y"), frame["y"].to_numpy()


def ours(path: Path, seconds: float) -> dict[str, float]:
    import warnings

    from batchensemble import Regressor

    warnings.simplefilter("ignore")
    model = Regressor(random_state=0, time_limit=seconds, device="cpu").fit(path, "y")
    X, y = new_rows()
    trained = model.history_[0].seconds
    steps = len(model.history_[0].losses) * model.settings_["epoch_steps"]
    seen = steps * model.settings_["batch_size"] * model.settings_["folds"]
    error = model.predict(X) - y
    return {"training_s": trained, "rows_trained_a_s": seen / trained, "rmse": float(error.std())}


def boosting(path: Path, seconds: float) -> dict[str, float]:
    import pandas as pd
    from sklearn.ensemble import HistGradientBoostingRegressor

    start = time.monotonic()
    frame = pd.read_parquet(path)
    frame["city"] = frame["city"].astype("category")
    read = time.monotonic() - start
    model = HistGradientBoostingRegressor(categorical_features="from_dtype", random_state=0)
    model.fit(frame.drop(columns="y"), frame["y"])
    X, y = new_rows()
    X["city"] = X["city"].astype(frame["city"].dtype)
    return {"reading_s": read, "rmse": float((model.predict(X) - y).std())}


def catboost(path: Path, seconds: float) -> dict[str, float]:
    import pandas as pd
    from catboost import CatBoostRegressor

    start = time.monotonic()
    frame = pd.read_parquet(path)
    read = time.monotonic() - start
    n_threads = int(os.environ.get("OMP_NUM_THREADS", "-1"))
    how = {"thread_count": n_threads, "random_seed": 0, "verbose": 0, "allow_writing_files": False}
    model = CatBoostRegressor(iterations=100, cat_features=["city"], **how)
    model.fit(frame.drop(columns="y"), frame["y"])
    X, y = new_rows()
    return {"reading_s": read, "rmse": float((model.predict(X) - y).std())}


MODELS = {"ours": ours, "HistGradientBoosting": boosting, "CatBoost, 100 trees": catboost}


def measure(name: str, path: Path, seconds: float) -> None:
    from pyarrow import parquet

    start = time.monotonic()
    numbers = MODELS[name](path, seconds)
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu = used.ru_utime + used.ru_stime
    costs = {
        "wall_s": time.monotonic() - start,
        "cpu_s": cpu,
        "rows_a_cpu_s": parquet.ParquetFile(path).metadata.num_rows / cpu,
        "peak_gib": used.ru_maxrss / 2**20,
    }
    print(json.dumps(costs | numbers))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--file", type=Path, help="use this file instead of writing one")
    parser.add_argument("--only", choices=MODELS, help="one model")
    parser.add_argument("--measure", choices=MODELS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(given.measure, given.file, given.seconds)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = given.file or Path(folder) / "table.parquet"
        if not path.exists():
            write(path, given.rows)
        print(f"{path.stat().st_size / 2**30:.2f} GiB of Parquet")
        for name in [given.only] if given.only else MODELS:
            same = [sys.executable, __file__, "--file", str(path), "--seconds", str(given.seconds)]
            done = subprocess.run([*same, "--measure", name], capture_output=True, text=True)
            if done.returncode:
                print(f"{name}: {done.stderr.strip().splitlines()[-1]}")
                continue
            numbers = json.loads(done.stdout)
            every = (f"{key} {value:,.3g}" for key, value in numbers.items())
            print(f"{name}: {', '.join(every)}", flush=True)


if __name__ == "__main__":
    main()
