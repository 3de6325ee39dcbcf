"""Files that are written completely or not at all."""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO

try:
    import fcntl
except ImportError:  # on Windows, where a killed run leaves its unfinished file
    fcntl = None  # type: ignore[assignment]

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}  # of disks


class replacing:
    """A binary file that appears under its name only when it is complete.

    A link stays, and what it points to is replaced.

    Until then it is called .NAME.RANDOM.part, and locked. What a killed process has left there,
    without a lock, is removed by the next one to write the same file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.resolve() if path.is_symlink() else path

    def __enter__(self) -> Any:
        check_writable(self.path)
        self._remove_stale()
        self.file = self._open()
        return self.file

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        part = Path(self.file.name)
        try:
            if kind is None:
                self.file.flush()
                os.fsync(self.file.fileno())
                if fcntl is None:  # an open file cannot be renamed where there are no such locks
                    self.file.close()
                os.replace(part, self.path)
        except OSError as failure:
            raise _named(failure, self.path) from failure
        finally:
            with suppress(OSError):
                self.file.close()
            part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in FULL and not error.filename:
            raise _named(error, self.path) from error

    def _open(self) -> BinaryIO:
        """A new file with the rights of any new file."""
        while True:
            part = self.path.with_name(f".{self.path.name[:50]}.{token_hex(8)}.part")
            try:
                file = part.open("xb")
            except OSError as error:
                raise _named(error, self.path) from error
            if fcntl is None:
                return file
            with suppress(OSError):  # there are file systems without locks
                fcntl.flock(file, fcntl.LOCK_EX)
            if part.exists():  # another process may have taken it for stale, before the lock
                return file
            file.close()

    def _remove_stale(self) -> None:
        if fcntl is None:
            return
        own = re.compile(rf"\.{re.escape(self.path.name[:50])}\.[0-9a-f]{{16}}\.part")
        for name in os.listdir(self.path.parent):
            if own.fullmatch(name):
                part = self.path.parent / name
                with suppress(OSError), part.open("rb") as file:  # locked: somebody is writing it
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    part.unlink()


def _named(error: OSError, path: Path) -> OSError:
    """The same error with the name of the file that was to be written."""
    if error.errno is None:
        return error
    return type(error)(error.errno, f"{error.strerror or error}: {path} was not written")


def as_path(path: Any) -> Path:
    """A path, for anything that names a file."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(
            f"expected the path of a file, a text or a Path, got {path!r:.80} "
            f"({type(path).__name__})"
        )
    return Path(path)


def check_writable(path: Path) -> None:
    """Raise if no file can be written at this path."""
    if "\0" in str(path):
        raise ValueError(f"expected a path to write to, got {str(path)!r}; omit the \\0 in it")
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


def make_folder(path: Path) -> None:
    """Make a folder for files, unless it is there; raise if none can be written into it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            f"expected a folder to write into, got {path}: {error.strerror or error}; choose "
            "another folder"
        ) from error
    if not os.access(path, os.W_OK):
        raise PermissionError(
            f"expected a folder to write into, got {path}: no write permission; choose another "
            "folder"
        )


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Wait for other processes that hold the folder, where there are such locks."""
    if fcntl is None:
        yield
        return
    held = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # there are file systems without locks
            fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)
