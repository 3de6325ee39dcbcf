"""Files that are written completely or not at all."""

import os
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any


class replacing:
    """A binary file that appears under its name only when it is complete."""

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
    """Raise if no file can be written at this path."""
    if path.is_dir():
        raise IsADirectoryError(f"expected a file to write, got the folder {path}; add a file name")
    if path.exists() and not path.is_file():  # replacing it would break it for everybody
        raise OSError(
            f"expected a file to write, got the device or pipe {path}; choose another path"
        )
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"expected a folder for {path}, got none at {path.parent}; make it first, or write "
            "elsewhere"
        )
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(
            f"expected a folder that may be written for {path.name}, got {path.parent}: no write "
            "permission; choose another folder"
        )


def _umask() -> int:
    """The permissions that new files of this process do not get; temporary files get even fewer."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
