"""Compact predictions of the main study: of every test row its target, mean and uncertainties.

`predictions/DATASET-VARIANT.npz` holds float32 arrays named METHOD-seedN-mean, -aleatoric and
-epistemic (total is their sum), and seedN-target. Means of classes are probabilities (rows,
classes); those of series are (windows, steps). Members and paths are left out.
"""

import math
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchensemble.metrics import (
    accuracy,
    brier,
    categorical_nll,
    coverage_curve,
    ece,
    gaussian_nll,
    rmse,
)
from batchensemble.modelfile.files import replacing
from batchensemble.plots.looks import NAMES
from batchensemble.plots.sheets import Cell, Sheet
from batchensemble.predictive import CategoricalPredictive
from batchensemble.study.experiments import N_PATHS
from batchensemble.study.results import SEEDS
from batchensemble.study.spec import PLAIN, Run
from batchensemble.study.store import Result, Store

Arrays = Mapping[str, NDArray[Any]]
Floats = NDArray[np.float64]
PARTS = ("mean", "aleatoric", "epistemic")
MOST_DIGITS = 15


def write_predictions(store: Store, results: Iterable[Result], folder: Path) -> list[Path]:
    """A file for each place whose runs still have their members' predictions."""
    places: dict[str, dict[str, NDArray[np.float32]]] = {}
    for result in results:
        run = result.run
        if run.change == PLAIN and run.seed in SEEDS and store.has_arrays(run):
            kept = places.setdefault(f"{run.dataset}-{run.variant}", {})
            compact = compacted(store.read(run).arrays)
            kept[f"seed{run.seed}-target"] = compact.pop("target").astype(np.float32)
            for part, values in compact.items():
                kept[f"{run.method}-seed{run.seed}-{part}"] = values.astype(np.float32)
    paths = []
    for place, arrays in places.items():
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{place}.npz"
        with replacing(path) as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
        paths.append(path)
    return paths


def compacted(arrays: Arrays) -> dict[str, NDArray[Any]]:
    """Target, mean, aleatoric and epistemic of each row, from what all members predict."""
    if "probabilities" in arrays:
        dist = CategoricalPredictive(arrays["probabilities"].astype(np.float64))
        parts = dist.mean, dist.aleatoric, dist.epistemic
    else:
        means, variances = (arrays[name].astype(np.float64) for name in ("means", "variances"))
        within, between = variances.mean(axis=1), means.var(axis=1)
        if means.ndim > 2:  # of paths: the members' means have sampling noise
            n_members = means.shape[1]
            noise = within / (N_PATHS // n_members - 1) if n_members > 1 else between
            within, between = _without(noise, within, between)
        parts = means.mean(axis=1), within, between
    return {"target": arrays["y"], **dict(zip(PARTS, parts, strict=True))}


def _without(noise: Floats, within: Floats, between: Floats) -> tuple[Floats, Floats]:
    """Sampling noise belongs to the variance within; that between is never below 0."""
    epistemic = np.maximum(between - noise, 0.0)
    return within + between - epistemic, epistemic


def metrics_from(compact: Arrays) -> dict[str, float]:
    """The metrics of a run that its compact predictions determine."""
    aleatoric, epistemic = (compact[part].astype(np.float64) for part in PARTS[1:])
    total, mean = aleatoric + epistemic, compact["mean"].astype(np.float64)
    uncertainties = {"total": total, "aleatoric": aleatoric, "epistemic": epistemic}
    averages = {name: float(values.mean()) for name, values in uncertainties.items()}
    if mean.ndim > aleatoric.ndim:
        y, mean = compact["target"].astype(np.int64), mean / mean.sum(axis=1, keepdims=True)
        scores = {"accuracy": accuracy, "nll": categorical_nll, "brier": brier, "ece": ece}
        return {name: score(y, probabilities=mean) for name, score in scores.items()} | averages
    y, std = compact["target"].astype(np.float64), np.sqrt(total)
    curve = coverage_curve(y, mean=mean, std=std)
    return {
        "rmse": rmse(y, mean=mean),
        "nll": gaussian_nll(y, mean=mean, std=std),
        "rmsce": curve.rmsce(),
        "miscalibration_area": curve.miscalibration_area(),
    } | averages


def read_compact(folder: Path, run: Run) -> dict[str, NDArray[np.float32]] | None:
    """The compact predictions of a run; None where they were not kept."""
    path = folder / f"{run.dataset}-{run.variant}.npz"
    if not path.is_file():
        return None
    names = {part: f"{run.method}-seed{run.seed}-{part}" for part in PARTS}
    names["target"] = f"seed{run.seed}-target"
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            if not {*names.values()} <= {*stored}:
                return None
            return {part: stored[name] for part, name in names.items()}
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"expected compact predictions in {path}, got something else ({error}); delete the file"
        ) from None


def predictions_sheet(results: Iterable[Result], folder: Path) -> Sheet:
    """To how many digits each metric of the main study comes back from the compact predictions."""
    worst: dict[tuple[str, str], list[int]] = {}
    for result in results:
        run = result.run
        is_kept = run.change == PLAIN and run.seed in SEEDS and "diverged" not in result.metrics
        compact = read_compact(folder, run) if is_kept else None
        if compact is None:
            continue
        task, again = result.about["task"], metrics_from(compact)
        for metric, value in again.items():
            if metric in result.metrics:
                worst.setdefault((task, metric), []).append(digits(value, result.metrics[metric]))
    rows: list[tuple[Cell, ...]] = [
        (task, NAMES.get(metric, metric), len(own), min(own), int(np.median(own)))
        for (task, metric), own in worst.items()
    ]
    return Sheet(
        "predictions",
        "Which metrics come back from the compact predictions",
        ("task", "metric", "runs", "digits, at worst", "digits, median"),
        tuple(rows),
        "The files in `predictions` hold target, mean, aleatoric and epistemic uncertainty of "
        "every test row in single precision. Significant digits to which the metric of a run comes "
        "back from them; a probability below 1e-45 becomes 0, and its NLL is lost. Metrics of "
        "members, of paths or of tail rows do not come back.",
    )


def digits(found: float, expected: float) -> int:
    """Significant digits that two numbers share."""
    if found == expected:
        return MOST_DIGITS
    size = max(abs(expected), abs(found))
    return max(0, min(MOST_DIGITS, math.floor(-math.log10(2 * abs(found - expected) / size))))
