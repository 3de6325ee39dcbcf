import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from batchensemble.conformal.deviations import interval_scores, widened


def test_scores_are_errors_in_standard_deviations_and_intervals_undo_them():
    random = np.random.default_rng(0)
    mean, std = random.normal(size=200), np.exp(random.normal(size=200))
    y = mean + std * random.standard_t(4, size=200)
    scores = interval_scores(y, mean=mean, std=std)
    assert np.allclose(scores * std, np.abs(y - mean))
    low, high = widened(mean, std, scores).T
    assert np.allclose(np.where(y > mean, high, low), y)
    assert np.allclose((low + high) / 2, mean)


@given(st.integers(0, 2**32), st.sampled_from([0.0, 1.0, 1e6, -1e12]))
def test_what_lies_as_far_off_as_the_factor_says_is_inside(seed, location):
    random = np.random.default_rng(seed)
    mean, std = location + random.normal(size=100), np.exp(5 * random.normal(size=100))
    y = mean + std * random.normal(size=100)
    low, high = widened(mean, std, interval_scores(y, mean=mean, std=std)).T
    assert ((low <= y) & (y <= high)).all()


def test_a_certain_prediction_that_errs_makes_no_nonsense():
    scores = interval_scores([1.0, 2.0], mean=[1.0, 1.0], std=[0.0, 0.0])
    assert scores[0] == 0
    assert np.isfinite(scores).all()
    assert np.allclose(widened(np.ones(2), np.zeros(2), scores), [[1, 1], [0, 2]])
