"""One model for each value of a column: a folder with a file per group, and an index."""

import hashlib
import json
import os
import re
import shutil
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.cli.errors import if_stopped
from batchensemble.cli.format import counted, named
from batchensemble.cli.holdout import train
from batchensemble.cli.predictions import table_predictions
from batchensemble.cli.training_data import TrainingData
from batchensemble.data.reading import TableFile
from batchensemble.data.text import read_as
from batchensemble.estimators import Classifier, load
from batchensemble.estimators.answers import class_names
from batchensemble.modelfile.files import make_folder, replacing
from batchensemble.modelfile.persistence import write_model
from batchensemble.training.workers import MapCalls, worker_processes

INDEX = "index.json"
FITTING = ".fitting-"  # a folder for models that workers hand over
FORMAT = 1
LOADED = 64  # models at a time


def fit_groups(
    data: TrainingData,
    by: str,
    folder: Path,
    settings: dict[str, Any],
    *,
    jobs: int = 1,
    ray: str | None = None,
    progress: Callable[[str], None] = lambda line: None,
    **how: Any,
) -> dict[str, int]:
    """Fit those models that the folder does not have yet; how many were fitted, and kept.

    `jobs` groups are fitted at a time, or as many as the cluster `ray` has processors. The index is
    written after each model, so a run that was killed goes on where it was.
    """
    make_folder(folder)
    with _alone(folder):
        index = _read_index(folder) if (folder / INDEX).is_file() else {"groups": {}}
        if index.get("by", by) != by:
            raise ValueError(
                f"{folder} holds one model for each {index['by']!r}, not for each {by!r}; choose "
                "another folder"
            )
        index |= {"format": FORMAT, "by": by, "columns": list(data.origin.columns)}
        rows: dict[str, Any] = pd.Series(data.by).groupby(np.asarray(data.by)).indices
        known, digests = index["groups"], dict[str, str]()
        gone = sorted(known.keys() - rows.keys())
        if gone:
            raise ValueError(
                f"{folder} holds models of {counted(len(gone), 'group')} that {data.origin.file} "
                f"does not have: {named(gone)}; choose another folder, or delete this one"
            )
        for name in rows:
            digest, entry = _digest(_part(data, rows[name]), settings, how), known.get(name, {})
            if entry.get("digest") != digest or not (folder / entry["file"]).is_file():
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
            calls = ((name, _part(data, rows[name]), settings, how, place) for name in digests)
            for name, fitted, facts in map_calls(_fit_group, calls):
                if isinstance(fitted, str):
                    failures[name] = fitted
                    continue
                file, n_rows = _file_of(name), len(rows[name])
                if isinstance(fitted, Path):
                    os.replace(fitted, folder / file)
                else:
                    write_model(folder / file, *fitted)
                entry = {"file": file, "n_rows": n_rows, "digest": digests[name]}
                index["groups"][name] = entry | facts
                _write_index(folder, index)
                progress(f"{name}: {counted(n_rows, 'row')}")
        _write_index(folder, index)
    if failures:
        raise ValueError(_failed(failures))
    n_fitted = len(digests)
    return {"n_groups": len(rows), "n_fitted": n_fitted, "n_kept": len(rows) - n_fitted}


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
    """Of the rows and the settings, but for where it trains and whether somebody looks."""
    seen = {k: v for k, v in settings.items() if k not in ("device", "verbose")}
    facts = [seen, how, asdict(part.origin)["columns"], part.order.in_time]
    digest = hashlib.sha256(json.dumps(facts, default=str, sort_keys=True).encode())
    for cells in (part.frame, part.y, part.censored, part.order.groups):
        hashes = pd.util.hash_pandas_object(pd.DataFrame(cells), index=False)
        digest.update(hashes.to_numpy().tobytes() + b"|")
    return digest.hexdigest()


def _read_index(folder: Path) -> dict[str, Any]:
    path = folder / INDEX
    try:
        index = json.loads(path.read_text())
        groups = index["groups"].values()
        is_known = index["format"] == FORMAT and type(index["by"]) is str
        is_known &= all(Path(entry["file"]).name == entry["file"] for entry in groups)
        words = [*index["columns"], *(name for entry in groups for name in entry["classes"])]
        is_known &= all(type(word) is str for word in words)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"expected models by group in {folder}, but {path} cannot be read") from (
            error
        )
    if not is_known:
        raise ValueError(f"{path} is of another version; fit --by again")
    return dict(index)


def _write_index(folder: Path, index: dict[str, Any]) -> None:
    in_order = index | {"groups": dict(sorted(index["groups"].items()))}
    with replacing(folder / INDEX) as file:
        file.write(json.dumps(in_order, indent=1).encode())


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Two runs in one folder would lose each other's models."""
    with (folder / ".lock").open("wb") as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"another fit is writing to {folder}; wait for it, or choose another folder"
            ) from None
        except (ImportError, OSError):  # Windows and some file systems have no such locks
            pass
        yield


@dataclass(eq=False)
class ModelFolder:
    """The models of a folder, each loaded when a row needs it."""

    folder: Path
    device: str = "auto"
    _loaded: OrderedDict[str, Any] = field(default_factory=OrderedDict)

    def __post_init__(self) -> None:
        index = _read_index(self.folder)
        self.by, self.groups = index["by"], index["groups"]
        self.needed = [self.by, *index["columns"]]
        self.classes = sorted({name for entry in self.groups.values() for name in entry["classes"]})
        self.has_sets = any(entry.get("is_calibrated", True) for entry in self.groups.values())

    def answer(self, rows: pd.DataFrame, file: TableFile, coverage: float) -> pd.DataFrame:
        """Each row by the model of its group, in the order of the rows."""
        labels = self._labels(rows, file)
        missing = sorted({label for label in labels if label not in self.groups})
        if missing:
            raise ValueError(
                f"{file.name}: {counted(len(missing), 'group')} of {self.by!r} not seen at fit: "
                f"{named(missing)}; fit again with rows of them, or leave their rows out"
            )
        parts = [
            table_predictions(self._model(label), rows[labels == label], file, coverage)
            for label in dict.fromkeys(labels.tolist())
        ]
        frame = pd.concat(parts)
        if self.classes:  # a group may not know all of them, or have no calibration
            sets, shares = ["set"] * self.has_sets, [f"p_{name}" for name in self.classes]
            entropies = ["total", "aleatoric", "epistemic"]
            names = ["prediction", "confidence", *sets, *shares, *entropies]
            frame = frame.reindex(columns=names).astype(dict.fromkeys(sets, "string"))
        return frame.loc[rows.index]

    def _labels(self, rows: pd.DataFrame, file: TableFile) -> NDArray[Any]:
        """Read as at fit; "" where there is none."""
        labels = read_as(rows, {self.by: "category"}, file)[self.by]
        return np.array(["" if label is None else label for label in labels], object)

    def _model(self, label: str) -> Any:
        if label not in self._loaded:
            path = self.folder / self.groups[label]["file"]
            self._loaded[label] = load(path, device=self.device)
            if len(self._loaded) > LOADED:
                self._loaded.popitem(last=False)
        self._loaded.move_to_end(label)
        return self._loaded[label]
