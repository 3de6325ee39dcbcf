import pytest
import torch
from fixtures import generator, randomised, torch_exported
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.func import functional_call
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from batchensemble.nn import GRU, GRUBE, BatchEnsembleRNN, fold
from batchensemble.training.bank import Bank

INPUT, HIDDEN, MEMBERS = 3, 4, 3
LENGTHS = torch.tensor([6, 1, 4, 0, 6])
KINDS = {
    "rnn": lambda n_layers: BatchEnsembleRNN(INPUT, HIDDEN, MEMBERS, n_layers=n_layers),
    "grube": lambda n_layers: GRUBE(INPUT, HIDDEN, MEMBERS, n_layers=n_layers),
    "grube-z": lambda n_layers: GRUBE(INPUT, HIDDEN, MEMBERS, n_layers=n_layers, gates="z"),
    "gru": lambda n_layers: GRU(INPUT, HIDDEN, n_layers=n_layers),
}


def normal(*shape, seed=1):
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)


def layer(kind="grube", n_layers=2, seed=0):
    return randomised(KINDS[kind](n_layers).double(), seed)


def members_of(kind):
    return 1 if kind == "gru" else MEMBERS


def close(actual, expected):
    """Outputs and every layer's last state."""
    assert len(actual[1]) == len(expected[1])
    for a, b in zip((actual[0], *actual[1]), (expected[0], *expected[1]), strict=True):
        assert a.shape == b.shape
        assert torch.allclose(a, b, atol=1e-10)


def loop_of_cells(net, x, state=None):
    """The slow, obvious thing: one time after the other, one cell above the other."""
    batch, n_steps, n_members, _ = x.shape
    if state is None:
        state = [x.new_zeros(batch, n_members, cell.hidden_size) for cell in net.cells]
    state, outputs = list(state), []
    for t in range(n_steps):
        y = x[:, t]
        for i, cell in enumerate(net.cells):
            y = state[i] = cell(y, state[i])
        outputs.append(y)
    return torch.stack(outputs, 1), tuple(state)


@pytest.mark.parametrize("n_layers", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_a_sequence_is_the_loop_of_its_cells(kind, n_layers):
    net, x = layer(kind, n_layers), normal(5, 6, members_of(kind), INPUT)
    close(net(x), loop_of_cells(net, x))
    state = tuple(normal(5, members_of(kind), HIDDEN, seed=i) for i in range(n_layers))
    close(net(x, state), loop_of_cells(net, x, state))


@given(
    batch=st.integers(1, 4),
    n_steps=st.integers(1, 4),
    members=st.integers(1, 4),
    n_in=st.integers(1, 3),
    hidden=st.integers(1, 3),
    n_layers=st.integers(1, 2),
    gates=st.sampled_from(["", "c", "zf", "czf"]),
)
@settings(max_examples=30, deadline=None)
def test_any_shape_is_the_loop_of_its_cells(batch, n_steps, members, n_in, hidden, n_layers, gates):
    net = GRUBE(n_in, hidden, members, n_layers=n_layers, gates=gates).double()
    x = normal(batch, n_steps, members, n_in)
    close(randomised(net)(x), loop_of_cells(net, x))


@pytest.mark.parametrize("kind", KINDS)
def test_two_halves_with_the_state_handed_over_are_the_whole(kind):
    net, x = layer(kind), normal(5, 6, members_of(kind), INPUT)
    first, state = net(x[:, :2])
    second, last = net(x[:, 2:], state)
    close((torch.cat([first, second], 1), last), net(x))


def copied_to_torch(net, n_layers):
    torchs = nn.GRU(INPUT, HIDDEN, n_layers, batch_first=True).double()
    pairs = []
    for i, cell in enumerate(net.cells):
        for ours, theirs in (("input", "ih"), ("hidden", "hh")):
            for name in ("weight", "bias"):
                parameter = getattr(getattr(cell, ours), name)
                pairs.append((parameter, getattr(torchs, f"{name}_{theirs}_l{i}")))
    with torch.no_grad():
        for ours, theirs in pairs:
            theirs.copy_(ours)
    assert len(pairs) == len(list(torchs.parameters())) == len(list(net.parameters()))
    return torchs, pairs


@pytest.mark.parametrize("n_layers", [1, 2])
def test_the_plain_gru_equals_torchs_with_its_gradients(n_layers):
    net, x = layer("gru", n_layers), normal(5, 6, 1, INPUT)
    state = tuple(normal(5, 1, HIDDEN, seed=i) for i in range(n_layers))
    torchs, pairs = copied_to_torch(net, n_layers)
    ours, last = net(x, state)
    theirs, torchs_last = torchs(x[:, :, 0], torch.stack([h[:, 0] for h in state]))
    assert torch.allclose(ours[:, :, 0], theirs, atol=1e-12)
    for mine, other in zip(last, torchs_last, strict=True):
        assert torch.allclose(mine[:, 0], other, atol=1e-12)
    ours.square().sum().backward()
    theirs.square().sum().backward()
    for mine, other in pairs:
        assert torch.allclose(mine.grad, other.grad, atol=1e-9)


def test_padded_sequences_are_torchs_packed_ones():
    net, x, lengths = layer("gru"), normal(4, 6, 1, INPUT), torch.tensor([6, 1, 4, 6])
    torchs, _ = copied_to_torch(net, 2)
    packed = pack_padded_sequence(x[:, :, 0], lengths, batch_first=True, enforce_sorted=False)
    outputs, last = torchs(packed)
    outputs, _ = pad_packed_sequence(outputs, batch_first=True)
    close(net(x, lengths=lengths), (outputs.unsqueeze(2), tuple(last.unsqueeze(2))))


@pytest.mark.parametrize("kind", KINDS)
def test_a_padded_sequence_gives_what_it_gives_alone_and_zeros_beyond_its_end(kind):
    net, x = layer(kind), normal(5, 6, members_of(kind), INPUT)
    state = tuple(normal(5, members_of(kind), HIDDEN, seed=i) for i in range(2))
    outputs, last = net(x, state, LENGTHS)
    for i, length in enumerate(LENGTHS.tolist()):
        start = tuple(h[i : i + 1] for h in state)
        if length:
            alone, end = net(x[i : i + 1, :length], start)
        else:  # nothing to read: the state is the one it started from
            alone, end = outputs[i : i + 1, :0], start
        close((outputs[i : i + 1, :length], tuple(h[i : i + 1] for h in last)), (alone, end))
        assert (outputs[i, length:] == 0).all()


@pytest.mark.parametrize("padding", [1e6, float("inf"), float("nan")])
@pytest.mark.parametrize("kind", KINDS)
def test_what_the_padding_holds_reaches_neither_outputs_nor_gradients(kind, padding):
    net, x = layer(kind), normal(5, 6, members_of(kind), INPUT)
    spoilt = x.clone()
    for i, length in enumerate(LENGTHS):
        spoilt[i, length:] = padding
    results = []
    for sequence in (x, spoilt):
        outputs, last = net(sequence, lengths=LENGTHS)
        loss = outputs.square().sum() + sum(h.sum() for h in last)
        results.append([outputs, *last, *torch.autograd.grad(loss, list(net.parameters()))])
    for a, b in zip(*results, strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("kind", ["rnn", "grube", "grube-z"])
@pytest.mark.parametrize("wrong", [1, MEMBERS + 1])
def test_a_wrong_number_of_members_is_refused(kind, wrong):
    net = layer(kind)
    for form in (net, fold(net)):
        with pytest.raises(ValueError, match=f"members={MEMBERS}"):
            form(normal(5, 6, wrong, INPUT))


@pytest.mark.parametrize("kind", [GRUBE, BatchEnsembleRNN])
def test_several_members_are_not_rows_of_the_only_one(kind):
    net = kind(INPUT, 4, 1).double()
    for form in (net, fold(net)):
        with pytest.raises(ValueError, match="members=1"):
            form(normal(5, 6, 2, INPUT))
    shared = kind(INPUT, 4, 1, adapters="").double()
    assert shared(normal(5, 6, 2, INPUT))[0].shape == (5, 6, 2, 4)


@pytest.mark.parametrize("kind", KINDS)
def test_in_a_bank_a_layer_computes_what_it_computes_alone(kind):
    nets, n_members = [layer(kind, seed=i) for i in range(4)], members_of(kind)
    x = normal(4, 5, 6, n_members, INPUT)
    state = tuple(normal(4, 5, n_members, HIDDEN, seed=i) for i in range(2))
    lengths = torch.randint(7, (4, 5), generator=generator())
    bank = Bank(nets).module
    outputs, last = bank(x, state, lengths)
    shared, _ = bank(x, state, LENGTHS)
    for i, net in enumerate(nets):
        start = tuple(h[i] for h in state)
        close((outputs[i], tuple(h[i] for h in last)), net(x[i], start, lengths[i]))
        assert torch.allclose(shared[i], net(x[i], start, LENGTHS)[0], atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_folding_changes_nothing_and_a_folded_bank_has_all_members_in_order(kind):
    nets, n_members = [layer(kind, seed=i) for i in range(4)], members_of(kind)
    x = normal(5, 6, 4 * n_members, INPUT)
    outputs, last = fold(Bank(nets).module)(x, lengths=LENGTHS)
    for i, net in enumerate(nets):
        members = slice(i * n_members, (i + 1) * n_members)
        expected = net(x[:, :, members], lengths=LENGTHS)
        close(fold(net)(x[:, :, members], lengths=LENGTHS), expected)
        close((outputs[:, :, members], tuple(h[:, members] for h in last)), expected)


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("kind", ["grube", "grube-z", "gru"])
def test_in_mixed_precision_a_gru_computes_and_learns_nearly_the_same_in_single(kind, half):
    net, x = layer(kind).float(), normal(5, 6, members_of(kind), INPUT).float()

    def results(is_mixed):
        """Outputs, states and gradients."""
        net.zero_grad()
        with torch.autocast("cpu", half, enabled=is_mixed):
            outputs, state = net(x, lengths=LENGTHS)
        outputs.square().mean().backward()
        return outputs, *state, *(p.grad for p in net.parameters())

    for exact, mixed in zip(results(False), results(True), strict=True):
        assert mixed.dtype == torch.float32  # as with torch.nn.GRU
        assert torch.allclose(exact, mixed, atol=0.03)


def test_a_plain_gru_takes_any_number_of_members_as_further_rows():
    net, x = layer("gru"), normal(5, 6, 7, INPUT)
    outputs, last = net(x, lengths=LENGTHS)
    for k in range(7):
        members = slice(k, k + 1)
        expected = net(x[:, :, members], lengths=LENGTHS)
        close((outputs[:, :, members], tuple(h[:, members] for h in last)), expected)


def test_it_works_in_inference_mode():
    net, x = layer(), normal(5, 6, MEMBERS, INPUT)
    with torch.inference_mode():
        inside = net(x, lengths=LENGTHS)
    close(inside, net(x, lengths=LENGTHS))


@pytest.mark.parametrize("lengths", [None, torch.tensor([2, 1])])
def test_gradients_are_those_of_finite_differences(lengths):
    net = randomised(GRUBE(1, 2, 2).double())
    names, parameters = zip(*net.named_parameters(), strict=True)

    def run(x, h, *values):
        call = functional_call(net, dict(zip(names, values, strict=True)), (x, (h,), lengths))
        return call[0], *call[1]

    inputs = (normal(2, 2, 2, 1), normal(2, 2, 2, seed=2), *(p.detach() for p in parameters))
    assert torch.autograd.gradcheck(run, tuple(t.clone().requires_grad_() for t in inputs))


def test_a_gradient_of_one_member_leaves_the_other_members_vectors_alone():
    net = layer()
    net(normal(5, 6, MEMBERS, INPUT))[0][:, :, 1].square().sum().backward()
    owned = [p for p in net.parameters() if len(p) == MEMBERS]
    assert len(owned) == 2 * 9
    for vectors in owned:
        assert (vectors.grad.abs().sum(1) > 0).tolist() == [False, True, False]


@pytest.mark.parametrize("kind", [GRU, GRUBE, BatchEnsembleRNN])
def test_a_missing_axis_is_refused_with_the_shape(kind):
    layer = kind(3, 5) if kind is GRU else kind(3, 5, 4)
    for shape in ((4, 3), (9, 4, 3)):
        with pytest.raises(ValueError, match=r"expected \(batch, time, members, features\), got"):
            layer(torch.zeros(shape))


def test_no_layers_are_refused_with_words():
    with pytest.raises(ValueError, match="n_layers of at least 1, got 0"):
        GRUBE(INPUT, HIDDEN, MEMBERS, n_layers=0)


@pytest.mark.parametrize("kind", KINDS)
def test_torch_exports_a_layer_as_a_program_for_batches_of_any_size(kind):
    layer = randomised(KINDS[kind](1))
    exported = torch_exported(layer, torch.randn(7, 3, MEMBERS, INPUT))
    x = torch.randn(3, 3, MEMBERS, INPUT, generator=generator())
    torch.testing.assert_close(exported(x), layer(x))


@pytest.mark.parametrize("kind", KINDS)
def test_what_does_not_belong_to_the_layer_is_refused_in_words(kind):
    net, m = layer(kind), members_of(kind)
    x, h = normal(5, 6, m, INPUT), normal(5, m, HIDDEN)
    for n_features in (1, INPUT + 1):
        with pytest.raises(ValueError, match="expected 3 features"):
            net(normal(5, 6, m, n_features))
    with pytest.raises(ValueError, match="at least one time step"):
        net(x[:, :0])
    for state in ((), (h,), (h, h, h), (h[:1], h), (h, h[..., :1])):
        with pytest.raises(ValueError, match="expected a state for each layer"):
            net(x, state)
    for lengths in (torch.tensor([9]), torch.ones(6).long(), torch.ones(5), [1, 2, 3, 4, 5]):
        with pytest.raises(ValueError, match="one for each sequence"):
            net(x, lengths=lengths)
    for length in (-1, 7):
        with pytest.raises(ValueError, match="from 0 to the 6 steps"):
            net(x, lengths=LENGTHS.clone().fill_(length))
