"""One thread for each process: several on few cores would wait for each other. No downloads."""

import gc
import os
import shutil

import pytest
import torch
from hypothesis import settings

torch.set_num_threads(1)
os.environ["BATCHENSEMBLE_OFFLINE"] = "1"

# A test is no stopwatch: a busy machine may halt any example for longer than the usual 0.2 s.
settings.register_profile("untimed", parent=settings(), deadline=None)
settings.load_profile("untimed")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is imported stays: to look for garbage among it takes seconds."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture
def registries():
    """What a test adds to the known datasets and methods is gone after it."""
    from batchensemble.study.additions import run_plugin
    from batchensemble.study.datasets import SERIES, TABLES
    from batchensemble.training.methods import METHODS

    run_plugin.cache_clear()
    before = [(known, dict(known)) for known in (TABLES, SERIES, METHODS)]
    yield
    for known, old in before:
        known.clear()
        known.update(old)


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = os.environ.get("CHROME") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(f"no browser: install one of {', '.join(BROWSERS)}, or set CHROME to its path")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=path, args=flags)
        yield started
        started.close()
