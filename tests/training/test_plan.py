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


@pytest.mark.parametrize("batching", ["shared", "independent", "split"])
@pytest.mark.parametrize("epoch_steps", [None, 3, 20])
def test_a_network_sees_the_same_steps_beside_one_of_larger_batches(batching, epoch_steps):
    rows, batches = [torch.arange(10, 50), torch.arange(60, 147)], [9, 16]
    how = {"batching": batching, "epoch_steps": epoch_steps}
    generators = [generator(), generator(1)]
    both = Plan(bank(2), data(), rows, generators, batch_size=batches, **how)
    (together,) = both.epoch([True, True])
    for i in range(2):
        own = [generator(i)]
        plan = Plan(bank(1), data(), rows[i : i + 1], own, batch_size=batches[i], **how)
        (alone,) = plan.epoch([True])
        part = (slice(plan.n_steps), slice(i, i + 1), slice(plan.batch))
        assert torch.equal(together.rows[part], alone.rows)
        assert torch.equal(together.weights[part], alone.weights)
        assert torch.equal(together.keys[part[:2]], alone.keys)
        beyond = together.weights[:, i].clone()
        beyond[: plan.n_steps, : plan.batch] = 0
        assert not beyond.any()


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


def test_long_steps_are_cut_into_short_parts_between_which_time_is_checked(monkeypatch):
    def parts():
        plan = Plan(bank(1), data(), [torch.arange(150)], [generator()], batch_size=16)
        return plan.multiplications, list(plan.epoch([True]))

    size, (whole,) = parts()
    monkeypatch.setattr("batchensemble.training.plan.MULTIPLICATIONS_AT_ONCE", 3 * size)
    _, cut = parts()
    assert [len(part.rows) for part in cut] == [3, 3, 3, 1]
    assert torch.equal(torch.cat([part.rows for part in cut]), whole.rows)


def planned(n_rows, epoch_steps, *, batching="shared", batch_size=16, n_networks=1, seed=0):
    rows = [torch.arange(100, 100 + n) for n in n_rows]
    return Plan(
        bank(n_networks),
        data(),
        rows,
        [generator(seed + i) for i in range(n_networks)],
        batch_size=batch_size,
        batching=batching,
        epoch_steps=epoch_steps,
    )


def all_steps(plan, active):
    parts = list(plan.epoch(active))
    return torch.cat([part.rows for part in parts]), torch.cat([part.weights for part in parts])


@pytest.mark.parametrize("batching", ["shared", "independent", "split"])
@pytest.mark.parametrize("n_rows", [5, 16, 40, 90])
@pytest.mark.parametrize("epoch_steps", [1, 3, 7, 300])
def test_an_epoch_of_so_many_steps_has_them_and_sees_every_row_equally_often(
    batching, n_rows, epoch_steps
):
    plan = planned([n_rows], epoch_steps, batching=batching)
    rows, weights = all_steps(plan, [True])
    assert plan.n_steps == len(rows) == epoch_steps
    assert (weights > 0).all()  # no padding
    assert torch.allclose(
        weights.sum((2, 3)) * (4 / weights.shape[-1]), torch.ones(1).double(), atol=1e-6
    )
    lanes = rows[:, 0].flatten(0, 1).unbind(1) if batching == "independent" else (rows,)
    for lane in lanes:
        counts = (lane - 100).flatten().bincount(minlength=n_rows)
        assert len(counts) == n_rows
        assert counts.max() - counts.min() <= 1


def test_rows_are_shuffled_anew_whenever_they_run_out():
    rows, _ = all_steps(planned([16], 6), [True])
    passes = rows[:, 0, :, 0]
    assert all(sorted(each.tolist()) == list(range(100, 116)) for each in passes)
    assert len({tuple(each.tolist()) for each in passes}) == 6


def test_a_step_count_gives_the_same_steps_for_the_same_generator_and_others_for_another():
    first, again, other = (all_steps(planned([40], 7, seed=s), [True])[0] for s in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_with_a_step_count_networks_of_different_length_all_run_every_step():
    plan = planned([90, 7], 5, n_networks=2)
    rows, weights = all_steps(plan, [True, True])
    assert (weights > 0).all()
    assert rows[:, 1].max() < 107
    alone, _ = all_steps(planned([7], 5, batch_size=16, seed=1), [True])
    counts = (rows[:, 1] - 100).flatten().bincount()
    assert counts.max() - counts.min() <= 1
    assert alone.shape[2] == 7  # alone, its batch is no larger than its rows
    losses = torch.arange(10.0).view(5, 2)
    assert plan.epoch_means(losses) == [4.0, 5.0]


def test_with_a_step_count_a_resting_network_has_no_weight_and_draws_nothing():
    plan = planned([90, 40], 5, n_networks=2)
    state = plan.generators[1].get_state()
    rows, weights = all_steps(plan, [True, False])
    assert (weights[:, 0] > 0).all()
    assert (weights[:, 1] == 0).all()
    assert torch.equal(plan.generators[1].get_state(), state)
    assert rows.shape == (5, 2, 16, 1)


def test_an_epoch_of_few_steps_draws_from_all_rows():
    rows = [torch.arange(150)]
    plan = Plan(bank(1), data(), rows, [generator()], batch_size=16, epoch_steps=3)
    seen = torch.cat([next(iter(plan.epoch([True]))).rows.flatten() for _ in range(40)])
    assert len(seen) == 40 * 3 * 16
    assert (seen.bincount(minlength=150) > 0).all()
