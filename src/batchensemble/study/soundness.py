"""Whether the files of a run hold what a run writes; otherwise the error says what they hold."""

from collections.abc import Mapping
from typing import Any, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from batchensemble.estimators.requirements import require
from batchensemble.study.spec import Run

TASKS = ("regression", "classification", "forecasting")
TEXTS = ("finished", "device", "machine", "python")
COUNTS = ("n_parameters", "n_networks", "n_rows", "n_features", "n_inputs")
SIZES = ("n_train", "n_test")  # of each seed, or of all
NEEDED = ("task", "n_parameters", "n_rows", "n_features", "n_inputs", *SIZES)
LARGEST = 2**63


def check_run(run: Run) -> None:
    """Raise unless every field of a run, its settings and its change has a value of its type."""
    for part in (run, run.settings, run.change):
        for name, kind in get_type_hints(type(part)).items():
            kinds, value = get_args(kind) or (kind,), getattr(part, name)
            fits = type(value) in kinds or (float in kinds and type(value) is int)
            require(
                fits and (type(value) is not int or _is_number(value)),
                f"a value of its type as {name}",
            )


def check_numbers(metrics: Mapping[str, Any], curves: Mapping[str, Any]) -> None:
    require(all(map(_is_number, metrics.values())), "numbers as metrics")
    for curve in curves.values():
        require(type(curve) is list and all(map(_is_number, curve)), "numbers as curves")


def check_about(about: Mapping[str, Any]) -> None:
    """Raise unless the page can tell what stands here."""
    for name in NEEDED:
        require(name in about, f"{name} in about")
    require(about["task"] in TASKS, "a task that is known")
    for name in TEXTS:
        require(isinstance(about.get(name, ""), str), f"{name} as text")
    for name in COUNTS:
        require(_is_count(about.get(name, 0)), f"a number as {name}")
    for name in SIZES:
        sizes = about[name] if isinstance(about[name], list) else [about[name]]
        require(sizes and all(map(_is_count, sizes)), f"numbers as {name}")
    for name in ("versions", "code"):
        parts = about.get(name, {})
        is_told = isinstance(parts, dict) and all(isinstance(each, str) for each in parts.values())
        require(is_told, f"{name} in words")
    code = about.get("code", {})
    require(not code or {"commit", "tree"} <= code.keys(), "the commit and tree of the code")
    pairs = about.get("shifted_features", [])
    is_listed = isinstance(pairs, list) and all(isinstance(pair, list) for pair in pairs)
    require(is_listed, "lists of shifted features")
    is_named = all(isinstance(name, str) for pair in pairs for name in pair)
    require(is_named, "names of shifted features")


def check_arrays(arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise unless these are the truth and what the members predict, of rows, or of windows."""
    parts = ("probabilities",) if "probabilities" in arrays else ("means", "variances")
    for name in ("y", *parts):
        array = arrays.get(name)
        require(isinstance(array, np.ndarray) and array.dtype.kind in "fiu", f"numbers as {name}")
    y, first, last = arrays["y"], arrays[parts[0]], arrays[parts[-1]]
    require(first.ndim in (2, 3) and first.size and first.shape == last.shape, "equal shapes")
    if "probabilities" in arrays:
        require(first.ndim == 3 and y.shape == first.shape[:1], "the class of every row")
        is_class = y.dtype.kind in "iu" and (y >= 0).all() and (y < first.shape[2]).all()
        require(is_class, "classes that are known")
    else:
        require(y.shape == first.shape[:1] + first.shape[2:], "the truth of every row")


def _is_number(value: Any) -> bool:
    return type(value) is float or (type(value) is int and abs(value) < LARGEST)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < LARGEST
