"""Processes to kill: forked from one that has everything imported and no threads."""

import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

LONGEST = 300  # seconds
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
IMPORTED = [
    "batchensemble.cli.app",
    "batchensemble.cli.holdout",
    "batchensemble.cli.predictions",
    "batchensemble.cli.training_data",
    "batchensemble.estimators.loading",
    "batchensemble.study.store",
]

Task = Callable[[], None]


def started(task: Task) -> Any:
    # Forked from a process with threads, as tests are, a child may wait for locks of theirs.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    process = context.Process(target=quietly, args=(task,))
    with mock.patch.dict(os.environ, ONE_THREAD):
        process.start()
    return process


def quietly(task: Task) -> None:
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    task()


def whole_seconds(task: Task) -> float:
    begun = time.perf_counter()
    process = started(task)
    process.join(LONGEST)
    if process.is_alive():
        process.kill()
    assert process.exitcode == 0
    return time.perf_counter() - begun


def killed_after(task: Task, seconds: float) -> None:
    process = started(task)
    time.sleep(seconds)
    process.kill()
    process.join()


# ------------------------------------------------------------------------------ what they do


def command(*words: object) -> Task:
    return partial(_run, list(map(str, words)))


def _run(words: list[str]) -> None:
    from typer.testing import CliRunner

    from batchensemble.cli.app import app

    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output


def save_often(model: Path, out: Path) -> None:
    import batchensemble

    fitted = batchensemble.load(model)
    for _ in range(30):
        fitted.save(out)


def save_on_a_full_disk(model: Path, out: Path, size: int) -> None:
    import batchensemble

    fitted = batchensemble.load(model)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with pytest.raises(OSError, match=f"{out.name} was not written"):
        fitted.save(out)


def fill_store(folder: Path, n_runs: int) -> None:
    import numpy as np

    from batchensemble.study.spec import Run
    from batchensemble.study.store import Result, Store

    store, arrays = Store(folder), {"y": np.zeros(200)}
    arrays |= dict.fromkeys(("means", "variances"), np.zeros((200, 10), np.float32))
    counts = ("n_parameters", "n_rows", "n_features", "n_inputs", "n_train", "n_test")
    about = {"task": "regression", **dict.fromkeys(counts, 9)}
    for seed in range(n_runs):
        run = Run("diabetes", "id", "single", seed)
        if run not in store:
            store.write(Result(run, {"rmse": 0.5}, about=about, arrays=arrays))
