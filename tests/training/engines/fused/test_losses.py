import math

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from batchensemble.training.engines.fused.losses import categorical, crps, gaussian
from batchensemble.training.losses import FREE, CategoricalNLL, GaussianCRPS, GaussianNLL

SEEDS = st.integers(0, 10_000)
ROWS = st.integers(1, 40)


def by_autograd(loss, out, y, weights):
    """The weighted sum over rows and its gradient, in float64."""
    out = torch.tensor(out, dtype=torch.float64, requires_grad=True)
    total = (loss(out, y) * torch.tensor(weights, dtype=torch.float64)).sum()
    total.backward()
    return total.item(), out.grad.numpy()


def agree(ours, theirs, weights, size=1.0):
    """Within 1e-5, relative to a gradient or to the row's weight, whichever is larger."""
    return (np.abs(ours - theirs) <= 1e-5 * (np.abs(theirs) + size * weights[:, None])).all()


def drawn(seed, n, n_out):
    random = np.random.default_rng(seed)
    out = random.normal(scale=3, size=(n, n_out)).astype(np.float32)
    weights = random.uniform(0, 2, n).astype(np.float32)
    weights[random.random(n) < 0.2] = 0  # padding
    return random, out, weights


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("bounds", [(-10.0, 4.0), (-2.0, 1.0), (-0.1, 0.1), FREE])
@given(seed=SEEDS, n=ROWS, spread=st.sampled_from([0.1, 1.0, 4.0]))
@settings(max_examples=25, deadline=None)
def test_the_gaussian_loss_and_its_gradient_are_those_of_autograd(bounds, beta, seed, n, spread):
    random, out, weights = drawn(seed, n, 2)
    out[:, 1] *= spread
    y = random.normal(size=n).astype(np.float32)
    d = np.full_like(out, np.nan)
    ours = gaussian(out, y, weights, (*bounds, beta), d)
    loss = GaussianNLL(bounds, beta)
    theirs, gradient = by_autograd(loss, out, torch.from_numpy(y).double(), weights)
    # A row's terms may cancel, each of the size of the loss of an error of one sd of 1.
    _, log_variance = loss.moments(torch.from_numpy(out).double())
    size = np.exp(beta * log_variance.numpy())[:, None]
    assert agree(d, gradient, weights, size)
    assert math.isclose(ours, theirs, rel_tol=1e-5, abs_tol=1e-5 * (weights @ size).item())


def test_rows_of_weight_zero_have_no_gaussian_loss_and_no_gradient():
    out, d = np.ones((3, 2), np.float32), np.full((3, 2), np.nan, np.float32)
    y, weights = np.zeros(3, np.float32), np.zeros(3, np.float32)
    assert gaussian(out, y, weights, (-10.0, 4.0, 0.0), d) == 0
    assert (d == 0).all()


def test_a_log_variance_far_beyond_its_bounds_stays_finite():
    out = np.array([[0, -1e4], [0, 1e4]], np.float32)
    d, one = np.empty_like(out), np.ones(2, np.float32)
    total = gaussian(out, one, one, (-10.0, 4.0, 0.0), d)
    expected = sum(0.5 * (v + math.exp(-v)) for v in (-10, 4))
    assert total == pytest.approx(expected, rel=1e-5)
    assert np.isfinite(d).all()
    assert np.abs(d[:, 1]).max() < 1e-6


@pytest.mark.parametrize("bounds", [(-10.0, 4.0), FREE])
@pytest.mark.parametrize("column", [0, 1])
def test_a_gaussian_loss_of_nan_is_nan_and_leaves_the_other_rows_gradients_alone(bounds, column):
    out, weights = np.ones((20, 2), np.float32), np.ones(20, np.float32)
    y, d, clean = np.zeros(20, np.float32), np.empty_like(out), np.empty_like(out)
    gaussian(out, y, weights, (*bounds, 0.0), clean)
    out[7, column] = np.nan
    assert math.isnan(gaussian(out, y, weights, (*bounds, 0.0), d))
    others = np.arange(20) != 7
    assert np.array_equal(d[others], clean[others])
    assert np.isnan(d[7]).all()


@given(seed=SEEDS, n=ROWS, n_classes=st.integers(2, 7), spread=st.sampled_from([0.1, 1.0, 20.0]))
@settings(max_examples=100, deadline=None)
def test_the_categorical_loss_and_its_gradient_are_those_of_autograd(seed, n, n_classes, spread):
    random, out, weights = drawn(seed, n, n_classes)
    out *= spread
    y = random.integers(n_classes, size=n)
    d = np.full_like(out, np.nan)
    ours = categorical(out, y.astype(np.float32), weights, d)
    theirs, gradient = by_autograd(CategoricalNLL(), out, torch.from_numpy(y), weights)
    assert agree(d, gradient, weights)
    assert math.isclose(ours, theirs, rel_tol=1e-5, abs_tol=1e-5 * weights.sum())


def test_a_categorical_loss_of_nan_is_nan():
    out, d, one = np.ones((3, 4), np.float32), np.empty((3, 4), np.float32), np.ones(3, np.float32)
    out[1, 2] = np.nan
    assert math.isnan(categorical(out, np.zeros(3, np.float32), one, d))


@pytest.mark.parametrize("bounds", [(-10.0, 4.0), (-2.0, 1.0), (-0.1, 0.1), FREE])
@given(seed=SEEDS, n=ROWS, spread=st.sampled_from([0.1, 1.0, 4.0]), far=st.sampled_from([1, 1e3]))
@example(seed=1606, n=21, spread=4.0, far=1e3)
@settings(max_examples=40, deadline=None)
def test_the_crps_and_its_gradient_are_those_of_autograd(bounds, seed, n, spread, far):
    random, out, weights = drawn(seed, n, 2)
    out[:, 1] *= spread
    y = (far * random.normal(size=n)).astype(np.float32)
    d = np.full_like(out, np.nan)
    ours = crps(out, y, weights, (*bounds, 0.0), d)
    loss = GaussianCRPS(bounds)
    theirs, gradient = by_autograd(loss, out, torch.from_numpy(y).double(), weights)
    # Terms may cancel, each of the size of the standard deviation; so may the error itself.
    _, log_variance = loss.moments(torch.from_numpy(out).double())
    std = np.exp(0.5 * log_variance.numpy())
    assert agree(d[:, :1], gradient[:, :1], weights)
    # Autograd's terms are as large as the error, of which float64 keeps 52 bits; ours are not.
    lost = 2.0**-52 * np.abs(y - out[:, 0]) / 1e-5
    assert agree(d[:, 1:], gradient[:, 1:], weights, (std + lost)[:, None])
    size = weights @ (std + np.abs(y) + np.abs(out[:, 0]))
    assert math.isclose(ours, theirs, rel_tol=1e-5, abs_tol=1e-6 * size)


@pytest.mark.parametrize("log_variance", [-60.0, -20.0, 0.0])
@pytest.mark.parametrize("error", [-3e4, -40.0, 0.0, 40.0, 3e4])
def test_far_beyond_its_spread_the_crps_is_the_absolute_error(error, log_variance):
    out = np.array([[error, log_variance]], np.float32)
    d, one, zero = np.empty_like(out), np.ones(1, np.float32), np.zeros(1, np.float32)
    std = math.exp(log_variance / 2)
    at_zero = std * (math.sqrt(2 / math.pi) - 1 / math.sqrt(math.pi))
    expected = abs(error) - std / math.sqrt(math.pi) if error else at_zero
    assert crps(out, zero, one, (*FREE, 0.0), d) == pytest.approx(expected, rel=1e-6)
    assert d[0, 0] == pytest.approx(np.sign(error), abs=1e-6)
    assert np.isfinite(d).all()


def test_rows_of_weight_zero_have_no_crps_and_no_gradient():
    out, d = np.ones((3, 2), np.float32), np.full((3, 2), np.nan, np.float32)
    y, weights = np.zeros(3, np.float32), np.zeros(3, np.float32)
    assert crps(out, y, weights, (-10.0, 4.0, 0.0), d) == 0
    assert (d == 0).all()


@pytest.mark.parametrize("bounds", [(-10.0, 4.0), FREE])
@pytest.mark.parametrize("column", [0, 1])
def test_a_crps_of_nan_is_nan_and_leaves_the_other_rows_gradients_alone(bounds, column):
    out, weights = np.ones((20, 2), np.float32), np.ones(20, np.float32)
    y, d, clean = np.zeros(20, np.float32), np.empty_like(out), np.empty_like(out)
    crps(out, y, weights, (*bounds, 0.0), clean)
    out[7, column] = np.nan
    assert math.isnan(crps(out, y, weights, (*bounds, 0.0), d))
    others = np.arange(20) != 7
    assert np.array_equal(d[others], clean[others])


def test_beta_changes_no_crps():
    _, out, weights = drawn(0, 30, 2)
    y, (one, two) = np.zeros(30, np.float32), np.empty((2, 30, 2), np.float32)
    bounds = (-10.0, 4.0)
    assert crps(out, y, weights, (*bounds, 0.0), one) == crps(out, y, weights, (*bounds, 0.9), two)
    assert np.array_equal(one, two)
