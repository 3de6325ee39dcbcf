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
        check_writable(self.path)
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


def check_writable(path: Path) -> None:
    """Refuse what a file cannot be put in the place of, or in."""
    if path.is_dir():
        raise IsADirectoryError(
            f"expected the name of a file to write, got the folder {path}; name a file in it"
        )
    if path.exists() and not path.is_file():  # it would be a plain file then, for everybody
        raise OSError(f"expected the name of a file to write, got the device or pipe {path}")
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"expected a folder for {path}, got none at {path.parent}; make it first, or write "
            "elsewhere"
        )
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(
            f"expected a folder that may be written for {path.name}, got {path.parent}, where you "
            "have no right to; name another"
        )


def _umask() -> int:
    """What this process takes from the rights of new files; temporary ones have few from birth."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
