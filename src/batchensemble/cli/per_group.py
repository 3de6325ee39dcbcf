"""One model for each value of a column: a folder with a file per group, and an index."""

import hashlib
import json
import re
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.cli.errors import if_stopped
from batchensemble.cli.format import counted
from batchensemble.cli.holdout import train
from batchensemble.cli.predictions import table_predictions
from batchensemble.cli.training_data import TrainingData
from batchensemble.data.reading import TableFile
from batchensemble.data.text import read_as
from batchensemble.estimators import Classifier, load
from batchensemble.modelfile.files import make_folder, replacing

INDEX = "index.json"
FORMAT = 1
NAMED = 5  # groups, in an error
LOADED = 64  # models at a time


def fit_groups(
    data: TrainingData,
    by: str,
    folder: Path,
    settings: dict[str, Any],
    *,
    progress: Callable[[str], None] = lambda line: None,
    **how: Any,
) -> dict[str, int]:
    """Fit those models that the folder does not have yet; how many were fitted, and kept.

    The index is written after each model, so a run that was killed goes on where it was.
    """
    labels = np.asarray(data.by)
    make_folder(folder)
    with _alone(folder):
        index = _read_index(folder) if (folder / INDEX).is_file() else {"groups": {}}
        if index.get("by", by) != by:
            raise ValueError(
                f"{folder} holds one model for each {index['by']!r}, not for each {by!r}; choose "
                "another folder"
            )
        index |= {"format": FORMAT, "by": by, "columns": list(data.origin.columns)}
        known, wanted = index["groups"], np.unique(labels).tolist()
        index["groups"] = {name: known[name] for name in wanted if name in known}
        n_fitted = 0

        def left() -> str:
            n = len(index["groups"])
            return (
                f"Stopped. {folder} has models of {n:,} of {counted(len(wanted), 'group')}; run "
                "the same command again to fit those that are missing or out of date."
            )

        for name in wanted:
            part = _rows(data, labels == name)
            digest = _digest(part, settings, how)
            entry = known.get(name, {})
            if entry.get("digest") == digest and (folder / entry["file"]).is_file():
                continue
            file = _file_of(name)
            progress(f"{name}: {counted(len(part.frame), 'row')}")
            with if_stopped(left):
                model = _fitted(part, name, settings, how)
                model.save(folder / file)
            classes = model.classes_.tolist() if isinstance(model, Classifier) else []
            entry = {"file": file, "n_rows": len(part.frame), "digest": digest}
            index["groups"][name] = entry | {"classes": [str(one) for one in classes]}
            _write_index(folder, index)
            n_fitted += 1
        _write_index(folder, index)
        kept = {entry["file"] for entry in index["groups"].values()}
        for file in {entry["file"] for entry in known.values()} - kept:  # of groups that are gone
            (folder / file).unlink(missing_ok=True)
    return {"n_groups": len(wanted), "n_fitted": n_fitted, "n_kept": len(wanted) - n_fitted}


def _file_of(group: str) -> str:
    """A name of the group's own, which other groups do not change."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", group)[:40]
    return f"{plain}-{hashlib.sha256(group.encode()).hexdigest()[:8]}.be"


def _fitted(part: TrainingData, name: str, settings: dict[str, Any], how: dict[str, Any]) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a thousand groups nobody reads them
            return train(part, settings, **how)
    except ValueError as error:
        n_rows = counted(len(part.frame), "row")
        raise ValueError(
            f"group {name!r} ({n_rows}): {error}; groups before it are kept. Delete its rows or "
            "give them to another group, then run the same command again"
        ) from error


def _rows(data: TrainingData, mask: Any) -> TrainingData:
    rows = np.flatnonzero(mask)
    origin = replace(data.origin, n_rows=len(rows), n_without_target=0)
    y, censored = (None if each is None else each[rows] for each in (data.y, data.censored))
    return replace(
        data,
        origin=origin,
        frame=data.frame.iloc[rows],
        y=y,
        censored=censored,
        order=data.order.take(rows),
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
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"expected models by group in {folder}, but {path} cannot be read") from (
            error
        )
    if not is_known:
        raise ValueError(f"{path} is of another version; fit --by again")
    return dict(index)


def _write_index(folder: Path, index: dict[str, Any]) -> None:
    with replacing(folder / INDEX) as file:
        file.write(json.dumps(index, indent=1).encode())


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

    def answer(self, rows: pd.DataFrame, file: TableFile, coverage: float) -> pd.DataFrame:
        """Each row by the model of its group, in the order of the rows."""
        labels = self._labels(rows, file)
        missing = sorted({label for label in labels if label not in self.groups})
        if missing:
            more = f" and {len(missing) - NAMED:,} more" if len(missing) > NAMED else ""
            names = ", ".join(map(repr, missing[:NAMED]))
            raise ValueError(
                f"{file.name}: {counted(len(missing), 'group')} of {self.by!r} not seen at fit: "
                f"{names}{more}; fit again with rows of them, or leave their rows out"
            )
        parts = [
            table_predictions(self._model(label), rows[labels == label], file, coverage)
            for label in dict.fromkeys(labels.tolist())
        ]
        frame = pd.concat(parts)
        if self.classes:  # a group may not know all of them
            shares = [f"p_{name}" for name in self.classes]
            frame = frame.assign(**{n: np.nan for n in shares if n not in frame})
            first = [name for name in frame if not name.startswith("p_")]
            at = first.index("total")
            frame = frame[[*first[:at], *shares, *first[at:]]]
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
