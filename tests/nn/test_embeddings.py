"""Every embedding against slow loops over rows, columns and bins, in float64."""

import math

import pytest
import torch
from fixtures import generator, randomised
from torch import nn

from batchensemble.nn.embeddings import (
    Categories,
    Embeddings,
    FoldedEmbeddings,
    Periodic,
    PiecewiseLinear,
)
from batchensemble.training.bank import Bank
from batchensemble.training.networks import MLP

COUNTS = (3, 5)
N_PLAIN, N_POSITIONS, N_BINS, WIDTH = 2, 3, 4, 2


def positions(*shape):
    """In bins, at their edges, before the first and behind the last."""
    x = torch.rand(*shape, dtype=torch.float64, generator=generator(1)) * (N_BINS + 2) - 1
    x.view(-1)[:3] = torch.tensor([0.0, N_BINS, 2.0])
    return x


def numbers(*shape, counts=COUNTS):
    columns = [torch.randint(n, shape, generator=generator(n)) for n in counts]
    return torch.stack(columns, -1).double()


def curve(weight, position):
    """(bins, width) of one column -> (width,): how far a curve has risen at the position."""
    total = torch.zeros(weight.shape[1], dtype=weight.dtype)
    for b in range(len(weight)):
        total = total + min(max(float(position) - b, 0.0), 1.0) * weight[b]
    return total


def wave(layer, x, column):
    total = layer.bias[column * layer.width : (column + 1) * layer.width]
    turns = [2 * math.pi * f * x for f in layer.frequencies[column]]
    waves = [torch.cos(turn) for turn in turns] + [torch.sin(turn) for turn in turns]
    for each, weight in zip(waves, layer.weight[column], strict=True):
        total = total + each * weight
    return total.clamp(min=0)


def by_loops(layer, x):
    """The slow, obvious thing: row by row and column by column."""
    rows = []
    for row in x.reshape(-1, x.shape[-1]):
        blocks = []
        for column, value in enumerate(row):
            if isinstance(layer, PiecewiseLinear):
                blocks.append(curve(layer.weight[column], value))
            elif isinstance(layer, Periodic):
                blocks.append(wave(layer, value, column))
            else:
                blocks.append(layer.weight[sum(COUNTS[:column]) + int(value)])
        rows.append(torch.cat(blocks))
    return torch.stack(rows).view(*x.shape[:-1], -1)


LAYERS = {
    "positions": (lambda: PiecewiseLinear(N_POSITIONS, N_BINS, WIDTH), positions(6, 2, 3)),
    "waves": (lambda: Periodic(3, 5, WIDTH), positions(6, 2, 3)),
    "categories": (lambda: Categories(COUNTS, WIDTH), numbers(6, 2)),
}


@pytest.mark.parametrize("word", LAYERS)
def test_an_embedding_and_its_gradients_are_those_of_slow_loops(word):
    make, x = LAYERS[word]
    layer, slow = (randomised(make().double()) for _ in range(2))
    x = x.clone().requires_grad_(word == "waves")
    other = x.detach().clone().requires_grad_(word == "waves")
    ours, theirs = layer(x), by_loops(slow, other)
    assert ours.shape == (6, 2, x.shape[-1] * WIDTH)
    assert torch.allclose(ours, theirs, atol=1e-12)
    aims = torch.randn(ours.shape, dtype=torch.float64, generator=generator(4))
    (ours * aims).sum().backward()
    (theirs * aims).sum().backward()
    pairs = [*zip(layer.parameters(), slow.parameters(), strict=True)]
    pairs += [(x, other)] * x.requires_grad
    for a, b in pairs:
        assert torch.allclose(a.grad, b.grad, atol=1e-11)
        assert (b.grad != 0).any()


def test_a_curve_is_flat_before_its_first_bin_and_behind_its_last():
    layer = randomised(PiecewiseLinear(1, N_BINS, WIDTH).double())
    at = [layer(torch.tensor([[p]], dtype=torch.float64)) for p in (-7.0, 0.0, N_BINS, 99.0)]
    assert torch.equal(at[0], at[1])
    assert (at[0] == 0).all()
    assert torch.equal(at[2], at[3])
    assert torch.allclose(at[2], layer.weight.sum(1), atol=1e-12)


@pytest.mark.parametrize("word", LAYERS)
def test_a_bank_of_embeddings_equals_its_networks_one_by_one(word):
    make, x = LAYERS[word]
    nets = [randomised(make().double(), seed) for seed in range(3)]
    bank = Bank(nets)
    rows = torch.stack([x, x.flip(0), x.flip(1)])
    ours = bank.module(rows)
    for i, net in enumerate(nets):
        assert torch.allclose(ours[i], net(rows[i]), atol=1e-12)
    assert not torch.allclose(ours[0], nets[1](rows[0]))  # negative control: another's parameters


def inputs(n_rows=7, n_plain=N_PLAIN, n_positions=N_POSITIONS, counts=COUNTS):
    plain = torch.randn(n_rows, n_plain, dtype=torch.float64, generator=generator(2))
    within = positions(n_rows, n_positions).clamp(0, N_BINS) if n_positions else plain[:, :0]
    codes = numbers(n_rows, counts=counts) if counts else plain[:, :0]
    return torch.cat([plain, within, codes], -1)


def embeddings(n_plain=N_PLAIN, n_positions=N_POSITIONS, counts=COUNTS, seed=0):
    layer = Embeddings(n_plain, n_positions, counts, n_bins=N_BINS, width=WIDTH)
    return randomised(layer.double(), seed)


SHAPES = [
    {},
    {"n_plain": 0},
    {"n_positions": 0},
    {"counts": ()},
    {"n_plain": 0, "counts": ()},
    {"n_plain": 0, "n_positions": 0},
]


@pytest.mark.parametrize("shape", SHAPES)
def test_plain_numbers_stay_and_the_rest_is_embedded_side_by_side(shape):
    layer, x = embeddings(**shape), inputs(**shape)
    plain, within, codes = x.split(layer.sizes, -1)
    blocks = [plain]
    if layer.numbers is not None:
        blocks.append(by_loops(layer.numbers, within))
    if layer.categories is not None:
        blocks.append(by_loops(layer.categories, codes))
    expected = torch.cat(blocks, -1)
    assert torch.allclose(layer(x), expected, atol=1e-12)
    assert layer.out_features == expected.shape[-1]


@pytest.mark.parametrize("n_networks", [1, 3])
def test_members_that_see_the_same_rows_equal_members_that_see_copies(n_networks):
    layer = embeddings()
    x = inputs().unsqueeze(1).expand(7, 4, -1)
    if n_networks > 1:
        layer = Bank([embeddings(seed=i) for i in range(n_networks)]).module
        x = x.expand(n_networks, *x.shape)
    copies = x.contiguous()
    assert x.stride(-2) == 0 != copies.stride(-2)
    assert layer(x).shape == layer(copies).shape
    assert torch.equal(layer(x), layer(copies))


def test_members_that_see_other_rows_are_not_taken_for_the_same():
    layer, x = embeddings(), torch.stack([inputs(), inputs().flip(0)], 1)
    ours = layer(x)
    for k in range(2):
        assert torch.allclose(ours[:, k], layer(x[:, k]), atol=1e-12)
    assert not torch.equal(ours[:, 0], ours[:, 1])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n_networks", [1, 3])
def test_folded_embeddings_give_every_member_what_its_network_gives(shape, n_networks):
    nets = [embeddings(**shape, seed=i) for i in range(n_networks)]
    whole = nets[0] if n_networks == 1 else Bank(nets).module
    folded = whole.fold(n_networks, 2)
    x = inputs(**shape).unsqueeze(1).expand(7, 2 * n_networks, -1)
    ours = folded(x)
    assert ours.shape == (7, 2 * n_networks, nets[0].out_features)
    for k in range(2 * n_networks):
        assert torch.allclose(ours[:, k], nets[k // 2](x[:, k]), atol=1e-12)


def test_a_folded_curve_goes_on_as_in_its_first_and_its_last_bin():
    layer = embeddings(0, 1, (), seed=0)
    folded, weight = layer.fold(1, 1), layer.numbers.weight[0]

    def at(position):
        return folded(torch.tensor([[[position]]], dtype=torch.float64)).flatten()

    assert torch.allclose(at(-2.5), -2.5 * weight[0], atol=1e-12)
    assert torch.allclose(at(N_BINS + 1.5), weight.sum(0) + 1.5 * weight[-1], atol=1e-12)


def test_a_column_with_fewer_bins_goes_on_as_in_the_last_that_it_has():
    layer = randomised(PiecewiseLinear(2, N_BINS, WIDTH).double())
    before = layer.weight.detach().clone()
    layer.go_on_([N_BINS, 2])
    assert torch.equal(layer.weight[0], before[0])
    assert torch.equal(layer.weight[1, :2], before[1, :2])
    assert torch.equal(layer.weight[1, 2:], before[1, 1].expand(N_BINS - 2, -1))
    bank = Bank([network(0), network(1)])
    weight = bank.module.embeddings.numbers.weight.detach().clone()
    bank.module.embeddings.numbers.go_on_([1] * N_POSITIONS)
    assert torch.equal(bank.network(1).embeddings.numbers.weight[:, 1], weight[1, :, 0])


def network(seed=0, **kwargs):
    embedding = {"n_positions": N_POSITIONS, "counts": COUNTS, "n_bins": N_BINS, "width": WIDTH}
    settings = {"hidden": (6, 5), "n_members": 3, "adapters": ("rsb", "r", "wb")} | kwargs
    return randomised(MLP(N_PLAIN, (1, 1), embedding=embedding, **settings).double(), seed).eval()


@pytest.mark.parametrize("adapters", ["", "rsb", "wb", ("rsb", "r", "wb")])
@pytest.mark.parametrize("n_networks", [1, 3])
def test_a_folded_bank_with_embeddings_predicts_like_its_networks(n_networks, adapters):
    n_members = 3 if adapters else 1
    nets = [network(i, adapters=adapters, n_members=n_members) for i in range(n_networks)]
    folded = Bank(nets).folded()
    x = inputs()
    ours = folded(x.unsqueeze(1).expand(7, n_networks * n_members, -1))
    expected = [net(x.unsqueeze(1).expand(7, n_members, -1)) for net in nets]
    assert isinstance(folded.embeddings, FoldedEmbeddings)
    assert torch.allclose(ours, torch.cat(expected, 1), atol=1e-10)


def test_a_folded_embedding_holds_copies():
    layer = embeddings()
    folded, x = layer.fold(1, 2), inputs().unsqueeze(1).expand(7, 2, -1)
    before = folded(x)
    randomised(layer, seed=9)
    assert torch.equal(folded(x), before)
    assert not list(folded.parameters())


@pytest.mark.parametrize("word", LAYERS)
def test_the_same_generator_gives_the_same_embedding_and_leaves_the_global_seed_alone(word):
    make = {
        "positions": lambda g: PiecewiseLinear(2, N_BINS, WIDTH, generator=g),
        "waves": lambda g: Periodic(2, 3, WIDTH, generator=g),
        "categories": lambda g: Categories(COUNTS, WIDTH, generator=g),
    }[word]
    state = torch.get_rng_state()
    first, again, other = (make(generator(seed)) for seed in (7, 7, 8))
    assert torch.equal(first.weight, again.weight)
    assert not torch.equal(first.weight, other.weight)
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize(
    ("row", "words"), [([3, 0], "0 to 2 in column 0, got 3"), ([0, -1], "0 to 4 in column 1, got")]
)
def test_a_category_that_its_column_lacks_is_not_one_of_the_column_beside_it(row, words):
    with pytest.raises(ValueError, match=words):
        Categories(COUNTS, WIDTH)(torch.tensor([row]))
    assert Categories(COUNTS, WIDTH)(torch.zeros(0, 2)).shape == (0, 2 * WIDTH)


def test_an_embedding_is_a_module_like_others():
    layer = embeddings()
    names = dict(layer.named_parameters())
    assert set(names) == {"numbers.weight", "categories.weight"}
    assert all(isinstance(parameter, nn.Parameter) for parameter in names.values())
    assert names["numbers.weight"].shape == (N_POSITIONS, N_BINS, WIDTH)
    assert names["categories.weight"].shape == (sum(COUNTS), WIDTH)
