import numpy as np
import pytest
import torch
from fixtures import generator, randomised
from hypothesis import given, settings
from hypothesis import strategies as st

from batchensemble.nn.cells import GRUBECell, GRUCell
from batchensemble.nn.linear import repeated
from batchensemble.training.engines.fused.gru import (
    gru_backward,
    gru_forward,
    grube_backward,
    grube_forward,
)

ADAPTERS = pytest.mark.parametrize("adapters", ["", "rsb"])
SHAPES = {"n_rows": st.integers(1, 20), "n_in": st.integers(1, 4), "size": st.integers(1, 9)}
N_MEMBERS = 2
EXACT = {"rtol": 1e-5, "atol": 3e-5}  # products of float32, of random weights of size 1


def single(tensor):
    return np.ascontiguousarray(tensor.detach().numpy(), np.float32)


def empty(*shape):
    """What is to be written, all of it."""
    return np.full(shape, np.nan, np.float32)


def normal(*shape, seed):
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)


def one_step(cell, n_rows, n_in, size):
    """x, h, the new h, its gradient, and by autograd those of x, h and all parameters."""
    x = normal(n_rows, N_MEMBERS, n_in, seed=1).requires_grad_()
    h = normal(n_rows, N_MEMBERS, size, seed=2).requires_grad_()
    d = normal(n_rows, N_MEMBERS, size, seed=3)
    new = cell(x, h)
    (new * d).sum().backward()
    return x, h, new, d


def of_member(layers, k):
    """Effective weights (out, in) and biases of member k, one below the other."""
    both = [[repeated(t, N_MEMBERS)[k] for t in layer.effective()] for layer in layers]
    return torch.cat([w.mT for w, _ in both]), torch.cat([b[0] for _, b in both])


@ADAPTERS
@given(**SHAPES)
@settings(max_examples=20, deadline=None)
def test_a_step_of_grube_and_its_way_back_are_those_of_autograd(adapters, n_rows, n_in, size):
    cell = randomised(GRUBECell(n_in, size, N_MEMBERS, adapters=adapters).double())
    gates_layers = (cell.reset, cell.update, cell.candidate)
    x, h, expected, d = one_step(cell, n_rows, n_in, size)
    sums = {"weight": 0.0, "bias": 0.0}
    for k in range(N_MEMBERS):
        weight, bias = of_member(gates_layers, k)
        of_gates, of_candidate = single(weight[: 2 * size]), single(weight[2 * size :])
        across = np.concatenate([of_gates.T.ravel(), of_candidate.T.ravel()])
        effective = np.concatenate([of_gates.ravel(), of_candidate.ravel()])
        xh = single(torch.cat([x[:, k], h[:, k]], -1))
        xrh, gates, c = empty(n_rows, n_in + size), empty(n_rows, 2 * size), empty(n_rows, size)
        new = empty(n_rows, size)
        grube_forward(xh, across, single(bias), xrh, gates, c, new)
        np.testing.assert_allclose(new, single(expected[:, k]), **EXACT)

        d_new, d_gates, d_c = single(d[:, k]), empty(n_rows, 2 * size), empty(n_rows, size)
        d_xh, d_xrh = empty(n_rows, n_in + size), empty(n_rows, n_in + size)
        grube_backward(xh, effective, gates, c, d_new, d_gates, d_c, d_xh, d_xrh)
        np.testing.assert_allclose(d_xh[:, :n_in], single(x.grad[:, k]), **EXACT)
        np.testing.assert_allclose(d_new, single(h.grad[:, k]), **EXACT)
        in_bias = np.concatenate([d_gates.sum(0), d_c.sum(0)])
        if adapters:
            theirs = torch.cat([layer.bias.grad[k] for layer in gates_layers])
            np.testing.assert_allclose(in_bias, single(theirs), rtol=1e-5, atol=1e-4)
        sums["weight"] += np.concatenate([d_gates.T @ xh, d_c.T @ xrh])
        sums["bias"] += in_bias
    if not adapters:  # the members share weights and biases, whose gradients are sums
        for name, ours in sums.items():
            theirs = torch.cat([getattr(layer, name).grad for layer in gates_layers])
            np.testing.assert_allclose(ours, single(theirs), rtol=1e-5, atol=1e-4)


@ADAPTERS
@given(**SHAPES)
@settings(max_examples=20, deadline=None)
def test_a_step_of_gru_and_its_way_back_are_those_of_autograd(adapters, n_rows, n_in, size):
    cell = randomised(GRUCell(n_in, size, N_MEMBERS, adapters=adapters).double())
    x, h, expected, d = one_step(cell, n_rows, n_in, size)
    n_xh = n_in + size
    gates_of_x, gates_of_h = np.r_[: 3 * size], np.r_[: 2 * size, 3 * size : 4 * size]
    sums = {"weight": 0.0, "bias": 0.0}
    for k in range(N_MEMBERS):
        (on_x, bias_x), (on_h, bias_h) = of_member([cell.input], k), of_member([cell.hidden], k)
        weight = np.zeros((4 * size, n_xh), np.float32)  # the candidate's rows twice, by x and by h
        weight[gates_of_x, :n_in], weight[gates_of_h, n_in:] = single(on_x), single(on_h)
        bias = np.zeros(4 * size, np.float32)
        bias[gates_of_x] += single(bias_x)
        bias[gates_of_h] += single(bias_h)
        effective, across = weight.ravel(), np.ascontiguousarray(weight.T).ravel()
        xh = single(torch.cat([x[:, k], h[:, k]], -1))
        kept, gates, c = empty(n_rows, size), empty(n_rows, 4 * size), empty(n_rows, size)
        new = empty(n_rows, size)
        gru_forward(xh, across, bias, kept, gates, c, new)
        np.testing.assert_allclose(new, single(expected[:, k]), **EXACT)

        d_new, d_gates, d_xh = single(d[:, k]), empty(n_rows, 4 * size), empty(n_rows, n_xh)
        gru_backward(xh, effective, kept, gates, c, d_new, d_gates, d_xh)
        np.testing.assert_allclose(d_xh[:, :n_in], single(x.grad[:, k]), **EXACT)
        np.testing.assert_allclose(d_new, single(h.grad[:, k]), **EXACT)
        d_weight, d_bias = d_gates.T @ xh, d_gates.sum(0)
        in_bias = np.concatenate([d_bias[gates_of_x], d_bias[gates_of_h]])
        if adapters:
            theirs = torch.cat([cell.input.bias.grad[k], cell.hidden.bias.grad[k]])
            np.testing.assert_allclose(in_bias, single(theirs), rtol=1e-5, atol=1e-4)
        parts = (d_weight[gates_of_x, :n_in], d_weight[gates_of_h, n_in:])
        sums["weight"] += np.concatenate([part.ravel() for part in parts])
        sums["bias"] += in_bias
    if not adapters:  # the members share weights and biases, whose gradients are sums
        for name, ours in sums.items():
            both = [getattr(layer, name).grad.ravel() for layer in (cell.input, cell.hidden)]
            np.testing.assert_allclose(ours, single(torch.cat(both)), rtol=1e-5, atol=1e-4)
