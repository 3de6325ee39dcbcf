import numpy as np
import pytest

from batchensemble.data.intermittent import is_intermittent, reordered


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0, 0, 3, 0, 1, 0], True),
        ([2, 1, 3, 0, 1, 2], False),  # 1.2 steps from one to the next
        ([0, 0, 3, 0, -1, 0], False),
        ([0, 0, 0, 0], False),
        ([5, 5, 5], False),
    ],
)
def test_demand_that_is_zero_every_few_steps_is_intermittent(values, expected):
    assert is_intermittent(np.array(values, dtype=float)) == expected


def test_draws_are_the_historys_in_the_order_of_the_paths():
    random = np.random.default_rng(0)
    history = np.array([0.0, 0.0, 0.0, 2.0, 7.0])
    paths = random.normal(size=(2, 50, 3)).cumsum(axis=2)
    draws = reordered(paths, history)
    assert draws.shape == paths.shape
    for step in range(3):
        values, before = draws[..., step].ravel(), paths[..., step].ravel()
        found, counts = np.unique(values, return_counts=True)
        assert found.tolist() == [0.0, 2.0, 7.0]
        assert counts.tolist() == [60, 20, 20]
        assert (np.diff(values[before.argsort()]) >= 0).all()
    # Paths that rise together still do.
    assert np.corrcoef(draws[..., 1].ravel(), draws[..., 2].ravel())[0, 1] > 0.3
