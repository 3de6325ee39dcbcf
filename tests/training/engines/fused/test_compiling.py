import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.caching import FunctionCache, IndexDataCacheFile

from batchensemble.training.engines.fused import compiling
from batchensemble.training.engines.fused.compiling import SOURCES, VERSION, F, compiled

LOOPS = ("adam", "gru", "layers", "losses", "mlp", "numbers", "recurrent")


@pytest.mark.parametrize("name", LOOPS)
def test_what_is_kept_is_named_after_everything_that_loops_read(name):
    module = importlib.import_module(f"batchensemble.training.engines.fused.{name}")
    tree = ast.parse(Path(module.__file__).read_text())
    imported = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    ours = [each for each in imported if each.startswith("batchensemble")]
    files = {Path(importlib.import_module(each).__file__) for each in ours}
    assert files
    assert files <= set(SOURCES)


def test_compiled_code_carries_the_version_of_the_sources():
    @compiled
    def double(x):
        return F(2) * x

    assert double(np.float32(3)) == 6
    assert double.py_func.__qualname__.endswith(f"double_{VERSION}")


FIT = """
import sys, warnings
warnings.simplefilter("error")
warnings.simplefilter("always", RuntimeWarning)
import numpy as np
from batchensemble import Regressor

x = np.random.default_rng(0).normal(size=(3000, 3))
y = x[:, 0] + x[:, 1] + x[:, 2]
settings = {"epochs": 30, "batch_size": 32, "hidden": (8,), "n_members": 2}
model = Regressor(**settings, random_state=0, device="cpu")
model.fit(x, y)
print(model.predict(x[:1])[0])
"""


def fitted(tmp_path, **environment):
    """The prediction of a small fit in a process of its own, and what it said."""
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), **environment}
    done = subprocess.run([sys.executable, "-c", FIT], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return float(done.stdout), done.stderr


@pytest.mark.slow
def test_a_fit_needs_no_place_to_keep_compiled_code_and_says_so_once(tmp_path):
    kept, said = fitted(tmp_path)
    assert said == ""
    files = [file for file in (tmp_path / "cache").rglob("*") if file.is_file()]
    assert files
    nowhere = {"NUMBA_CACHE_LOCATOR_CLASSES": "ZipCacheLocator"}  # finds no place for our files
    value, said = fitted(tmp_path, **nowhere)
    assert value == kept
    assert said.count("set NUMBA_CACHE_DIR to a folder that can be written") == 1
    for file in files:
        file.write_bytes(file.read_bytes()[:20])
    assert fitted(tmp_path)[0] == kept


def test_code_that_cannot_be_kept_still_runs(monkeypatch):
    def full(*args):
        raise OSError("No space left on device")

    monkeypatch.setattr(IndexDataCacheFile, "save", full)
    monkeypatch.setattr(IndexDataCacheFile, "load", full)
    compiling._warn_once.cache_clear()

    @compiled
    def treble(x):
        return F(3) * x

    with pytest.warns(RuntimeWarning, match="cannot be kept on disk"):
        assert treble(np.float32(3)) == 9
    assert treble(np.float64(3)) == 9  # compiled again, and nothing more is said


def test_code_without_a_place_for_it_still_runs(monkeypatch):
    def nowhere(self, function):
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(FunctionCache, "__init__", nowhere)
    compiling._warn_once.cache_clear()

    def half(x):
        return F(0.5) * x

    with pytest.warns(RuntimeWarning, match="set NUMBA_CACHE_DIR"):
        half = compiled(half)
    assert half(np.float32(3)) == 1.5
