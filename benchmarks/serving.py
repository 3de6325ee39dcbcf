"""A server under load: `OMP_NUM_THREADS=1 python benchmarks/serving.py`; about a minute.

`batchensemble serve` and a scikit-learn pipeline (gradient boosting, a number without any
uncertainty) behind the same web framework, asked by clients that each send one request after the
other. Clients and servers share this machine. p50 and p99 in milliseconds, and rows a second.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np
import pandas as pd

SECONDS = 5.0
COMMAND = "from batchensemble.cli.app import app; app()"
PEER = """
import sys, joblib, pandas as pd, uvicorn
from fastapi import FastAPI, Request
app, model = FastAPI(), joblib.load(sys.argv[1])

@app.get("/health")
async def health(): return {}

@app.post("/predict")
async def predict(request: Request):
    rows = (await request.json())["rows"]
    return {"predictions": [{"mean": y} for y in model.predict(pd.DataFrame(rows)).tolist()]}

uvicorn.run(app, port=int(sys.argv[2]), log_level="warning")
"""


def table(n=500):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(n, 10)), columns=[f"x{i}" for i in range(10)])
    frame["town"] = random.choice(["Bonn", "Jena", "Ulm"], n)
    return frame.assign(y=frame["x0"] ** 2 + frame["x1"])


def prepared(folder):
    """A command for each server, without its port."""
    import joblib
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    from batchensemble import Regressor

    frame = table()
    X, y = frame.drop(columns="y"), frame["y"]
    Regressor(random_state=0, epochs=5).fit(X, y, calibrate=True).save(folder / "m.be")
    coded = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    joblib.dump(
        make_pipeline(coded, HistGradientBoostingRegressor()).fit(X, y), folder / "m.joblib"
    )
    ours = [sys.executable, "-W", "ignore", "-c", COMMAND, "serve", folder / "m.be", "--port"]
    peer = [sys.executable, "-W", "ignore", "-c", PEER, folder / "m.joblib"]
    return {"batchensemble serve": ours, "scikit-learn": peer}


async def load(place, body, n_clients):
    """Milliseconds of all requests within so many seconds."""
    spent, until = [], time.perf_counter() + SECONDS

    async def client():
        async with httpx.AsyncClient(timeout=60) as at:
            while time.perf_counter() < until:
                start = time.perf_counter()
                answer = await at.post(f"{place}/predict", json=body)
                answer.raise_for_status()
                spent.append(1e3 * (time.perf_counter() - start))

    start = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(n_clients)))
    return np.array(spent), time.perf_counter() - start


def main():
    rows = table().drop(columns="y").to_dict("records")
    with tempfile.TemporaryDirectory() as name:
        print(f"{'':24s}{'clients':>8s}{'rows':>6s}{'p50':>9s}{'p99':>9s}{'rows/s':>9s}")
        for number, (word, command) in enumerate(prepared(Path(name)).items()):
            port = 18400 + number
            environment = {**os.environ, "OMP_NUM_THREADS": "1"}
            server = subprocess.Popen([*map(str, command), str(port)], env=environment)
            place = f"http://127.0.0.1:{port}"
            try:
                wait_for(place)
                for n_clients, n_rows in ((1, 1), (16, 1), (4, 100)):
                    body = {"rows": rows[:n_rows]}
                    spent, seconds = asyncio.run(load(place, body, n_clients))
                    p50, p99 = np.quantile(spent, [0.5, 0.99])
                    rate = len(spent) * n_rows / seconds
                    print(f"{word:24s}{n_clients:8d}{n_rows:6d}{p50:9.1f}{p99:9.1f}{rate:9.0f}")
            finally:
                server.terminate()
                server.wait(30)


def wait_for(place):
    for _ in range(600):
        try:
            httpx.get(f"{place}/health")
            return
        except httpx.TransportError:
            time.sleep(0.1)
    raise SystemExit("the server did not come up")


if __name__ == "__main__":
    main()
