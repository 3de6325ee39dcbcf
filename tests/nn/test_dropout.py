import pytest
import torch
from laws import generator

from batchensemble.nn.dropout import drop, keep_masks


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.9])
def test_masks_drop_with_the_stated_probability(p):
    masks = keep_masks((1000, 1000), p, generator())
    # One million draws: sd at most 0.0005; five of them.
    assert masks.float().mean().item() == pytest.approx(1 - p, abs=0.0025)
    assert set(masks.unique().tolist()) <= {0, 1}


def test_neighbouring_masks_are_independent():
    masks = keep_masks((250_000, 4), 0.5, generator()).float()
    correlation = torch.corrcoef(masks.T) - torch.eye(4)
    assert correlation.abs().max() < 0.01  # sd 0.002


def test_the_first_axis_can_be_drawn_in_parts():
    whole = keep_masks((7, 3, 5), 0.3, generator(1))
    source = generator(1)
    parts = torch.cat([keep_masks((n, 3, 5), 0.3, source) for n in (2, 4, 1)])
    assert torch.equal(whole, parts)


def test_the_mean_stays():
    x = torch.ones(1000, 1000)
    assert drop(x, keep_masks((1000, 1000), 0.3, generator()), 0.3).mean().item() == pytest.approx(
        1, abs=0.01
    )
