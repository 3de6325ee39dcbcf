import os
import subprocess
import sys
from threading import Barrier, Thread

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

from batchensemble import Regressor
from batchensemble.training import engines
from batchensemble.training.threads import ONE_BLAS_THREAD, ONE_TORCH_THREAD, SharedSetting


def test_the_first_sets_and_the_last_restores_in_whatever_order_they_go():
    log = []
    setting = SharedSetting(lambda: log.append("set") or "before", log.append)
    first, second = setting.held(), setting.held()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert log == ["set"]
    second.__exit__(None, None, None)
    assert log == ["set", "before"]
    with setting.held():
        pass
    assert log == ["set", "before"] * 2


def overlapping(*tasks):
    """In threads, begun in this order; the first ends first."""
    together = Barrier(len(tasks))
    threads = [Thread(target=task, args=(together,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("setting", [ONE_BLAS_THREAD, ONE_TORCH_THREAD])
def test_limits_do_not_outlive_the_threads_that_set_them(setting):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    libraries = threadpool_info()

    def held(together):
        with setting.held():
            together.wait()
        together.wait()

    overlapping(held, held)
    try:
        assert torch.get_num_threads() == 2
        assert threadpool_info() == libraries
    finally:
        torch.set_num_threads(before)


def test_fits_in_parallel_threads_leave_the_numbers_of_threads_as_they_were(monkeypatch):
    monkeypatch.setitem(engines.STEPS_WORTH_COMPILING, "table", 0)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    libraries = threadpool_info()
    x = np.random.default_rng(0).normal(size=(200, 3))

    def fit(epochs):
        settings = {"hidden": (8,), "n_members": 2, "random_state": 0}
        return lambda _: Regressor(epochs=epochs, **settings).fit(x, x.sum(axis=1))

    try:
        for _ in range(3):
            overlapping(fit(5), fit(30), fit(10))
        assert torch.get_num_threads() == 2
        assert threadpool_info() == libraries
    finally:
        torch.set_num_threads(before)


FORKED = """
import os, signal
import numpy as np, torch
from batchensemble import Regressor

torch.set_num_threads(2)
x = np.random.default_rng(0).normal(size=(2000, 5))
settings = {"epochs": 1, "hidden": (256, 256), "random_state": 0}
model = Regressor(**settings).fit(x, x[:, 0])
answer = model.predict(x)
if os.fork() == 0:
    signal.alarm(60)
    own = Regressor(**settings).fit(x, x[:, 0])
    is_same = np.allclose(model.predict(x), answer) and np.allclose(own.predict(x), answer)
    os._exit(not is_same)
raise SystemExit(os.waitstatus_to_exitcode(os.wait()[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_forked_child_fits_and_predicts_after_its_parent_has_with_several_threads():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
