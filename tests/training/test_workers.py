"""Functions inside of functions travel to other processes by value, with no need of this file."""

import logging
import os
import signal
import subprocess
import sys
import threading
import time

import joblib
import pytest

from batchensemble.training.workers import worker_processes


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_calls_give_the_same_here_and_in_processes_of_one_thread(n_jobs, monkeypatch):
    def facts(x):
        return 2 * x, os.getpid(), os.environ["OMP_NUM_THREADS"]

    monkeypatch.setenv("OMP_NUM_THREADS", "2")

    with worker_processes(n_jobs) as map_calls:
        doubled, pids, n_threads = zip(*map_calls(facts, ((x,) for x in range(9))), strict=True)
    assert sorted(doubled) == list(range(0, 18, 2))
    assert (os.getpid() in pids) == (n_jobs == 1)
    assert set(n_threads) == {"2" if n_jobs == 1 else "1"}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="nothing is killed so on Windows")
def test_a_killed_process_ends_all_in_one_line_and_the_next_calls_work():
    def die_at(x, deadly):
        if x == deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return x

    with (
        pytest.raises(ChildProcessError, match=r"a worker process was killed.*again"),
        worker_processes(2) as map_calls,
    ):
        list(map_calls(die_at, [(x, 3) for x in range(9)]))
    with worker_processes(2) as map_calls:
        assert sorted(map_calls(die_at, [(x, -1) for x in range(9)])) == list(range(9))


def interrupted_after_the_first():
    with worker_processes(2) as map_calls:
        for _ in map_calls(lambda seconds: time.sleep(seconds), [(0,), (100,)]):
            raise KeyboardInterrupt


# A thread of joblib's own may trip over calls that are taken away from it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_ctrl_c_does_not_wait_for_calls_that_have_begun():
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupted_after_the_first()
    with worker_processes(2) as map_calls:
        list(map_calls(lambda seconds: time.sleep(seconds), [(0,), (0,)]))
    assert time.monotonic() - start < 50


def test_an_error_in_a_process_is_the_error_here():
    def refuse(x):
        if x == 2:
            raise ValueError(f"expected anything but {x}")

    with (
        pytest.raises(ValueError, match=r"^expected anything but 2$"),
        worker_processes(2) as map_calls,
    ):
        list(map_calls(refuse, [(x,) for x in range(4)]))


def test_a_thread_of_joblib_that_fails_says_nothing_of_its_own_and_others_do(monkeypatch, caplog):
    shown = []
    monkeypatch.setattr(threading, "excepthook", lambda failure: shown.append(failure.exc_type))
    with worker_processes(1):
        for target in (lambda: joblib.hash(threading.Lock()), lambda: 1 / 0):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()
        logging.getLogger("concurrent.futures").error("exception calling callback")
    assert shown == [ZeroDivisionError]
    assert not caplog.records


STOPPED_TWICE = """
import signal
import time
from batchensemble.training.workers import worker_processes

def rest(seconds):
    time.sleep(seconds)

try:
    with worker_processes(2) as map_calls:
        for _ in map_calls(rest, [(0,), (0,), (60,), (60,)]):
            print("done", flush=True)
except KeyboardInterrupt:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one may come as late as the exit
    print("stopped", flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no groups of processes here")
def test_ctrl_c_of_a_terminal_reaches_all_processes_and_leaves_no_traceback(tmp_path):
    with (tmp_path / "said").open("w+") as said:
        run = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "import signal\n"
                "signal.signal(signal.SIGINT, signal.default_int_handler)\n" + STOPPED_TWICE,
            ],
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            start_new_session=True,
        )
        assert run.stdout.readline() == "done\n"
        for _ in range(2):
            os.killpg(run.pid, signal.SIGINT)
            time.sleep(0.03)
        told, _ = run.communicate(timeout=50)
        said.seek(0)
        assert (told.splitlines()[-1], run.returncode, said.read()) == ("stopped", 0, "")
