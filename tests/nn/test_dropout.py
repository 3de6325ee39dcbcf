import numpy as np
import pytest
import torch
from fixtures import generator
from hypothesis import given, settings
from hypothesis import strategies as st

from batchensemble.nn.dropout import draw_keys, drop, keep_masks

KEYS = st.integers(-(2**31), 2**31 - 1)


def of(*keys):
    return torch.tensor(keys, dtype=torch.int32)


def by_hand(key, n_units, p):
    """Integers of 32 bits without a sign, which are shifted and wrap as the hash wants it."""
    x = np.arange(n_units, dtype=np.uint32) + np.uint32(key % 2**32)
    x ^= x >> np.uint32(16)
    x *= np.uint32(0x7FEB352D)
    x ^= x >> np.uint32(15)
    x *= np.uint32(0x846CA68B)
    x ^= x >> np.uint32(16)
    # The sign of the signed integer with the same bits is the first bit: turned, they are in order.
    return (x ^ np.uint32(2**31)).astype(np.int64) >= round(p * 2**32)


def correlations(rows):
    """The largest between two of the rows."""
    both = torch.corrcoef(torch.stack([row.flatten().float() for row in rows]))
    return both.fill_diagonal_(0).abs().max().item()


@given(key=KEYS, n_units=st.integers(1, 300), p=st.floats(0, 0.99))
@settings(max_examples=200, deadline=None)
def test_masks_are_the_hash_of_key_and_unit_by_hand_in_integers_without_a_sign(key, n_units, p):
    # A key near the end of the integers wraps around within the mask.
    ours = keep_masks(of(key), (n_units,), p)[0].numpy()
    assert np.array_equal(ours, by_hand(key, n_units, p))


@pytest.mark.parametrize("key", [2**31 - 1, 2**31 - 150, -1, -150, -(2**31), 0])
def test_keys_at_the_ends_of_the_integers_are_keys_like_others(key):
    masks = keep_masks(of(key), (300,), 0.4)[0].numpy()
    assert np.array_equal(masks, by_hand(key, 300, 0.4))
    assert masks.mean() == pytest.approx(0.6, abs=0.15)  # five times sd 0.028


@pytest.mark.parametrize("p", [0.0, 0.01, 0.1, 0.5, 0.9])
def test_masks_drop_with_the_stated_probability(p):
    masks = keep_masks(draw_keys((1000,), generator()), (1000,), p)
    # One million draws: sd at most 0.0005; five of them.
    assert masks.float().mean().item() == pytest.approx(1 - p, abs=0.0025)
    assert set(masks.unique().tolist()) <= {0, 1}
    assert masks.dtype == torch.uint8
    # Also for each key alone and for each unit alone: sd of a mean at most 0.016; six of them.
    for axis in (0, 1):
        assert (masks.float().mean(axis) - (1 - p)).abs().max() < 0.1


def test_without_dropout_all_is_kept_and_next_to_1_nothing():
    keys = draw_keys((100,), generator())
    assert keep_masks(keys, (1000,), 0.0).all()
    assert not keep_masks(keys, (1000,), 1 - 1e-12).any()


def test_a_larger_probability_drops_the_same_units_and_more():
    keys = draw_keys((20,), generator())
    few, many = (keep_masks(keys, (1000,), p) for p in (0.2, 0.4))
    assert (many <= few).all()
    assert many.sum() < few.sum()


@pytest.mark.parametrize("p", [0.1, 0.5])
def test_neighbouring_units_rows_and_members_are_independent(p):
    masks = keep_masks(draw_keys((50,), generator()), (25, 8, 25), p)  # keys, rows, members, units
    pairs = 50 * 25 * 8
    assert correlations(masks.movedim(-1, 0)) < 5 / pairs**0.5  # between units
    assert correlations(masks.movedim(1, 0)) < 5 / pairs**0.5  # between rows
    assert correlations(masks.movedim(2, 0)) < 5 / (50 * 25 * 25) ** 0.5  # between members


@pytest.mark.parametrize("p", [0.1, 0.5])
def test_masks_of_random_and_of_neighbouring_keys_are_independent_unit_by_unit(p):
    bound = 5 / 100_000**0.5
    neighbours = of(*range(-5, 5))
    distant = neighbours * 2**16  # a difference in high bits alone
    for keys in (neighbours, distant, draw_keys((10,), generator())):
        assert correlations(keep_masks(keys, (100_000,), p)) < bound
    # Negative control: the same key twice is found.
    assert correlations(keep_masks(of(7, 8, 7), (100_000,), p)) > 0.99


def test_the_next_key_moves_the_mask_by_one_unit():
    # So keys must be drawn, never counted.
    now, following = keep_masks(of(5, 6), (1000,), 0.3)
    assert torch.equal(now[1:], following[:-1])


@given(
    n_keys=st.integers(1, 9),
    cut=st.integers(0, 9),
    shape=st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple),
)
@settings(max_examples=50, deadline=None)
def test_masks_are_the_same_on_any_split_of_keys_or_rows(n_keys, cut, shape):
    keys = draw_keys((n_keys,), generator(n_keys))
    whole = keep_masks(keys, shape, 0.3)
    assert whole.shape == (n_keys, *shape)
    parts = [keep_masks(part, shape, 0.3) for part in (keys[:cut], keys[cut:])]
    assert torch.equal(torch.cat(parts), whole)
    alone = torch.stack([keep_masks(key, shape, 0.3) for key in keys])
    assert torch.equal(alone, whole)
    fewer = max(1, min(cut, shape[0]))
    assert torch.equal(keep_masks(keys, (fewer, *shape[1:]), 0.3), whole[:, :fewer])
    assert torch.equal(keep_masks(keys.view(1, -1), shape, 0.3)[0], whole)


def test_keys_are_left_as_they_are():
    keys = draw_keys((5,), generator())
    before = keys.clone()
    keep_masks(keys, (30,), 0.3)
    assert torch.equal(keys, before)


def test_keys_have_32_random_bits_and_repeat_with_their_seed_and_in_parts():
    keys = draw_keys((20_000,), generator())
    bits = (keys.long().unsqueeze(-1) >> torch.arange(32)) & 1
    assert (bits.float().mean(0) - 0.5).abs().max() < 5 * 0.5 / 20_000**0.5
    assert correlations(bits.T) < 5 / 20_000**0.5
    assert len(keys.unique()) > 19_990  # a birthday in 2**32: 0.05 expected
    source = generator()
    parts = [draw_keys((n,), source) for n in (1, 12_345, 7_654)]
    assert torch.equal(torch.cat(parts), keys)
    assert draw_keys((), generator()).shape == ()


def test_the_mean_stays():
    x = torch.ones(1000, 1000)
    masks = keep_masks(draw_keys((1000,), generator()), (1000,), 0.3)
    # sd of the mean sqrt(0.3 / 0.7) / 1000 = 0.0007; five of them.
    assert drop(x, masks, 0.3).mean().item() == pytest.approx(1, abs=0.0035)
