"""Model files altered by somebody who knows the format: the digest is right, the contents are not.

What loads must answer every question, for rows and series that fit its own description.
"""

import io
import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from fixtures import TINY_FORECASTER, long_frame, resigned
from fuzz.outcomes import check, check_numbers
from rich.console import Console
from safetensors.numpy import load as arrays_of
from safetensors.numpy import save as bytes_of

import batchensemble
from batchensemble import Classifier, Forecaster, Regressor
from batchensemble.cli.inspect import describe_model, print_model
from batchensemble.modelfile.persistence import ModelFileError, describe

MODELS = ("regressor", "classifier", "mc_dropout", "forecaster", "columns", "calibrated")
QUICK = {"epochs": 2, "hidden": (4,), "n_members": 2, "n_passes": 3, "random_state": 0}
ODD: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    3,
    2**31,
    2**63,
    2**64,
    -(2**70),
    10**9,
    1e308,
    0.5,
]
ODD += ["", "a", "x0", "cpu", "1", [], [1], [[]], {}, {"array": "bank_.theta"}, {"tuple": []}]
ODD += [{"float": "nan"}, {"float": "inf"}, {"dict": []}, {"dict": [["a", 1]]}, {"NaT": None}]
ODD += [{"timestamp": ["2020-01-01T00:00:00", "ns", None]}, {"offset": "D"}, {"NA": None}]


@cache
def saved(name: str) -> bytes:
    random = np.random.default_rng(0)
    x = pd.DataFrame(
        {
            "number": np.where(random.random(120) < 0.1, np.nan, random.normal(size=120)),
            "flag": random.random(120) > 0.5,
            "town": random.choice(["Bergen", "Oslo", None], 120),
            "day": np.datetime64("2024-01-01", "us") + random.integers(0, 10**14, 120),
        }
    )
    y, model = random.normal(size=120), Any
    if name in ("regressor", "mc_dropout"):
        method = "mc_dropout" if name == "mc_dropout" else "batch_ensemble"
        model = Regressor(method, **QUICK).fit(x, y, calibrate=name == "regressor")
    elif name == "classifier":
        labels = np.array(["no", "yes", "perhaps"])[np.arange(120) % 3]
        model = Classifier(**QUICK).fit(x, labels, calibrate=True)
    else:
        frame, columns = long_frame(2), {}
        if name == "columns":
            frame = frame.assign(promo=random.random(120) > 0.5, sky=["clear", "grey"] * 60)
            columns = {"future_columns": ["promo"], "past_columns": ("sky",)}
        model = Forecaster(**TINY_FORECASTER, context=6, **columns)
        model.fit(frame, calibrate=name == "calibrated")
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "m.be")
        return (Path(folder) / "m.be").read_bytes()


def parts(data: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    n = int.from_bytes(data[:8], "little")
    text = json.loads(data[8 : 8 + n])["__metadata__"]["batchensemble"]
    return json.loads(text), arrays_of(data)


def places(tree: Any, path: tuple[Any, ...] = ()) -> list[list[Any]]:
    """Of every value in the description."""
    found = [list(path)] if path else []
    if isinstance(tree, (dict, list)):
        for key in tree if isinstance(tree, dict) else range(len(tree)):
            found += places(tree[key], (*path, key))
    return found


def plan(random: np.random.Generator) -> dict[str, Any]:
    model = str(random.choice(MODELS))
    contents, arrays = parts(saved(model))
    every = [place for place in places(contents) if place[0] != "sha256"]
    changes = []
    for _ in range(random.integers(1, 3)):
        ways = ["value", "remove", "swap", "double", "array"]
        how = random.choice(ways, p=[0.5, 0.1, 0.1, 0.1, 0.2])
        place = every[random.integers(len(every))]
        other: Any = None
        if how == "value":
            other = ODD[random.integers(len(ODD))]
        elif how == "swap":
            other = every[random.integers(len(every))]
        elif how == "array":
            place = [str(random.choice(sorted(arrays)))]  # in the file they have no order
            ways = ["nan", "huge", "negative", "short", "flat", "int", "float16", "empty", "zero"]
            other = str(random.choice(ways))
        changes.append([str(how), place, other])
    return {"model": model, "changes": changes}


def altered(plan: dict[str, Any]) -> bytes:
    contents, arrays = parts(saved(plan["model"]))
    arrays = {name: np.array(array) for name, array in arrays.items()}
    for how, place, other in plan["changes"]:
        if how == "array":
            arrays[place[0]] = changed(arrays[place[0]], other)
            continue
        holder = at(contents, place[:-1])
        if holder is None:
            continue
        key = place[-1]
        if how == "value":
            holder[key] = other
        elif how == "remove":
            holder.pop(key)
        elif how == "swap" and at(contents, other) is not None:
            holder[key] = json.loads(json.dumps(at(contents, other)))
        elif how == "double" and isinstance(holder, list):
            holder.append(holder[key])
    text = json.dumps(contents, separators=(",", ":"))
    return resigned(bytes_of(arrays, {"batchensemble": text}))


def at(tree: Any, path: list[Any]) -> Any:
    for key in path:
        try:
            tree = tree[key]
        except (LookupError, TypeError):
            return None
    return tree


def changed(array: Any, how: str) -> Any:
    if how == "short":
        return array[: len(array) // 2] if array.ndim else array
    if how == "empty":
        return array.ravel()[:0]
    if how == "flat":
        return array.ravel()
    if how in ("int", "float16"):
        with np.errstate(all="ignore"):
            return array.astype(np.int64 if how == "int" else np.float16)
    if how == "negative":
        with np.errstate(all="ignore"):
            return -array if array.dtype.kind != "b" else ~array
    value = {"nan": np.nan, "huge": 1e300, "zero": 0}[how]
    if array.dtype.kind != "f" and how != "zero":
        value = 2**31 - 1
    with np.errstate(all="ignore"):
        array.ravel()[:1] = np.asarray(value).astype(array.dtype)
    return array


def run(plan: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.be"
        try:
            path.write_bytes(altered(plan))
        except Exception:  # this change makes no file
            return
        try:
            model = batchensemble.load(path, device="cpu")
            describe(path)
        except ModelFileError:
            return
        try:
            use(model, path)
        except Exception as error:  # what loads, predicts
            raise AssertionError(f"loaded, then {type(error).__name__}: {error}") from error


def use(model: Any, path: Path) -> None:
    """Every question, about rows as the model describes them."""
    print_model(Console(file=io.StringIO()), describe_model(path))
    model.save(path.with_name("again.be"))
    batchensemble.load(path.with_name("again.be"), device="cpu")
    if isinstance(model, Forecaster):
        use_forecaster(model)
    else:
        use_table(model)


def use_table(model: Any) -> None:
    values: dict[str, list[Any]] = {
        "number": [1.0, None, -3e5, 0.0],
        "boolean": [True, False, True, False],
        "category": ["Oslo", None, "Ulm", ""],
        "date": [
            *pd.to_datetime(["2024-01-01T00:00", "2025-06-07T08:00", "1970-01-01T00:00"]),
            pd.NaT,
        ],
    }
    encoder = model.model_.encoder
    x: Any = pd.DataFrame(
        {n: values[k] for n, k in zip(encoder.names_, encoder.kinds_, strict=True)}
    )
    for name, is_zoned in zip(encoder.names_, getattr(encoder, "zoned_", ()), strict=False):
        if is_zoned:
            x[name] = x[name].dt.tz_localize("UTC")
    if not hasattr(model, "feature_names_in_"):
        x = x.to_numpy()
    dist = model.predict_dist(x)
    check(len(model.predict(x)) == 4, "one prediction for each row")
    check_numbers(model.uncertainty(x).total, 4)
    if dist.n_members > 1:
        check_numbers(model.shift_score(x), 4)
    if isinstance(model, Regressor):
        check_numbers(model.predict(x), 4)
        check_numbers(model.predict_interval(x, 0.8), 4, 2)
        check_numbers(model.predict_quantiles(x, [0.1, 0.9]), 4, 2)
    else:
        check_numbers(model.predict_proba(x), 4, len(model.classes_))
    if model.calibration_ is not None:
        model.calibration_report()
        if isinstance(model, Classifier):
            # A class with few rows has sets of its own for a low coverage only.
            coverage = 0.5 if model.calibration_.per_class else 0.8
            sets = model.predict_set(x, coverage)
            check(sets.shape == (4, len(model.classes_)), "a set for each row")


def use_forecaster(model: Any) -> None:
    panel, h = model.panel_, model.model_.horizon
    known: dict[str, Any] = {}
    if model.future_columns:
        times, ids = panel.future_times(h), np.repeat(panel.ids, h)
        frame = {model.id_col: ids, model.time_col: times}
        for column in panel.columns:
            if column.name in model.future_columns:
                values = column.values[np.arange(len(times)) % len(column.values)]
                frame[column.name] = values == 1 if column.kind == "boolean" else values
        known = {"X_df": pd.DataFrame(frame)}
    level = [80] if model.calibration_ is None or len(model.calibration_) > 4 else None
    answer = pd.DataFrame(model.predict(level=level, **known))
    check(len(answer) == h * len(panel), "a forecast for each step")
    check_numbers(answer.iloc[:, 2:], h * len(panel), answer.shape[1] - 2)
    check_numbers(pd.DataFrame(model.uncertainty(**known)).iloc[:, 2:], h * len(panel), 3)
    check(len(model.simulate(3, 2, **known)) == 6 * len(panel), "paths")
    if model.calibration_ is not None:
        model.calibration_report()
