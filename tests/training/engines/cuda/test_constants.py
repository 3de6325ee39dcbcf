import numpy as np
import torch
from fixtures import generator
from hypothesis import given, settings
from hypothesis import strategies as st

from batchensemble.training.bank import Bank
from batchensemble.training.engines.adam import Adam
from batchensemble.training.engines.cuda.constants import Spread, text_of, training_constants
from batchensemble.training.engines.cuda.kernels import mlp_kernel
from batchensemble.training.engines.data import Data
from batchensemble.training.engines.shapes import N_IN, N_OUT, WEIGHT
from batchensemble.training.losses import CategoricalNLL, GaussianNLL
from batchensemble.training.networks import MLP

ADAPTERS = ("", "r", "s", "b", "rs", "rb", "sb", "rsb")
NETWORKS = {
    "n_in": st.integers(1, 9),
    "heads": st.sampled_from([(1, 1), (3,)]),
    "hidden": st.lists(st.integers(1, 9), max_size=3),
    "n_members": st.integers(1, 5),
    "adapters": st.sampled_from(ADAPTERS),
    "blocks": st.integers(1, 5),
}


def shape_of(n_in, heads, hidden, n_members, adapters, blocks):
    network = MLP(n_in, heads, hidden=hidden, n_members=n_members, adapters=adapters)
    bank = Bank([network])
    data = Data(torch.zeros(1, n_in), torch.zeros(1))
    blocks = min(blocks, n_members)
    return bank, mlp_kernel(bank, bank.module, data, Spread(64, blocks)).shape


@given(**NETWORKS)
@settings(max_examples=60, deadline=None)
def test_what_is_shared_and_what_members_own_is_all_of_theta_once(**network):
    bank, shape = shape_of(**network)
    constants = shape.constants()
    places = [
        place + i
        for length, place in zip(constants["SHARED_RUN"], constants["SHARED_PLACE"], strict=True)
        for i in range(length)
    ]
    assert len(places) == shape.n_shared == constants["N_SHARED"]
    owned = [
        place + member * length + i
        for length, place in zip(constants["OWN_RUN"], constants["OWN_PLACE"], strict=True)
        for member in range(shape.n_members)
        for i in range(length)
    ]
    assert len(owned) == shape.n_members * shape.n_own
    assert sorted(places + owned) == list(range(bank.n_parameters))


@given(**NETWORKS)
@settings(max_examples=60, deadline=None)
def test_parameters_are_found_where_the_constants_say(**network):
    bank, shape = shape_of(**network)
    constants, theta = shape.constants(), torch.arange(bank.n_parameters)
    shared = [
        theta[place : place + length]
        for length, place in zip(constants["SHARED_RUN"], constants["SHARED_PLACE"], strict=True)
    ]
    shared = torch.cat(shared)
    member = shape.n_members - 1
    members = [
        theta[place + member * length : place + (member + 1) * length]
        for length, place in zip(constants["OWN_RUN"], constants["OWN_PLACE"], strict=True)
    ]
    members = torch.cat(members)
    named = {}
    start = 0
    for name, size in bank.parameter_names():
        named[name] = theta[start : start + size]
        start += size
    layers = [f"layers.{i}" for i in range(len(network["hidden"]))]
    layers += [f"heads.{i}" for i in range(len(network["heads"]))]
    for part, layer in enumerate(layers):
        n_in, n_out = (int(shape.parts.table[part, column]) for column in (N_IN, N_OUT))
        at = constants["W_AT"][part]
        assert torch.equal(shared[at : at + n_in * n_out], named[f"{layer}.weight"])
        assert shape.parts.table[part, WEIGHT] == named[f"{layer}.weight"][0]
        for letter, size in (("r", n_in), ("s", n_out)):
            at = constants[f"{letter.upper()}_AT"][part]
            assert (at >= 0) == (letter in network["adapters"])
            if at >= 0:
                mine = named[f"{layer}.{letter}"][member * size : (member + 1) * size]
                assert torch.equal(members[at : at + size], mine)
        at, bias = constants["B_AT"][part], named[f"{layer}.bias"]
        if constants["B_OWN"][part]:
            mine = bias[member * n_out : (member + 1) * n_out]
            assert torch.equal(members[at : at + n_out], mine)
        else:
            assert torch.equal(shared[at : at + n_out], bias)


def test_numbers_become_constants_of_their_kind():
    text = text_of(
        {"A": 3, "B": [1, 2], "C": True, "D": 0.5, "E": np.float64(0.1), "F": np.uint32(7)}
    )
    assert text.splitlines() == [
        "constexpr int A = 3;",
        "__device__ constexpr int B[] = {1, 2};",
        "constexpr bool C = true;",
        "constexpr float D = 0.5f;",
        "constexpr double E = 0.1;",
        "constexpr unsigned F = 7u;",
    ]


def test_no_bounds_and_no_clipping_are_said_without_infinite_numbers():
    bank = Bank([MLP(3, (1, 1), n_members=2, generator=generator())])
    adam = Adam.over(bank.theta, bank.parameter_names(), lr=0.01)
    free = GaussianNLL(bounds=(-float("inf"), float("inf")))
    constants = training_constants(free, adam, 0.0, 0.0)
    assert constants["IS_FREE"]
    assert not constants["HAS_CLIP"]
    assert "inf" not in text_of(constants)
    assert training_constants(CategoricalNLL(), adam, 0.0, 0.0)["IS_CLASSES"]
