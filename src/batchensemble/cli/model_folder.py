"""A folder with a model for each group, and an index of them."""

import json
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batchensemble.cli.columns import notations_of, table_kinds
from batchensemble.cli.format import counted, named
from batchensemble.cli.predictions import table_predictions
from batchensemble.cli.typed_columns import usual_numbers
from batchensemble.data.reading import TableFile
from batchensemble.data.text import read_as, settle
from batchensemble.data.vocabulary import Spelling
from batchensemble.estimators.loading import load
from batchensemble.modelfile.files import replacing

INDEX = "index.json"
FORMAT = 1
LOADED = 64  # models at a time


def read_index(folder: Path) -> dict[str, Any]:
    path = folder / INDEX
    try:
        index = json.loads(path.read_text())
        groups = index["groups"].values()
        is_known = index["format"] == FORMAT and type(index["by"]) is str
        is_known &= all(Path(entry["file"]).name == entry["file"] for entry in groups)
        words = [*index["columns"], *(name for entry in groups for name in entry["classes"])]
        is_known &= all(type(word) is str for word in words)
    except (OSError, RecursionError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"expected models by group in {folder}, but {path} cannot be read; fit --by writes it, "
            "once a damaged one is removed"
        ) from error
    if not is_known:
        raise ValueError(f"{path} is of another version; remove it, and fit --by again")
    return dict(index)


def write_index(folder: Path, index: dict[str, Any]) -> None:
    in_order = index | {"groups": dict(sorted(index["groups"].items()))}
    with replacing(folder / INDEX) as file:
        file.write(json.dumps(in_order, indent=1).encode())


@contextmanager
def alone(folder: Path) -> Iterator[None]:
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
        index = read_index(self.folder)
        self.by, self.groups = index["by"], index["groups"]
        self._spelling = Spelling([*self.groups])
        self.needed = [self.by, *index["columns"]]
        self.classes = sorted({name for entry in self.groups.values() for name in entry["classes"]})
        self.has_sets = any(entry.get("is_calibrated", True) for entry in self.groups.values())

    def answer(self, rows: pd.DataFrame, file: TableFile, coverage: float) -> pd.DataFrame:
        """Each row by the model of its group, in the order of the rows."""
        labels = self._labels(rows, file)
        missing = sorted({label for label in labels if label not in self.groups})
        if missing:
            raise ValueError(
                f"{file.name}: {counted(len(missing), 'group')} of {self.by!r} not seen in "
                f"fit: {named(missing)}; fit again with rows of them, or drop their rows"
            )
        different = dict.fromkeys(labels.tolist())
        self._settle(rows, file, [self._model(label) for label in sorted(different)[:LOADED]])
        parts = [
            table_predictions(self._model(label), rows[labels == label], file, coverage)
            for label in different
        ]
        frame = pd.concat(parts)
        if self.classes:  # a group may not know all of them, or have no calibration
            sets, shares = ["set"] * self.has_sets, [f"p_{name}" for name in self.classes]
            entropies = ["total", "aleatoric", "epistemic"]
            names = ["prediction", "confidence", *sets, *shares, *entropies]
            frame = frame.reindex(columns=names).astype(dict.fromkeys(sets, "string"))
        return frame.loc[rows.index]

    def _settle(self, rows: pd.DataFrame, file: TableFile, models: list[Any]) -> None:
        """A file has one reading, whichever group comes first."""
        usual: dict[str, list[Any]] = {}
        for model in models:
            for name, numbers in usual_numbers(model.model_.encoder).items():
                usual.setdefault(name, []).append(numbers)
        together = {name: np.concatenate(parts) for name, parts in usual.items()}
        settle(rows, table_kinds(models[0]), file, notations_of(models[0]), together)

    def _labels(self, rows: pd.DataFrame, file: TableFile) -> NDArray[Any]:
        """Read and spelled as in fit; "" where there is none."""
        labels = read_as(rows, {self.by: "category"}, file)[self.by]
        spelled = {label: self._spelling(label) or "" for label in pd.unique(labels)}
        return np.array([spelled[label] for label in labels], object)

    def _model(self, label: str) -> Any:
        if label not in self._loaded:
            path = self.folder / self.groups[label]["file"]
            self._loaded[label] = load(path, device=self.device)
            if len(self._loaded) > LOADED:
                self._loaded.popitem(last=False)
        self._loaded.move_to_end(label)
        return self._loaded[label]


def load_models(path: Path, device: str) -> Any:
    """The model in a file, or those in a folder of `fit --by`."""
    return ModelFolder(path, device) if path.is_dir() else load(path, device=device)
