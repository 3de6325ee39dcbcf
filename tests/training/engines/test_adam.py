import math

import pytest
import torch
from fixtures import generator

from batchensemble.training.engines.adam import Adam

NAMES = [("layers.0.weight", 5), ("layers.0.r", 2), ("layers.0.bias", 3)]
ALL = torch.ones(3, 1, dtype=torch.float64)


def theta():
    return torch.randn(3, 10, generator=generator(), dtype=torch.float64)


def gradients(n=20):
    return torch.randn(n, 3, 10, generator=generator(1), dtype=torch.float64)


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_it_is_torch_adamw_with_decay_on_the_weights_alone(decay):
    start = theta()
    ours = start.clone()
    adam = Adam.over(ours, NAMES, lr=0.01, weight_decay=decay)
    weight = start[:, :5].clone().requires_grad_()
    rest = start[:, 5:].clone().requires_grad_()
    theirs = torch.optim.AdamW(
        [{"params": [weight], "weight_decay": decay}, {"params": [rest], "weight_decay": 0.0}],
        lr=0.01,
    )
    for gradient in gradients():
        adam.step(gradient, ALL)
        weight.grad, rest.grad = gradient[:, :5].clone(), gradient[:, 5:].clone()
        theirs.step()
    assert torch.allclose(ours, torch.cat([weight, rest], 1), atol=1e-12)


def test_a_resting_network_does_not_move_and_goes_on_as_if_it_had_not_rested():
    rested, straight = theta(), theta()
    a, b = (Adam.over(t, NAMES, lr=0.01, weight_decay=0.1) for t in (rested, straight))
    source = gradients()
    for i, gradient in enumerate(source[:10]):
        a.step(gradient, ALL)
        before = rested.clone()
        a.step(
            torch.full_like(gradient, 100.0),
            torch.tensor([[0.0], [1.0], [0.0]], dtype=torch.float64),
        )
        assert torch.equal(rested[[0, 2]], before[[0, 2]])
        assert not torch.equal(rested[1], before[1])
        b.step(source[i], ALL)
    assert torch.allclose(rested[[0, 2]], straight[[0, 2]], atol=1e-14)


def test_gradients_are_clipped_by_network_never_over_the_bank():
    gradient = torch.ones(3, 10, dtype=torch.float64)
    gradient[1] *= 100
    clipped, alone = theta(), theta()
    Adam.over(clipped, NAMES, lr=0.01, clip_norm=5.0).step(gradient, ALL)
    Adam.over(alone, NAMES, lr=0.01).step(gradient, ALL)
    assert torch.equal(clipped[[0, 2]], alone[[0, 2]])
    adam = Adam.over(theta(), NAMES, lr=0.01, clip_norm=5.0)
    adam.step(gradient, ALL)
    assert adam.moment1[1].norm().item() == pytest.approx(0.1 * 5.0)
    assert adam.moment1[0].norm().item() == pytest.approx(0.1 * math.sqrt(10))


def test_a_zero_gradient_is_clipped_to_zero_not_to_nan():
    values = theta()
    Adam.over(values, NAMES, lr=0.01, clip_norm=1.0).step(torch.zeros_like(values), ALL)
    assert torch.isfinite(values).all()
