"""One model for each value of a column: a folder with a file per group, and an index."""

import hashlib
import json
import os
import re
import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.cli.errors import if_stopped
from batchensemble.cli.format import counted, named
from batchensemble.cli.holdout import NOT_CALIBRATED, train
from batchensemble.cli.model_folder import FORMAT, INDEX, alone, read_index, write_index
from batchensemble.cli.training_data import TrainingData
from batchensemble.data.vocabulary import Spelling
from batchensemble.estimators.answers import class_names
from batchensemble.estimators.base import pick_device
from batchensemble.estimators.classifier import Classifier
from batchensemble.modelfile.files import make_folder
from batchensemble.modelfile.persistence import ModelFileError, read_model, write_model
from batchensemble.training.together import fit_together
from batchensemble.training.workers import MapCalls, worker_processes

FITTING = ".fitting-"  # a folder for models that workers hand over
# That are trained together, by device: what a kill may cost. A processor would gain little, and
# numbers would depend, in their last digits, on the groups beside.
MOST_GROUPS, MOST_ROWS = 32, 50_000


def fit_groups(
    data: TrainingData,
    by: str,
    folder: Path,
    settings: dict[str, Any],
    *,
    jobs: int = 1,
    ray: str | None = None,
    together: bool | None = None,
    progress: Callable[[str], None] = lambda line: None,
    **how: Any,
) -> dict[str, Any]:
    """Fit those models that the folder does not have yet; how many were fitted, and kept.

    `jobs` groups are fitted at a time, or as many as the cluster `ray` has processors; `together`,
    by default on a GPU, those of about one size as one bank. The index is written after each model,
    so a run that was killed goes on where it was.
    """
    make_folder(folder)
    with alone(folder):
        rows: dict[str, Any] = pd.Series(data.by).groupby(np.asarray(data.by)).indices
        index, rows = _continued(folder, data, by, rows)
        known, digests = index["groups"], dict[str, str]()
        for name in rows:
            digest, entry = _digest(_part(data, rows[name]), settings, how), known.get(name, {})
            if entry.get("digest") != digest or not _is_whole(folder / entry["file"]):
                digests[name] = digest
        failures: dict[str, str] = {}
        for old in folder.glob(f"{FITTING}*"):  # of a run that was killed
            shutil.rmtree(old, ignore_errors=True)
        with (
            if_stopped(lambda: _left(folder, len(index["groups"]), len(rows))),
            TemporaryDirectory(prefix=FITTING, dir=folder.resolve()) as made,
            _workers(jobs, ray if digests else None) as map_calls,
        ):
            place = None if ray else Path(made)
            wanted = {name: len(rows[name]) for name in digests}
            if together is None:
                together = not ray and pick_device(settings.get("device", "auto")).type == "cuda"
            most = MOST_GROUPS if together else 1
            parts = _parts(wanted, min(most, -(-len(wanted) // max(1, jobs))))
            calls = (
                ({name: _part(data, rows[name]) for name in names}, settings, how, place)
                for names in parts
            )
            for answers in map_calls(_fit_groups, calls):
                for name, fitted, facts in answers:
                    if isinstance(fitted, str):
                        failures[name] = fitted
                        continue
                    file, n_rows = _file_of(name), len(rows[name])
                    if (folder / file).exists():  # between the two, a kill must not mix them up
                        index["groups"].pop(name, None)
                        write_index(folder, index)
                    if isinstance(fitted, Path):
                        os.replace(fitted, folder / file)
                    else:
                        write_model(folder / file, *fitted)
                    entry = {"file": file, "n_rows": n_rows, "digest": digests[name]}
                    index["groups"][name] = entry | facts
                    write_index(folder, index)
                    progress(f"{name}: {counted(n_rows, 'row')}")
        write_index(folder, index)
    if failures:
        raise ValueError(_failed(failures))
    n_fitted, known = len(digests), index["groups"]
    told = {
        fact: sorted(name for name in rows if known.get(name, {}).get(fact))
        for fact in ("not_calibrated", "doubted")
    }
    counts = {"n_groups": len(rows), "n_fitted": n_fitted, "n_kept": len(rows) - n_fitted}
    return {**counts, **told}


def _is_whole(path: Path) -> bool:
    """Whether a model is there and undamaged."""
    try:
        read_model(path)
    except (OSError, ModelFileError):
        return False
    return True


@contextmanager
def _workers(jobs: int, ray: str | None) -> Iterator[MapCalls]:
    """What makes several calls at a time, here or on a cluster."""
    if ray is None:
        with worker_processes(jobs) as map_calls:
            yield map_calls
        return
    from batchensemble.adapters.ray import connected, map_by_tasks

    with connected(ray):
        yield map_by_tasks


def _continued(
    folder: Path, data: TrainingData, by: str, rows: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The index of a folder that has some of these models, or none; groups as it spells them."""
    index = read_index(folder) if (folder / INDEX).is_file() else {"groups": {}}
    spelling = Spelling([*index["groups"]])
    known = {spelling(name) or name: part for name, part in rows.items()}
    groups = known if len(known) == len(rows) else rows  # a file may tell 1 from 01
    target, columns = data.origin.target, list(data.origin.columns)
    wanted = {"by": by, "target": target, "task": data.origin.task}
    gone = sorted(name for name in index["groups"] if name not in groups)
    why = ""
    for name, words in (("by", "for each"), ("target", "of the target"), ("task", "for")):
        if index.get(name, wanted[name]) != wanted[name]:
            why = why or f"models {words} {index[name]!r}, not {wanted[name]!r}"
    if gone:
        lacks = f"models of {counted(len(gone), 'group')} that {data.origin.file} does not have"
        why = why or f"{lacks}: {named(gone)}"
    if why:
        raise ValueError(f"{folder} holds {why}; choose another folder, or delete this one")
    if index.get("columns", columns) != columns:  # rows may not have what its models need
        index = {"groups": {}}
    return index | {"format": FORMAT, "columns": columns} | wanted, groups


def _parts(wanted: dict[str, int], most: int) -> list[list[str]]:
    """At most so many groups each, with similar numbers of rows, which `wanted` says."""
    parts: list[list[str]] = []
    n_rows = MOST_ROWS
    for name in sorted(wanted, key=lambda name: wanted[name]) if most > 1 else wanted:
        n_rows += wanted[name]
        if n_rows > MOST_ROWS or len(parts[-1]) == most:
            parts.append([])
            n_rows = wanted[name]
        parts[-1].append(name)
    return parts


def _fit_groups(parts: dict[str, TrainingData], *how: Any) -> list[tuple[str, Any, dict[str, Any]]]:
    """As `_fit_group` of each, with networks of the same shape in one bank."""
    return fit_together([partial(_fit_group, name, part, *how) for name, part in parts.items()])


def _fit_group(
    name: str,
    part: TrainingData,
    settings: dict[str, Any],
    how: dict[str, Any],
    place: Path | None,
) -> tuple[str, Any, dict[str, Any]]:
    """The group, its model or why there is none, and what the index says about it.

    The model is a file in `place`: a large answer of a process that is killed would be waited for
    forever. Without a place, it is what its file holds. Only the caller writes into the folder, so
    what another run has left at work cannot spoil it.
    """
    try:
        if part.y is not None and len(pd.unique(part.y)) < 2:
            raise ValueError("expected targets that vary, got one value")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a thousand groups nobody reads them
            model = train(part, settings, **how)
    except ValueError as error:
        return name, f"{counted(len(part.frame), 'row')}: {error}", {}
    is_classifier = isinstance(model, Classifier)
    facts = {
        "classes": class_names(model) if is_classifier else [],
        "is_calibrated": is_classifier and model.calibration_ is not None,
        "not_calibrated": model.origin_["calibrated"].startswith(NOT_CALIBRATED),
        "doubted": bool(model.origin_["warnings"]),
    }
    if place is None:
        return name, model.stored(), facts
    model.save(place / _file_of(name))
    return name, place / _file_of(name), facts


def _left(folder: Path, n_models: int, n_groups: int) -> str:
    return (
        f"Stopped. {folder} has models of {n_models:,} of {counted(n_groups, 'group')}; run the "
        "same command again to fit those that are missing or out of date."
    )


def _failed(failures: dict[str, str]) -> str:
    first, *others = sorted(failures)
    more = f"; nor could {named(others)}" if others else ""
    return (
        f"group {first!r} could not be fitted ({failures[first]}){more}; the models of all other "
        "groups are kept. Delete such rows or give them to another group, then run the same "
        "command again"
    )


def _file_of(group: str) -> str:
    """A name of the group's own, which other groups do not change."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", group)[:40]
    return f"{plain}-{hashlib.sha256(group.encode()).hexdigest()[:8]}.be"


def _part(data: TrainingData, rows: NDArray[np.int64]) -> TrainingData:
    origin = replace(data.origin, n_rows=len(rows), n_without_target=0)
    y, censored = (None if each is None else each[rows] for each in (data.y, data.censored))
    return replace(
        data,
        origin=origin,
        frame=data.frame.iloc[rows],
        y=y,
        censored=censored,
        order=data.order.take(rows),
        by=None,
    )


def _digest(part: TrainingData, settings: dict[str, Any], how: dict[str, Any]) -> str:
    """Of the rows, how they are written, and the settings, but for where it trains."""
    seen = {k: v for k, v in settings.items() if k not in ("device", "verbose")}
    origin = asdict(part.origin)
    facts = [seen, how, origin["columns"], origin["notations"], part.order.in_time]
    digest = hashlib.sha256(json.dumps(facts, default=str, sort_keys=True).encode())
    for cells in (part.frame, part.y, part.censored, part.order.groups):
        hashes = pd.util.hash_pandas_object(pd.DataFrame(cells), index=False)
        digest.update(hashes.to_numpy().tobytes() + b"|")
    return digest.hexdigest()
