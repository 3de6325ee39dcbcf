import shutil
import subprocess
from importlib.resources import files

import pytest
import torch

from batchensemble.training.bank import Bank
from batchensemble.training.engines.adam import Adam
from batchensemble.training.engines.cuda.constants import Spread, text_of, training_constants
from batchensemble.training.engines.cuda.kernels import (
    blocks_for,
    cell_parts,
    mlp_kernel,
    recurrent_kernel,
)
from batchensemble.training.engines.data import Data, Windows
from batchensemble.training.losses import GaussianNLL
from batchensemble.training.networks import MLP, Recurrent

LOSS = GaussianNLL()
# What a C++ compiler without CUDA can read: constants and layout, which come before the code.
ENDS = {
    "network.cuh": "// ---- the cluster",
    "penalty.cuh": "// `done(vector, sum)`",
    "mlp.cu": "template <int L>",
    "grube.cuh": "struct Cell",
    "gru.cuh": "struct Cell",
    "recurrent.cu": "// ---- the head",
}


def of_table(n_in=8, hidden=(32, 32), adapters="rsb", blocks=3, outside=False, has_penalty=False):
    bank = Bank([MLP(n_in, (1, 1), hidden=hidden, n_members=6, adapters=adapters)])
    data = Data(torch.zeros(1, n_in), torch.zeros(1))
    return bank, mlp_kernel(bank, bank.module, data, Spread(64, blocks, outside), has_penalty)


def of_series(covariates=0, blocks=3, outside=False, has_penalty=False, **settings):
    settings = {"context": 4, "horizon": 3, "lags": (1, 2), "n_members": 6} | settings
    bank = Bank([Recurrent(covariates, (1, 1), draw=LOSS.draw, **settings)])
    network = bank.module
    one = torch.ones(50)
    series = torch.zeros(50, 1 + covariates)
    data = Windows(series, one, one, network.reach, network.horizon)
    return bank, recurrent_kernel(bank, network, data, Spread(64, blocks, outside), has_penalty)


KERNELS = [
    *(
        lambda n_in=n_in, hidden=hidden, adapters=adapters, blocks=blocks: of_table(
            n_in, hidden, adapters, blocks
        )
        for n_in, hidden in ((8, (32, 32)), (5, (7,)), (3, ()), (108, (20, 37)))
        for adapters in ("", "rsb")
        for blocks in (1, 3)
    ),
    lambda: of_series(),
    lambda: of_series(blocks=1, hidden=(16,), hidden_size=16),
    lambda: of_series(gates="z", hidden=(30, 7), lags=(1,), feedback="teacher"),
    lambda: of_series(hidden=(90, 90), covariates=2),
    lambda: of_series(adapters="", n_members=1, blocks=1),
    lambda: of_series(adapters="", n_members=1, blocks=1, outside=True),
    lambda: of_table(outside=True, hidden=(32,) * 9),
    lambda: of_table(outside=True, blocks=1),
    lambda: of_series(adapters="", n_members=1, blocks=1, hidden=(), covariates=3),
    lambda: of_series(hidden_size=13, hidden=(14, 14)),
    lambda: of_series(adapters="", n_members=1, blocks=1, hidden_size=13, hidden=(14, 14)),
    *(
        lambda adapters=adapters, blocks=blocks: of_table(
            5, (7,), adapters, blocks, has_penalty=True
        )
        for adapters in ("", "r", "rsb")
        for blocks in (1, 3)
    ),
    lambda: of_series(has_penalty=True),
]


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
@pytest.mark.parametrize("make", KERNELS)
def test_the_memory_asked_for_is_that_of_the_kernel(make, tmp_path):
    bank, kernel = make()
    adam = Adam.over(bank.theta, bank.parameter_names(), lr=0.01)
    constants = kernel.shape.constants() | kernel.constants
    constants |= training_constants(LOSS, adam, 0.1, 0.0)
    folder = files("batchensemble.training.engines.cuda")
    texts = {name: folder.joinpath(name).read_text() for name in kernel.texts}
    layouts = [text[: text.index(ENDS[name])] for name, text in texts.items()]
    check = f"static_assert(sizeof(Memory) == {kernel.n_bytes});"
    source = tmp_path / "layout.cpp"
    source.write_text("\n".join([text_of(constants), *layouts, check, ""]))
    words = ["-D__host__=", "-D__device__=", "-std=c++17", "-fsyntax-only"]
    done = subprocess.run(["g++", *words, str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_members_are_spread_evenly_over_at_most_eight_blocks():
    assert [blocks_for(k, True) for k in (1, 2, 8, 9, 10, 16, 32)] == [1, 2, 8, 5, 5, 8, 8]
    assert blocks_for(10, False) == 1


def test_the_layers_of_a_forecaster_are_gates_candidate_and_head():
    _, kernel = of_series(hidden=(32, 20))
    assert kernel.shape.parts.layer_of == (0, 0, 1, 2, 3, 4, 4)
    assert kernel.shape.sizes == [(34, 64), (34, 32), (32, 32), (32, 20), (20, 2)]
    assert kernel.shape.constants()["FIRST_OUT"] == [0, 32, 0, 0, 0, 0, 1]
    assert kernel.shape.constants()["UNIT"][2:4] == [0, 32]
    assert kernel.scratch == (4 + 3 - 1) * 32 * 64


def test_a_cell_it_does_not_know_is_left_to_others():
    bank, _ = of_series()
    assert cell_parts(bank, torch.nn.Linear(2, 2)) is None


def test_the_network_that_the_study_gives_adults_parameters_fits_the_chip():
    bank = Bank([MLP(108, (2,), hidden=(47, 47), n_members=1, adapters="")])
    data = Data(torch.zeros(1, 108), torch.zeros(1))
    assert mlp_kernel(bank, bank.module, data, Spread(64, 1, True)).n_bytes <= 227 * 1024


def test_the_weights_of_a_gru_on_inputs_and_hidden_state_make_one_layer():
    bank, kernel = of_series(adapters="", n_members=1, blocks=1)
    constants, theta = kernel.shape.constants(), bank.theta[0]
    cell = bank.module.recurrent.cells[0]
    shared = torch.cat(
        [
            theta[place : place + length]
            for length, place in zip(
                constants["SHARED_RUN"], constants["SHARED_PLACE"], strict=True
            )
        ]
    )
    weight, bias = torch.zeros(128, 34), torch.zeros(128)
    for part in range(3):
        n_out, n_in = constants["PART_OUT"][part], constants["PART_IN"][part]
        top, left = constants["FIRST_OUT"][part], constants["FIRST_IN"][part]
        at, at_bias = constants["W_AT"][part], constants["B_AT"][part]
        weight[top : top + n_out, left : left + n_in] = shared[at : at + n_out * n_in].view(
            n_out, n_in
        )
        bias[top : top + n_out] *= constants["IS_ADDED"][part]
        bias[top : top + n_out] += shared[at_bias : at_bias + n_out]
    x, h = torch.randn(5, 1, 2), torch.randn(5, 1, 32)
    gates = torch.cat([x, h], -1)[:, 0] @ weight.T + bias
    single = bank.network(0).recurrent.cells[0]
    on_x, on_h = single.input(x)[:, 0], single.hidden(h)[:, 0]
    assert cell.hidden_size == 32
    expected = [on_x[:, :64] + on_h[:, :64], on_x[:, 64:], on_h[:, 64:]]
    torch.testing.assert_close(gates, torch.cat(expected, 1))
