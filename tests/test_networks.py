import itertools

import pytest
import torch
from laws import generator, randomised

from batchensemble.networks import MLP
from batchensemble.nn import expand_members

PARAMETERS = {  # inputs, heads: batch_ensemble, single or mc_dropout, deep_ensemble
    "adult": (108, (2,), 7_584, 4_610, 46_100),
    "breast_cancer": (30, (2,), 4_308, 2_114, 21_140),
    "phoneme": (5, (2,), 3_258, 1_314, 13_140),
    "california": (8, (1, 1), 3_704, 1_410, 14_100),
    "diabetes": (10, (1, 1), 3_788, 1_474, 14_740),
}


def count(module) -> int:
    return sum(p.numel() for p in module.parameters())


@pytest.mark.parametrize("dataset", PARAMETERS)
@pytest.mark.parametrize("method", ["batch_ensemble", "single", "deep_ensemble"])
def test_the_published_parameter_counts_are_met_exactly(dataset, method):
    n_in, heads, *published = PARAMETERS[dataset]
    expected = dict(zip(["batch_ensemble", "single", "deep_ensemble"], published, strict=True))
    found = {
        "batch_ensemble": count(MLP(n_in, heads, n_members=10)),
        "single": count(MLP(n_in, heads, adapters="")),
        "deep_ensemble": 10 * count(MLP(n_in, heads, adapters="")),
    }
    assert found[method] == expected[method]


@pytest.mark.parametrize(
    "adapters", ["".join(s) for n in range(1, 4) for s in itertools.combinations("rsb", n)]
)
def test_every_set_of_adapters_costs_what_its_vectors_hold(adapters):
    sizes = [(8, 32), (32, 32), (32, 1), (32, 1)]
    expected = 0
    for n_in, n_out in sizes:
        expected += n_in * n_out
        expected += 10 * n_in if "r" in adapters else 0
        expected += 10 * n_out if "s" in adapters else 0
        expected += 10 * n_out if "b" in adapters else n_out
    assert count(MLP(8, (1, 1), n_members=10, adapters=adapters)) == expected


@pytest.mark.parametrize("last", range(1, 11))
def test_members_in_the_last_layers_alone_cost_only_there(last):
    words = [""] * (10 - last) + ["rsb"] * last
    deep = MLP(10, (1, 1), hidden=(32,) * 9, n_members=10, adapters=words)
    plain = count(MLP(10, (1, 1), hidden=(32,) * 9, adapters=""))
    hidden = 10 * (32 + 32 + 32) - 32
    first = 10 * (10 + 32 + 32) - 32
    heads = 2 * (10 * (32 + 1 + 1) - 1)
    extra = heads + min(last - 1, 8) * hidden + (first if last == 10 else 0)
    assert count(deep) == plain + extra


def test_members_equal_plain_networks_with_their_effective_weights():
    net = randomised(MLP(5, (1, 1), hidden=(7, 6), n_members=3)).eval().double()
    x = torch.randn(9, 3, 5, generator=generator(1), dtype=torch.float64)
    for k in range(3):
        h = x[:, k]
        for layer in net.layers:
            weight = layer.weight * torch.outer(layer.s[k], layer.r[k])
            h = torch.relu(h @ weight.T + layer.bias[k])
        for j, head in enumerate(net.heads):
            weight = head.weight * torch.outer(head.s[k], head.r[k])
            expected = h @ weight.T + head.bias[k]
            assert torch.allclose(net(x)[:, k, j], expected.squeeze(-1))


def test_given_masks_switch_dropout_on_in_any_mode_and_zeros_silence_a_layer():
    net = randomised(MLP(5, (2,), hidden=(7, 6), n_members=3, dropout=0.5)).eval()
    x = expand_members(torch.randn(4, 5, generator=generator(1)), 3)
    kept = torch.ones(4, 3, 13, dtype=torch.uint8)
    assert not torch.allclose(net(x, kept), net(x))  # kept units are scaled up
    silent = kept.clone()
    silent[..., 7:] = 0
    assert torch.allclose(net(x, silent), net.heads[0].bias.expand(4, 3, 2))


def test_dropout_is_drawn_in_training_and_off_in_evaluation():
    net = MLP(5, (2,), n_members=3, dropout=0.5)
    x = expand_members(torch.randn(4, 5), 3)
    assert not torch.equal(net(x), net(x))
    net.eval()
    assert torch.equal(net(x), net(x))


def test_masks_are_independent_between_members():
    net = MLP(5, (2,), n_members=2, dropout=0.5, init="ones", generator=generator()).train()
    x = expand_members(torch.randn(64, 5), 2)
    y = net(x)
    assert not torch.allclose(y[:, 0], y[:, 1])


def test_the_same_generator_gives_the_same_network_and_leaves_the_global_seed_alone():
    state = torch.get_rng_state()
    a, b = (MLP(5, (2,), n_members=3, generator=generator(4)) for _ in range(2))
    assert all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))
    assert torch.equal(torch.get_rng_state(), state)


def test_bad_arguments_are_refused_with_words():
    with pytest.raises(ValueError, match="dropout in"):
        MLP(5, (1,), dropout=1.0)
    with pytest.raises(ValueError, match="adapters for 2 hidden layers and the heads"):
        MLP(5, (1,), adapters=["rsb", "rsb"])
