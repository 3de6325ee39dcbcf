"""Laws of sample paths, each against numpy, scoringrules or the slow, obvious computation."""

import numpy as np
import pytest
import scoringrules
from hypothesis import given, settings
from hypothesis import strategies as st

from batchensemble.predictive import SamplePredictive

LAW = settings(deadline=None)  # a busy machine must not fail a law


def random_paths(n=6, k=4, s=50, h=3, seed=0):
    rng = np.random.default_rng(seed)
    return SamplePredictive(rng.normal(size=(n, k, 1, h)) + rng.normal(size=(n, k, s, h)))


def test_moments_of_paths_are_those_of_all_draws():
    dist = random_paths()
    draws = dist.paths.reshape(6, -1, 3)
    np.testing.assert_allclose(dist.mean, draws.mean(axis=1), atol=1e-14)
    np.testing.assert_allclose(dist.variance, draws.var(axis=1), rtol=1e-12)
    np.testing.assert_allclose(dist.std, draws.std(axis=1), rtol=1e-12)
    assert dist.horizon == 3


@LAW
@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(2, 6), st.floats(0, 2))
def test_total_variance_of_paths_is_aleatoric_plus_epistemic(seed, k, s, disagreement):
    rng = np.random.default_rng(seed)
    centres = disagreement * rng.normal(size=(4, k, 1, 2))
    dist = SamplePredictive(centres + rng.normal(size=(4, k, s, 2)))
    u = dist.uncertainty()
    np.testing.assert_allclose(u.total, u.aleatoric + u.epistemic, rtol=1e-12)
    assert (u.epistemic >= 0).all()
    assert (u.aleatoric >= 0).all()


def test_aleatoric_is_the_mean_variance_within_members():
    dist = random_paths(s=200)
    assert (dist.epistemic > 0).all()
    within = dist.paths.var(axis=2, ddof=1).mean(axis=1)
    between = dist.paths.mean(axis=2).var(axis=1)
    np.testing.assert_allclose(dist.aleatoric, within, rtol=1e-12)
    np.testing.assert_allclose(dist.epistemic, between - within / 200, rtol=1e-10)


def test_sampling_noise_is_not_taken_for_disagreement():
    rng = np.random.default_rng(0)
    same = SamplePredictive(rng.normal(size=(2000, 10, 20, 1)))
    uncorrected = same.paths.mean(axis=2).var(axis=1).mean()
    assert uncorrected > 0.04  # negative control: about 0.9 / 20 without the correction
    assert same.epistemic.mean() < 0.01
    apart = SamplePredictive(same.paths + rng.normal(size=(2000, 10, 1, 1)))
    assert apart.epistemic.mean() == pytest.approx(0.9, abs=0.05)  # (1 - 1/10), known noise


def test_one_member_has_no_epistemic_variance_and_one_path_cannot_tell():
    assert (random_paths(k=1).epistemic == 0).all()
    constant = SamplePredictive(np.full((2, 3, 4, 1), 0.1))
    assert (constant.total == 0).all()
    assert (constant.epistemic == 0).all()
    with pytest.raises(ValueError, match="at least 2 paths per member"):
        _ = random_paths(s=1).epistemic


def test_quantiles_of_paths_are_those_of_all_draws_and_never_cross():
    dist = random_paths()
    draws = dist.paths.reshape(6, -1, 3)
    np.testing.assert_allclose(dist.quantile(0.3), np.quantile(draws, 0.3, axis=1))
    several = dist.quantile([0, 0.1, 0.5, 0.9, 1])
    assert several.shape == (6, 3, 5)
    assert (np.diff(several, axis=-1) >= 0).all()
    np.testing.assert_array_equal(several[..., 4], draws.max(axis=1))
    np.testing.assert_allclose(dist.interval(0.8), several[..., [1, 3]])


def test_crps_of_paths_matches_scoringrules_and_the_double_sum():
    dist, y = random_paths(), np.linspace(-3, 3, 18).reshape(6, 3)
    draws = np.moveaxis(dist.paths.reshape(6, -1, 3), 1, -1)
    expected = scoringrules.crps_ensemble(y, draws, estimator="nrg")
    np.testing.assert_allclose(dist.crps(y), expected, rtol=1e-10)
    apart = np.abs(draws[..., None] - draws[..., None, :]).mean(axis=(-1, -2))
    slow = np.abs(draws - y[..., None]).mean(axis=-1) - 0.5 * apart
    np.testing.assert_allclose(dist.crps(y), slow, rtol=1e-10)


@pytest.mark.parametrize("shape", [(6, 4, 50), (6, 0, 50, 3), (6, 4, 0, 3)])
def test_paths_of_a_wrong_shape_are_refused(shape):
    with pytest.raises(ValueError, match="paths: expected"):
        SamplePredictive(np.zeros(shape))
