"""Series of odd times, values and columns: fit, then forecasts of several kinds."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from fuzz.outcomes import check, check_numbers

from batchensemble import Forecaster

FREQS = ["D", "h", "15min", "MS", "ME", "B", "W", "QS", "YS", "s", "ms", "us", "ns", "2D", "3MS"]
STARTS = ["2020-01-01", "1677-10-01", "2262-03-01", "0001-01-03", "9999-11-20", "2024-03-30"]
VALUES = [
    "wave",
    "constant",
    "huge",
    "tiny",
    "gaps",
    "walk",
    "integers",
    "outlier",
    "zeros",
    "infinite",
]
SETTINGS: dict[str, list[Any]] = {
    "method": ["batch_ensemble", "deep_ensemble", "mc_dropout", "single"],
    "scaling": ["window", "standard", "minmax"],
    "context": [1, 2, 5, 40],
    "season": [1, 3, 50],
    "seasonal_lag": [True, False],
    "calendar": [True, False],
    "feedback": ["mean", "sample", "teacher"],
    "n_layers": [1, 2],
    "n_paths": [1, 7, 3 * 10**7],
    "hidden": [[], [3]],
    "fill": ["ffill", "interpolate", "other"],
    "freq": [None, "D", "h", "MS", "ns", 1, 2, 0, "x"],
    "adapters": ["r", "rsb", ""],
}


def plan(random: np.random.Generator) -> dict[str, Any]:
    names = random.choice(list(SETTINGS), random.integers(0, 4), replace=False).tolist()
    return {
        "n_series": int(random.choice([1, 1, 2, 3])),
        "n": int(random.choice([2, 5, 12, 30, 60])),
        "times": str(random.choice(["us", "ns", "zone", "integers", "periods", "none"])),
        "freq": str(random.choice(FREQS)),
        "start": str(random.choice(STARTS, p=[0.5, 0.1, 0.1, 0.05, 0.1, 0.15])),
        "values": str(random.choice(VALUES)),
        "dropped": int(random.choice([0, 0, 0, 1, 3])),
        "shuffled": bool(random.random() < 0.3),
        "library": str(random.choice(["pandas", "polars"])),
        "columns": random.choice(["future", "past"], random.integers(0, 3)).tolist(),
        "horizon": int(random.choice([1, 3, 12])),
        "h": int(random.choice([1, 2, 30])),
        "calibrate": bool(random.random() < 0.15),
        "settings": {name: SETTINGS[name][random.integers(len(SETTINGS[name]))] for name in names},
        "seed": int(random.integers(2**31)),
        "recurrent": bool(random.random() < 0.5),
    }


def values(shape: str, n: int, random: np.random.Generator) -> Any:
    wave = np.sin(np.arange(n) / 2) + 0.1 * random.normal(size=n)
    return {
        "wave": wave,
        "constant": np.full(n, 5.0),
        "huge": wave * 1e99,
        "tiny": wave * 1e-200,
        "gaps": np.where(random.random(n) < 0.2, np.nan, wave),
        "walk": random.normal(size=n).cumsum(),
        "integers": random.integers(0, 9, n),
        "outlier": np.where(np.arange(n) == n // 2, 1e60, wave),
        "zeros": np.zeros(n),
        "infinite": np.where(np.arange(n) == n // 2, np.inf, wave),
    }[shape]


def times(plan: dict[str, Any]) -> Any:
    """None where pandas itself cannot make them."""
    n, kind = plan["n"], plan["times"]
    if kind == "integers":
        first = {"1677-10-01": -(2**63), "2262-03-01": 2**63 - n - 3}.get(plan["start"], 0)
        return np.arange(first, first + n, dtype=np.int64)
    try:
        unit: Any = "ns" if kind == "ns" else "us"
        dates = pd.date_range(plan["start"], periods=n, freq=plan["freq"], unit=unit)
        if kind == "zone":
            return dates.tz_localize("Europe/Berlin", ambiguous="NaT", nonexistent="NaT")
        return dates.to_period() if kind == "periods" else dates
    except Exception:
        return None


def prepare() -> None:
    small: dict[str, Any] = {"epochs": 1, "hidden": (4,), "hidden_size": 4, "n_members": 2}
    Forecaster(preset="paper", **small).fit(np.sin(np.arange(40.0)), calibrate=False).predict(2)


def run(plan: dict[str, Any]) -> None:
    random = np.random.default_rng(plan["seed"])
    when = times(plan)
    if when is None:
        return
    n = plan["n"]
    parts = [
        pd.DataFrame({"unique_id": f"s{i}", "ds": when, "y": values(plan["values"], n, random)})
        for i in range(plan["n_series"])
    ]
    frame = pd.concat(parts, ignore_index=True)
    names = dict.fromkeys(plan["columns"])
    frame = frame.assign(**{name: random.normal(size=len(frame)) for name in names})
    data: Any = frame.drop(random.integers(len(frame), size=min(plan["dropped"], len(frame) - 1)))
    if plan["shuffled"]:
        data = data.sample(frac=1, random_state=0)
    if plan["times"] == "none":
        data, names = data["y"].to_numpy(), {}
    elif plan["library"] == "polars" and plan["times"] != "periods":
        data = pl.from_pandas(data)
    settings: dict[str, Any] = {"epochs": 1, "hidden": (4,), "n_members": 2}
    if plan.get("recurrent", True):
        settings |= {"preset": "paper", "hidden_size": 4}
    settings |= {"n_passes": 2, "n_paths": 6, "horizon": plan["horizon"], "random_state": 0}
    settings |= {f"{name}_columns": [name] for name in names} | plan["settings"]
    model = Forecaster(**settings).fit(data, calibrate=plan["calibrate"])
    known: dict[str, Any] = {}
    panel, h = model.panel_, plan["h"]
    if "future" in names:
        ahead = {"unique_id": np.repeat(panel.ids, h), "ds": panel.future_times(h)}
        known = {"X_df": pd.DataFrame(ahead | {"future": np.zeros(h * len(panel))})}
    answer = pd.DataFrame(model.predict(h, **known)) if not isinstance(data, pl.DataFrame) else None
    if answer is None:
        answer = model.predict(h, **known).to_pandas()
    check_numbers(answer.iloc[:, 2], h * len(panel))
    for _, rows in answer.groupby(answer.columns[0], sort=False):
        check(rows[answer.columns[1]].is_monotonic_increasing, "times that go back")
        check(rows[answer.columns[1]].is_unique, "times that repeat")
    if len(panel) == 1 and plan["times"] not in ("periods", "zone"):
        check(answer.iloc[0, 1] > panel.last_times[0], "a forecast that begins too early")
    check(len(model.simulate(2, h, **known)) == 2 * h * len(panel), "a row for each step of a path")
