"""Good data by several routes: Python, files and requests give the same numbers, and none refuses.

A model is fitted in Python or by a command, saved, and asked in Python, by `predict`, `evaluate`
and over HTTP, with rows in each kind of file.
"""

import json
import tempfile
import warnings
from contextlib import chdir
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from fuzz.outcomes import Wrong, check
from typer.testing import CliRunner

from batchensemble import Classifier, Forecaster, Regressor, load
from batchensemble.cli.app import app
from batchensemble.cli.request_bodies import Limits
from batchensemble.cli.serving import make_app
from batchensemble.export import onnx_inputs

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it would like another package than httpx
    from fastapi.testclient import TestClient

KINDS = ["number", "integer", "flag", "word", "code", "day", "moment", "zoned", "span", "category"]
TARGETS = ["real", "positive", "count", "flag", "words", "codes", "barred"]
FORMATS = ["csv", "csv", "tsv", "parquet", "feather", "xlsx"]
ROLES = ["future", "past", "static"]
NAMES = ["mean", "lower", "index", "0", "1.5", "True", "a,b", 'q"t', "ä ö", "time", "series", "set"]
NAMES += ["prediction", "p_yes", "std", "ds", "y", "cutoff", "shift", "row", "rows"]
TIMES = ["D", "D", "h", "MS", "W", "B", "QS", "15min", "zoned D", "zoned h", "integers"]
QUICK: dict[str, Any] = {"preset": "fast", "epochs": 2, "n_members": 2, "random_state": 0}
WORDS = ("--preset", "fast", "--epochs", "2", "--members", "2", "--seed", "0")
N, NEW, H = 60, 12, 2
LIMITS = Limits()


def plan(random: np.random.Generator) -> dict[str, Any]:
    return {
        "columns": random.choice(KINDS, random.integers(1, 5), replace=False).tolist(),
        "gaps": bool(random.random() < 0.4),
        "target": str(random.choice(TARGETS)),
        "format": str(random.choice(FORMATS)),
        "by_command": bool(random.random() < 0.5),
        "series": bool(random.random() < 0.4),
        "roles": random.choice(ROLES, 4).tolist(),
        "n_series": int(random.choice([1, 2])),
        "names": random.choice(NAMES, 4, replace=False).tolist() if random.random() < 0.4 else [],
        "times": str(random.choice(TIMES)),
        "dropped": int(random.choice([0, 0, 5])),
        "calibrate": bool(random.random() < 0.5),
        "updated": bool(random.random() < 0.3),
        "polars": bool(random.random() < 0.3),
        "onnx": bool(random.random() < 0.2),
        "seed": int(random.integers(2**31)),
    }


def column(kind: str, n: int, has_gaps: bool, random: np.random.Generator) -> Any:
    days = pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 300, n), "D"))
    hours = pd.Series(pd.to_timedelta(random.integers(0, 24, n), "h"))
    values = {
        "number": lambda: pd.Series(random.normal(size=n).round(6)),
        "integer": lambda: pd.Series(random.integers(-50, 50, n)),
        "flag": lambda: pd.Series(np.resize([True, False], n)),
        "word": lambda: pd.Series(random.choice(["Bonn", "Ulm", "a b", "é"], n), dtype=object),
        "code": lambda: pd.Series(random.choice(["007", "012", "003"], n), dtype=object),
        "day": lambda: days,
        "moment": lambda: days + hours,
        "zoned": lambda: (days + pd.Timedelta("12h") + hours / 4).dt.tz_localize("Europe/Oslo"),
        "span": lambda: hours,
        "category": lambda: pd.Series(random.choice(["S", "M", "L"], n)).astype("category"),
    }[kind]()
    return values.mask(random.random(n) < 0.1) if has_gaps and kind != "flag" else values


def columns(plan: dict[str, Any], n: int, random: np.random.Generator) -> pd.DataFrame:
    """Named after their kinds, or oddly; without those that the format cannot hold."""
    lost = {"xlsx": ["zoned", "span"], "csv": ["span"], "tsv": ["span"]}.get(plan["format"], [])
    kinds = [kind for kind in plan["columns"] if kind not in lost] or ["number"]
    names = [*plan["names"], *(f"my {kind}" for kind in kinds[len(plan["names"]) :])]
    columns = (column(kind, n, plan["gaps"], random) for kind in kinds)
    return pd.DataFrame(dict(zip(names, columns, strict=False)))


def written(frame: pd.DataFrame, name: str, form: str) -> str:
    path = f"{name}.{form}"
    if form in ("csv", "tsv"):
        with_texts(frame).to_csv(path, index=False, sep="\t" if form == "tsv" else ",")
    elif form == "xlsx":
        frame.to_excel(path, index=False)
    else:
        getattr(frame, f"to_{form}")(path)
    return path


def with_texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Times with their zones, as ISO 8601 has them."""
    texts = frame.copy()
    for column in frame.select_dtypes("datetimetz"):
        texts[column] = [None if t is pd.NaT else t.isoformat() for t in frame[column]]
    return texts


def as_json(frame: pd.DataFrame) -> Any:
    """Rows as a program sends them."""
    texts = with_texts(frame)
    for column in frame.select_dtypes("timedelta"):
        texts[column] = frame[column].dt.total_seconds()
    return json.loads(texts.to_json(orient="records", date_format="iso", date_unit="us"))


def told(*words: Any) -> str:
    """What a command prints; one that ends with an error broke the law."""
    done = CliRunner(env={"COLUMNS": "80"}).invoke(app, [*map(str, words)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    check(done.exit_code == 0, f"{words[0]} refused: {done.stderr.strip():.300}")
    return done.stdout


def same(found: Any, expected: Any, route: str, within: float = 0.0) -> None:
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    check(found.shape == expected.shape, f"{route}: shape {found.shape}, not {expected.shape}")
    check(
        np.allclose(found, expected, rtol=1e-6, atol=1e-8 + within, equal_nan=True),
        f"{route} differs",
    )


def prepare() -> None:
    """What is imported and compiled first, for tables and for series."""
    for number in (0, 1):
        told_nothing = {"gaps": False, "dropped": 0, "onnx": True}
        run(plan(np.random.default_rng(number)) | {"series": bool(number), **told_nothing})


def run(plan: dict[str, Any]) -> None:
    random = np.random.default_rng(plan["seed"])
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        try:
            (ask_series if plan["series"] else ask_table)(plan, random)
        except (ValueError, TypeError) as error:
            raise Wrong(f"good data refused: {error}") from error


def ask_table(plan: dict[str, Any], random: np.random.Generator) -> None:
    n, form = N + NEW, plan["format"]
    X = columns(plan, n, random)
    wave = np.sin(np.arange(n)) + 0.3 * random.normal(size=n)
    y = {
        "real": 100 * wave,
        "positive": np.exp(wave),
        "count": random.poisson(np.exp(1 + wave)),
        "flag": wave > 0,
        "words": np.where(wave > 0, "yes", "no"),
        "codes": np.where(wave > 0, "01", "02"),
        "barred": np.where(wave > 0.4, "a|b", np.where(wave > -0.4, "a", "b")),
    }[plan["target"]]
    frame = X.assign(target=y)
    new = frame[N:].reset_index(drop=True)
    file = written(new, "new", form)
    is_number = plan["target"] in ("real", "positive", "count")
    if plan["by_command"]:
        more = () if plan["calibrate"] else ("--no-calibrate",)
        task = ("--task", "regression" if is_number else "classification")
        told("fit", written(frame[:N], "old", form), "-t", "target", *task, *WORDS, *more)
        model: Any = load("old.be")
        check(model.origin_ is not None, "a model without an origin")
    else:
        model = (Regressor if is_number else Classifier)(**QUICK)
        model.fit(X[:N], frame["target"][:N])
        if plan["updated"]:
            model.update(X[:N], frame["target"][:N])
        if plan["calibrate"]:
            model.calibrate(X[:N], frame["target"][:N])
        model.save("old.be")
    X, y = new[list(model.feature_names_in_)], new["target"]
    dist = model.predict_dist(pl.from_pandas(X) if plan["polars"] else X)
    told("predict", "old.be", file, "-o", "out.parquet", "--coverage", 0.8)
    out = pd.read_parquet("out.parquet")
    with TestClient(make_app(load("old.be"), LIMITS)) as client:
        sent = client.post("/predict", json={"rows": as_json(X), "coverage": 0.8})
        check(sent.status_code == 200, f"serve refused: {sent.text:.300}")
    scores = json.loads(told("evaluate", "old.be", file, "--coverage", 0.8, "--json"))["scores"]
    if is_number:
        same(out["mean"], dist.mean, "predict")
        same(out[["lower", "upper"]], model.predict_interval(X, 0.8), "predict's interval")
        same(scores["rmse"], np.sqrt(np.mean((dist.mean - y) ** 2)), "evaluate")
        same(scores["crps"], dist.crps(y).mean(), "evaluate's CRPS")
    else:
        shares = model.predict_proba(X)
        same(out.filter(regex="^p_"), shares, "predict")
        check(list(out["prediction"]) == list(model.predict(X)), "predict's classes")
        same(scores["accuracy"], model.score(X, y), "evaluate")
    if plan["onnx"] and is_number and not {"span", "zoned"} & {*plan["columns"]}:
        ask_graph(model, X, dist)
    answers, names = pd.DataFrame(sent.json()["predictions"]), list(out.select_dtypes("number"))
    same(answers[names], out[names], "serve")
    told("inspect", "old.be")


def ask_graph(model: Any, X: pd.DataFrame, dist: Any) -> None:
    """The means of its ONNX file, which are in single precision."""
    if find_spec("onnxruntime") is None:
        return
    from onnxruntime import InferenceSession

    told("export", "old.be", "old.onnx")
    (mean,) = InferenceSession("old.onnx").run(["mean"], onnx_inputs(model, X))
    scale = max(np.abs(dist.mean).max(), dist.std.max())
    check(np.allclose(mean.ravel(), dist.mean, rtol=1e-3, atol=1e-4 * scale), "ONNX differs")


def ask_series(plan: dict[str, Any], random: np.random.Generator) -> None:
    n, form, known, parts = N + NEW + H, plan["format"], {}, []
    *zone, freq = plan["times"].split()
    if zone and form == "xlsx":  # has none
        form = "csv"
    days: Any = np.arange(5, 5 + n)
    if freq != "integers":
        days = pd.date_range("2023-03-01", periods=n, freq=freq, tz="Europe/Oslo" if zone else None)
    for i in range(plan["n_series"]):
        own = columns(plan, n, random)
        for role, name in zip(plan["roles"], own, strict=False):
            known[name] = role
            if role == "static":
                filled = own[name].dropna()
                own[name] = pd.Series([filled.iloc[0]] * n).astype(own[name].dtype)
        wave = 50 + 9 * np.sin(np.arange(n) * 0.9) + random.normal(size=n)
        parts.append(own.assign(store=f"s{i}", day=days, sold=wave.round(3)))
    frame = pd.concat(parts, ignore_index=True)
    for name in own.select_dtypes("category"):
        frame[name] = frame[name].astype("category")
    if plan["n_series"] == 1:
        frame = frame.drop(columns="store")
    until = {"old": days[N - 1], "new": days[N + NEW - 1]}
    gaps = random.choice(len(frame), plan["dropped"], replace=False)
    is_lost = np.isin(np.arange(len(frame)), gaps) & (frame["day"] > days[5])
    is_lost &= (frame["day"] < until["old"]) & (frame["day"] != days[6])
    old = frame[(frame["day"] <= until["old"]) & ~is_lost]
    new = frame[(frame["day"] > until["old"]) & (frame["day"] <= until["new"])]
    future = [name for name, role in known.items() if role == "future"]
    ids = ["store"] if "store" in frame else []
    ahead = frame[frame["day"] > until["new"]][[*ids, "day", *future]]
    new, ahead = (each.reset_index(drop=True) for each in (new, ahead))
    file, later = written(new, "new", form), ("--ahead", written(ahead, "ahead", form))
    if plan["by_command"]:
        told(
            *("fit", written(old.reset_index(drop=True), "old", form), "-t", "sold"),
            *("--time", "day", "--horizon", H, *WORDS, *(("--series", "store") if ids else ())),
            *(word for name, role in known.items() for word in (f"--{role}", name)),
        )
    else:
        by_role = {f"{role}_columns": [n for n in known if known[n] == role] for role in ROLES}
        names = {"time_col": "day", "target_col": "sold"} | ({"id_col": "store"} if ids else {})
        Forecaster(horizon=H, **names, **by_role, **QUICK).fit(old).save("old.be")
    model = load("old.be")
    told("predict", "old.be", file, "-o", "out.parquet", *(later if future else ()))
    out = pd.read_parquet("out.parquet")
    told("evaluate", "old.be", file)
    told("inspect", "old.be")
    with TestClient(make_app(load("old.be"), LIMITS)) as client:
        body: dict[str, Any] = {"history": as_json(new)}
        body |= {"ahead": as_json(ahead)} if future else {}
        sent = client.post("/predict", json=body)
        check(sent.status_code == 200, f"serve refused: {sent.text:.300}")
    answers = pd.DataFrame(sent.json()["predictions"])
    same(answers[["mean", "lower", "upper"]], out[["mean", "lower", "upper"]], "serve")
    model.update(pl.from_pandas(new) if plan["polars"] else new)
    here = model.predict(level=[90], **({"X_df": ahead} if future else {}))
    same(out["mean"], here["BatchEnsemble"], "predict")
    same(out["lower"], here["BatchEnsemble-lo-90"], "predict's bounds")
