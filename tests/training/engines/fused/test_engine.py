import math
from dataclasses import replace

import pytest
import torch
from agreement import doubled, stepped
from fixtures import generator, line, plan_steps, walk
from threadpoolctl import threadpool_info

from batchensemble.training import engines
from batchensemble.training.bank import Bank
from batchensemble.training.engines import Adam, Data, choose_engine
from batchensemble.training.engines.fused import FusedEngine, covers
from batchensemble.training.engines.fused.engine import MOST_WEIGHTS
from batchensemble.training.engines.plain import PlainEngine
from batchensemble.training.loop import Training, train
from batchensemble.training.losses import CategoricalNLL, GaussianNLL
from batchensemble.training.networks import MLP, Recurrent

LOSS = GaussianNLL()
TABLE, SERIES = line(400), walk(400, reach=4)
DATA = {"table": TABLE, "series": SERIES}
N_EXAMPLES = {"table": 400, "series": 390}
KINDS = pytest.mark.parametrize("kind", ["table", "series"])


class OwnMLP(MLP):
    """May compute anything."""


class OwnLoss(GaussianNLL):
    """May be anything."""


def mlp(heads=(1, 1), kind=MLP, **kwargs):
    return kind(3, heads, **{"hidden": (8,), "n_members": 2} | kwargs)


def recurrent(heads=(1, 1), loss=LOSS, **kwargs):
    usual = {"hidden_size": 5, "hidden": (6,), "n_members": 2, "lags": (1, 2), "context": 3}
    return Recurrent(0, heads, draw=loss.draw, horizon=4, **usual | kwargs)


def bank_of(kind, n_networks=3, **kwargs):
    network = {"table": mlp, "series": recurrent}[kind]
    return Bank([network(generator=generator(i), **kwargs) for i in range(n_networks)])


WIDE = math.isqrt(MOST_WEIGHTS)


@pytest.mark.parametrize(
    ("network", "loss", "data"),
    [
        (mlp(), LOSS, TABLE),
        (mlp(), GaussianNLL((-math.inf, math.inf), 0.5), TABLE),
        (mlp((5,)), CategoricalNLL(), Data(TABLE.x, torch.zeros(400, dtype=torch.int64))),
        (mlp(hidden=(), n_members=1, adapters="", dropout=0.0), LOSS, TABLE),
        (mlp(hidden=(8, 9), adapters=("", "r", "sb")), LOSS, TABLE),
        (mlp(hidden=(WIDE - 5, WIDE - 5)), LOSS, TABLE),
        (recurrent(), LOSS, SERIES),
        (recurrent(feedback="teacher", gates="z"), LOSS, SERIES),
        (recurrent(adapters=""), LOSS, SERIES),
        (recurrent(loss=GaussianNLL(beta=0.5)), GaussianNLL(beta=0.5), SERIES),
    ],
)
def test_it_covers_common_networks_and_losses(network, loss, data):
    assert covers(Bank([network]), loss, data)


@pytest.mark.parametrize(
    ("network", "loss", "data"),
    [
        pytest.param(mlp().double(), LOSS, doubled(TABLE), id="float64"),
        pytest.param(mlp(), LOSS, doubled(TABLE), id="a table of float64"),
        pytest.param(mlp().double(), LOSS, TABLE, id="a network of float64"),
        pytest.param(mlp(kind=OwnMLP), LOSS, TABLE, id="a subclass"),
        pytest.param(mlp(), OwnLoss(), TABLE, id="another loss"),
        pytest.param(mlp((2,)), LOSS, TABLE, id="mean and variance of one head"),
        pytest.param(mlp((1, 1, 1)), LOSS, TABLE, id="three heads"),
        pytest.param(mlp((2, 3)), CategoricalNLL(), TABLE, id="logits of two heads"),
        pytest.param(mlp(hidden=(WIDE, WIDE)), LOSS, TABLE, id="too many weights"),
        pytest.param(recurrent(feedback="sample"), LOSS, SERIES, id="samples fed back"),
        pytest.param(recurrent(n_layers=2), LOSS, SERIES, id="two recurrent layers"),
        pytest.param(recurrent(adapters="", n_layers=2), LOSS, SERIES, id="two layers of a GRU"),
        pytest.param(recurrent(loss=OwnLoss()), LOSS, SERIES, id="what another loss draws"),
        pytest.param(recurrent((1, 1, 1)), LOSS, SERIES, id="a forecaster's three heads"),
        pytest.param(recurrent().double(), LOSS, doubled(SERIES), id="series of float64"),
        pytest.param(recurrent(hidden_size=WIDE), LOSS, SERIES, id="too many recurrent weights"),
        pytest.param(recurrent(), LOSS, TABLE, id="a forecaster on a table"),
        pytest.param(mlp(), LOSS, SERIES, id="an MLP on series"),
    ],
)
def test_it_does_not_cover_what_its_loops_do_not_know(network, loss, data):
    assert not covers(Bank([network]), loss, data)


def chosen(kind, n_steps, **kwargs):
    bank = bank_of(kind)
    adam = Adam.over(bank.theta, bank.parameter_names(), lr=0.01)
    return type(choose_engine(bank, LOSS, DATA[kind], adam, n_steps=n_steps, **kwargs))


@KINDS
def test_it_is_chosen_from_so_many_steps_on_as_are_worth_compiling(kind):
    enough = engines.STEPS_WORTH_COMPILING[kind]
    assert chosen(kind, enough) is FusedEngine
    assert chosen(kind, enough - 1) is PlainEngine
    assert chosen(kind, 0) is PlainEngine


@KINDS
def test_it_is_not_chosen_with_a_penalty_which_it_does_not_know(kind):
    assert chosen(kind, 10**9, penalty=0.0) is FusedEngine
    assert chosen(kind, 10**9, penalty=0.1) is PlainEngine
    assert chosen(kind, 10**9, penalty=[0.0, 0.1, 0.0]) is PlainEngine


@KINDS
def test_it_is_not_chosen_where_numba_is_missing(kind, monkeypatch):
    monkeypatch.setattr("batchensemble.training.engines.fused.engine.find_spec", lambda name: None)
    assert chosen(kind, 10**9) is PlainEngine


@KINDS
@pytest.mark.parametrize("n_threads", [2, 5])
def test_several_threads_give_bit_for_bit_what_one_gives(kind, n_threads):
    bank = bank_of(kind)
    steps = plan_steps(20, N_EXAMPLES[kind], n_members=2, keys=True)
    one, several = (
        stepped("fused", bank, LOSS, DATA[kind], steps, n_threads=n) for n in (1, n_threads)
    )
    assert all(map(torch.equal, one, several))


@KINDS
def test_steps_in_several_parts_are_bit_for_bit_the_steps_in_one(kind):
    bank = bank_of(kind)
    whole = plan_steps(20, N_EXAMPLES[kind], n_members=2, keys=True)
    cuts = (slice(0, 1), slice(1, 13), slice(13, 20))
    parts = [replace(whole, **{k: t[c] for k, t in tensors(whole).items()}) for c in cuts]
    at_once = stepped("fused", bank, LOSS, DATA[kind], whole)
    in_parts = stepped("fused", bank, LOSS, DATA[kind], *parts)
    assert all(map(torch.equal, at_once, in_parts))


def tensors(steps):
    return {name: t for name, t in vars(steps).items() if t is not None}


@KINDS
def test_a_network_steps_the_same_alone_and_in_a_bank(kind):
    bank = bank_of(kind)
    whole = plan_steps(10, N_EXAMPLES[kind], n_members=2, keys=True)
    theta, losses = stepped("fused", bank, LOSS, DATA[kind], whole)
    for i in range(3):
        only = replace(whole, **{k: t[:, [i]] for k, t in tensors(whole).items()})
        alone, own_losses = stepped("fused", bank[[i]], LOSS, DATA[kind], only)
        assert torch.equal(alone[0], theta[i])
        assert torch.equal(own_losses[:, 0], losses[:, i])


@KINDS
def test_what_it_is_given_is_left_as_it_is(kind):
    steps, data = plan_steps(5, N_EXAMPLES[kind], n_members=2, keys=True), DATA[kind]
    given = [t for t in (*vars(steps).values(), *vars(data).values()) if torch.is_tensor(t)]
    before = [t.clone() for t in given]
    threads = threadpool_info()
    stepped("fused", bank_of(kind), LOSS, data, steps)
    assert all(map(torch.equal, given, before))
    assert threadpool_info() == threads


def fitted(monkeypatch, kind, engine, seed=0, lr=0.01, dropout=0.2, n_networks=10):
    """Ten networks of ten seeds after a training; dropout and shufflings are a seed's own."""
    worth = {"fused": 0, "plain": 10**9}[engine]
    monkeypatch.setitem(engines.STEPS_WORTH_COMPILING, kind, worth)
    runs = []
    run = FusedEngine.run
    monkeypatch.setattr(FusedEngine, "run", lambda *args: runs.append(1) or run(*args))
    bank = bank_of(kind, n_networks, dropout=dropout)
    n_rows = 200 if kind == "table" else 100
    train(
        bank,
        LOSS,
        DATA[kind],
        Training(epochs=20, batch_size=20, lr=lr),
        rows=[torch.arange(n_rows)] * n_networks,
        generators=[generator(seed + i) for i in range(n_networks)],
    )
    monkeypatch.setattr(FusedEngine, "run", run)
    assert bool(runs) == (engine == "fused")
    return bank


@KINDS
def test_the_same_seed_gives_bit_equal_networks_and_another_one_others(kind, monkeypatch):
    a, b, other = (fitted(monkeypatch, kind, "fused", seed, n_networks=2) for seed in (0, 0, 50))
    assert torch.equal(a.theta, b.theta)
    assert ((a.theta - other.theta).norm(dim=1) > 0.1).all()


@torch.no_grad()
def held_out_nll(bank, kind):
    """Of the networks' mixtures on rows they were not trained on: (networks,)."""
    x, y = DATA[kind].take(torch.arange(200, 390))
    x = x.unsqueeze(-2).expand(*x.shape[:-1], 2, x.shape[-1])  # members
    outputs = bank.module.eval()(x.expand(len(bank), *x.shape))
    return LOSS.mixture(outputs, y.unsqueeze(-1)).flatten(1).mean(1)


@KINDS
def test_trained_with_dropout_by_either_engine_ten_seeds_are_as_good(kind, monkeypatch):
    plain = held_out_nll(fitted(monkeypatch, kind, "plain"), kind)

    def differs(**settings):
        """By more than two standard errors of the paired difference, and than rounding does."""
        difference = held_out_nll(fitted(monkeypatch, kind, "fused", **settings), kind) - plain
        return abs(difference.mean()) > 2 * difference.std() / 10**0.5 + 1e-3

    assert not differs()
    # Negative controls: a wrong rate of dropout or of learning is seen.
    assert differs(dropout=0.5)
    assert differs(lr=0.002)
