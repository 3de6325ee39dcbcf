import torch
from fixtures import randomised

from batchensemble.training.bank import Bank
from batchensemble.training.engines.shapes import (
    BIAS,
    BIAS_STEP,
    N_IN,
    N_OUT,
    UNIT,
    WEIGHT,
    R,
    S,
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
