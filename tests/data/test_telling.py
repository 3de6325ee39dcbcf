import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from batchensemble import JointRegressor
from batchensemble.data.telling import BatchEnsembleWarning, collected, silenced, tell


def test_a_doubt_is_a_warning_at_the_level_asked_for_or_is_collected():
    def ask():
        tell("odd rows", 2)

    with pytest.warns(BatchEnsembleWarning, match="odd rows") as caught:
        ask()
    assert caught[0].filename == __file__
    with collected() as outer:
        ask()
        with collected() as inner:
            tell("odd columns", 1)
        ask()
    assert (outer, inner) == (["odd rows"] * 2, ["odd columns"])


def test_another_thread_is_told_as_usual_while_one_collects():
    def tell_in_a_thread():
        thread = threading.Thread(target=tell, args=("of a thread", 1))
        thread.start()
        thread.join()

    with collected() as doubts, pytest.warns(BatchEnsembleWarning, match="of a thread"):
        tell_in_a_thread()
    assert doubts == []


@pytest.fixture
def busy_threads():
    """Threads that are changed so often that any two of them overlap."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    with ThreadPoolExecutor(8) as pool:
        yield pool
    sys.setswitchinterval(before)


def silence(_):
    with silenced("of no concern"):
        warnings.warn("of no concern", stacklevel=1)


def silence_alone(_):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "of no concern")
        warnings.warn("of no concern", stacklevel=1)


def test_filters_are_the_same_after_many_threads(busy_threads):
    with warnings.catch_warnings():
        before = list(warnings.filters)
        list(busy_threads.map(silence, range(2000)))
        assert warnings.filters == before


def test_the_control_without_a_lock_filters_stay_changed(busy_threads):
    for _ in range(50):
        with warnings.catch_warnings():
            before = list(warnings.filters)
            try:
                list(busy_threads.map(silence_alone, range(2000)))
            except UserWarning:
                return
            if warnings.filters != before:
                return
    raise AssertionError("no two threads overlapped")


def test_several_targets_in_threads_leave_the_filters_as_they_were(busy_threads):
    x = np.random.default_rng(0).normal(size=(60, 2))
    settings = {"preset": "fast", "epochs": 1, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = list(warnings.filters)
        model = JointRegressor(**settings).fit(x, x)
        list(busy_threads.map(lambda _: model.predict(x), range(40)))
        assert warnings.filters == before
        list(busy_threads.map(lambda _: JointRegressor(**settings).fit(x, x), range(8)))
        # scikit-learn's checks of arrays, which make some warnings of numpy errors, are not ours.
        assert {action for action, *_ in set(warnings.filters) - set(before)} <= {"error"}
