import math

import numpy as np
import pytest
import scoringrules
import torch
from fixtures import generator
from scipy import integrate, stats
from torch.distributions import Categorical, MixtureSameFamily, Normal
from torch.nn.functional import softplus

from batchensemble.training.losses import (
    CategoricalNLL,
    CensoredNLL,
    GaussianCRPS,
    GaussianNLL,
    bounded,
)

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


def censored_targets(n=6):
    """(n, 2, 1): numbers, and which of them are lower bounds."""
    return torch.stack([outputs(n), torch.arange(n) % 2], 1).unsqueeze(-1)


def test_a_censored_row_costs_the_log_of_what_lies_above_it_and_others_their_log_density():
    out, y = outputs(6, 3, 2), censored_targets()
    members = stats.norm(out[..., 0].numpy(), (out[..., 1] / 2).exp().numpy())
    at = y[:, 0].numpy()
    density = members.logpdf(at) + math.log(2 * math.pi) / 2
    expected = -np.where(y[:, 1].numpy() > 0, members.logsf(at), density)
    loss = CensoredNLL(bounds=FREE)
    np.testing.assert_allclose(loss(out, y), expected, rtol=1e-12)
    np.testing.assert_allclose(loss.mixture(out, y), -np.log(np.exp(-expected).mean(1)), rtol=1e-12)
    known = torch.stack([y[:, 0], torch.zeros_like(y[:, 0])], 1)
    beta = {"bounds": (-10.0, 4.0), "beta": 0.5}
    assert torch.allclose(CensoredNLL(**beta)(out, known), GaussianNLL(**beta)(out, y[:, 0]))


@pytest.mark.parametrize("at", [-1e4, -30.0, 0.0, 30.0, 1e4])
def test_the_gradient_of_a_censored_row_is_finite_however_far_it_is(at):
    out = torch.zeros(2, 1, 2, requires_grad=True)
    CensoredNLL()(out, torch.tensor([[[at], [1.0]], [[at], [0.0]]])).sum().backward()
    assert out.grad.isfinite().all()
    assert out.grad[0, 0, 0] <= 0  # the mean may rise, never fall


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
    y = bounded(raw, (-10.0, 4.0), softplus)
    assert y.min() >= -10
    assert y.max() <= 4
    assert bounded(torch.tensor(1e3, dtype=torch.float64), (-1.0, 0.0), softplus) == 0
    assert (y.diff() >= 0).all()
    inside = torch.tensor([-5.0, -3.0, 0.0, 1.0])
    assert torch.allclose(bounded(inside, (-10.0, 4.0), softplus), inside, atol=0.06)
    edge = torch.linspace(-14, 8, 2001, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(bounded(edge, (-10.0, 4.0), softplus).sum(), edge)
    assert slope.min() > 0
    assert slope.diff().abs().max() < 0.01  # no kink: the slope itself is continuous
    assert torch.equal(bounded(raw, FREE, softplus), raw)


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


def test_the_crps_is_that_of_scoringrules():
    out, y = outputs(60, 3, 2) * 2, outputs(60, 1)
    mean, std = out[..., 0].numpy(), (out[..., 1] / 2).exp().numpy()
    expected = scoringrules.crps_normal(np.broadcast_to(y.numpy(), mean.shape), mean, std)
    np.testing.assert_allclose(GaussianCRPS(bounds=FREE)(out, y).numpy(), expected, rtol=1e-10)


@pytest.mark.parametrize(("mean", "std", "y"), [(0.3, 0.7, 1.1), (-2.0, 3.0, -2.0), (1.0, 0.1, 0)])
def test_the_crps_is_the_integral_of_the_squared_error_of_the_cdf(mean, std, y):
    cdf = stats.norm(mean, std).cdf
    below, _ = integrate.quad(lambda t: cdf(t) ** 2, -30, y, limit=300, points=[mean, y])
    above, _ = integrate.quad(lambda t: (1 - cdf(t)) ** 2, y, 30, limit=300, points=[mean, y])
    out = torch.tensor([[[mean, 2 * math.log(std)]]], dtype=torch.float64)
    ours = GaussianCRPS(bounds=FREE)(out, torch.tensor([[float(y)]], dtype=torch.float64)).item()
    assert ours == pytest.approx(below + above, abs=1e-8)


def test_the_crps_sees_the_log_variance_through_its_bounds():
    out, y = outputs(60, 3, 2) * 5, outputs(60, 1)
    loss = GaussianCRPS(bounds=(-1.0, 0.5))
    inside = torch.stack([out[..., 0], bounded(out[..., 1], (-1.0, 0.5), softplus)], -1)
    assert torch.allclose(loss(out, y), GaussianCRPS(bounds=FREE)(inside, y))
    assert not torch.allclose(loss(out, y), GaussianCRPS(bounds=FREE)(out, y))


def test_the_score_of_the_crps_is_that_of_one_gaussian_with_the_mixtures_moments():
    out, y = outputs(60, 4, 2), outputs(60, 1)
    loss = GaussianCRPS(bounds=(-3.0, 1.0))
    mean, log_variance = (part.numpy() for part in loss.moments(out))
    std = np.sqrt(np.exp(log_variance).mean(1) + mean.var(1))
    expected = scoringrules.crps_normal(y[:, 0].numpy(), mean.mean(1), std)
    score = loss.score(out, y).numpy()
    np.testing.assert_allclose(score, expected, rtol=1e-10)
    # Negative control: members that are far apart are better together than one by one.
    assert score.mean() < loss(out, y).mean().item()


def test_the_score_of_other_losses_is_the_nll_of_the_mixture():
    out, y = outputs(6, 3, 2), outputs(6, 1)
    assert torch.equal(GaussianNLL().score(out, y), GaussianNLL().mixture(out, y))
    labels = torch.tensor([[0], [1], [0], [1], [1], [0]])
    assert torch.equal(CategoricalNLL().score(out, labels), CategoricalNLL().mixture(out, labels))
    assert not torch.allclose(GaussianCRPS().score(out, y), GaussianCRPS().mixture(out, y))


@pytest.mark.parametrize("raw", [1e30, -1e30, 3e38, -100.0])
def test_the_crps_and_its_gradient_stay_finite_for_any_output_and_any_target(raw):
    out = torch.tensor([[[0.0, raw]]], requires_grad=True)
    loss = GaussianCRPS(bounds=(-12.0, 4.0))(out, torch.tensor([[1e6]]))
    loss.sum().backward()
    assert loss.item() == pytest.approx(1e6, rel=1e-4)
    assert out.grad[0, 0, 0].item() == pytest.approx(-1, abs=1e-6)
    assert torch.isfinite(out.grad).all()


def test_a_mean_far_from_the_truth_learns_by_the_crps_however_wide_its_variance():
    # By the NLL its gradient fades with the variance that explains the error.
    out = torch.tensor([[[0.0, 2 * math.log(50.0)]]], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([[100.0]], dtype=torch.float64)
    (crps,) = torch.autograd.grad(GaussianCRPS(bounds=FREE)(out, y).sum(), out)
    (nll,) = torch.autograd.grad(GaussianNLL(bounds=FREE)(out, y).sum(), out)
    assert crps[..., 0].item() == pytest.approx(1 - 2 * stats.norm.cdf(2), abs=1e-9)
    assert abs(nll[..., 0].item()) < 0.05 < 0.9 < abs(crps[..., 0].item())


def test_a_missing_target_costs_nothing_and_teaches_nothing():
    loss, y = GaussianCRPS(), torch.tensor([[0.3], [math.nan]])
    outputs = torch.randn(2, 3, 2, generator=generator(1)).requires_grad_()
    found = loss(outputs, y)
    found.sum().backward()
    torch.testing.assert_close(found[0], loss(outputs[0], y[0]))
    assert (found[1] == 0).all()
    assert loss.score(outputs, y)[1] == 0
    assert (outputs.grad[1] == 0).all()
    assert (outputs.grad[0] != 0).all()


def test_a_network_that_diverged_is_not_taken_for_a_missing_target():
    outputs = torch.tensor([[[math.nan, 0.0]]])
    assert GaussianCRPS()(outputs, torch.zeros(1, 1)).isnan().all()
