"""How long one row takes: `OMP_NUM_THREADS=1 python benchmarks/latency.py`.

Milliseconds for one row through a loaded model, as an array and as a frame of numbers or of all
kinds, and beside a scikit-learn pipeline that gives a number alone; for a forecast; CPU-seconds for
100,000 rows; then
the time of imports, beside torch's own, and of `batchensemble --help`. The fastest of many calls
and the median: the machine may be busy.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from batchensemble import Classifier, Forecaster, Regressor, load

CALLS = 1000
HELP = (
    "import sys; sys.argv = ['batchensemble', '--help']; import batchensemble.cli.app as a; a.app()"
)


def table(n=500):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(n, 10)), columns=[f"x{i}" for i in range(10)])
    mixed = frame.assign(town=random.choice(["Bonn", "Jena", "Ulm"], n), is_new=frame["x0"] > 0)
    mixed["sold"] = pd.date_range("2024-01-01", periods=n)
    return frame, mixed, (frame["x0"] ** 2 + frame["x1"]).to_numpy()


def milliseconds(call, n=CALLS):
    for _ in range(50):
        call()
    spent = np.empty(n)
    for i in range(n):
        start = time.perf_counter()
        call()
        spent[i] = time.perf_counter() - start
    return 1e3 * spent.min(), 1e3 * float(np.median(spent))


def reloaded(model):
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "m.be")
        return load(Path(folder) / "m.be")


def seconds(*codes):
    """The least CPU time of six processes of each, by turns: the machine's speed varies."""
    spent = {code: [] for code in codes}
    for _ in range(6):
        for code in codes:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
            spent[code].append(sum(times))
    return [min(times) for times in spent.values()]


def many_rows():
    """CPU-seconds of `predict`, the least of three."""
    random = np.random.default_rng(0)
    x, many = random.normal(size=(2_000, 8)), random.normal(size=(100_000, 8))
    for preset in ("default", "fast"):
        model = Regressor(preset=preset, epochs=1, random_state=0).fit(x, x[:, 0] + x[:, 1] ** 2)
        spent = []
        for _ in range(3):
            start = time.process_time()
            model.predict(many)
            spent.append(time.process_time() - start)
        print(f"predict, 100,000 rows of 8 numbers, {preset}: {min(spent):.1f} s of CPU")


def one_row():
    """Name and call, of each kind of model, row and question."""
    numbers, mixed, y = table()
    tables = {"array of 10": numbers.to_numpy(), "frame of 10": numbers, "frame of 13": mixed}
    for preset in ("default", "fast"):
        for name, x in tables.items():
            row, settings = x[:1], {"preset": preset, "random_state": 0, "epochs": 5}
            for calibrate in (False, True):
                model = reloaded(Regressor(**settings).fit(x, y, calibrate=calibrate))
                how = ", calibrated" if calibrate else ""
                yield f"predict_interval, {preset}, {name}{how}", model.predict_interval, row
            model = reloaded(Classifier(**settings).fit(x, y > 1, calibrate=True))
            yield f"predict_set, {preset}, {name}", model.predict_set, row
    coded = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    peer = make_pipeline(coded, HistGradientBoostingRegressor())
    rows = mixed.drop(columns="sold")
    yield "scikit-learn pipeline, frame of 12", peer.fit(rows, y).predict, rows[:1]


def forecast():
    months = pd.date_range("2015-01-01", periods=120, freq="MS")
    values = np.sin(np.arange(120) * np.pi / 6) + np.random.default_rng(0).normal(size=120)
    series = pd.DataFrame({"unique_id": "a", "ds": months, "y": values})
    return reloaded(Forecaster(random_state=0, epochs=5).fit(series))


def main():
    torch.set_num_threads(1)
    print(f"{'one row':52s}{'fastest':>10s}{'median':>10s}  ms")
    for name, ask, row in one_row():
        fastest, median = milliseconds(lambda ask=ask, row=row: ask(row))
        print(f"{name:52s}{fastest:10.2f}{median:10.2f}", flush=True)
    model = forecast()
    fastest, median = milliseconds(lambda: model.predict(level=[90]), 100)
    print(f"{'forecast of a series':52s}{fastest:10.2f}{median:10.2f}")
    many_rows()
    torch_alone, base, ours, usage = seconds(
        "import torch",
        "import torch, sklearn.base",
        "from batchensemble import Regressor",
        HELP,
    )
    print(f"import torch {torch_alone:.2f} s of CPU")
    print(f"import torch, sklearn.base {base:.2f}, ratio {base / torch_alone:.2f}")
    print(f"from batchensemble import Regressor {ours:.2f}, ratio {ours / torch_alone:.2f}")
    print(f"batchensemble --help {usage:.2f}")


if __name__ == "__main__":
    main()
