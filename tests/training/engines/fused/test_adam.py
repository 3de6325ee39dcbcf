import math

import numpy as np
import pytest
import torch
from fixtures import generator

from batchensemble.training.engines.adam import Adam
from batchensemble.training.engines.fused.adam import adam_step

NAMES = [("layers.0.weight", 5), ("layers.0.r", 2), ("layers.0.bias", 3)]
ONE = torch.ones(1, 1, dtype=torch.float64)
LR = 0.01


def both(gradients, *, decay=0.0, clip_norm=math.inf):
    """theta after these steps by the loops, and by `Adam.step` in float64."""
    start = torch.randn(1, 10, generator=generator(), dtype=torch.float64)
    adam = Adam.over(start.clone(), NAMES, lr=LR, weight_decay=decay, clip_norm=clip_norm)
    theta, moment1, moment2 = start[0].float().numpy(), *np.zeros((2, 10), np.float32)
    decays = np.empty(0, np.float32) if adam.decay is None else adam.decay.float().numpy()
    for count, gradient in enumerate(gradients, 1):
        adam.step(gradient, ONE)
        single = gradient[0].float().numpy()
        before = single.copy()
        adam_step(theta, single, moment1, moment2, np.float32(count), decays, LR, clip_norm)
        assert np.array_equal(single, before, equal_nan=True)
    return theta, adam.theta[0].numpy()


def gradients(n=60):
    """Of norms from 1e-4 to 1e2."""
    size = torch.logspace(-4, 2, n, dtype=torch.float64)[:, None, None]
    return size * torch.randn(n, 1, 10, generator=generator(1), dtype=torch.float64)


@pytest.mark.parametrize("decay", [0.0, 0.3])
@pytest.mark.parametrize("clip_norm", [math.inf, 1.0, 0.05])
def test_its_steps_are_those_of_the_bank_s_adam(decay, clip_norm):
    ours, theirs = both(gradients(), decay=decay, clip_norm=clip_norm)
    # Sixty steps of at most 0.01, each rounded to a part in ten million of numbers of size 1.
    np.testing.assert_allclose(ours, theirs, rtol=3e-6, atol=3e-6)


def test_clipping_and_decay_change_what_they_are_compared_with():
    # Negative control of the comparison above.
    plain, _ = both(gradients())
    for settings in ({"decay": 0.3}, {"clip_norm": 1.0}, {"clip_norm": 0.05}):
        other, _ = both(gradients(), **settings)
        assert np.abs(other - plain).max() > 1e-3


@pytest.mark.parametrize("clip_norm", [math.inf, 1.0])
def test_a_zero_gradient_moves_nothing_and_is_not_nan(clip_norm):
    start, _ = both([])
    ours, _ = both(torch.zeros(3, 1, 10, dtype=torch.float64), clip_norm=clip_norm)
    assert np.array_equal(ours, start)


def test_a_gradient_of_nan_makes_nan_and_is_not_hidden():
    lost = torch.full((1, 1, 10), math.nan, dtype=torch.float64)
    for clip_norm in (math.inf, 1.0):
        ours, _ = both(lost, clip_norm=clip_norm)
        assert np.isnan(ours).all()
