"""Laws of every good fit, whatever its settings: the same question in two ways has one answer.

The data are good and the settings valid, so every refusal is a failure.
"""

import copy
import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from fuzz.outcomes import Wrong, check, check_numbers
from fuzz.routes import KINDS, ROLES, column, same

from batchensemble import Classifier, Forecaster, JointRegressor, Regressor, load

QUICK: dict[str, Any] = {"epochs": 2, "n_members": 2, "random_state": 0}
TARGETS = ["real", "real", "positive", "count", "bounded", "zeros", "many", "classes", "classes"]
TABLE_SETTINGS: dict[str, list[Any]] = {
    "method": ["deep_ensemble", "mc_dropout", "single"],
    "preset": ["fast", "paper"],
    "scaling": ["quantile", "standard", "minmax"],
    "loss": ["nll", "crps"],
    "rescale": [True, False],
    "folds": [1, 2],
    "bins": [0, 5],
    "embedding_width": [3],
    "max_categories": [1, 2],
    "adapters": ["r", "rsb"],
    "batching": ["independent", "split"],
    "target_scaling": ["log", "standard"],
    "validation_fraction": [0.0, 0.4],
    "batch_size": [16, 1000],
    "dropout": [0.3],
}
OF_NUMBERS = ("loss", "rescale", "target_scaling")
SERIES_SETTINGS: dict[str, list[Any]] = {
    "method": ["deep_ensemble", "mc_dropout", "single"],
    "preset": ["fast", "best", "recurrent", "paper"],
    "scaling": ["window", "standard"],
    "context": [6, 20],
    "season": [1, 7],
    "calendar": [True, False],
    "fill": ["ffill", "interpolate"],
    "n_paths": [50],
}
COVERAGES = [0.01, 0.3, 0.5, 0.8, 0.85, 0.9, 0.93]  # these many rows can hold
N, NEW, H = 80, 15, 3


def plan(random: np.random.Generator) -> dict[str, Any]:
    is_series = bool(random.random() < 0.4)
    known = SERIES_SETTINGS if is_series else TABLE_SETTINGS
    names = random.choice(list(known), random.integers(0, 4), replace=False).tolist()
    return {
        "series": is_series,
        "settings": {name: known[name][random.integers(len(known[name]))] for name in names},
        "columns": random.choice(KINDS, random.integers(1, 4)).tolist(),
        "gaps": bool(random.random() < 0.3),
        "target": str(random.choice(TARGETS)),
        "weights": bool(random.random() < 0.2),
        "groups": bool(random.random() < 0.2),
        "in_time": bool(random.random() < 0.1),
        "censored": bool(random.random() < 0.15),
        "calibrate": bool(random.random() < 0.4),
        "by": str(random.choice(["", "", "groups", "class"])),
        "updated": bool(random.random() < 0.3),
        "n_series": int(random.choice([1, 2, 3])),
        "later": bool(random.random() < 0.3),
        "holidays": bool(random.random() < 0.2),
        "values": str(random.choice(["wave", "wave", "sparse", "trend", "whole"])),
        "roles": random.choice(ROLES, random.integers(0, 4), replace=False).tolist(),
        "dropped": int(random.choice([0, 0, 4])),
        "freq": str(random.choice(["D", "h", "MS", "W", "integers"])),
        "seed": int(random.integers(2**31)),
    }


def prepare() -> None:
    for number in range(2):
        quiet = {"series": bool(number), "settings": {}, "calibrate": False, "dropped": 0}
        run(plan(np.random.default_rng(number)) | quiet)


def run(plan: dict[str, Any]) -> None:
    random = np.random.default_rng(plan["seed"])
    try:
        (judge_series if plan["series"] else judge_table)(plan, random)
    except (ValueError, TypeError) as error:
        raise Wrong(f"good data refused: {error}") from error


def table(plan: dict[str, Any], n: int, random: np.random.Generator) -> tuple[Any, Any]:
    parts = {
        f"{j} {kind}": column(kind, n, plan["gaps"], random)
        for j, kind in enumerate(plan["columns"])
    }
    X = pd.DataFrame(parts | {"x": random.normal(size=n)})
    wave = X["x"].to_numpy() + 0.3 * random.normal(size=n)
    ways: dict[str, Any] = {
        "real": 100 * wave,
        "positive": np.exp(wave),
        "count": random.poisson(np.exp(1 + wave)),
        "bounded": 50 / (1 + np.exp(-wave)),
        "zeros": np.where(wave > 0, wave, 0.0),
        "many": np.column_stack([wave, np.exp(wave), random.poisson(np.exp(wave))]),
        "classes": np.where(wave > 0.5, "high", np.where(wave > -0.5, "mid", "low")),
    }
    return X, ways[plan["target"]]


def table_model(plan: dict[str, Any]) -> Any:
    settings = QUICK | plan["settings"]
    target = plan["target"]
    if target == "classes":
        return Classifier(**{k: v for k, v in settings.items() if k not in OF_NUMBERS})
    if plan["censored"]:
        settings.pop("loss", None)
    if target in ("zeros", "real", "many"):
        settings.pop("target_scaling", None)
    if target == "many":
        return JointRegressor(**settings)
    bounds = {"target_bounds": (0, 50)} if target == "bounded" else {}
    kind = {"zeros": "positive"}.get(target, target)
    return Regressor(target=kind, **bounds, **settings)


def judge_table(plan: dict[str, Any], random: np.random.Generator) -> None:
    n = N + NEW
    X, y = table(plan, n, random)
    old, new, y_old = X[:N], X[N:].reset_index(drop=True), y[:N]
    more: dict[str, Any] = {}
    if plan["weights"]:
        more["sample_weight"] = random.choice([0, 1, 1, 1, 1, 2, 2, 3], N)
    if plan["groups"]:
        more["groups"] = random.integers(0, 20, N)
    elif plan["in_time"]:
        more["in_time"] = True
    if plan["censored"] and plan["target"] not in ("classes", "many"):
        more["censored"] = random.random(N) < 0.2
    model = table_model(plan).fit(old, y_old, **more)
    again = table_model(plan).fit(pl.from_pandas(old), y_old, **more)
    same(numbers(again, pl.from_pandas(new)), numbers(model, new), "a fit in polars")
    if plan["target"] == "real" and not plan["updated"]:
        larger = table_model(plan).fit(old, 1024 * y_old, **more)
        same(larger.predict(new), 1024 * model.predict(new), "a larger unit of the target")
        ends = 1024 * model.predict_interval(new, 0.8)
        same(larger.predict_interval(new, 0.8), ends, "intervals in a larger unit")
    if plan["updated"] and plan["target"] != "many":  # which cannot learn on
        model.update(old, y_old, **more)
    by, labels, asked = plan["by"], random.choice(["a", "b"], NEW).tolist(), {}
    if plan["calibrate"]:
        told: dict[str, Any] = {}
        if by == "groups":
            told, asked = {"groups": np.resize(["a", "b"], N)}, {"groups": labels}
        elif by == "class" and plan["target"] == "classes":
            told = {"per_class": True}
        model.calibrate(old, y_old, **told)
        if plan["target"] != "classes":  # whose temperature takes half of the rows
            covers(model, old, y_old, told)
    answers = numbers(model, new, **asked)
    check_numbers(answers, NEW, answers.shape[1])
    order = random.permutation(NEW)
    there = {name: np.take(value, order) for name, value in asked.items()}
    same(numbers(model, new.iloc[order], **there), answers[order], "rows in another order")
    one = {name: value[3:4] for name, value in asked.items()}
    same(numbers(model, new[3:4], **one), answers[3:4], "a row alone")
    for other, route in copies(model):
        same(numbers(other, new, **asked), answers, route)
    if plan["target"] == "classes":
        p = model.predict_proba(new)
        check(np.allclose(p.sum(axis=1), 1), "probabilities that do not sum to 1")
        check(
            (p.argmax(axis=1) == pd.Index(model.classes_).get_indexer(model.predict(new))).all(),
            "predict is not the likeliest",
        )
    else:
        ordered(model, new, plan, asked)


def numbers(model: Any, X: Any, **asked: Any) -> Any:
    """The answers to every question that copies and other orders must not change."""
    if isinstance(model, Classifier):
        parts = [model.predict_proba(X), np.column_stack(model.uncertainty(X))]
        if model.calibration_ is not None:
            parts += [model.predict_set(X, c, **asked) for c in (0.5, 0.8)]
    else:
        parts = [*model.predict(X, return_std=True), model.predict_quantiles(X, [0.1, 0.5, 0.9])]
        parts += [model.predict_interval(X, c, **asked) for c in (0.5, 0.8)]
        if isinstance(model, Regressor):
            parts.append(np.column_stack(model.uncertainty(X)))
    is_one = not isinstance(model, JointRegressor)
    if is_one and model.model_.ensemble.members.n_members > 1:
        parts.append(model.shift_score(X))
    return np.column_stack([np.asarray(part, np.float64).reshape(len(part), -1) for part in parts])


def copies(model: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.be"
        model.save(path)
        yield load(path), "a saved model"
    yield copy.deepcopy(model), "a copy"
    yield pickle.loads(pickle.dumps(model)), "a pickled model"


def ordered(model: Any, X: Any, plan: dict[str, Any], asked: Any) -> None:
    """Intervals inside those of a larger coverage, and in the range of the target."""
    ends = np.array([model.predict_interval(X, c, **asked) for c in COVERAGES])
    lower, upper = ends[..., 0], ends[..., 1]
    check((np.diff(lower, axis=0) <= 1e-9).all(), "lower ends that rise with the coverage")
    check((np.diff(upper, axis=0) >= -1e-9).all(), "upper ends that fall with the coverage")
    check((lower <= upper).all(), "interval ends in the wrong order")
    q = model.predict_quantiles(X, [0.05, 0.3, 0.5, 0.7, 0.95])
    check((np.diff(q, axis=-1) >= -1e-9).all(), "quantiles in the wrong order")
    if plan["target"] in ("positive", "count", "bounded", "zeros"):
        check(lower.min() >= 0 and q.min() >= 0, "below 0")
    if plan["target"] == "bounded":
        check(max(upper.max(), q.max()) <= 50, "above the upper bound")
    if plan["target"] == "count":
        check((ends == np.rint(ends)).all() and (q == np.rint(q)).all(), "parts of a count")
    if isinstance(model, JointRegressor):
        draws = model.sample(X, 7)
        check_numbers(draws, 7, len(X), 3)


def covers(model: Any, X: Any, y: Any, told: dict[str, Any]) -> None:
    """On the very rows of calibration, at least as many as asked for."""
    for coverage in (0.5, 0.8):
        asked = {name: value for name, value in told.items() if name == "groups"}
        ends = model.predict_interval(X, coverage, **asked)
        is_in = (ends[..., 0] <= y + 1e-9) & (y - 1e-9 <= ends[..., 1])
        check(
            (is_in.mean(axis=0) >= coverage - 1e-9).all(),
            f"covers {is_in.mean(axis=0)} of its calibration, not {coverage}",
        )


def series(plan: dict[str, Any], random: np.random.Generator) -> tuple[pd.DataFrame, Any]:
    """The series, and their times."""
    n, parts = N + NEW + H, []
    times: Any = np.arange(3, 3 + n)
    if plan["freq"] != "integers":
        times = pd.date_range("2021-01-03", periods=n, freq=plan["freq"])
    for i in range(plan["n_series"]):
        wave = np.sin(np.arange(n) * 0.9 + i) + 0.2 * random.normal(size=n)
        y = {
            "wave": 10 * wave,
            "sparse": np.where(random.random(n) < 0.3, random.poisson(3, n), 0),
            "trend": np.arange(n) + 3 * wave,
            "whole": random.poisson(np.exp(2 + wave)),
        }[plan["values"]].astype(float)
        known = {"future": wave.round(), "past": random.normal(size=n), "static": np.full(n, i % 2)}
        own = {"unique_id": f"s{i}", "ds": times, "y": y}
        one = pd.DataFrame(own | {role: known[role] for role in plan["roles"]})
        parts.append(one[15 * i * plan["later"] :])
    return pd.concat(parts, ignore_index=True), times


def judge_series(plan: dict[str, Any], random: np.random.Generator) -> None:
    frame, times = series(plan, random)
    when, until = frame["ds"], times[N - 1]
    is_inside = (when > times[35]) & (when < times[N - 4])
    lost = random.choice(frame.index[is_inside], plan["dropped"], replace=False)
    old = frame[when <= until].drop(index=lost)
    new = frame[(when > until) & (when <= times[N + NEW - 1])]
    settings = QUICK | {"horizon": H, "n_paths": 40} | plan["settings"]
    settings |= {f"{role}_columns": [role] for role in plan["roles"]}
    if settings.get("preset") in ("recurrent", "paper"):  # which need a value at every step
        settings.setdefault("fill", "ffill")
    if plan["values"] == "sparse":
        settings.pop("context", None)  # a few zeros have no spread to calibrate

    if plan["holidays"] and plan["freq"] == "D":
        settings["holidays"] = "NO"

    def fitted(rows: Any) -> Any:
        return Forecaster(**settings).fit(rows, calibrate=plan["calibrate"])

    def known_after(i: int) -> dict[str, Any]:
        later = frame[(when > times[i]) & (when <= times[i + H])]
        return {"X_df": later[["unique_id", "ds", "future"]]} if "future" in plan["roles"] else {}

    levels = [30, 50, 80] if plan["calibrate"] else [30, 50, 80, 95]
    asked = known_after(N + NEW - 1) | {"level": levels}
    model = fitted(old)
    rows = np.arange(len(old))
    for part in np.split(
        rows,
        np.flatnonzero(old["unique_id"].to_numpy()[1:] != old["unique_id"].to_numpy()[:-1]) + 1,
    ):
        random.shuffle(part)
    others = [(fitted(old.iloc[rows]), "rows in another order"), *copies(model)]
    once = copy.deepcopy(model).update(new)
    answers = told(once, asked)
    check_numbers(answers, H * plan["n_series"], 1 + 2 * len(levels))
    ends = answers[:, 1:].reshape(len(answers), -1, 2)
    check((np.diff(ends[..., 0]) <= 1e-9).all(), "lower ends that rise with the level")
    check((np.diff(ends[..., 1]) >= -1e-9).all(), "upper ends that fall with the level")
    for other, route in others:
        same(told(other.update(new), asked), answers, route)
    for other, route in copies(once):
        same(told(other, asked), answers, f"{route}, after an update")
    in_polars = fitted(pl.from_pandas(old)).update(pl.from_pandas(new))
    there = {n: pl.from_pandas(v) if n == "X_df" else v for n, v in asked.items()}
    same(told(in_polars, there), answers, "polars")
    is_early = new["ds"] <= times[N + 6]
    pieces = copy.deepcopy(model).update(new[is_early]).update(new[~is_early])
    rounding = 1e-5 * np.abs(answers).max()  # of numbers of 32 bits in other batches
    same(told(pieces, asked), answers, "an update in two pieces", rounding)
    seen = pd.concat([old, new])
    if not plan["calibrate"]:
        same(told(model, asked | {"df": seen}), answers, "a forecast of df")
        alone = {n: v[v["unique_id"] == "s0"] if n == "X_df" else v for n, v in asked.items()}
        alone["df"] = seen[seen["unique_id"] == "s0"]
        same(told(model, alone), answers[:H], "a series alone", rounding)
        larger = [rows.assign(y=1024 * rows["y"]) for rows in (old, new)]
        same(told(fitted(larger[0]).update(larger[1]), asked), 1024 * answers, "a larger unit")
    cutoff = N + NEW - 1 - H
    if settings.get("fill") != "interpolate":  # which looks beyond the cutoff
        past = model.cross_validation(seen, h=H, n_windows=1, refit=True, level=levels)
        here = fitted(seen[seen["ds"] <= times[cutoff]])
        expected = told(here, known_after(cutoff) | {"level": levels})
        same(past.iloc[:, 4:], expected, "cross-validation")


def told(model: Any, asked: dict[str, Any]) -> Any:
    """The numbers of a forecast."""
    answer = model.predict(**asked)
    frame = answer.to_pandas() if isinstance(answer, pl.DataFrame) else answer
    return frame.iloc[:, 2:].to_numpy(np.float64)
