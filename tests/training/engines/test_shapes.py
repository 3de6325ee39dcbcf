import numpy as np
import pytest
import torch
from fixtures import bank_of_forecasters, generator, randomised

from batchensemble.training.bank import Bank
from batchensemble.training.engines.fused.layers import add_biases, biases, fold, unfold
from batchensemble.training.engines.shapes import (
    BIAS,
    BIAS_STEP,
    N_IN,
    N_OUT,
    UNIT,
    WEIGHT,
    R,
    S,
    gru_table,
    layer_table,
    linear_layers,
)
from batchensemble.training.networks import MLP


def test_a_table_says_where_in_theta_the_parameters_of_each_layer_are():
    network = randomised(MLP(3, (1, 2), hidden=(4, 5), n_members=2, adapters=("rsb", "r", "sb")))
    bank = Bank([network])
    layers = [*bank.module.layers, *bank.module.heads]
    for row, layer in zip(layer_table(bank, layers), layers, strict=True):
        assert (row[N_IN], row[N_OUT]) == (layer.in_features, layer.out_features)
        assert row[BIAS_STEP] == (layer.out_features if "b" in layer.adapters else 0)
        for column, name in ((WEIGHT, "weight"), (R, "r"), (S, "s"), (BIAS, "bias")):
            parameter = getattr(layer, name)
            if parameter is None:
                assert row[column] == -1
            else:
                place = bank.theta[0, row[column] : row[column] + parameter.numel()]
                assert torch.equal(place, parameter.detach().flatten())


def test_units_of_dropout_follow_each_other_layer_by_layer():
    bank = Bank([MLP(3, (1, 1), hidden=(4, 5))])
    assert layer_table(bank, bank.module.layers)[:, UNIT].tolist() == [0, 4]


def test_linear_layers_are_all_of_them():
    assert len(linear_layers(MLP(3, (1, 1), hidden=(4, 5)))) == 4


def gru():
    """A bank, its cell, and the effective weight and bias of its table; every parameter random."""
    bank = bank_of_forecasters(1, n_members=1, adapters="").to("cpu", torch.float32)
    bank.theta.normal_(generator=generator())
    cell = bank.module.recurrent.cells[0]
    rows, theta = gru_table(bank, cell), bank.theta[0].numpy()
    n_gates, n_inputs = 4 * cell.hidden_size, cell.input_size + cell.hidden_size
    ones = np.ones(n_gates, np.float32)
    effective = np.zeros((n_gates, n_inputs), np.float32)
    bias = np.full(n_gates, np.nan, np.float32)
    fold(theta, rows, 0, ones, effective.reshape(-1))
    biases(theta, rows, 0, bias)
    return bank, rows, ones, effective, bias


def test_the_table_of_a_gru_is_one_layer_on_inputs_and_hidden_state():
    bank, _, _, effective, bias = gru()
    cell = bank.network(0).recurrent.cells[0]
    size = cell.hidden_size
    x = torch.randn(6, 1, cell.input_size, generator=generator(1))
    h = torch.randn(6, 1, size, generator=generator(2))
    gates = torch.cat([x, h], -1)[:, 0] @ torch.from_numpy(effective).T + torch.from_numpy(bias)
    on_x, on_h = cell.input(x)[:, 0], cell.hidden(h)[:, 0]
    both, twice = slice(0, 2 * size), slice(2 * size, 3 * size)
    expected = [on_x[:, both] + on_h[:, both], on_x[:, twice], on_h[:, twice]]
    torch.testing.assert_close(gates, torch.cat(expected, 1))


def test_gradients_of_a_grus_table_come_back_to_where_its_parameters_are():
    # Both are linear: <fold(v), w> = <v, unfold(w)>.
    bank, rows, ones, effective, bias = gru()
    theta, random = bank.theta[0].numpy(), np.random.default_rng(0)
    d = random.normal(size=effective.shape).astype(np.float32)
    d_bias = random.normal(size=bias.shape).astype(np.float32)
    in_weights, in_biases = np.zeros_like(theta), np.zeros_like(theta)
    unfold(theta, rows, 0, ones, d.reshape(-1).copy(), in_weights)
    add_biases(rows, 0, d_bias, in_biases)
    assert (effective * d).sum() == pytest.approx(theta @ in_weights, abs=1e-3)
    assert bias @ d_bias == pytest.approx(theta @ in_biases, abs=1e-3)
    cell = bank.module.recurrent.cells[0]
    assert np.count_nonzero(in_weights) == cell.input.weight.numel() + cell.hidden.weight.numel()
    assert np.count_nonzero(in_biases) == cell.input.bias.numel() + cell.hidden.bias.numel()
