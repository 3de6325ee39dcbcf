import os

import pytest

from batchensemble.plots.drawing import shared_out

doubled = lambda numbers: [(2 * number, os.getpid()) for number in numbers]  # noqa: E731, sent as it is


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("n_things", [0, 1, 2, 7])
def test_what_is_drawn_comes_back_in_order(n_things, n_jobs):
    drawn = shared_out(doubled, range(n_things), n_jobs)
    assert [number for number, _ in drawn] == [2 * i for i in range(n_things)]


def test_with_one_job_everything_is_drawn_here():
    assert {process for _, process in shared_out(doubled, range(5), 1)} == {os.getpid()}


def test_with_several_jobs_nothing_is_drawn_here():
    assert os.getpid() not in {process for _, process in shared_out(doubled, range(5), 2)}
