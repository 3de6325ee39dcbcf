import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from batchensemble.training.direct import Direct
from batchensemble.training.losses import GaussianCRPS
from batchensemble.training.smoothing import smoothers

REACH, HORIZON = 30, 5


def network(n_members=3, scrambled=True, **settings):
    made = Direct(
        3,
        (1, 1),
        draw=GaussianCRPS().draw,
        context=REACH,
        horizon=HORIZON,
        seasons=(4,),
        hidden=(8,),
        n_members=n_members,
        generator=torch.Generator().manual_seed(0),
        **settings,
    ).double()
    if scrambled:
        for i, parameter in enumerate(made.parameters()):
            source = torch.Generator().manual_seed(i)
            noise = torch.randn(parameter.shape, generator=source, dtype=torch.float64)
            parameter.data = 0.2 * noise
    return made.eval()


def windows(n=4, n_steps=HORIZON, zero=-1e9):
    """Values, where their zero is, whether they are known, and two covariates more."""
    x = torch.randn(n, REACH + n_steps, 5, generator=torch.Generator().manual_seed(9)).double()
    x[..., 1], x[..., 2] = zero, 1
    return x


def shown(x, n_members=3):
    return x.unsqueeze(-2).expand(-1, -1, n_members, -1)


def smoothed(y):
    """Log-weights and forecasts of the smoothers, in the units of y; how many errors count."""
    found = smoothers(REACH, HORIZON, (4,))
    errors = np.einsum("knr,br->bkn", found.errors, y)
    n = errors.shape[2] // 2
    squares = np.stack([(errors[..., :n] ** 2).mean(2), (errors[..., n:] ** 2).mean(2)]) + 1e-6
    n_evidence = min(n, 28)
    evidence = -0.5 * n_evidence * np.log(squares).mean(0) - 0.3 * found.penalties
    return evidence, np.einsum("khr,br->bkh", found.forecasts, y), n, n_evidence


@pytest.mark.parametrize("zero", [-6.0, 0.0, -1e9])
def test_before_training_every_member_forecasts_as_the_weighted_smoothers_do(zero):
    x = windows(zero=zero)
    y = x[..., :REACH, 0].numpy()
    level = y[:, -4:].mean(1, keepdims=True)
    evidence, forecasts, n, n_evidence = smoothed(y - level)
    # The same of logarithms, as a density of y; of windows that reach zero, they are lines.
    unit = level - zero if zero == -6.0 else 1000 + 0 * level
    logs = np.log1p((y - level) / unit)
    log_evidence, log_forecasts, *_ = smoothed(unit * logs)
    log_evidence -= n_evidence * logs[:, -n:].mean(1, keepdims=True)
    log_forecasts = unit[..., None] * np.expm1(log_forecasts / unit[..., None])
    evidence = np.concatenate([evidence, log_evidence], 1)
    weights = np.exp(evidence - evidence.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    every = np.concatenate([forecasts, log_forecasts], 1)
    expected = np.einsum("bkh,bk->bh", every, weights) + level
    means = network(scrambled=False)(shown(x))[..., 0].detach().numpy()
    for member in range(3):
        np.testing.assert_allclose(means[..., member], expected, rtol=1e-8)


def test_a_growing_season_above_zero_is_forecast_as_one():
    times = torch.arange(REACH + HORIZON).double()
    y = 1.02**times * (10 + 4 * torch.sin(times * torch.pi / 2))
    noise = torch.randn(len(times), generator=torch.Generator().manual_seed(0)).double()
    y = y * (0.01 * noise).exp()
    x = windows(1, zero=0.0)
    x[0, :, 0] = y
    made = network(scrambled=False)

    def error(x):
        return (made(shown(x))[0, :, 0, 0] - y[REACH:]).abs().mean()

    assert error(x) < 0.6 * error(torch.where(torch.arange(5) == 1, -1e9, x))


def test_members_that_see_the_same_windows_are_computed_as_if_each_had_its_own():
    x = shown(windows())
    made = network()
    torch.testing.assert_close(made(x), made(x.clone()))


def test_a_forecast_moves_with_its_window():
    x, moved = windows(), windows()
    made = network(scrambled=False)
    moved[..., :2] += 7.0
    a, b = made(shown(x)), made(shown(moved))
    torch.testing.assert_close(b[..., 0], a[..., 0] + 7.0)
    torch.testing.assert_close(b[..., 1], a[..., 1])


def test_what_stands_in_for_a_value_is_no_evidence_for_a_smoother():
    x = windows()
    made = network(scrambled=False)
    x[:, :REACH, 0] = torch.sin(torch.arange(REACH) * torch.pi / 2)  # a perfect season
    x[:, REACH - 4 : REACH, 0] += torch.randn(4, 4).double()
    sure = made(shown(x))[..., 1].mean()
    x[:, : REACH - 4, 2] = 0
    assert made(shown(x))[..., 1].mean() > sure


def test_the_values_of_the_steps_ahead_are_not_read():
    x, other = windows(), windows()
    other[:, REACH:, 0] = 99.0
    made = network()
    torch.testing.assert_close(made(shown(x)), made(shown(other)))
    other[:, REACH - 1, 0] = 99.0
    assert not torch.allclose(made(shown(x)), made(shown(other)))


def spread(factor=1.0, correlation=0.0):
    matrix = np.full((HORIZON, HORIZON), correlation)
    np.fill_diagonal(matrix, 1.0)
    return {"factors": np.full(HORIZON, factor), "cholesky": np.linalg.cholesky(matrix)}


@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_paths_have_the_spread_and_the_correlation_that_they_are_given(correlation):
    noise = torch.randn(1, 4000, 3, HORIZON, generator=torch.Generator().manual_seed(1)).double()
    x = windows(1)
    plain = network().simulate(x, noise)
    paths = network(spread=spread(2.0, correlation)).simulate(x, noise)
    flat = paths.detach().numpy()[0, :, 0]
    found = np.corrcoef(flat.T)[0, 1]
    assert found == pytest.approx(correlation, abs=0.05)
    assert np.var(paths.detach().numpy()) == pytest.approx(
        4 * np.var(plain.detach().numpy()), rel=0.3
    )


def test_a_longer_forecast_begins_like_a_shorter_one_and_goes_on_from_its_draws():
    noise = torch.randn(2, 6, 3, 13, generator=torch.Generator().manual_seed(1)).double()
    made, x = network(spread=spread(1.2, 0.5)), windows(2, 13)
    long, short = made.simulate(x, noise), made.simulate(x[:, : REACH + 3], noise[..., :3])
    torch.testing.assert_close(long[..., :3], short)
    other = noise.clone()
    other[..., 0] += 1.0
    assert not torch.allclose(made.simulate(x, other)[..., -1], long[..., -1])


@pytest.mark.parametrize("n_members", [1, 3])
@pytest.mark.parametrize("at_once", [1, 5000, 2**20])
def test_a_long_forecast_is_that_of_each_path_read_like_a_series(monkeypatch, n_members, at_once):
    monkeypatch.setattr("batchensemble.training.direct.ERRORS_AT_ONCE", at_once)
    noise = torch.randn(3, 4, n_members, 13, generator=torch.Generator().manual_seed(1)).double()
    made, x = network(n_members, spread=spread(1.2, 0.5)), windows(3, 15, zero=-8.0)
    x[1, :20, 2], x[2, 8:12, 2], x[0, REACH + 1, 2] = -1, 0, 0  # the last lies ahead
    paths = made.simulate(x[:, : REACH + 13], noise)
    for window, path in np.ndindex(3, 4):
        y = shown(x[window, None], n_members).clone()
        y[0, REACH:, :, 0], y[0, REACH:, :, 2] = 0, 1
        for first in range(0, 13, HORIZON):
            known = slice(first, first + REACH + HORIZON)
            own = torch.zeros(1, n_members, HORIZON).double()
            steps = noise[window, path, :, first : first + HORIZON]
            own[0, :, : steps.shape[1]] = steps
            outputs = made(y[:, known])
            drawn = made._drawn(outputs.transpose(-2, -3), own, shared=first == 0)
            y[0, REACH + first : REACH + first + HORIZON, :, 0] = drawn[0].T
        torch.testing.assert_close(paths[window, path], y[0, REACH : REACH + 13, :, 0].T)


def test_a_context_that_would_fill_the_memory_is_refused():
    settings = {"context": 10**6, "horizon": 1000, "seasons": (1,)}
    with pytest.raises(ValueError, match="a context of 1,000,000 steps and a horizon of 1,000"):
        Direct(1, (1, 1), draw=GaussianCRPS().draw, **settings)


def test_a_season_that_was_seen_once_makes_no_forecast_certain():
    x = windows()
    x[:, :REACH, 0] = x[:, REACH - 4 : REACH, 0].repeat(1, 8)[:, -REACH:]  # one season, repeated

    def widths():
        return network(scrambled=False)(shown(x))[..., 1].detach().exp().sqrt()

    assert widths().max() < 0.05  # all observed: the season is sure
    x[:, : REACH - 4, 2] = -1
    spread = x[:, REACH - 4 : REACH, 0].std(1)
    assert (widths().amin((1, 2)) > 0.3 * spread).all()


@pytest.mark.parametrize("n_since", [1, 3, 6, 12])
@pytest.mark.parametrize("n_missing", [24, 48, 72, 337])
def test_days_before_a_gap_are_believed_however_little_was_observed_since(n_since, n_missing):
    made = Direct(
        1,
        (1, 1),
        draw=GaussianCRPS().draw,
        context=337,
        horizon=24,
        seasons=(24, 168),
        blended=True,
        n_members=1,
    ).double()
    hours = (torch.arange(337 + 24) + n_since + 17) % 24  # what is known since begins at 18
    days = 20.0 * ((hours >= 8) & (hours < 18))
    x = torch.zeros(1, 337 + 24, 1, 3, dtype=torch.float64)
    x[..., 0] = (days + torch.randn(361, generator=torch.Generator().manual_seed(0)))[:, None]
    x[..., 1], x[..., 2] = -1e9, 1
    x[:, max(337 - n_since - n_missing, 0) : 337 - n_since, :, 2] = 0
    ahead = made.eval()(x)[0, :, 0, 0].detach()
    assert (ahead - days[337:]).abs().max() < 5


class Copies(TorchDispatchMode):
    """Keeps the names of operations that bring numbers from Python to a tensor."""

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        if "lift" in str(operation) or "_to_copy" in str(operation):
            self.found.append(str(operation))
        return operation(*args, **(kwargs or {}))


def test_a_second_pass_makes_no_tensor_from_numbers_of_python():
    """A GPU that records the steps of training refuses to copy from memory that is not its own."""
    net, x = network(), shown(windows())
    with Copies() as first:
        net(x)
    with Copies() as second:
        net(x)
    assert first.found
    assert not second.found


def test_what_is_missing_after_a_cutoff_changes_no_long_forecast():
    x, noise = windows(n_steps=12), torch.randn(4, 6, 3, 12).double()
    paths = network().simulate(x, noise)
    x[:, REACH + 1 : REACH + 4, 2] = 0
    assert torch.equal(network().simulate(x, noise), paths)
    x[:, REACH - 4 : REACH, 2] = 0  # negative control
    assert not torch.equal(network().simulate(x, noise), paths)
