"""The files that a path, a folder, a pattern or a list names."""

from collections.abc import Sequence
from glob import glob, has_magic
from pathlib import Path

from batchensemble.data.reading import is_table


def list_files(where: str | Path | Sequence[str | Path]) -> list[Path]:
    """A file, or the tables in a folder or matching a pattern such as folder/*.parquet, sorted.

    Of a list, all of them in its order. Folders in a folder are left out; "folder/**/*.parquet"
    names the tables in all of them.
    """
    if not isinstance(where, str | Path):
        return [path for one in where for path in list_files(one)]
    if not str(where):  # as a path it would be this folder
        raise ValueError('expected a file, a folder or a pattern, got ""; use "." for this folder')
    path = Path(where)
    if path.is_dir():
        paths = [each for each in sorted(path.iterdir()) if _is_data(each)]
        if not paths:
            raise ValueError(
                f"expected tables in the folder {path}, got none; check the path, or write "
                f"'{path}/**/*.csv' for those in folders below it"
            )
        return paths
    if not is_pattern(where):
        return [path]
    paths = [
        Path(each) for each in sorted(glob(str(where), recursive=True)) if _is_data(Path(each))
    ]
    if not paths:
        brackets = ", and write [[] for a bracket in a name" if "[" in str(where) else ""
        raise FileNotFoundError(f"there is no file {where}; check the pattern{brackets}")
    return paths


def is_pattern(where: str | Path) -> bool:
    """Whether it names files with * and the like; a file may have brackets in its name."""
    return has_magic(str(where)) and not Path(where).exists()


def is_among(path: Path, where: str) -> bool:
    """Whether a file is one of those in a folder or of a pattern."""
    if not where or not (Path(where).is_dir() or is_pattern(where)):
        return False
    try:
        return path.resolve() in [each.resolve() for each in list_files(where)]
    except (OSError, ValueError):  # none are left
        return False


def _is_data(path: Path) -> bool:
    return path.is_file() and is_table(path) and not path.name.startswith((".", "~$"))
