import math

import pytest
import torch
from fixtures import generator
from torch.distributions import Categorical, MixtureSameFamily, Normal

from batchensemble.training.losses import CategoricalNLL, GaussianNLL, bounded

FREE = (-math.inf, math.inf)


def outputs(*shape):
    return torch.randn(*shape, generator=generator(1), dtype=torch.float64)


def test_gaussian_loss_is_the_negative_log_density_without_its_constant():
    out, y = outputs(6, 3, 2), outputs(6, 1)
    expected = -Normal(out[..., 0], (out[..., 1] / 2).exp()).log_prob(y) - math.log(2 * math.pi) / 2
    assert torch.allclose(GaussianNLL(bounds=FREE)(out, y), expected)


def test_the_mixture_score_is_that_of_equal_weights():
    out, y = outputs(6, 3, 2), outputs(6, 1)
    mixture = MixtureSameFamily(
        Categorical(torch.ones(3)), Normal(out[..., 0], (out[..., 1] / 2).exp())
    )
    expected = -mixture.log_prob(y.squeeze(-1)) - math.log(2 * math.pi) / 2
    assert torch.allclose(GaussianNLL(bounds=FREE).mixture(out, y), expected)


def test_categorical_losses_are_cross_entropies_of_members_and_of_their_mean():
    out, y = outputs(6, 3, 4), torch.tensor([0, 1, 2, 3, 0, 1]).unsqueeze(-1)
    probabilities = out.softmax(-1)
    chosen = probabilities.gather(-1, y.unsqueeze(-1).expand(6, 3, 1)).squeeze(-1)
    assert torch.allclose(CategoricalNLL()(out, y), -chosen.log())
    assert torch.allclose(CategoricalNLL().mixture(out, y), -chosen.mean(-1).log())


def test_members_may_have_targets_of_their_own():
    out, y = outputs(6, 3, 2), outputs(6, 3)
    whole = GaussianNLL()(out, y)
    for k in range(3):
        assert torch.allclose(whole[:, k], GaussianNLL()(out[:, k : k + 1], y[:, k : k + 1])[:, 0])


def test_the_log_variance_is_bounded_smooth_rising_and_the_identity_inside():
    raw = torch.linspace(-1e4, 1e4, 20_001, dtype=torch.float64)
    y = bounded(raw, (-10.0, 4.0))
    assert y.min() >= -10
    assert y.max() <= 4
    assert bounded(torch.tensor(1e3, dtype=torch.float64), (-1.0, 0.0)) == 0
    assert (y.diff() >= 0).all()
    inside = torch.tensor([-5.0, -3.0, 0.0, 1.0])
    assert torch.allclose(bounded(inside, (-10.0, 4.0)), inside, atol=0.06)
    edge = torch.linspace(-14, 8, 2001, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(bounded(edge, (-10.0, 4.0)).sum(), edge)
    assert slope.min() > 0
    assert slope.diff().abs().max() < 0.01  # no kink: the slope itself is continuous
    assert torch.equal(bounded(raw, FREE), raw)


@pytest.mark.parametrize("raw", [1e30, -1e30, 3e38])
def test_no_output_of_the_network_gives_an_infinite_or_absurd_variance(raw):
    out = torch.tensor([[[0.0, raw]]])
    _, log_variance = GaussianNLL(bounds=(-10.0, 4.0)).moments(out)
    assert 4e-5 < log_variance.exp().item() < 55
    assert torch.isfinite(GaussianNLL(bounds=(-10.0, 4.0))(out, torch.tensor([[1.0]]))).all()


@pytest.mark.parametrize("bounds", [(4.0, -10.0), (-math.inf, 0.0), (math.nan, 0.0), (-1e3, 0.0)])
def test_bounds_that_make_no_sense_are_refused(bounds):
    with pytest.raises(ValueError, match="low < high"):
        GaussianNLL(bounds=bounds)
    with pytest.raises(ValueError, match="beta in"):
        GaussianNLL(beta=-1.0)


def test_beta_weighs_rows_by_their_variance_without_a_gradient_through_the_weight():
    out, y = outputs(6, 3, 2).requires_grad_(), outputs(6, 1)
    plain, beta = GaussianNLL(bounds=FREE), GaussianNLL(bounds=FREE, beta=0.5)
    weight = (out[..., 1] / 2).exp().detach()
    assert torch.allclose(beta(out, y), plain(out, y) * weight)
    (a,) = torch.autograd.grad(beta(out, y).sum(), out)
    (b,) = torch.autograd.grad((plain(out, y) * weight).sum(), out)
    assert torch.allclose(a, b)


def test_a_draw_without_noise_is_the_mean_and_with_noise_that_many_standard_deviations_away():
    loss, out = GaussianNLL(bounds=(-3.0, 1.0)), outputs(6, 3, 2) * 3
    noise = outputs(6, 3)
    mean, log_variance = loss.moments(out)
    assert torch.equal(loss.draw(out, None), mean)
    assert torch.equal(loss.draw(out, torch.zeros(6, 3)), mean)
    expected = mean + (log_variance / 2).exp() * noise
    assert torch.allclose(loss.draw(out, noise), expected, atol=1e-12)


def test_draws_have_the_mean_and_the_spread_of_the_bounded_moments():
    loss, out = GaussianNLL(bounds=(-3.0, 1.0)), torch.tensor([2.0, 5.0], dtype=torch.float64)
    draws = loss.draw(out, torch.randn(200_000, generator=generator(3), dtype=torch.float64))
    mean, log_variance = loss.moments(out)
    std = (log_variance / 2).exp()
    tolerance = 4 * std / 200_000**0.5
    assert abs(draws.mean() - mean) < tolerance
    assert abs(draws.std() - std) < tolerance
    # Without the bounds the spread would be another.
    assert abs(draws.std() - (out[1] / 2).exp()) > 100 * tolerance
