"""Tables of odd columns, targets and settings: fit, then every question about new rows."""

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from fuzz.outcomes import check, check_numbers

from batchensemble import Classifier, Regressor

SHAPES = ["many words", "old dates", "all gaps"]
SHAPES += [
    "normal",
    "huge",
    "tiny",
    "subnormal",
    "constant",
    "integers",
    "int8",
    "uint64",
    "flags",
    "words",
    "dates",
    "zoned",
]
SHAPES += [
    "gaps",
    "mixed",
    "infinite",
    "decimals",
    "durations",
    "bytes",
    "nested",
    "complex",
    "category",
    "nullable",
]
SHAPES += ["times"]
TARGETS = ["linear", "huge", "tiny", "constant", "integers", "words", "flags", "gaps", "outlier"]
LIBRARIES = ["pandas", "polars", "array", "list"]
SETTINGS: dict[str, list[Any]] = {
    "method": ["batch_ensemble", "deep_ensemble", "mc_dropout", "single", "other"],
    "scaling": ["robust", "quantile", "standard", "minmax"],
    "n_members": [1, 2, 3, 0, True],
    "hidden": [[], [1], [4], [4, 3], [0]],
    "dropout": [0.0, 0.5, 0.99, 1.0],
    "batch_size": [1, 7, 10_000],
    "lr": [1e-12, 0.1, 10.0, -1.0],
    "patience": [1, 2],
    "validation_fraction": [0.0, 0.5, 0.9],
    "max_categories": [1, 2, None],
    "adapters": ["", "r", "rsb", "x"],
    "init": ["ones", "normal", "orthogonal"],
    "penalty": [0.0, 1.0],
    "batching": ["shared", "independent", "split"],
    "weight_decay": [0.0, 1.0, 1e6],
    "random_state": [0, None, 2**32 - 1],
}


def plan(random: np.random.Generator) -> dict[str, Any]:
    names = random.choice(list(SETTINGS), random.integers(0, 4), replace=False).tolist()
    return {
        "n_rows": int(random.choice([1, 2, 3, 7, 20, 60, 150])),
        "columns": random.choice(SHAPES, random.integers(1, 5)).tolist(),
        "target": str(random.choice(TARGETS)),
        "library": str(random.choice(LIBRARIES)),
        "classes": bool(random.random() < 0.4),
        "calibrate": bool(random.random() < 0.3),
        "weights": bool(random.random() < 0.2),
        "settings": {name: SETTINGS[name][random.integers(len(SETTINGS[name]))] for name in names},
        "seed": int(random.integers(2**31)),
    }


def column(shape: str, n: int, random: np.random.Generator) -> Any:
    normal = random.normal(size=n)
    words = random.choice(["a", "b", "", "ä\x00"], n).astype(object)
    days = np.datetime64("2024-01-01", "us") + random.integers(0, 10**13, n)
    ways: dict[str, Any] = {
        "normal": lambda: normal,
        "huge": lambda: normal * 1e307,
        "tiny": lambda: normal * 1e-307,
        "subnormal": lambda: normal * 1e-320,
        "constant": lambda: np.full(n, 3.5),
        "integers": lambda: random.integers(-5, 5, n),
        "int8": lambda: random.integers(-128, 127, n).astype(np.int8),
        "uint64": lambda: random.integers(0, 2**63, n).astype(np.uint64) * 2,
        "flags": lambda: normal > 0,
        "words": lambda: words,
        "many words": lambda: np.array([f"w{i}" for i in range(n)], dtype=object),
        "dates": lambda: days,
        "old dates": lambda: np.datetime64("0001-01-05", "us") + random.integers(0, 10**17, n),
        "zoned": lambda: pd.Series(days).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
        "gaps": lambda: np.where(normal > 0, np.nan, normal),
        "all gaps": lambda: np.full(n, np.nan),
        "mixed": lambda: np.array([1, "a", None, 2.5] * n, dtype=object)[:n],
        "infinite": lambda: np.where(normal > 1, np.inf, normal),
        "decimals": lambda: np.array([Decimal(i) / 7 for i in range(n)], dtype=object),
        "durations": lambda: random.integers(-(10**12), 10**12, n).astype("m8[us]"),
        "bytes": lambda: np.array([b"a", b"\xff"] * n, dtype=object)[:n],
        "nested": lambda: pd.Series([[1], [2, 3]] * n)[:n].to_numpy(),
        "complex": lambda: normal + 1j,
        "category": lambda: pd.Series(words).astype("category"),
        "nullable": lambda: pd.array(random.integers(0, 9, n), dtype="Int64"),
        "times": lambda: np.array([dt.time(i % 24) for i in range(n)], dtype=object),
    }
    return ways[shape]()


def target(shape: str, n: int, random: np.random.Generator) -> Any:
    normal = random.normal(size=n)
    ways: dict[str, Any] = {
        "linear": lambda: normal,
        "huge": lambda: normal * 1e99,
        "tiny": lambda: normal * 1e-99,
        "constant": lambda: np.full(n, 2.0),
        "integers": lambda: random.integers(0, 3, n),
        "words": lambda: random.choice(["yes", "no"], n),
        "flags": lambda: normal > 0,
        "gaps": lambda: np.where(normal > 1, np.nan, normal),
        "outlier": lambda: np.where(np.arange(n) == n // 2, 1e90, normal),
    }
    return ways[shape]()


def table(plan: dict[str, Any], n: int, random: np.random.Generator) -> Any:
    columns = {f"{s} {j}": column(s, n, random) for j, s in enumerate(plan["columns"])}
    frame = pd.DataFrame(columns)
    if plan["library"] == "polars":
        try:
            return pl.from_pandas(frame)
        except Exception:  # polars cannot hold such a column
            return frame
    if plan["library"] == "array":
        return frame.to_numpy()
    return frame.to_numpy().tolist() if plan["library"] == "list" else frame


def prepare() -> None:
    x = np.linspace(0.0, 1.0, 40)
    Regressor(epochs=1, hidden=(4,), n_members=2).fit(x[:, None], x).predict(x[:, None])


def run(plan: dict[str, Any]) -> None:
    random = np.random.default_rng(plan["seed"])
    n = plan["n_rows"]
    x, y = table(plan, n, random), target(plan["target"], n, random)
    settings = {"epochs": 2, "n_passes": 3, "hidden": (4,), "n_members": 2} | plan["settings"]
    model: Any = (Classifier if plan["classes"] else Regressor)(**settings)
    weight = random.random(n) if plan["weights"] else None
    model.fit(x, y, sample_weight=weight, calibrate=plan["calibrate"])
    new = table(plan, 5, random)
    check(len(model.predict(new)) == 5, "one prediction for each row")
    uncertainty = model.uncertainty(new)
    check_numbers(uncertainty.total, 5)
    least = -1e-9 * np.abs(uncertainty.total)
    check((np.asarray(uncertainty) >= least).all(), "negative uncertainty")
    if plan["classes"]:
        p = model.predict_proba(new)
        check_numbers(p, 5, len(model.classes_))
        check(np.allclose(p.sum(axis=1), 1), "probabilities that do not sum to 1")
    else:
        mean, std = model.predict(new, return_std=True)
        check_numbers(mean, 5)
        check_numbers(std, 5)
        ends = model.predict_interval(new, 0.8)
        check_numbers(ends, 5, 2)
        check((ends[:, 0] <= ends[:, 1]).all(), "interval ends in the wrong order")
    if model.model_.ensemble.members.n_members > 1:
        check_numbers(model.shift_score(new), 5)
