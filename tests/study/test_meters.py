import itertools

import pytest
import torch

from batchensemble.study.meters import peak_bytes, seconds_a_call
from batchensemble.training.methods.base import CALLS_WORTH_LOADING

CPU = torch.device("cpu")


class FakeTime:
    """A clock, and works that take as long as they are told."""

    def __init__(self):
        self.now, self.done = 0.0, []

    def clock(self):
        return self.now

    def work(self, name, first, later):
        return self.lasting(name, itertools.chain([first], itertools.repeat(later)))

    def lasting(self, name, durations):
        def call():
            self.done.append(name)
            self.now += next(durations)

        return call


# Time


def test_a_call_of_known_length_is_measured_exactly_and_its_warm_up_is_left_out():
    time = FakeTime()
    works = {"quick": time.work("quick", 40.0, 0.03125), "slow": time.work("slow", 300.0, 2.0)}
    found = seconds_a_call(works, time.clock, 0.25, n_repeats=3)
    assert found == {"quick": [0.03125] * 3, "slow": [2.0] * 3}


def test_works_take_turns_and_quick_ones_are_called_until_the_piece_is_long_enough():
    time = FakeTime()
    works = {"quick": time.work("quick", 9.0, 0.0625), "slow": time.work("slow", 9.0, 1.0)}
    seconds_a_call(works, time.clock, 0.25, n_repeats=2)
    turn = ["quick"] * 4 + ["slow"]
    assert time.done == ["quick", "quick", "slow", "slow", *turn, *turn]


@pytest.mark.parametrize("n_repeats", [1, 2, 5])
@pytest.mark.parametrize("calls_before", [0, 1])
@pytest.mark.parametrize("faster", [1, 8])
@pytest.mark.parametrize("seconds", [2.0**-k for k in range(10)])
def test_loading_once_at_a_late_call_is_in_no_measured_time(
    n_repeats, calls_before, faster, seconds
):
    time = FakeTime()
    before = [seconds] * (CALLS_WORTH_LOADING - calls_before)
    after = itertools.repeat(seconds / faster)
    work = time.lasting("few rows", itertools.chain(before, [300.0], after))
    found = seconds_a_call({"few rows": work}, time.clock, 0.25, n_repeats)["few rows"]
    assert found in ([seconds] * n_repeats, [seconds / faster] * n_repeats)


# Memory


def test_memory_is_what_is_alive_at_a_time_not_what_was_there_before_nor_views():
    data = torch.ones(1_000)

    def work():
        first = torch.zeros(250)
        data.view(10, 100)[3].add_(1)
        del first
        second = data[:500] * 2  # noqa: F841
        torch.zeros(100)

    assert peak_bytes(work, CPU) == 4 * 600


def test_memory_of_training_counts_what_backward_needs():
    x = torch.ones(1_000, requires_grad=True)

    def predict():
        with torch.no_grad():
            x.exp().exp().sum()

    def train():
        torch.autograd.grad(x.exp().exp().exp().exp().sum(), x)

    assert peak_bytes(predict, CPU) < 3 * 4_000 < peak_bytes(train, CPU)
