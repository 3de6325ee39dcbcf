import numpy as np
import pytest
import torch
from agreement import apart, same_steps, stepped
from fixtures import generator, plan_steps

from batchensemble.training.bank import Bank
from batchensemble.training.engines import Data
from batchensemble.training.losses import FREE, CategoricalNLL, GaussianCRPS, GaussianNLL
from batchensemble.training.networks import MLP

N_STEPS, N_ROWS, N_CLASSES = 40, 150, 4
EMBEDDING = {"n_positions": 3, "counts": (4, 7), "n_bins": 5, "width": 3}
LOSSES = {"crps": GaussianCRPS(), "nll": GaussianNLL(), "classes": CategoricalNLL()}
OWN_HEADS = ("rsb", "rsb", "wb")


def table(loss, *, n_plain=2, n_positions=3, counts=(4, 7), n_bins=5, **_):
    random = np.random.default_rng(3)
    plain = random.normal(size=(N_ROWS, n_plain))
    positions = random.uniform(0, n_bins, size=(N_ROWS, n_positions)).round(1)
    positions[: len(positions) // 10] = n_bins  # the very end of the last bin
    codes = np.column_stack(
        [np.zeros((N_ROWS, 0)), *(random.integers(n, size=N_ROWS) for n in counts)]
    )
    x = torch.tensor(np.hstack([plain, positions, codes]), dtype=torch.float32)
    y = (x.sum(1) / 5).sin() + 0.1 * torch.randn(N_ROWS, generator=generator(5))
    if isinstance(loss, CategoricalNLL):
        return Data(x, torch.bucketize(y, torch.tensor([-0.5, 0.0, 0.5])))
    return Data(x, y)


def both(word, *, embedding=EMBEDDING, width=1, batch=16, loss=None, dropout=0.0, **network):
    """theta and losses by the loops, and by plain torch in float64."""
    loss = loss or LOSSES[word]
    heads = (N_CLASSES,) if word == "classes" else (1, 1)
    settings = {"hidden": (8, 5), "n_members": 3, "init": ("normal", "ones", "ones")} | network
    nets = [
        MLP(2, heads, embedding=embedding, dropout=dropout, generator=generator(i), **settings)
        for i in range(2)
    ]
    bank = Bank(nets)
    data = table(loss, **(embedding or {"n_positions": 0, "counts": ()}))
    steps = plan_steps(
        N_STEPS,
        N_ROWS,
        n_networks=2,
        batch=batch,
        n_members=bank.module.n_members,
        width=width,
        keys=dropout > 0,
    )
    return bank, *(
        stepped(engine, bank, loss, data, steps, clip_norm=1.0) for engine in ("fused", "plain")
    )


def agree(case):
    """Both moved away from the start, to the same place, with the same losses on the way."""
    bank, ours, truth = case
    return apart(truth[0], bank.theta) > 0.01 and same_steps(ours, truth)


@pytest.mark.parametrize("word", LOSSES)
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("adapters", ["rsb", OWN_HEADS, ("wb", "r", "w")])
def test_its_steps_are_the_plain_steps_for_every_loss_and_own_weights(word, width, adapters):
    assert agree(both(word, width=width, adapters=adapters))


@pytest.mark.parametrize(
    "embedding",
    [
        None,
        EMBEDDING | {"counts": ()},
        EMBEDDING | {"n_positions": 0},
        EMBEDDING | {"n_bins": 1},
        EMBEDDING | {"width": 1, "n_positions": 1},
    ],
)
def test_its_steps_are_the_plain_steps_for_any_embeddings(embedding):
    assert agree(both("crps", embedding=embedding, adapters=OWN_HEADS))


def test_its_steps_are_the_plain_steps_with_dropout_as_the_masks_are_the_same():
    case = both("crps", adapters=OWN_HEADS, dropout=0.3)
    assert agree(case)
    # Negative control: without dropout it is another training.
    assert apart(case[1][0], both("crps", adapters=OWN_HEADS)[1][0]) > 0.01


@pytest.mark.parametrize("bounds", [(-10.0, 4.0), (-1.0, 0.5), FREE])
def test_its_steps_are_the_plain_steps_for_any_bounds(bounds):
    assert agree(both("crps", loss=GaussianCRPS(bounds)))


@pytest.mark.parametrize("hidden", [(), (8,), (7, 4, 9)])
def test_its_steps_are_the_plain_steps_for_any_hidden_layers(hidden):
    words = ("rsb",) * len(hidden) + ("wb",)
    assert agree(both("crps", hidden=hidden, adapters=words, init="normal"))


def test_a_network_of_one_member_is_covered_too():
    assert agree(both("crps", n_members=1, adapters=""))
