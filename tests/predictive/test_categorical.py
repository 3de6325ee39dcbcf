"""Laws of class probabilities, each against scipy or the slow, obvious computation."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from batchensemble.predictive import CategoricalPredictive

LAW = settings(deadline=None)  # a busy machine must not fail a law


def random_categorical(n=40, k=5, c=3, seed=0):
    return CategoricalPredictive(np.random.default_rng(seed).dirichlet(np.ones(c), size=(n, k)))


@LAW
@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(2, 5), st.floats(0.01, 5))
def test_entropy_is_mean_entropy_plus_mutual_information(seed, k, c, alpha):
    rng = np.random.default_rng(seed)
    dist = CategoricalPredictive(rng.dirichlet(np.full(c, alpha), size=(8, k)))
    u = dist.uncertainty()
    np.testing.assert_allclose(u.total, u.aleatoric + u.epistemic, atol=1e-12)
    assert (u.epistemic >= 0).all()
    assert (u.total <= np.log(c) + 1e-12).all()


def test_entropies_match_scipy():
    dist = random_categorical()
    p = dist.probabilities
    np.testing.assert_allclose(dist.mean, p.mean(axis=1), rtol=1e-13)
    np.testing.assert_allclose(dist.total, stats.entropy(p.mean(axis=1), axis=1), rtol=1e-12)
    np.testing.assert_allclose(dist.aleatoric, stats.entropy(p, axis=2).mean(axis=1), rtol=1e-12)


@LAW
@given(st.integers(0, 10_000), st.integers(1, 30))
def test_members_that_agree_have_exactly_no_mutual_information(seed, k):
    p = np.random.default_rng(seed).dirichlet(np.full(4, 0.05), size=(5, 1))
    dist = CategoricalPredictive(np.repeat(p, k, axis=1))
    assert (dist.epistemic == 0).all()
    np.testing.assert_array_equal(dist.mean, dist.probabilities[:, 0])


def test_certain_members_that_contradict_each_other_are_all_epistemic():
    dist = CategoricalPredictive([[[1.0, 0.0], [0.0, 1.0]]])
    assert dist.aleatoric[0] == 0
    assert dist.total[0] == dist.epistemic[0] == pytest.approx(np.log(2))
    denormal = CategoricalPredictive([[[1.0, 0.0], [1.0, 5e-324], [1.0, 0.0]]])
    assert np.isfinite(denormal.epistemic).all()


def test_mode_confidence_and_log_prob_are_those_of_the_mean():
    dist, y = random_categorical(), np.arange(40) % 3
    mean = dist.probabilities.mean(axis=1)
    np.testing.assert_array_equal(dist.mode, mean.argmax(axis=1))
    np.testing.assert_allclose(dist.confidence, mean.max(axis=1))
    np.testing.assert_allclose(dist.log_prob(y), np.log(mean[np.arange(40), y]))
    assert dist.n_classes == 3
    impossible = CategoricalPredictive([[[1.0, 0.0]]])
    assert impossible.log_prob([1])[0] == -np.inf


def test_drawn_classes_have_the_mean_probabilities_and_impossible_ones_never_come():
    dist = CategoricalPredictive([[[0.0, 0.2, 0.8, 0.0], [0.0, 0.6, 0.4, 0.0]]])
    draws = dist.sample(100_000, 5)
    shares = np.bincount(draws[0], minlength=4) / 100_000
    assert shares[0] == shares[3] == 0
    tolerance = 4 * np.sqrt(0.24 / 100_000)  # four standard errors
    np.testing.assert_allclose(shares, dist.mean[0], atol=tolerance)
    assert abs(shares[1] - 0.2) > tolerance  # negative control: one member's probabilities


@pytest.mark.parametrize("u", [0.0, np.nextafter(1.0, 0.0)])
def test_the_ends_of_the_unit_interval_draw_no_impossible_class(u):
    class Ends(np.random.Generator):
        def random(self, size):
            return np.full(size, u)

    p = [0.0] + [0.1] * 10 + [0.0]  # its cumulative sum ends below 1
    assert np.cumsum(p)[-1] < 1
    draws = CategoricalPredictive([[p]]).sample(3, Ends(np.random.PCG64(0)))
    assert np.isin(draws, range(1, 11)).all()


def test_a_label_that_is_no_class_is_named():
    dist = CategoricalPredictive(np.full((7, 1, 2), 0.5), np.array(["a", "b"]))
    with pytest.raises(ValueError, match=r"out of \['a', 'b'\], got shape \(7,\) with \['rare'\];"):
        dist.log_prob(["a"] * 6 + ["rare"])


@pytest.mark.parametrize("y", [pd.NA, [pd.NA, "a"], ["a", 1.5], [["a"], ["a", "b"]], "a"])
def test_labels_that_cannot_be_classes_are_refused_in_words(y):
    dist = CategoricalPredictive(np.full((2, 1, 2), 0.5), np.array(["a", "b"]))
    with pytest.raises(ValueError, match=r"y: expected 2 labels out of \['a', 'b'\], got shape"):
        dist.log_prob(y)


def test_labels_under_a_mask_are_refused():
    dist = CategoricalPredictive(np.full((2, 1, 2), 0.5), np.array(["a", "b"]))
    with pytest.raises(ValueError, match="a masked array that hides 1"):
        dist.log_prob(np.ma.masked_array(["a", "b"], [True, False]))
