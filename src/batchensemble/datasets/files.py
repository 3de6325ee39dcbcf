"""Files of the data folder, which the environment variable BATCHENSEMBLE_DATA names."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import NDArray

FOLDER = "BATCHENSEMBLE_DATA"


@dataclass(frozen=True)
class File:
    """A CSV file by its name, checksum and target column."""

    name: str
    sha256: str
    target: str

    def read(self, dataset: str) -> tuple[Any, NDArray[Any]]:
        """The other columns, and the target."""
        path = self._path(dataset)
        # Older versions of pandas round the last digit unless told not to.
        exactly = {"float_precision": "round_trip"} if int(pd.__version__[0]) < 3 else {}
        frame = pd.read_csv(path, keep_default_na=False, **exactly)
        if self.target not in frame:
            raise ValueError(f"expected a column {self.target!r} in {path}, got {list(frame)}")
        return frame.drop(columns=self.target), frame[self.target].to_numpy()

    def _path(self, dataset: str) -> Path:
        folder = os.environ.get(FOLDER)
        if not folder:
            raise FileNotFoundError(
                f"the dataset {dataset!r} needs the file {self.name}: put it into a folder and "
                f"name that folder in the environment variable {FOLDER}"
            )
        path = Path(folder) / self.name
        if not path.is_file():
            raise FileNotFoundError(f"the dataset {dataset!r} needs the file {path}")
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != self.sha256:
            raise ValueError(
                f"expected {path} to have the sha256 {self.sha256}, got {found}; "
                "the file is damaged or another version: replace it"
            )
        return path
