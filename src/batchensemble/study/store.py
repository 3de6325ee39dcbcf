"""Results on disk: for each run a file of numbers, and one of predictions."""

import dataclasses
import json
import os
import platform
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchensemble.modelfile.files import replacing
from batchensemble.study.origin import code_origin
from batchensemble.study.soundness import check_about, check_arrays, check_numbers, check_run
from batchensemble.study.spec import Run, Settings

FORMAT = 2
PACKAGES = ("torch", "numpy", "scipy", "scikit-learn", "pandas")


@dataclass(frozen=True)
class Result:
    """What came out of a run.

    metrics   one number each
    curves    lists of numbers, such as errors by coverage
    about     parameters, seconds, the machine, versions and the time of day
    arrays    predictions in single precision, from which new metrics can be computed
    """

    run: Run
    metrics: Mapping[str, float]
    curves: Mapping[str, list[float]] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)


class Store:
    """A folder of results. A run is done when its file of numbers exists."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).absolute()  # workers may have another working directory

    def __contains__(self, run: Run) -> bool:
        """Whether the run is done; the same run under other settings is an error."""
        path = self._path(run, "json")
        if not path.is_file():
            return False
        stored = self._result(path).run
        if stored != run:
            raise ValueError(
                f"expected {path} to hold the run {run}, got one with "
                f"{stored}; use another results folder, or delete this one"
            )
        arrays = self._path(run, "npz")
        if arrays.is_file() and not zipfile.is_zipfile(arrays):
            raise _no_arrays(arrays, "no archive")
        return True

    def check(self, settings: Settings, data: Mapping[str, str]) -> None:
        """Make the folder; raise if it has runs of other settings, or other data of a dataset."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for result in self:
            if result.run.settings != settings:
                raise ValueError(
                    f"expected only runs of {settings} in {self.folder}, got "
                    f"{result.run.name} of {result.run.settings}; use another results folder"
                )
            if result.run.data != data.get(result.run.dataset, result.run.data):
                raise ValueError(
                    f"expected only runs on the present data of {result.run.dataset} in "
                    f"{self.folder}, got {result.run.name} on other data; use another results "
                    "folder, or delete this one"
                )

    def write(self, result: Result) -> None:
        """Predictions first, then the numbers, each file whole or not at all."""
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

    def has_arrays(self, run: Run) -> bool:
        return self._path(run, "npz").is_file()

    def read(self, run: Run) -> Result:
        """One result, its predictions included."""
        result, arrays = self._result(self._path(run, "json")), self._path(run, "npz")
        if not arrays.is_file():
            return result
        try:
            with arrays.open("rb") as file, np.load(file, allow_pickle=False) as stored:
                found = dict(stored)
            check_arrays(found)
        except Exception as error:  # whatever a broken archive leads to
            raise _no_arrays(arrays, str(error)) from None
        return dataclasses.replace(result, arrays=found)

    def __iter__(self) -> Iterator[Result]:
        """All results that are done, in the order of their names, without their predictions."""
        return map(self._result, sorted(self.folder.glob("*/*.json")))

    def _result(self, path: Path) -> Result:
        stored = read_json(path, "results", FORMAT)
        try:
            run = Run.from_dict(stored["run"])
            metrics, curves, about = (dict(stored[part]) for part in ("metrics", "curves", "about"))
            check_run(run)
            check_numbers(metrics, curves)
            check_about(about)
        except (LookupError, TypeError, ValueError) as error:
            raise ValueError(
                f"expected the results of a run in {path}, got something else ({error!r:.200}); "
                "delete the file, and run it again"
            ) from None
        return Result(run, metrics, curves, about)

    def _path(self, run: Run, suffix: str) -> Path:
        return self.folder / f"{run.name}.{suffix}"


def _no_arrays(path: Path, reason: str) -> ValueError:
    cause = " ".join(reason.split())[:200]
    return ValueError(
        f"expected the predictions of a run in {path}, got something else ({cause}); delete it and "
        "the .json beside it, and run it again"
    )


def describe_machine() -> dict[str, Any]:
    """Versions and the kind of machine, to be kept with a result."""
    versions = {name: version(name) for name in PACKAGES}
    return {
        "versions": {"batchensemble": code_origin()["version"], **versions},
        "code": code_origin(),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def read_json(path: Path, what: str, form: int) -> dict[str, Any]:
    """A file of the study, of this format; an error for another file says how to fix it."""
    try:
        content: dict[str, Any] = json.loads(path.read_text())
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"expected {what} in {path}, got something else ({error}); delete the file"
        ) from None
    found = content.get("format") if isinstance(content, dict) else content
    if type(found) is not int or found != form or not isinstance(content, dict):
        got = found if type(found) is int else type(found).__name__
        raise ValueError(
            f"expected {what} of format {form} in {path}, got {got}; they "
            "were made by another version: use another results folder, or delete the file"
        )
    return content
