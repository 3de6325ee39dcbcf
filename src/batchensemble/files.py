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
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.file = NamedTemporaryFile(dir=self.path.parent, prefix=".", delete=False)
        return self.file

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()
        if kind is None:
            os.chmod(self.file.name, 0o666 & ~_umask())
            os.replace(self.file.name, self.path)
        else:
            os.unlink(self.file.name)


def _umask() -> int:
    """What this process takes from the rights of new files; temporary ones have few from birth."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
