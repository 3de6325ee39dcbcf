import itertools

import pytest
import torch
from fixtures import generator, randomised, torch_exported
from hypothesis import given, settings
from hypothesis import strategies as st
from tabm import LinearBatchEnsemble
from torch import nn

from batchensemble.nn import BatchEnsembleLinear, expand_members, orthogonality_penalty
from batchensemble.nn.linear import FoldedLinear
from batchensemble.training.bank import Bank

SUBSETS = ["".join(s) for n in range(4) for s in itertools.combinations("rsb", n)]


def layer(n_in=5, n_out=3, n_members=4, **kwargs) -> BatchEnsembleLinear:
    return randomised(BatchEnsembleLinear(n_in, n_out, n_members, **kwargs).double())


def one_member(layer: BatchEnsembleLinear, x: torch.Tensor, k: int) -> torch.Tensor:
    """The slow, obvious thing: member k as a plain linear map with its effective weight."""
    r = torch.ones(layer.in_features) if layer.r is None else layer.r[k]
    s = torch.ones(layer.out_features) if layer.s is None else layer.s[k]
    bias = layer.bias if layer.bias is None or layer.bias.ndim == 1 else layer.bias[k]
    y = x @ (layer.weight * torch.outer(s.double(), r.double())).T
    return y if bias is None else y + bias


@pytest.mark.parametrize("adapters", SUBSETS)
def test_member_k_is_a_linear_map_with_the_weight_scaled_by_the_outer_product(adapters):
    net = layer(adapters=adapters)
    x = torch.randn(7, 4, 5, dtype=torch.float64, generator=generator(1))
    for k in range(4):
        assert torch.allclose(net(x)[:, k], one_member(net, x[:, k], k), atol=1e-12)


@given(
    leading=st.lists(st.integers(1, 4), min_size=0, max_size=3),
    members=st.integers(1, 5),
    n_in=st.integers(1, 4),
    n_out=st.integers(1, 4),
)
@settings(max_examples=40, deadline=None)
def test_any_leading_axes_and_any_batch_size_pass(leading, members, n_in, n_out):
    net = layer(n_in, n_out, members)
    x = torch.randn(*leading, members, n_in, dtype=torch.float64, generator=generator(2))
    y = net(x)
    assert y.shape == (*leading, members, n_out)
    flat = net(x.reshape(-1, members, n_in))
    assert torch.allclose(y.reshape(flat.shape), flat, atol=1e-12)
    assert torch.allclose(net.fold()(x), y, atol=1e-5)


def test_outputs_and_gradients_equal_those_of_tabm():
    ours = randomised(BatchEnsembleLinear(6, 4, 5))
    theirs = LinearBatchEnsemble(6, 4, k=5, scaling_init="ones")
    with torch.no_grad():
        for name in ("weight", "r", "s", "bias"):
            getattr(theirs, name).copy_(getattr(ours, name))
    x = torch.randn(8, 5, 6, generator=generator(1))
    assert torch.allclose(ours(x), theirs(x), atol=1e-5)
    ours(x).square().sum().backward()
    theirs(x).square().sum().backward()
    for name in ("weight", "r", "s", "bias"):
        a, b = getattr(ours, name).grad, getattr(theirs, name).grad
        assert torch.allclose(a, b, rtol=1e-4, atol=1e-3)


def test_without_adapters_it_is_torch_linear_for_any_number_of_members():
    plain, net = nn.Linear(5, 3), BatchEnsembleLinear(5, 3, 1, adapters="")
    net.load_state_dict(plain.state_dict())
    x = torch.randn(7, 9, 5)
    assert torch.allclose(net(x), plain(x), atol=1e-6)


def test_a_gradient_of_one_member_leaves_the_other_members_vectors_alone():
    net = layer()
    x = torch.randn(6, 4, 5, dtype=torch.float64, generator=generator(1))
    net(x)[:, 2].sum().backward()
    for vectors in (net.r, net.s, net.bias):
        moved = vectors.grad.abs().sum(1) > 0
        assert moved.tolist() == [False, False, True, False]
    assert (net.weight.grad != 0).any()


def test_one_members_input_reaches_only_its_own_output():
    net = layer()
    x = torch.randn(6, 4, 5, dtype=torch.float64, generator=generator(1))
    other = x.clone()
    other[:, 1] += 1
    changed = (net(x) != net(other)).any(-1).any(0)
    assert changed.tolist() == [False, True, False, False]


@pytest.mark.parametrize("batch", [1, 3, 7, 64])
def test_a_batch_of_1_and_one_that_the_members_do_not_divide_equal_their_rows(batch):
    net = layer()
    x = torch.randn(batch, 4, 5, dtype=torch.float64, generator=generator(1))
    rows = torch.cat([net(row.unsqueeze(0)) for row in x])
    assert torch.allclose(net(x), rows, atol=1e-12)


def test_a_member_axis_of_length_1_does_not_broadcast():
    with pytest.raises(ValueError, match="members=4"):
        layer()(torch.zeros(2, 1, 5, dtype=torch.float64))
    with pytest.raises(ValueError, match="members=4"):
        layer().fold()(torch.zeros(2, 1, 5, dtype=torch.float64))


@pytest.mark.parametrize("n_features", [1, 4, 6])
@pytest.mark.parametrize("adapters", ["", "rsb", "b"])
def test_another_number_of_features_is_refused_and_one_does_not_broadcast(adapters, n_features):
    with pytest.raises(ValueError, match=r"expected 5 features .* got \(2, 4, "):
        layer(adapters=adapters)(torch.zeros(2, 4, n_features, dtype=torch.float64))


def test_first_values_are_those_of_torch_linear_with_signs_and_zero_biases():
    net = BatchEnsembleLinear(16, 300, 4, generator=generator())
    assert net.weight.abs().max() <= 0.25
    assert net.weight.std().item() == pytest.approx(0.25 / 3**0.5, rel=0.05)
    assert set(net.r.unique().tolist()) == set(net.s.unique().tolist()) == {-1.0, 1.0}
    assert (net.bias == 0).all()


@pytest.mark.parametrize("init", ["random_sign", "normal", "orthogonal"])
def test_members_start_different_unless_told_otherwise(init):
    x = expand_members(torch.randn(5, 8, generator=generator()), 6)
    y = BatchEnsembleLinear(8, 4, 6, init=init, generator=generator(1))(x)
    assert (torch.pdist(y.transpose(0, 1).reshape(6, -1)) > 1e-3).all()
    same = BatchEnsembleLinear(8, 4, 6, init="ones", generator=generator(1))(x)
    assert torch.allclose(same, same[:, :1].expand_as(same))


def test_the_same_generator_gives_the_same_layer_and_leaves_the_global_seed_alone():
    state = torch.get_rng_state()
    a, b = (BatchEnsembleLinear(5, 3, 4, generator=generator(7)) for _ in range(2))
    assert all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"adapters": "rx"}, "subset of the letters 'wrsb'"),
        ({"adapters": "rr"}, "at most once"),
        ({"init": "sign"}, "did you mean"),
        ({"bias": False}, "without 'b'"),
        ({"n_members": 0}, "n_members of at least 1"),
        ({"n_members": 2.5}, "a whole n_members of at least 1, got 2.5"),
        ({"n_members": True}, "got True"),
        ({"n_in": 0}, "in_features of at least 1"),
    ],
)
def test_bad_arguments_are_refused_with_words(kwargs, words):
    with pytest.raises(ValueError, match=words):
        layer(**kwargs)


def test_parameters_are_counted_by_adapter():
    def count(adapters):
        return sum(p.numel() for p in BatchEnsembleLinear(5, 3, 4, adapters=adapters).parameters())

    assert count("") == 15 + 3
    assert count("r") == 15 + 3 + 20
    assert count("s") == 15 + 3 + 12
    assert count("b") == 15 + 12
    assert count("rsb") == 15 + 20 + 12 + 12


@pytest.mark.parametrize("adapters", SUBSETS)
@pytest.mark.parametrize("batch", [1, 64, 700])
def test_folding_changes_nothing_but_the_time(adapters, batch):
    net = randomised(BatchEnsembleLinear(12, 9, 4, adapters=adapters))
    x = torch.randn(batch, 4, 12, generator=generator(3))
    assert torch.allclose(net.fold()(x), net(x), atol=1e-5, rtol=1e-5)


def test_a_folded_layer_too_large_for_the_cache_computes_the_same_at_any_batch(monkeypatch):
    monkeypatch.setattr("batchensemble.nn.linear.CACHED_WEIGHTS", 0)
    net = randomised(BatchEnsembleLinear(12, 9, 4))
    for batch in (1, 511, 512):
        x = torch.randn(batch, 4, 12, generator=generator(3))
        assert torch.allclose(net.fold()(x), net(x), atol=1e-5, rtol=1e-5)


def test_a_folded_layer_holds_copies_and_refuses_training():
    net = randomised(BatchEnsembleLinear(5, 3, 4))
    folded, x = net.fold(), torch.randn(2, 4, 5)
    before = folded(x)
    randomised(net, seed=9)
    assert torch.equal(folded(x), before)
    with pytest.raises(RuntimeError, match="fold again"):
        folded.train()
    assert not any(p.requires_grad for p in folded.parameters())


def test_the_penalty_counts_r_s_and_bias_of_all_layers_and_only_what_members_own():
    both = nn.Sequential(layer(5, 3), layer(3, 2))
    parts = [m.orthogonality_penalty() for m in both]
    assert torch.allclose(orthogonality_penalty(both), parts[0] + parts[1])
    assert layer(adapters="").orthogonality_penalty() == 0
    assert layer(adapters="r").orthogonality_penalty() > 0
    with pytest.raises(ValueError, match="without"):
        orthogonality_penalty(nn.Linear(2, 2))


def test_it_can_be_exported_scripted_by_state_and_moved_between_precisions():
    net = layer()
    twin = BatchEnsembleLinear(5, 3, 4)
    twin.load_state_dict({k: v.float() for k, v in net.state_dict().items()})
    x = torch.randn(2, 4, 5, generator=generator())
    assert torch.allclose(twin(x), net(x.double()).float(), atol=1e-5)
    program = torch.export.export(twin, (x,))
    assert torch.allclose(program.module()(x), twin(x))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("adapters", SUBSETS)
def test_the_effective_weights_are_those_of_the_members(adapters, bias):
    net = layer(adapters=adapters if bias else adapters.replace("b", ""), bias=bias)
    weight, shift = net.effective()
    n_members = 4 if net.adapters else 1
    assert weight.shape == (n_members, 5, 3)
    assert shift.shape == (n_members, 1, 3)
    x = torch.randn(7, 5, dtype=torch.float64, generator=generator(1))
    for k in range(n_members):
        assert torch.allclose(x @ weight[k] + shift[k], one_member(net, x, k), atol=1e-12)


@pytest.mark.parametrize("n_networks", [1, 3])
@pytest.mark.parametrize("adapters", SUBSETS)
def test_a_bank_of_layers_folds_into_one_with_all_members_in_order(adapters, n_networks):
    nets = [randomised(layer(adapters=adapters), seed) for seed in range(n_networks)]
    folded = Bank(nets).module.fold()
    x = torch.randn(7, 2, 4 * n_networks, 5, dtype=torch.float64, generator=generator(1))
    y = folded(x)
    for i, net in enumerate(nets):
        members = slice(4 * i, 4 * i + 4)
        assert torch.allclose(y[..., members, :], net(x[..., members, :]), atol=1e-12)


def test_a_folded_plain_layer_takes_any_number_of_members_and_one_with_adapters_only_its_own():
    x = torch.randn(7, 9, 5, dtype=torch.float64, generator=generator(1))
    for is_bank in (False, True):
        plain, one = layer(adapters=""), layer(n_members=1)
        if is_bank:
            plain, one = Bank([plain]).module, Bank([one]).module
        expected = x @ plain.weight.view(3, 5).T + plain.bias.view(3)
        assert torch.allclose(plain.fold()(x), expected, atol=1e-12)
        assert len(plain.fold().effective()[0]) == 1
        for wrong in (2, 9):
            with pytest.raises(ValueError, match="members=1"):
                one.fold()(x[:, :wrong])
        assert one.fold()(x[:, :1]).shape == (7, 1, 3)


def test_a_folded_bank_of_plain_layers_refuses_another_number_of_members():
    folded = Bank([layer(n_members=1, adapters="") for _ in range(3)]).module.fold()
    for wrong in (1, 2, 4):
        with pytest.raises(ValueError, match="members=3"):
            folded(torch.zeros(7, wrong, 5, dtype=torch.float64))


def test_folded_layers_that_read_the_same_can_be_one():
    layers = [
        randomised(BatchEnsembleLinear(5, n_out, 3), n_out).double().fold() for n_out in (1, 2)
    ]
    x = torch.randn(7, 3, 5, generator=generator(), dtype=torch.float64)
    expected = torch.cat([layer(x) for layer in layers], -1)
    assert torch.allclose(FoldedLinear.joined(layers)(x), expected, atol=1e-12)
    assert torch.equal(FoldedLinear.joined(layers[:1])(x), layers[0](x))


def test_torch_exports_a_large_folded_layer_as_one_program_for_batches_of_any_size(monkeypatch):
    monkeypatch.setattr("batchensemble.nn.linear.CACHED_WEIGHTS", 0)
    folded = layer().fold()
    exported = torch_exported(folded, torch.randn(7, 4, 5, dtype=torch.float64))
    for n_rows in (3, 700):
        x = torch.randn(n_rows, 4, 5, dtype=torch.float64, generator=generator())
        torch.testing.assert_close(exported(x), folded(x))


OWN = ["w", "wb", "wr", "ws", "wrsb"]


def separate(layer: BatchEnsembleLinear) -> list[nn.Linear]:
    """Each member as a torch.nn.Linear that shares nothing with the others."""
    linears = []
    for k in range(layer.n_members):
        r = torch.ones(layer.in_features).double() if layer.r is None else layer.r[k]
        s = torch.ones(layer.out_features).double() if layer.s is None else layer.s[k]
        linear = nn.Linear(layer.in_features, layer.out_features).double()
        with torch.no_grad():
            linear.weight.copy_(layer.weight[k] * torch.outer(s, r))
            linear.bias.copy_(layer.bias[k] if "b" in layer.adapters else layer.bias)
        linears.append(linear)
    return linears


@pytest.mark.parametrize("adapters", OWN)
@pytest.mark.parametrize("leading", [(7,), (3, 2), ()])
def test_with_weights_of_their_own_members_are_separate_linear_layers(adapters, leading):
    net = layer(adapters=adapters)
    assert net.weight.shape == (4, 3, 5)
    x = torch.randn(*leading, 4, 5, dtype=torch.float64, generator=generator(1))
    y = net(x)
    assert y.shape == (*leading, 4, 3)
    for k, linear in enumerate(separate(net)):
        assert torch.allclose(y[..., k, :], linear(x[..., k, :]), atol=1e-12)


def test_gradients_of_full_layers_are_those_of_separate_linear_layers():
    net = layer(adapters="wb")
    linears = separate(net)
    x = torch.randn(7, 4, 5, dtype=torch.float64, generator=generator(1))
    net(x).square().sum().backward()
    for k, linear in enumerate(linears):
        linear(x[:, k]).square().sum().backward()
        assert torch.allclose(net.weight.grad[k], linear.weight.grad, atol=1e-10)
        assert torch.allclose(net.bias.grad[k], linear.bias.grad, atol=1e-10)


@pytest.mark.parametrize("adapters", OWN)
def test_a_bank_of_layers_with_own_weights_equals_its_layers_one_by_one(adapters):
    nets = [randomised(layer(adapters=adapters), seed) for seed in range(3)]
    bank = Bank(nets).module
    assert bank.is_bank
    assert not nets[0].is_bank
    x = torch.randn(3, 7, 2, 4, 5, dtype=torch.float64, generator=generator(1))
    for i, net in enumerate(nets):
        assert torch.allclose(bank(x)[i], net(x[i]), atol=1e-12)


@pytest.mark.parametrize("n_networks", [1, 3])
@pytest.mark.parametrize("adapters", OWN)
def test_layers_with_own_weights_fold_into_one_with_all_members_in_order(adapters, n_networks):
    nets = [randomised(layer(adapters=adapters), seed) for seed in range(n_networks)]
    x = torch.randn(7, 4 * n_networks, 5, dtype=torch.float64, generator=generator(1))
    expected = torch.cat([net(x[:, 4 * i : 4 * i + 4]) for i, net in enumerate(nets)], 1)
    assert torch.allclose(Bank(nets).module.fold()(x), expected, atol=1e-12)
    if n_networks == 1:
        assert torch.allclose(nets[0].fold()(x), expected, atol=1e-12)


@pytest.mark.parametrize("adapters", OWN)
def test_effective_weights_of_own_weights_are_those_of_the_separate_layers(adapters):
    net = layer(adapters=adapters)
    weight, shift = net.effective()
    for k, linear in enumerate(separate(net)):
        assert torch.allclose(weight[k], linear.weight.T, atol=1e-12)
        assert torch.allclose(shift[k, 0], linear.bias, atol=1e-12)


def test_own_weights_start_different_also_where_r_and_s_do_not():
    net = BatchEnsembleLinear(8, 4, 6, adapters="wrsb", init="ones", generator=generator(1))
    y = net(expand_members(torch.randn(5, 8, generator=generator()), 6))
    assert (torch.pdist(y.transpose(0, 1).reshape(6, -1)) > 1e-3).all()
    assert net.weight.abs().max() <= 8**-0.5


def test_own_weights_are_no_part_of_the_orthogonality_penalty_but_r_beside_them_is():
    assert layer(adapters="w").orthogonality_penalty() == 0
    both, alone = layer(adapters="wr"), layer(adapters="r")
    with torch.no_grad():
        alone.r.copy_(both.r)
    assert torch.equal(both.orthogonality_penalty(), alone.orthogonality_penalty())
    assert Bank([layer(adapters="wr") for _ in range(2)]).module.orthogonality_penalty().shape == (
        2,
    )


def test_full_layers_count_as_many_parameters_as_separate_ones():
    def count(adapters):
        return sum(p.numel() for p in BatchEnsembleLinear(5, 3, 4, adapters=adapters).parameters())

    assert count("w") == 4 * 15 + 3
    assert count("wb") == 4 * sum(p.numel() for p in nn.Linear(5, 3).parameters())
