"""Files that are whole or not there."""

import os
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any


class replacing:
    """A binary file that appears under its name when it is complete, and not at all before."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> Any:
        if self.path.is_dir():
            raise IsADirectoryError(
                f"expected the name of a file to write, got the folder {self.path}"
            )
        check_kind(self.path)
        if not self.path.parent.is_dir():
            raise FileNotFoundError(
                f"expected a folder for {self.path}, got none at {self.path.parent}; make it "
                "first, or write elsewhere"
            )
        self.file = NamedTemporaryFile(dir=self.path.parent, prefix=".", delete=False)
        return self.file

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            with self.file:
                self.file.flush()
                os.fsync(self.file.fileno())
            if kind is None:
                os.chmod(self.file.name, 0o666 & ~_umask())
                os.replace(self.file.name, self.path)
        finally:
            Path(self.file.name).unlink(missing_ok=True)


def check_kind(path: Path) -> None:
    """A device such as /dev/null would be replaced by a plain file, for everybody."""
    if path.exists() and not path.is_file():
        raise OSError(f"expected the name of a file to write, got the device or pipe {path}")


def _umask() -> int:
    """What this process takes from the rights of new files; temporary ones have few from birth."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
