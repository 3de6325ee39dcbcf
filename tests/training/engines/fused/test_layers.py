from itertools import combinations

import numpy as np
import pytest
import torch
from fixtures import generator, randomised
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from batchensemble.nn.linear import BatchEnsembleLinear, repeated
from batchensemble.training.engines.fused.layers import (
    ROWS_AT_ONCE,
    add_biases,
    add_products,
    biases,
    fold,
    part,
    turn,
    unfold,
)

SUBSETS = ["".join(word) for n in range(4) for word in combinations("rsb", n)]
SIZES = st.integers(1, 6)
ONES = np.ones(8, np.float32)


def chain(words, sizes, n_members, seed=0):
    """Layers of these adapters in float64, every parameter random."""
    layers = [
        BatchEnsembleLinear(n_in, n_out, n_members, adapters=word)
        for word, n_in, n_out in zip(words, sizes, sizes[1:], strict=False)
    ]
    return randomised(nn.ModuleList(layers).double(), seed)


def table(layers):
    """Where the parameters of each layer begin in theta, and the rest of the columns, by hand."""
    rows, at, unit, effective = [], 0, 0, 0
    for layer in layers:
        starts = {"r": -1, "s": -1}
        for name, parameter in layer.named_parameters():
            starts[name] = at
            at += parameter.numel()
        step = layer.out_features if "b" in layer.adapters else 0
        first = [starts[name] for name in ("weight", "r", "s", "bias")]
        n_in, n_out = layer.in_features, layer.out_features
        rows.append([n_in, n_out, *first, step, unit, effective, n_in])
        unit, effective = unit + n_out, effective + n_in * n_out
    return np.array(rows)


def flat(tensors):
    return np.concatenate([t.detach().numpy().ravel() for t in tensors]).astype(np.float32)


def own_weights(layer):
    """(members, out, in), for members that share it too."""
    return repeated(layer.effective()[0], layer.n_members).mT


def own_biases(layer):
    """(members, out)."""
    return repeated(layer.effective()[1], layer.n_members).squeeze(1)


CASES = pytest.mark.parametrize("words", [*((word,) for word in SUBSETS), ("rs", "", "b", "rsb")])
"""Every subset of the adapters alone, and layers of different ones in a row."""


@CASES
@given(sizes=st.lists(SIZES, min_size=5, max_size=5), n_members=st.integers(1, 3))
@settings(max_examples=15, deadline=None)
def test_fold_gives_the_effective_weights_and_biases_of_each_member(words, sizes, n_members):
    layers = chain(words, sizes, n_members)
    theta, rows = flat(layers.parameters()), table(layers)
    for k in range(n_members):
        expected = flat(own_weights(layer)[k] for layer in layers)
        effective = np.full(len(expected), np.nan, np.float32)
        fold(theta, rows, k, ONES, effective)
        np.testing.assert_allclose(effective, expected, rtol=1e-6)
        expected = flat(own_biases(layer)[k] for layer in layers)
        to = np.full(len(expected), np.nan, np.float32)
        biases(theta, rows, k, to)
        assert np.array_equal(to, expected)


@CASES
@given(sizes=st.lists(SIZES, min_size=5, max_size=5), n_members=st.integers(1, 3))
@settings(max_examples=15, deadline=None)
def test_unfold_and_add_biases_give_the_gradients_of_autograd(words, sizes, n_members):
    layers = chain(words, sizes, n_members)
    theta, rows = flat(layers.parameters()), table(layers)
    source = generator(1)
    total, gradient = 0.0, np.zeros_like(theta)
    in_weights, in_biases = [], []
    for layer in layers:
        weight, bias = own_weights(layer), own_biases(layer)
        in_weights.append(torch.randn(weight.shape, generator=source, dtype=torch.float64))
        in_biases.append(torch.randn(bias.shape, generator=source, dtype=torch.float64))
        total = total + (weight * in_weights[-1]).sum() + (bias * in_biases[-1]).sum()
    for k in range(n_members):
        unfold(theta, rows, k, ONES, flat(g[k] for g in in_weights), gradient)
        add_biases(rows, k, flat(g[k] for g in in_biases), gradient)
    expected = flat(torch.autograd.grad(total, list(layers.parameters())))
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-4 * np.abs(expected).max())


@given(
    n_rows=st.sampled_from([1, 7, ROWS_AT_ONCE, ROWS_AT_ONCE + 1, 2 * ROWS_AT_ONCE + 88]),
    n_in=SIZES,
    n_out=SIZES,
)
@settings(max_examples=30, deadline=None)
def test_gradients_of_a_weight_and_a_bias_are_sums_over_all_rows(n_rows, n_in, n_out):
    random = np.random.default_rng(n_rows + n_in)
    d = random.normal(size=(n_rows, n_out)).astype(np.float32)
    a = random.normal(size=(n_rows, n_in)).astype(np.float32)
    d_weight = np.full((n_out, n_in), np.nan, np.float32)
    d_bias = np.full(n_out, np.nan, np.float32)
    add_products(d, a, np.ones(ROWS_AT_ONCE, np.float32), d_weight, d_bias)
    # Sums of so many numbers of size 1 in float32.
    np.testing.assert_allclose(
        d_weight, d.T.astype(float) @ a.astype(float), atol=1e-6 * n_rows**0.75
    )
    np.testing.assert_allclose(d_bias, d.astype(float).sum(0), atol=1e-6 * n_rows**0.75)


@given(first=st.integers(0, 5), n_in=SIZES, n_out=SIZES)
@settings(max_examples=20, deadline=None)
def test_a_turned_weight_is_its_transpose_at_the_same_place(first, n_in, n_out):
    effective = np.random.default_rng(0).normal(size=first + n_in * n_out + 3).astype(np.float32)
    across = np.full_like(effective, np.nan)
    turn(effective, first, n_out, n_in, across)
    weight = effective[first : first + n_in * n_out].reshape(n_out, n_in)
    assert np.array_equal(part(across, first, n_in, n_out), weight.T)
    assert np.isnan(across[:first]).all()
    assert np.isnan(across[-3:]).all()
