"""One thread for each process: several on few cores would wait for each other. No downloads."""

import os

import pytest
import torch

torch.set_num_threads(1)
os.environ["BATCHENSEMBLE_OFFLINE"] = "1"


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
