"""Ctrl-C in the middle of an import."""

import signal
import subprocess
import sys
import threading

import pytest

from batchensemble.training.importing import import_whole

STOPPED = "import signal\nfirst = True\nsignal.raise_signal(signal.SIGINT)\nlast = True\n"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """The name of a package during whose import somebody presses Ctrl-C."""
    (tmp_path / "stopped_at_import.py").write_text(STOPPED)
    monkeypatch.syspath_prepend(tmp_path)
    yield "stopped_at_import"
    sys.modules.pop("stopped_at_import", None)


@pytest.fixture
def ctrl_c():
    """The usual answer to Ctrl-C: processes that run tests beside others ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def test_an_import_is_finished_before_ctrl_c_counts(package, ctrl_c):
    with pytest.raises(KeyboardInterrupt):
        import_whole(package)
    assert sys.modules[package].last
    assert signal.getsignal(signal.SIGINT) is ctrl_c
    assert import_whole(package).last  # and from then on it is there


def test_other_threads_and_missing_packages_are_as_usual():
    answers = []
    thread = threading.Thread(target=lambda: answers.append(import_whole("math")))
    thread.start()
    thread.join()
    assert answers[0].pi > 3
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ImportError):
        import_whole("no_such_package_of_ours")
    assert signal.getsignal(signal.SIGINT) is before


IN_NUMBA = """
import signal, sys, warnings
import numpy as np

class CtrlC:
    def find_spec(self, name, path=None, target=None):
        if name == "numba.core.ir":
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)

from batchensemble import Regressor
warnings.simplefilter("ignore")
sys.meta_path.insert(0, CtrlC())
x = np.random.default_rng(0).normal(size=(60, 2))
{first}
try:
    {do}
except KeyboardInterrupt:
    print("stopped")
{do}
print("done")
"""
FIT = "Regressor(epochs=300, patience=300, hidden=(8,), preset='fast').fit(x, x[:, 0])"
FITTED = "model = Regressor(epochs=1, hidden=(8,), preset='fast').fit(x, x[:, 0])"
EXPLAIN = "model.explain(x[:1], x[:9])"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "do"),
    [("", FIT), (FITTED, EXPLAIN)],
    ids=["fit", "explain"],
)
def test_ctrl_c_while_compiled_loops_are_loaded_spoils_nothing_later(first, do):
    if do == EXPLAIN:
        pytest.importorskip("shap")
    code = IN_NUMBA.format(first=first, do=do)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert run.stdout.split() == ["stopped", "done"], run.stderr[-500:]
