import ast
import importlib
from pathlib import Path

import numpy as np
import pytest

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
