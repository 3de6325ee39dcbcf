"""One thread for each process: several on few cores would wait for each other. No downloads."""

import os
from pathlib import Path

import pytest
import torch

torch.set_num_threads(1)
os.environ["BATCHENSEMBLE_OFFLINE"] = "1"


def forget_stale_loops(package):
    """Numba keeps a compiled loop until its own file changes, whatever happens to what it calls."""
    engines, fused = package / "engines", package / "engines" / "fused"
    read = [*engines.glob("*.py"), *fused.glob("*.py"), package / "nn" / "dropout.py"]
    newest = max(file.stat().st_mtime for file in read)
    for index in (fused / "__pycache__").glob("*.nbi"):
        if index.stat().st_mtime < newest:
            index.unlink(missing_ok=True)


forget_stale_loops(Path(__file__).parents[1] / "src" / "batchensemble")


@pytest.fixture
def registries(monkeypatch):
    """What a test adds to the known datasets and methods is gone after it."""
    from batchensemble.datasets import SERIES, TABLES
    from batchensemble.methods import METHODS
    from batchensemble.study import own

    monkeypatch.setattr(own, "_done", set())
    before = [(known, dict(known)) for known in (TABLES, SERIES, METHODS)]
    yield
    for known, old in before:
        known.clear()
        known.update(old)
