"""Results on disk: for each run a file of numbers, which makes it done, and one of predictions."""

import json
import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchensemble.modelfile.files import replacing
from batchensemble.modelfile.persistence import library_version
from batchensemble.study.spec import Run, Settings

FORMAT = 2
PACKAGES = ("batchensemble", "torch", "numpy", "scipy", "scikit-learn", "pandas")


@dataclass(frozen=True)
class Result:
    """What came out of a run.

    metrics   one number each
    curves    lists of numbers, such as errors by coverage
    about     parameters, seconds, the machine, versions and the time of day
    arrays    predictions, compact: what a new metric needs
    """

    run: Run
    metrics: Mapping[str, float]
    curves: Mapping[str, list[float]] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)


class Store:
    """A folder of results. A run is done when its file of numbers is there, whole."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).absolute()  # workers may stand in another folder

    def __contains__(self, run: Run) -> bool:
        """Whether the run is done; the same run under other settings is an error."""
        path = self._path(run, "json")
        if not path.is_file():
            return False
        found = read_json(path, "results", FORMAT)
        kept = Run.from_dict(found["run"])
        if kept != run:
            raise ValueError(
                f"expected {path} to hold the run {run}, got one with "
                f"{kept}; use another results folder, or delete this one"
            )
        return True

    def check(self, settings: Settings) -> None:
        """Refuse to add runs of these settings to those of others, or to what is no folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for result in self:
            if result.run.settings != settings:
                raise ValueError(
                    f"expected only runs of {settings} in {self.folder}, got "
                    f"{result.run.name} of {result.run.settings}; use another results folder"
                )

    def write(self, result: Result) -> None:
        """Predictions first, then the numbers, each at once: half a result is never seen."""
        self._path(result.run, "json").parent.mkdir(parents=True, exist_ok=True)
        if result.arrays:
            with replacing(self._path(result.run, "npz")) as file:
                np.savez_compressed(file, **result.arrays)  # type: ignore[arg-type]
        numbers = {
            "format": FORMAT,
            "run": result.run.as_dict(),
            "metrics": dict(result.metrics),
            "curves": dict(result.curves),
            "about": dict(result.about),
        }
        with replacing(self._path(result.run, "json")) as file:
            file.write(json.dumps(numbers, indent=1).encode())

    def read(self, run: Run) -> Result:
        """One result, its predictions included."""
        return self._result(self._path(run, "json"), with_arrays=True)

    def __iter__(self) -> Iterator[Result]:
        """All results that are done, in the order of their names, without their predictions."""
        for path in sorted(self.folder.glob("*/*.json")):
            yield self._result(path, with_arrays=False)

    def _result(self, path: Path, *, with_arrays: bool) -> Result:
        found = read_json(path, "results", FORMAT)
        arrays: dict[str, NDArray[Any]] = {}
        predictions = path.with_suffix(".npz")
        if with_arrays and predictions.is_file():
            with np.load(predictions, allow_pickle=False) as stored:
                arrays = dict(stored)
        run = Run.from_dict(found["run"])
        return Result(run, found["metrics"], found["curves"], found["about"], arrays)

    def _path(self, run: Run, suffix: str) -> Path:
        return self.folder / f"{run.name}.{suffix}"


def describe_machine() -> dict[str, Any]:
    """Versions and the kind of machine, to be kept with a result."""
    return {
        "versions": {name: _version(name) for name in PACKAGES},
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def _version(package: str) -> str:
    if package == "batchensemble":
        return library_version()
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def read_json(path: Path, what: str, form: int) -> dict[str, Any]:
    """A file of ours, of this format; what else it may be is named with the cure."""
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except ValueError as error:
        raise ValueError(
            f"expected {what} in {path}, got something else ({error}); delete the file"
        ) from None
    if not isinstance(found, dict) or found.get("format") != form:
        raise ValueError(
            f"expected {what} of format {form} in {path}, got "
            f"{found.get('format') if isinstance(found, dict) else type(found).__name__}; they "
            "were made by another version: use another results folder, or delete the file"
        )
    return found
