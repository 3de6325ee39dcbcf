import dataclasses
import itertools

import pytest
import torch
from fixtures import generator, randomised
from hypothesis import given, settings
from hypothesis import strategies as st

from batchensemble.nn.dropout import draw_keys, keep_masks
from batchensemble.training.bank import Bank
from batchensemble.training.engines import Adam, Data, Steps, Windows, choose_engine
from batchensemble.training.engines.plain import mean_over_steps, place_members
from batchensemble.training.losses import GaussianNLL
from batchensemble.training.networks import Recurrent

REACH, HORIZON, TIMES = 4, 3, 40
LOSS = GaussianNLL()


def normal(*shape, seed=1):
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)


def windows(covariates=2, n_past=0):
    location, scale = normal(TIMES, seed=2), normal(TIMES, seed=3).exp()
    return Windows(normal(TIMES, 1 + covariates), location, scale, REACH, HORIZON, n_past=n_past)


@given(
    shape=st.lists(st.integers(0, 4), min_size=0, max_size=4), covariates=st.sampled_from([0, 2])
)
@settings(max_examples=30, deadline=None)
def test_windows_are_slices_of_the_series_scaled_by_their_own_location_and_scale(shape, covariates):
    data = windows(covariates)
    rows = torch.randint(TIMES - REACH - HORIZON + 1, shape, generator=generator(4))
    x, y = data.take(rows)
    assert x.shape == (*shape, REACH + HORIZON, 1 + covariates)
    assert y.shape == (*shape, HORIZON)
    for index in itertools.product(*map(range, shape)):
        start, own_x, own_y = rows[index].item(), x[index], y[index]
        cut = data.series[start : start + REACH + HORIZON]
        values = (cut[:, 0] - data.location[start]) / data.scale[start]
        assert torch.equal(own_x, torch.cat([values[:, None], cut[:, 1:]], 1))
        assert torch.equal(own_y, values[REACH:])


def test_the_last_window_ends_with_the_series_and_one_further_does_not_exist():
    data = windows()
    last = TIMES - REACH - HORIZON
    _, y = data.take(torch.tensor(last))
    assert y[-1] == (data.series[-1, 0] - data.location[last]) / data.scale[last]
    with pytest.raises(IndexError):
        data.take(torch.tensor(last + 1))


@pytest.mark.parametrize("n_past", [1, 2])
def test_past_covariates_are_zero_after_the_first_forecast_and_the_series_keeps_them(n_past):
    data, whole = windows(n_past=n_past), windows()
    rows = torch.randint(30, (2, 5), generator=generator(4))
    x, y = data.take(rows)
    expected, targets = whole.take(rows)
    assert torch.equal(y, targets)
    assert torch.equal(x[..., : REACH + 1, :], expected[..., : REACH + 1, :])
    assert torch.equal(x[..., :-n_past], expected[..., :-n_past])
    assert (x[..., REACH + 1 :, -n_past:] == 0).all()
    assert torch.equal(data.series, whole.series)


def test_levels_beside_the_values_are_scaled_as_these_are():
    data = dataclasses.replace(windows(), n_levels=1)
    (x, y), (plain, targets) = (source.take(torch.tensor([3, 7])) for source in (data, windows()))
    scaled = (plain[..., 1] - data.location[[3, 7], None]) / data.scale[[3, 7], None]
    torch.testing.assert_close(x[..., 1], scaled)
    assert torch.equal(x[..., [0, 2]], plain[..., [0, 2]])
    assert torch.equal(y, targets)


def test_sources_say_where_and_of_which_precision_they_are():
    for source in (windows(), Data(normal(5, 2), normal(5))):
        assert source.device == torch.device("cpu")
        assert source.dtype == torch.float64
        assert source.weight is None


@pytest.mark.parametrize("width", [1, 3])
def test_members_get_the_windows_gathered_for_them(width):
    data = windows()
    rows = torch.randint(30, (2, 5, width), generator=generator(4))
    gathered, targets = data.take(rows)
    x, y = place_members(gathered, targets, 3)
    assert x.shape == (2, 5, REACH + HORIZON, 3, 3)
    assert y.shape == (2, 5, HORIZON, width)
    for k in range(3):
        own_x, own_y = data.take(rows[..., k % width])
        assert torch.equal(x[..., k, :], own_x)
        assert torch.equal(y[..., k % width], own_y)


def test_losses_of_several_steps_are_averaged_and_those_of_one_stay():
    loss = normal(2, 5, HORIZON, 3)
    assert torch.allclose(mean_over_steps(loss), sum(loss.unbind(2)) / HORIZON, atol=1e-12)
    assert torch.equal(mean_over_steps(loss[:, :, 0]), loss[:, :, 0])


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("feedback", ["mean", "sample", "teacher"])
def test_steps_on_windows_are_those_of_a_handwritten_loop_with_torch_adam(feedback, width):
    nets = [
        Recurrent(
            2,
            (1, 1),
            draw=LOSS.draw,
            context=2,
            horizon=HORIZON,
            lags=(1, 3),
            feedback=feedback,
            hidden_size=3,
            hidden=(4,),
            n_members=2,
            dropout=0.3,
        )
        for _ in range(2)
    ]
    nets = [randomised(net.double(), seed) for seed, net in enumerate(nets)]
    assert nets[0].reach == REACH
    bank, data = Bank(nets), windows()
    adam = Adam.over(bank.theta, bank.parameter_names(), lr=0.01, clip_norm=1e9)
    engine = choose_engine(bank, LOSS, data, adam)
    rows = torch.randint(30, (4, 2, 6, width), generator=generator(5))
    weights = torch.rand(rows.shape, generator=generator(6), dtype=torch.float64)
    keys = draw_keys((4, 2), generator(7))
    masks = keep_masks(keys, (6, 2, HORIZON * 4), 0.3)
    noise = normal(4, 2, 6, 2, HORIZON - 1) if feedback == "sample" else None
    losses = engine.run(Steps(rows, weights, keys, noise))
    for i, net in enumerate(nets):
        optimiser = torch.optim.Adam(net.train().parameters(), lr=0.01)
        for t in range(4):
            numbers = rows[t, i].expand(6, 2)
            x, y = data.take(numbers)  # (batch, members, time, features)
            outputs = net(
                x.transpose(1, 2), masks[t, i], None if noise is None else noise[t, i]
            ).transpose(1, 2)
            by_row = LOSS(outputs, y).mean(-1)
            loss = (by_row * weights[t, i].expand(6, 2)).sum()
            assert torch.allclose(losses[t, i], loss, atol=1e-10)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        mine = torch.cat([p.detach().flatten() for p in net.parameters()])
        assert torch.allclose(bank.theta[i], mine, atol=1e-9)
