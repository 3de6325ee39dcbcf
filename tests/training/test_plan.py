import pytest
import torch
from fixtures import autoregression as series
from fixtures import bank_of_forecasters as forecasters
from fixtures import bank_of_mlps as bank
from fixtures import doubled_line as data
from fixtures import generator

from batchensemble.training.plan import Plan


@pytest.mark.parametrize("batching", ["shared", "independent", "split"])
@pytest.mark.parametrize("n_rows", [1, 7, 64, 65, 150])
def test_every_row_is_seen_once_an_epoch_by_every_member_or_once_by_one(batching, n_rows):
    networks = bank(1)
    rows = [torch.arange(n_rows)]
    plan = Plan(networks, data(), rows, [generator()], batch_size=16, batching=batching)
    (steps,) = plan.epoch([True])
    seen = steps.rows[steps.weights > 0]
    times = {"shared": 1, "independent": 4, "split": 1}[batching]
    assert torch.equal(seen.bincount(minlength=n_rows), torch.full((n_rows,), times))
    # Each step's weights sum to 1 over rows and the members that see them.
    share = steps.weights.sum((2, 3)) * (4 / steps.weights.shape[-1])
    assert torch.allclose(share, torch.ones_like(share), atol=1e-6)
    if batching == "independent" and n_rows == 150:
        assert not torch.equal(steps.rows[..., 0], steps.rows[..., 1])


def test_split_batches_cost_a_share_of_the_rows_a_step():
    shared = Plan(bank(1), data(), [torch.arange(150)], [generator()], batch_size=16)
    split = Plan(
        bank(1),
        data(),
        [torch.arange(150)],
        [generator()],
        batch_size=16,
        batching="split",
    )
    assert split.batch * 4 == shared.batch
    assert split.n_steps == shared.n_steps


def test_padding_repeats_rows_of_the_networks_own():
    networks = bank(2)
    rows = [torch.arange(10, 50), torch.arange(60, 67)]
    plan = Plan(networks, data(), rows, [generator(), generator(1)], batch_size=16)
    (steps,) = plan.epoch([True, True])
    assert steps.rows[:, 0].min() >= 10
    assert steps.rows[:, 1].min() >= 60


def test_noise_is_standard_and_independent_between_steps_rows_members_and_networks():
    networks = forecasters(feedback="sample")
    rows = [torch.arange(240)] * 3
    generators = [generator(), generator(1), generator(2)]
    (steps,) = Plan(networks, series(), rows, generators, batch_size=60).epoch([True] * 3)
    assert steps.noise.shape == (4, 3, 60, 2, 2)
    assert steps.noise.dtype == torch.float64
    n = steps.noise.numel()
    assert abs(steps.noise.mean()) < 4 / n**0.5
    assert abs(steps.noise.std() - 1) < 4 / n**0.5
    for axis in (0, 1, 3, 4):
        both = torch.stack([part.flatten() for part in steps.noise.unbind(axis)]).corrcoef()
        both.fill_diagonal_(0)
        assert both.abs().max() < 4 * (steps.noise.shape[axis] / n) ** 0.5
    assert len(steps.noise.unique()) == n


@pytest.mark.parametrize("feedback", ["mean", "teacher"])
def test_noise_and_keys_of_masks_are_drawn_only_for_networks_that_want_them(feedback):
    networks = forecasters(1, feedback=feedback, dropout=0.0)
    plan = Plan(networks, series(), [torch.arange(50)], [generator()], batch_size=64)
    (steps,) = plan.epoch([True])
    assert steps.noise is None
    assert steps.keys is None


def test_keys_of_masks_differ_by_step_and_network_and_a_resting_network_draws_none():
    rows = [torch.arange(150), torch.arange(20, 117), torch.arange(40)]
    generators = [generator(i) for i in range(3)]
    plan = Plan(bank(), data(), rows, generators, batch_size=32)
    state = generators[1].get_state()
    (steps,) = plan.epoch([True, False, True])
    assert steps.keys.shape == (5, 3)
    drawn = steps.keys[steps.weights.sum((2, 3)) > 0]
    assert len(drawn.unique()) == len(drawn) == 5 + 2
    assert torch.equal(generators[1].get_state(), state)


def test_each_network_has_its_own_order_whoever_is_beside_it():
    rows = [torch.arange(60), torch.arange(40, 90)]
    generators = [generator(3), generator(4)]
    (both,) = Plan(bank(2), data(), rows, generators, batch_size=16).epoch([True, True])
    (alone,) = Plan(bank(1), data(), rows[1:], [generator(4)], batch_size=16).epoch([True])
    assert torch.equal(both.rows[:, 1], alone.rows[:, 0])
    assert torch.equal(both.keys[:, 1], alone.keys[:, 0])
    assert not torch.equal(both.rows[:3, 0] % 50, both.rows[:3, 1] % 50)


def test_losses_of_a_short_or_shortened_epoch_are_means_over_what_was_run():
    plan = Plan(
        bank(2), data(), [torch.arange(48), torch.arange(16)], [generator()] * 2, batch_size=16
    )
    losses = torch.tensor([[1.0, 5.0], [2.0, 0.0], [6.0, 0.0]])
    assert plan.epoch_means(losses) == [3.0, 5.0]
    assert plan.epoch_means(losses[:2]) == [1.5, 5.0]


def test_an_epoch_of_few_steps_draws_from_all_rows():
    rows = [torch.arange(150)]
    plan = Plan(bank(1), data(), rows, [generator()], batch_size=16, epoch_steps=3)
    seen = torch.cat([next(iter(plan.epoch([True]))).rows.flatten() for _ in range(40)])
    assert len(seen) == 40 * 3 * 16
    assert (seen.bincount(minlength=150) > 0).all()
