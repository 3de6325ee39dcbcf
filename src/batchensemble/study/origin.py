"""Which code made a result: its version, its commit, and a checksum that finds the commit again.

The checksum is the id that git gives the folder of the package. It is computed from the files, so
it is known where there is no git too: `git rev-parse COMMIT:src/batchensemble` gives the same.
"""

import hashlib
import os
import subprocess
from functools import cache
from pathlib import Path

from batchensemble.modelfile.version import VERSION

PACKAGE = Path(__file__).parents[1]
COMMIT = "BATCHENSEMBLE_COMMIT"  # an environment variable, for copies of the code without git


@cache
def code_origin() -> dict[str, str]:
    """`commit` is that of the variable or of git, "unknown" without both."""
    return {
        "version": VERSION,
        "commit": os.environ.get(COMMIT) or _commit(PACKAGE) or "unknown",
        "tree": git_tree(PACKAGE).hex(),
    }


def git_tree(folder: Path) -> bytes:
    """The id of a folder of plain files, without caches."""
    entries = []
    for path in folder.iterdir():
        if path.name == "__pycache__" or path.suffix == ".pyc":
            continue
        if path.is_dir():
            entries.append((f"{path.name}/", b"40000", path.name, git_tree(path)))
        else:
            entries.append((path.name, b"100644", path.name, _id(b"blob", path.read_bytes())))
    parts = (kind + b" " + name.encode() + b"\0" + own for _, kind, name, own in sorted(entries))
    return _id(b"tree", b"".join(parts))


def _id(kind: bytes, content: bytes) -> bytes:
    head = kind + b" " + str(len(content)).encode() + b"\0"
    return hashlib.sha1(head + content, usedforsecurity=False).digest()


def _commit(folder: Path) -> str:
    """Empty where the folder is not in a repository, or is not the one that git knows."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    try:
        commit = git("rev-parse", "HEAD")
        if not commit or not git("ls-files", "--", "__init__.py"):
            return ""
        return f"{commit} with changes" if git("status", "--porcelain", "--", ".") else commit
    except OSError:  # no git on this machine
        return ""
