"""What all predictives share: rows are chosen alike, and nothing changes afterwards."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest

from batchensemble.predictive import (
    CategoricalPredictive,
    GaussianPredictive,
    SamplePredictive,
    Transform,
    TransformedPredictive,
)
from batchensemble.predictive.base import average

RNG = np.random.default_rng(0)
GAUSSIAN = GaussianPredictive(RNG.normal(size=(6, 5)), RNG.exponential(size=(6, 5)))
CATEGORICAL = CategoricalPredictive(RNG.dirichlet(np.ones(3), size=(6, 5)))
PATHS = SamplePredictive(RNG.normal(size=(6, 5, 4, 3)))
BOUNDED = TransformedPredictive.of(GAUSSIAN, Transform.logarithmic(1.0, 50.0))


@pytest.mark.parametrize("dist", [GAUSSIAN, CATEGORICAL])
def test_the_same_seed_gives_the_same_draws(dist):
    np.testing.assert_array_equal(dist.sample(7, 1), dist.sample(7, np.random.default_rng(1)))
    assert (dist.sample(7, 1) != dist.sample(7, 2)).any()


def test_a_predictive_is_frozen_and_owns_its_numbers():
    means, variances = np.zeros((2, 1)), np.ones((2, 1))
    dist = GaussianPredictive(means, variances)
    means[:] = 9
    assert (dist.means == 0).all()
    with pytest.raises(ValueError, match="read-only"):
        dist.means[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        PATHS.mean[0] = 1  # kept once computed, so it must not change either
    with pytest.raises(dataclasses.FrozenInstanceError):
        dist.means = means


@pytest.mark.parametrize("dist", [GAUSSIAN, CATEGORICAL, PATHS, BOUNDED])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda dist: pickle.loads(pickle.dumps(dist))])
def test_copies_are_frozen_too_and_predict_the_same(dist, copied):
    twin = copied(dist)
    np.testing.assert_array_equal(twin.epistemic, dist.epistemic)
    np.testing.assert_array_equal(twin.mean, dist.mean)
    for name in twin._by_row:
        with pytest.raises(ValueError, match="read-only"):
            getattr(twin, name)[:] = 1


def test_moments_that_are_kept_cannot_be_changed():
    before = BOUNDED.mean.copy()
    for moments in (BOUNDED.means, BOUNDED.variances):
        with pytest.raises(ValueError, match="read-only"):
            moments *= 10
    np.testing.assert_array_equal(BOUNDED.mean, before)


@pytest.mark.parametrize("dist", [GAUSSIAN, CATEGORICAL, PATHS])
def test_rows_are_selected_by_slice_mask_indices_or_integer(dist):
    mask = np.array([True, False, True, False, False, True])
    for rows in (slice(1, 4), mask, mask.tolist(), [4, 0], np.array([5, 5]), -1, np.int64(2)):
        chosen = dist[rows]
        assert type(chosen) is type(dist)
        expected = dist.mean[[rows] if isinstance(rows, int | np.integer) else rows]
        np.testing.assert_array_equal(chosen.mean, expected)
        assert len(chosen) == len(expected)
        assert chosen.n_members == dist.n_members
    for nothing in (np.zeros(6, bool), [], (), np.array([], int)):
        assert len(dist[nothing]) == 0
    assert [len(row) for row in dist] == [1] * 6


def test_a_predictive_shows_its_shape():
    assert repr(GAUSSIAN) == "GaussianPredictive(6 samples, 5 members)"


def test_the_mean_is_that_of_the_members_and_the_variance_adds_their_distance():
    np.testing.assert_allclose(GAUSSIAN.mean, GAUSSIAN.means.mean(1))
    total = GAUSSIAN.variances.mean(1) + GAUSSIAN.means.var(1)
    np.testing.assert_allclose(GAUSSIAN.std**2, total)


@pytest.mark.parametrize("n_rows", [0, 1, 300])
def test_averages_and_variances_of_members_have_the_bits_that_numpy_gives_them(n_rows):
    values = RNG.normal(size=(n_rows, 20, 7))
    for axis in (1, 2, (1, 2)):
        np.testing.assert_array_equal(average(values, axis), values.mean(axis=axis))
    dist = GaussianPredictive(values[..., 0], np.square(values[..., 0]))
    apart = dist.means - dist.means[:, :1]
    np.testing.assert_array_equal(dist.epistemic, apart.var(axis=1))
