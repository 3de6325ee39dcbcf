from inspect import signature

import pytest
import torch
from fixtures import generator, randomised
from torch import nn

from batchensemble.nn import (
    BatchEnsembleLinear,
    FoldedLinear,
    MemberBatchNorm,
    convert,
    expand_members,
    fold,
)


class Block(nn.Module):
    """A user's network: nested, a list, a layer used twice, and code of its own."""

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Sequential(nn.Linear(5, 8), nn.ReLU()), nn.Linear(8, 8))
        self.shared = nn.Linear(8, 8)
        self.steps = nn.ModuleList([self.shared, nn.Linear(8, 8, bias=False), self.shared])
        self.out = nn.ModuleDict({"mean": nn.Linear(8, 1), "scale": nn.Linear(8, 1)})

    def forward(self, x):
        x = self.first(x)
        for step in self.steps:
            x = x + torch.tanh(step(x))
        return torch.cat([self.out["mean"](x), self.out["scale"](x)], -1)


def rows(n=6, n_in=5):
    return torch.randn(n, n_in, generator=generator(1))


def layers(module):
    return [m for m in module.modules() if isinstance(m, BatchEnsembleLinear)]


def test_with_unit_adapters_every_member_equals_the_original():
    net = randomised(Block())
    be = convert(net, 3, init="ones")
    y = be(expand_members(rows(), 3))
    assert torch.allclose(y, expand_members(net(rows()), 3), atol=1e-4)
    assert isinstance(be, Block)


def test_nested_modules_lists_and_dicts_are_converted_to_the_last_layer():
    be = convert(Block(), 3)
    assert not any(type(m) is nn.Linear for m in be.modules())
    assert len(layers(be)) == 6


def test_trained_weights_are_kept_and_every_member_starts_with_the_trained_bias():
    net = randomised(Block())
    be = convert(net, 3)
    assert torch.equal(be.first[1].weight, net.first[1].weight)
    assert torch.equal(be.first[1].bias, net.first[1].bias.repeat(3, 1))


def test_new_weights_are_drawn_when_asked():
    net = randomised(Block())
    be = convert(net, 3, keep_weights=False, generator=generator())
    assert not torch.equal(be.first[1].weight, net.first[1].weight)
    assert be.first[1].weight.abs().max() <= 8**-0.5
    assert (be.first[1].bias == 0).all()


def test_the_original_is_not_touched():
    net = randomised(Block())
    before = {k: v.clone() for k, v in net.state_dict().items()}
    be = convert(net, 3, keep_weights=False)
    randomised(be, seed=5)
    assert all(torch.equal(before[k], v) for k, v in net.state_dict().items())


def test_a_layer_used_twice_stays_one_layer_under_both_names():
    be = convert(Block(), 3)
    assert be.shared is be.steps[0] is be.steps[2]
    twice = nn.Linear(4, 4)
    seq = convert(nn.Sequential(twice, nn.ReLU(), twice), 2)
    assert seq[0] is seq[2]
    assert isinstance(seq[0], BatchEnsembleLinear)
    assert isinstance(
        convert(nn.Sequential(twice, nn.ReLU(), twice), 2, select=["2"])[0], BatchEnsembleLinear
    )
    folded = fold(seq)
    assert folded[0] is folded[2]
    assert isinstance(folded[2], FoldedLinear)


@pytest.mark.parametrize("keep", [True, False])
def test_tied_weights_stay_tied(keep):
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    net[1].weight = net[0].weight
    net[1].bias = net[0].bias
    be = convert(net, 2, keep_weights=keep)
    assert be[0].weight is be[1].weight
    assert be[0].bias is not be[1].bias  # the members' own
    shared = convert(net, 2, keep_weights=keep, adapters="rs")
    assert shared[0].bias is shared[1].bias
    full = convert(net, 2, keep_weights=keep, adapters="wb")
    assert full[0].weight is not full[1].weight


@pytest.mark.parametrize("keep", [True, False])
def test_what_is_shared_and_frozen_stays_frozen(keep):
    net = nn.Linear(4, 3).requires_grad_(False)
    be = convert(net, 2, keep_weights=keep, adapters="rs")
    trained = {name: p.requires_grad for name, p in be.named_parameters()}
    assert trained == {"weight": False, "bias": False, "r": True, "s": True}
    assert torch.equal(be.bias, net.bias if keep else torch.zeros(3))


def test_a_bare_linear_layer_is_converted_too():
    assert isinstance(convert(nn.Linear(3, 2), 4), BatchEnsembleLinear)


def test_a_layer_without_bias_stays_without():
    be = convert(nn.Linear(3, 2, bias=False), 4)
    assert be.bias is None
    assert be.adapters == "rs"


def test_select_takes_names_a_name_above_them_or_a_function():
    net = Block()
    assert len(layers(convert(net, 3, select=["out"]))) == 2
    assert len(layers(convert(net, 3, select=["out.mean", "first.1"]))) == 2
    be = convert(net, 3, select=lambda name, layer: layer.out_features == 1)
    assert len(layers(be)) == 2
    assert type(be.first[1]) is nn.Linear


def test_select_of_the_last_k_layers_gives_k_batch_ensemble_layers():
    net = nn.Sequential(*[nn.Linear(4, 4) for _ in range(10)])
    for k in range(1, 11):
        be = convert(net, 3, select=[str(i) for i in range(10 - k, 10)])
        kinds = [isinstance(m, BatchEnsembleLinear) for m in be]
        assert kinds == [False] * (10 - k) + [True] * k
        assert be(expand_members(rows(2, 4), 3)).shape == (2, 3, 4)


def test_a_name_that_selects_nothing_is_an_error_that_lists_the_names():
    with pytest.raises(ValueError, match=r"got \['last'\].*'0'"):
        convert(nn.Sequential(nn.Linear(2, 2)), 2, select=["last"])
    with pytest.raises(TypeError, match="list of names"):
        convert(nn.Sequential(nn.Linear(2, 2)), 2, select="0")
    with pytest.raises(ValueError, match="at least one"):
        convert(nn.Sequential(nn.ReLU()), 2)
    with pytest.raises(ValueError, match="select= chose"):
        convert(nn.Linear(2, 2), 2, select=lambda name, layer: False)


def test_batch_norm_keeps_statistics_and_parameters_per_member():
    net = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    be = randomised(convert(net, 3))
    x = torch.randn(50, 3, 5, generator=generator(2))
    x[:, 1] *= 10  # one member's inputs must not leak into the others' statistics
    hidden = be[0](x)
    normed = be[1](hidden)
    for k in range(3):
        plain = nn.BatchNorm1d(8)
        with torch.no_grad():
            plain.weight.copy_(be[1].channels.weight.view(3, 8)[k])
            plain.bias.copy_(be[1].channels.bias.view(3, 8)[k])
        assert torch.allclose(normed[:, k], plain(hidden[:, k]), atol=1e-4)


@pytest.mark.skipif("bias" not in signature(nn.BatchNorm1d).parameters, reason="an older torch")
def test_batch_norm_without_a_bias_has_none_in_any_member():
    norm = nn.BatchNorm1d(8, bias=False)
    be = convert(nn.Sequential(nn.Linear(5, 8), norm), 3)
    x = torch.randn(20, 5, generator=generator(2))
    hidden = be[0](x.unsqueeze(1).expand(-1, 3, -1))
    assert be[1].channels.bias is None
    assert torch.allclose(be[1](hidden)[:, 0], norm(hidden[:, 0]), atol=1e-5)


def test_trained_batch_norm_statistics_are_kept():
    norm = nn.BatchNorm1d(4)
    norm(5 + 2 * torch.randn(100, 4, generator=generator()))
    net = nn.Sequential(nn.Linear(4, 4), norm).eval()
    be = convert(net, 3, init="ones")
    x = rows(7, 4)
    assert torch.allclose(be(expand_members(x, 3)), expand_members(net(x), 3), atol=1e-5)
    assert not be[1].channels.training


def test_prediction_does_not_change_the_model():
    be = convert(nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8)), 3).eval()
    before = {k: v.clone() for k, v in be.state_dict().items()}
    be(expand_members(rows(), 3))
    fold(be)(expand_members(rows(), 3))
    assert all(torch.equal(before[k], v) for k, v in be.state_dict().items())


@pytest.mark.parametrize(
    "norm",
    [nn.LayerNorm(8), nn.RMSNorm(8), nn.LayerNorm(8, bias=False), nn.LayerNorm(8, eps=0.0)],
)
def test_layer_and_rms_norm_get_parameters_per_member(norm):
    net = randomised(nn.Sequential(nn.Linear(5, 8), norm))
    be = convert(net, 3, init="ones")
    assert be[1].weight.shape == (3, 8)
    x = expand_members(rows(), 3)
    assert torch.allclose(be(x), expand_members(net(rows()), 3), atol=1e-4)
    be(x)[:, 1].sum().backward()
    assert (be[1].weight.grad.abs().sum(1) > 0).tolist() == [False, True, False]


def test_norms_refuse_a_wrong_member_axis():
    be = convert(nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.LayerNorm(8)), 3)
    for part in (be[1], be[2]):
        with pytest.raises(ValueError, match="members=3"):
            part(torch.zeros(4, 1, 8))


@pytest.mark.parametrize(
    "part",
    [
        nn.Conv1d(1, 1, 1),
        nn.BatchNorm2d(3),
        nn.GroupNorm(2, 4),
        nn.InstanceNorm1d(4),
        nn.LayerNorm((3, 4)),
        nn.MultiheadAttention(4, 2),
        nn.TransformerEncoderLayer(4, 2, batch_first=True),
        nn.GRU(4, 4),
        nn.Flatten(),
        nn.MaxPool1d(2),
        nn.EmbeddingBag(3, 4),
        nn.PReLU(4),
        nn.Bilinear(4, 4, 4),
        type("MyConv", (nn.Conv1d,), {})(1, 1, 1),
    ],
)
def test_what_would_mix_up_the_member_axis_is_refused_by_name(part):
    with pytest.raises(ValueError, match=f"{type(part).__name__} at '1' would take the member"):
        convert(nn.Sequential(nn.Linear(4, 4), part), 2)


@pytest.mark.parametrize("part", [nn.Softmax(1), nn.LogSoftmax(0), nn.GLU(1)])
def test_a_softmax_along_another_axis_is_refused(part):
    with pytest.raises(ValueError, match="give it dim=-1"):
        convert(nn.Sequential(nn.Linear(4, 4), part), 2)


@pytest.mark.parametrize("part", [nn.Softmax(-1), nn.PReLU(), nn.GELU(), nn.Dropout(), nn.GLU()])
def test_what_leaves_the_member_axis_alone_stays(part):
    net = nn.Sequential(nn.Linear(4, 4), part).eval()
    be = convert(net, 2, init="ones")
    x = rows(3, 4)
    assert torch.allclose(be(expand_members(x, 2)), expand_members(net(x), 2), atol=1e-6)


def test_special_linear_layers_are_refused_not_thrown_away():
    lazy = nn.Sequential(nn.Linear(4, 4), nn.LazyLinear(2))
    with pytest.raises(ValueError, match="LazyLinear at '1' is a special kind"):
        convert(lazy, 2)
    normed = nn.Sequential(nn.Linear(4, 4), nn.utils.parametrizations.weight_norm(nn.Linear(4, 4)))
    with pytest.raises(ValueError, match="special kind"):
        convert(normed, 2)


@pytest.mark.parametrize("when", ["forward", "forward_pre", "full_backward", "full_backward_pre"])
def test_a_layer_with_hooks_is_refused_not_stripped_of_them(when):
    hooked = nn.Sequential(nn.Linear(4, 4))
    getattr(hooked[0], f"register_{when}_hook")(lambda *given: None)
    with pytest.raises(ValueError, match="Linear at '0' has hooks"):
        convert(hooked, 2)


def test_a_folded_layer_would_lose_its_hooks_too():
    be = convert(nn.Sequential(nn.Linear(4, 4)), 2)
    be[0].register_forward_hook(lambda layer, given, got: 2 * got)
    for hooked, where in ((be, "BatchEnsembleLinear at '0'"), (be[0], "BatchEnsembleLinear has")):
        with pytest.raises(ValueError, match=where):
            fold(hooked)


@pytest.mark.parametrize("training", [True, False])
def test_a_network_stays_in_training_or_not(training):
    parts = nn.Linear(4, 4), nn.LayerNorm(4), nn.BatchNorm1d(4), nn.RMSNorm(4)
    be = convert(nn.Sequential(*parts).train(training), 2)
    assert {module.training for module in be.modules()} == {training}


def test_arguments_of_another_type_are_refused():
    with pytest.raises(TypeError, match=r"torch\.nn\.Module, got str"):
        convert("net", 2)
    with pytest.raises(TypeError, match=r"torch\.nn\.Module, got str"):
        fold("net")
    for wrong in ({"adapters": None}, {"leave": nn.Flatten}):
        with pytest.raises(TypeError, match="leave as a tuple of module types"):
            convert(nn.Linear(4, 4), 2, **wrong)


def test_folding_twice_is_folding_once_and_no_rows_are_no_trouble():
    be = randomised(convert(Block(), 3)).eval()
    x = expand_members(rows(), 3)
    assert torch.equal(fold(fold(be))(x), fold(be)(x))
    assert fold(be)(x[:0]).shape == (0, 3, 2)


def test_leave_keeps_what_its_owner_vouches_for():
    net = nn.Sequential(nn.Linear(4, 4), nn.Flatten(-2, -1))
    assert convert(net, 2, leave=(nn.Flatten,))(torch.zeros(3, 2, 4)).shape == (3, 8)


def test_a_network_with_members_is_not_converted_again():
    with pytest.raises(ValueError, match="members already"):
        convert(convert(nn.Sequential(nn.Linear(2, 2)), 2), 2)


def test_device_precision_and_mode_of_the_original_are_kept():
    net = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)).double().eval()
    be = convert(net, 2)
    assert {p.dtype for p in be.parameters()} == {torch.float64}
    assert not any(m.training for m in be.modules())


def test_folding_a_whole_network_keeps_its_outputs():
    be = randomised(convert(Block(), 3)).eval()
    x = expand_members(rows(), 3)
    folded = fold(be)
    assert torch.allclose(folded(x), be(x), rtol=1e-4, atol=1e-4)
    assert len(layers(be)) == 6
    assert folded.steps[0] is folded.steps[2]


def test_a_converted_network_learns():
    be = convert(
        nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1)), 4, generator=generator()
    )
    x = torch.linspace(-1, 1, 64).unsqueeze(-1)
    optimiser = torch.optim.Adam(be.parameters(), lr=0.02)
    for _ in range(300):
        optimiser.zero_grad()
        loss = (be(expand_members(x, 4)) - torch.sin(3 * x).unsqueeze(1)).square().mean()
        loss.backward()
        optimiser.step()
    assert loss < 0.02


def test_member_batch_norm_moves_nothing_in_evaluation_mode():
    norm = MemberBatchNorm(nn.BatchNorm1d(4), 2).eval()
    before = norm.channels.running_mean.clone()
    norm(torch.randn(9, 2, 4))
    assert torch.equal(norm.channels.running_mean, before)


@pytest.mark.parametrize("adapters", ["w", "wb"])
def test_full_layers_start_as_copies_of_the_trained_ones_and_share_nothing(adapters):
    net = randomised(Block())
    be = convert(net, 3, adapters=adapters, init="ones")
    assert be.first[1].weight.shape == (3, *net.first[1].weight.shape)
    y = be(expand_members(rows(), 3))
    assert torch.allclose(y, expand_members(net(rows()), 3), atol=1e-4)
    with torch.no_grad():
        be.first[1].weight[1] += 1
    moved = (be(expand_members(rows(), 3)) != y).any(-1).any(0)
    assert moved.tolist() == [False, True, False]
    assert torch.equal(be.first[1].weight[0], net.first[1].weight)


def test_full_layers_with_new_weights_differ_from_member_to_member():
    net = randomised(Block())
    be = convert(net, 3, adapters="wb", keep_weights=False, generator=generator())
    weight = be.first[1].weight
    assert not torch.equal(weight[0], weight[1])
    assert weight.abs().max() <= 8**-0.5
    assert (be.first[1].bias == 0).all()


def test_full_layers_fold_and_a_layer_without_bias_stays_without():
    be = randomised(convert(Block(), 3, adapters="wb")).eval()
    x = expand_members(rows(), 3)
    assert torch.allclose(fold(be)(x), be(x), rtol=1e-4, atol=1e-4)
    bare = convert(nn.Linear(3, 2, bias=False), 4, adapters="wb")
    assert bare.bias is None
    assert bare.adapters == "w"
