import itertools

import pytest
import torch
from fixtures import generator, randomised
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from batchensemble.nn import BatchEnsembleRNNCell, GRUBECell, GRUCell, fold
from batchensemble.nn.cells import Lanes
from batchensemble.training.bank import Bank

GATES = ["".join(s) for n in range(4) for s in itertools.combinations("czf", n)]
ADAPTERS = ["rsb", "r", "sb"]
BATCH, INPUT, HIDDEN, MEMBERS = 5, 3, 4, 3

KINDS = {
    "rnn": lambda: BatchEnsembleRNNCell(INPUT, HIDDEN, MEMBERS),
    "rnn-r": lambda: BatchEnsembleRNNCell(INPUT, HIDDEN, MEMBERS, adapters="r"),
    "grube": lambda: GRUBECell(INPUT, HIDDEN, MEMBERS),
    "grube-c": lambda: GRUBECell(INPUT, HIDDEN, MEMBERS, gates="c"),
    "grube-none": lambda: GRUBECell(INPUT, HIDDEN, MEMBERS, gates=""),
    "gru": lambda: GRUCell(INPUT, HIDDEN, MEMBERS, adapters="rsb"),
    "gru-b": lambda: GRUCell(INPUT, HIDDEN, MEMBERS, adapters="b"),
    "gru-plain": lambda: GRUCell(INPUT, HIDDEN),
}


def normal(*shape, seed=1):
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)


def random_cell(kind, seed=0):
    return randomised(KINDS[kind]().double(), seed)


def data(*leading, n_members=MEMBERS):
    return normal(*leading, n_members, INPUT), normal(*leading, n_members, HIDDEN, seed=2)


def affine(layer, x, k):
    """Member k's own weight, spelled out entry by entry, on one row."""
    weight = layer.weight.clone()
    for i, j in itertools.product(range(layer.out_features), range(layer.in_features)):
        r = 1 if layer.r is None else layer.r[k, j]
        s = 1 if layer.s is None else layer.s[k, i]
        weight[i, j] = layer.weight[i, j] * r * s
    return weight @ x + (layer.bias[k] if layer.bias.ndim == 2 else layer.bias)


def rnn_equation(cell, x, h, k):
    return torch.tanh(affine(cell.candidate, torch.cat([x, h]), k))


def grube_equations(cell, x, h, k):
    """F, Z, candidate and H of the paper."""
    f = torch.sigmoid(affine(cell.reset, torch.cat([x, h]), k))
    z = torch.sigmoid(affine(cell.update, torch.cat([x, h]), k))
    candidate = torch.tanh(affine(cell.candidate, torch.cat([x, f * h]), k))
    return (1 - z) * h + z * candidate


def gru_equations(cell, x, h, k):
    """Those in the documentation of torch.nn.GRU."""
    q = cell.hidden_size
    on_x, on_h = affine(cell.input, x, k), affine(cell.hidden, h, k)
    r = torch.sigmoid(on_x[:q] + on_h[:q])
    z = torch.sigmoid(on_x[q : 2 * q] + on_h[q : 2 * q])
    n = torch.tanh(on_x[2 * q :] + r * on_h[2 * q :])
    return (1 - z) * n + z * h


def equals_its_equations(cell, equations):
    x, h = data(BATCH)
    actual = cell(x, h)
    with torch.no_grad():
        for row, k in itertools.product(range(BATCH), range(MEMBERS)):
            expected = equations(cell, x[row, k], h[row, k], k)
            assert torch.allclose(actual[row, k], expected, atol=1e-10, rtol=0)


@pytest.mark.parametrize("adapters", ADAPTERS)
@pytest.mark.parametrize("gates", GATES)
def test_grube_is_the_papers_equations_member_by_member(gates, adapters):
    cell = GRUBECell(INPUT, HIDDEN, MEMBERS, gates=gates, adapters=adapters).double()
    equals_its_equations(randomised(cell), grube_equations)


@pytest.mark.parametrize("adapters", ADAPTERS)
def test_the_rnn_is_the_papers_equation_member_by_member(adapters):
    cell = BatchEnsembleRNNCell(INPUT, HIDDEN, MEMBERS, adapters=adapters).double()
    equals_its_equations(randomised(cell), rnn_equation)


@pytest.mark.parametrize("adapters", [*ADAPTERS, ""])
def test_the_gru_is_torchs_equations_member_by_member(adapters):
    cell = GRUCell(INPUT, HIDDEN, MEMBERS, adapters=adapters).double()
    equals_its_equations(randomised(cell), gru_equations)


def one_member_with_unit_adapters():
    cell = randomised(GRUBECell(INPUT, HIDDEN, 1).double())
    with torch.no_grad():
        for gate in (cell.reset, cell.update, cell.candidate):
            gate.r.fill_(1)
            gate.s.fill_(1)
    return cell


def test_one_member_with_unit_adapters_is_the_textbook_gru_with_the_reset_before_the_product():
    cell = one_member_with_unit_adapters()
    gates = (cell.reset, cell.update, cell.candidate)
    w_f, w_z, w_h = (gate.weight[:, :INPUT] for gate in gates)
    u_f, u_z, u_h = (gate.weight[:, INPUT:] for gate in gates)
    b_f, b_z, b_h = (gate.bias[0] for gate in gates)
    x, h = data(BATCH, n_members=1)
    for i in range(BATCH):
        f = torch.sigmoid(w_f @ x[i, 0] + u_f @ h[i, 0] + b_f)
        z = torch.sigmoid(w_z @ x[i, 0] + u_z @ h[i, 0] + b_z)
        candidate = torch.tanh(w_h @ x[i, 0] + u_h @ (f * h[i, 0]) + b_h)
        expected = (1 - z) * h[i, 0] + z * candidate
        assert torch.allclose(cell(x, h)[i, 0], expected, atol=1e-12)


def test_grube_is_not_torchs_gru_whose_reset_acts_after_the_product():
    cell, torchs = one_member_with_unit_adapters(), nn.GRUCell(INPUT, HIDDEN).double()
    x, h = data(BATCH, n_members=1)

    def copy_weights():
        # The sign of the update gate turns z into 1 - z: what is left is where the reset acts.
        gates = [(1, cell.reset), (-1, cell.update), (1, cell.candidate)]
        weight = torch.cat([sign * gate.weight for sign, gate in gates])
        with torch.no_grad():
            torchs.weight_ih.copy_(weight[:, :INPUT])
            torchs.weight_hh.copy_(weight[:, INPUT:])
            torchs.bias_ih.copy_(torch.cat([sign * gate.bias[0] for sign, gate in gates]))
            torchs.bias_hh.zero_()

    copy_weights()
    assert (cell(x, h)[:, 0] - torchs(x[:, 0], h[:, 0])).abs().max() > 0.01
    with torch.no_grad():
        cell.reset.bias.fill_(100.0)  # a reset gate that is always open has no place
    copy_weights()
    assert torch.allclose(cell(x, h)[:, 0], torchs(x[:, 0], h[:, 0]), atol=1e-12)


def test_the_plain_gru_cell_equals_torchs_with_its_gradients():
    torchs = randomised(nn.GRUCell(INPUT, HIDDEN).double())
    cell = GRUCell(INPUT, HIDDEN).double()
    pairs = [
        (cell.input.weight, torchs.weight_ih),
        (cell.hidden.weight, torchs.weight_hh),
        (cell.input.bias, torchs.bias_ih),
        (cell.hidden.bias, torchs.bias_hh),
    ]
    with torch.no_grad():
        for ours, theirs in pairs:
            ours.copy_(theirs)
    x, h = data(BATCH, n_members=1)
    ours, theirs = cell(x, h)[:, 0], torchs(x[:, 0], h[:, 0])
    assert torch.allclose(ours, theirs, atol=1e-12)
    ours.square().sum().backward()
    theirs.square().sum().backward()
    for mine, other in pairs:
        assert torch.allclose(mine.grad, other.grad, atol=1e-12)


def by_steps(cell, x, h):
    steps = cell.steps()
    enter = steps.lanes.enter
    return steps.lanes.leave(steps.step(steps.project(enter(x)), enter(h)), x.shape[-2])


def members_of(kind):
    return 1 if kind == "gru-plain" else MEMBERS


@pytest.mark.parametrize("kind", KINDS)
def test_a_cell_laid_out_for_many_steps_is_the_cell(kind):
    cell = random_cell(kind)
    x, h = data(BATCH, n_members=members_of(kind))
    assert torch.allclose(by_steps(cell, x, h), cell(x, h), atol=1e-12)
    folded = fold(cell)
    assert torch.allclose(by_steps(folded, x, h), cell(x, h), atol=1e-12)
    assert torch.allclose(folded(x, h), cell(x, h), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_cells_in_a_bank_compute_what_they_compute_alone_in_both_forms(kind):
    cells, n_members = [random_cell(kind, seed) for seed in range(4)], members_of(kind)
    x, h = data(4, BATCH, n_members=n_members)
    bank = Bank(cells).module
    for form in (bank(x, h), by_steps(bank, x, h)):
        for i, cell in enumerate(cells):
            assert torch.allclose(form[i], cell(x[i], h[i]), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_folded_bank_of_cells_has_all_their_members_in_order(kind):
    cells, n_members = [random_cell(kind, seed) for seed in range(4)], members_of(kind)
    x, h = data(BATCH, n_members=4 * n_members)
    folded = Bank(cells).folded()
    for form in (folded(x, h), by_steps(folded, x, h)):
        for i, cell in enumerate(cells):
            members = slice(i * n_members, (i + 1) * n_members)
            assert torch.allclose(form[:, members], cell(x[:, members], h[:, members]), atol=1e-12)


def test_members_that_share_all_weights_are_rows_of_one_lane():
    cell = random_cell("gru-plain")
    x, h = data(BATCH, n_members=7)
    assert cell.steps().lanes.enter(x).shape == (1, BATCH * 7, INPUT)
    assert torch.allclose(by_steps(cell, x, h), cell(x, h), atol=1e-12)


@given(
    networks=st.integers(1, 3),
    batch=st.integers(1, 4),
    members=st.integers(1, 4),
    features=st.integers(1, 3),
    is_bank=st.booleans(),
    is_shared=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_what_enters_the_lanes_leaves_them_unchanged(
    networks, batch, members, features, is_bank, is_shared
):
    front = (networks,) if is_bank else ()
    lanes = Lanes(torch.zeros(*front, 1 if is_shared else members, 2, 2))
    x = normal(*front, batch, members, features)
    inside = lanes.enter(x)
    assert inside.ndim == 3
    assert len(inside) == (networks if is_bank else 1) * (1 if is_shared else members)
    assert torch.equal(lanes.leave(inside, members), x)


@pytest.mark.parametrize("form", ["forward", "steps"])
@pytest.mark.parametrize("kind", ["rnn", "grube", "grube-c", "gru"])
def test_a_gradient_of_one_member_leaves_the_other_members_vectors_alone(kind, form):
    cell = random_cell(kind)
    x, h = data(BATCH)
    y = cell(x, h) if form == "forward" else by_steps(cell, x, h)
    y[:, 1].square().sum().backward()
    owned = {name: p for name, p in cell.named_parameters() if len(p) == MEMBERS}
    assert len(owned) == {"rnn": 3, "grube": 9, "grube-c": 3, "gru": 6}[kind]
    for vectors in owned.values():
        assert (vectors.grad.abs().sum(1) > 0).tolist() == [False, True, False]


@pytest.mark.parametrize("kind", ["rnn", "grube", "grube-none", "gru"])
def test_one_members_input_and_state_reach_only_its_own_output(kind):
    cell = random_cell(kind)
    x, h = data(BATCH)
    for tensor in (x, h):
        before = cell(x, h)
        tensor[:, 1] += 1
        changed = (cell(x, h) != before).any(-1).any(0)
        assert changed.tolist() == [False, True, False]


@pytest.mark.parametrize("gates", GATES)
def test_a_gate_without_its_letter_has_no_vectors_of_members(gates):
    cell = GRUBECell(INPUT, HIDDEN, MEMBERS, gates=gates)
    for letter, gate in (("c", cell.candidate), ("z", cell.update), ("f", cell.reset)):
        has_members = letter in gates
        assert (gate.r is not None) == (gate.s is not None) == has_members
        assert gate.bias.ndim == (2 if has_members else 1)
    plain = (INPUT + HIDDEN) * HIDDEN + HIDDEN
    vectors = MEMBERS * (INPUT + HIDDEN + 2 * HIDDEN) - HIDDEN
    count = sum(p.numel() for p in cell.parameters())
    assert count == 3 * plain + len(gates) * vectors


def test_the_order_of_the_letters_does_not_matter():
    a = GRUBECell(INPUT, HIDDEN, MEMBERS, gates="fc", generator=generator())
    b = GRUBECell(INPUT, HIDDEN, MEMBERS, gates="cf", generator=generator())
    assert a.gates == b.gates == "cf"
    assert "gates='cf'" in repr(a)
    assert all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))


@pytest.mark.parametrize("gates", ["cx", "r", "cc", "CZF"])
def test_unknown_gates_are_refused_with_the_known_ones(gates):
    with pytest.raises(ValueError, match=rf"letters 'czf' \(candidate.*got '{gates}'"):
        GRUBECell(INPUT, HIDDEN, MEMBERS, gates=gates)


@pytest.mark.parametrize("kind", ["rnn", "grube", "grube-c", "gru"])
@pytest.mark.parametrize("wrong", [1, MEMBERS + 1])
def test_a_wrong_number_of_members_is_refused(kind, wrong):
    with pytest.raises(ValueError, match=f"members={MEMBERS}"):
        random_cell(kind)(*data(BATCH, n_members=wrong))


def test_first_weights_of_the_plain_gru_lie_within_torchs_bounds_and_its_biases_are_zero():
    cell = GRUCell(2, 16, generator=generator())
    for layer in (cell.input, cell.hidden):
        assert 0.24 < layer.weight.abs().max() <= 0.25
        assert (layer.bias == 0).all()


@pytest.mark.parametrize("make", [BatchEnsembleRNNCell, GRUBECell, GRUCell])
def test_the_same_generator_gives_the_same_cell_and_leaves_the_global_seed_alone(make):
    state = torch.get_rng_state()
    a, b = (make(INPUT, HIDDEN, MEMBERS, adapters="rsb", generator=generator(7)) for _ in range(2))
    assert all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize("sizes", [(0, 4), (3, 0), (3, 1.5)])
def test_sizes_are_whole_numbers_above_zero(sizes):
    for kind in (GRUBECell, BatchEnsembleRNNCell, GRUCell):
        with pytest.raises(ValueError, match=r"expected a whole (input|hidden)_size of at least 1"):
            kind(*sizes, 2)


def test_letters_are_texts():
    with pytest.raises(ValueError, match="expected gates to be a subset"):
        GRUBECell(3, 4, 2, gates=None)
    with pytest.raises(ValueError, match="expected adapters to be a subset"):
        GRUBECell(3, 4, 2, adapters=None)
