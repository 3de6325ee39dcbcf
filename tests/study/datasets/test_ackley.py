import math

import numpy as np
import pytest

from batchensemble.study.datasets import make_ackley


def ackley(x):
    """The slow, obvious thing for one point."""
    d = len(x)
    bowl = 20 * math.exp(-0.2 * math.sqrt(sum(v * v for v in x) / d))
    waves = math.exp(sum(math.cos(2 * math.pi * v) for v in x) / d)
    return -bowl - waves + 20


def test_values_are_the_ackley_function_with_noise_that_grows_with_the_radius():
    table = make_ackley(seed=1)
    x = table.X.to_numpy()
    assert x.shape == (10_000, 10)
    assert -1 <= x.min() < -0.99 < 0.99 < x.max() <= 1
    f = np.array([ackley(row) for row in x])
    radius = np.linalg.norm(x, axis=1)
    noise = (table.y - f) / (0.1 * f.std() * radius / radius.max())
    # 10,000 standard normal draws: these bounds are five standard errors wide.
    assert abs(noise.mean()) < 0.05
    assert abs(noise.std() - 1) < 0.036
    inner = radius < np.median(radius)
    assert abs(noise[inner].std() / noise[~inner].std() - 1) < 0.1


def test_labels_are_the_noisy_values_above_the_median_of_the_function():
    values, labels = make_ackley(2000, seed=3), make_ackley(2000, seed=3, task="classification")
    np.testing.assert_array_equal(values.X, labels.X)
    f = np.array([ackley(row) for row in values.X.to_numpy()])
    np.testing.assert_array_equal(labels.y, values.y > np.median(f))
    assert abs(labels.y.mean() - 0.5) < 0.03
    # The noise turns some labels, and few.
    assert 0 < (labels.y != (f > np.median(f))).mean() < 0.1
    assert (values.task, labels.task) == ("regression", "classification")


def test_the_same_seed_gives_the_same_table_and_another_one_another():
    a, b, c = (make_ackley(100, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(a.y, b.y)
    assert not np.array_equal(a.y, c.y)


def test_an_unknown_task_and_too_few_points_are_refused():
    with pytest.raises(ValueError, match="task to be one of"):
        make_ackley(task="ranking")
    with pytest.raises(ValueError, match="at least 2, got 1"):
        make_ackley(1)
