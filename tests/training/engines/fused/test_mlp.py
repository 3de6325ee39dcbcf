import math
from dataclasses import replace
from itertools import combinations

import pytest
import torch
from agreement import apart, same_steps, stepped
from fixtures import generator, line, plan_steps
from hypothesis import given, settings
from hypothesis import strategies as st

from batchensemble.training.bank import Bank
from batchensemble.training.engines import Data
from batchensemble.training.losses import FREE, CategoricalNLL, GaussianNLL
from batchensemble.training.networks import MLP

# Plain torch in float64 is the truth; plain torch in float32 is about 5e-6 from it after so many
# steps, the loops are 2e-7.
N_STEPS = 50
SUBSETS = ["".join(word) for n in range(4) for word in combinations("rsb", n)]
TASKS = pytest.mark.parametrize("task", ["regression", "classification"])
N_CLASSES = 4


def task_of(task):
    """A loss, the sizes of its heads, and a table."""
    table = line()
    if task == "regression":
        return GaussianNLL(), (1, 1), table
    classes = torch.bucketize(table.y, torch.tensor([-1.0, 0.0, 1.0]))
    return CategoricalNLL(), (N_CLASSES,), Data(table.x, classes)


def bank_of(heads, n_networks=3, *, hidden=(8, 5), dropout=0.0, n_members=3, **kwargs):
    """Vectors r and s of any size and biases that are not zero, which would hide mistakes."""
    nets = [
        MLP(
            3,
            heads,
            hidden=hidden,
            n_members=n_members,
            dropout=dropout,
            init="normal",
            generator=generator(i),
            **kwargs,
        )
        for i in range(n_networks)
    ]
    with torch.no_grad():
        for i, net in enumerate(nets):
            for name, parameter in net.named_parameters():
                if name.endswith("bias"):
                    parameter.normal_(0, 0.3, generator=generator(i + 7))
    return Bank(nets)


def both(task="regression", *, batch=16, width=1, loss=None, rates=None, rest=None, **network):
    """theta and losses by the loops, and by plain torch."""
    own_loss, heads, data = task_of(task)
    bank = bank_of(heads, **network)
    steps = plan_steps(
        N_STEPS,
        len(data.x),
        n_networks=len(bank),
        batch=batch,
        n_members=bank.module.n_members,
        width=width,
        keys=bank.module.mask_features > 0,
    )
    if rest is not None:
        steps.weights[rest] = 0
    rates = {"clip_norm": 1.0} if rates is None else rates
    return (
        bank,
        *(stepped(e, bank, loss or own_loss, data, steps, **rates) for e in ("fused", "plain")),
    )


def agree(case):
    """Both moved away from the start, to the same place, with the same losses on the way."""
    bank, ours, truth = case
    return apart(truth[0], bank.theta) > 0.01 and same_steps(ours, truth)


@TASKS
@pytest.mark.parametrize("n_members", [1, 3])
@pytest.mark.parametrize("adapters", [*SUBSETS, ("r", "", "sb"), ("", "rsb", "s")])
def test_its_steps_are_the_plain_steps_for_every_subset_of_adapters(task, n_members, adapters):
    assert agree(both(task, n_members=n_members, adapters=adapters))


@TASKS
@pytest.mark.parametrize("hidden", [(), (8,), (7, 4, 9)])
@pytest.mark.parametrize("batch", [1, 16])
def test_its_steps_are_the_plain_steps_for_any_hidden_layers_and_batches(task, hidden, batch):
    assert agree(both(task, hidden=hidden, batch=batch))


@TASKS
@pytest.mark.parametrize("n_members", [1, 3])
def test_its_steps_are_the_plain_steps_where_members_see_rows_of_their_own(task, n_members):
    assert agree(both(task, n_members=n_members, width=n_members))


@TASKS
@pytest.mark.parametrize(
    ("hidden", "width", "adapters"),
    [((8, 5), 1, "rsb"), ((8, 5), 3, "rsb"), ((8,), 1, ""), ((3, 6, 4), 1, "rsb")],
)
def test_its_steps_are_the_plain_steps_with_dropout_as_the_masks_are_the_same(
    task, hidden, width, adapters
):
    case = both(task, hidden=hidden, width=width, adapters=adapters, dropout=0.3)
    assert agree(case)
    # Negative control: without dropout it is another training.
    _, (without, _), _ = both(task, hidden=hidden, width=width, adapters=adapters)
    assert apart(case[1][0], without) > 0.01


@pytest.mark.parametrize(
    "rates",
    [
        {"clip_norm": math.inf},
        {"clip_norm": 0.1},
        {"clip_norm": math.inf, "weight_decay": 0.5},
        {"clip_norm": 1.0, "weight_decay": 0.5},
        {"clip_norm": 1.0, "lr": 0.001},
    ],
)
def test_its_steps_are_the_plain_steps_with_any_decay_and_clipping(rates):
    assert agree(both(rates=rates))


@pytest.mark.parametrize("bounds", [(-10.0, 4.0), (-1.0, 0.5), FREE])
@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_its_steps_are_the_plain_steps_for_any_bounds_and_beta(bounds, beta):
    assert agree(both(loss=GaussianNLL(bounds, beta)))


def test_a_resting_network_stays_bit_for_bit_and_goes_on_as_if_it_had_not_rested():
    case = both(rest=(slice(None), 1), rates={"weight_decay": 0.5})
    bank, (theta, losses), _ = case
    assert torch.equal(theta[1], bank.theta[1])
    assert (losses[:, 1] == 0).all()
    assert agree(case)
    every_other = slice(0, None, 2)
    assert agree(both(rest=every_other, rates={"weight_decay": 0.5, "clip_norm": 1.0}))


def test_rows_of_weight_zero_change_nothing_whatever_they_hold():
    loss, heads, data = task_of("regression")
    bank = bank_of(heads)
    steps = plan_steps(10, len(data.x))
    extra = torch.randint(len(data.x), (10, 3, 7, 1), generator=generator(3))
    padded = replace(
        steps,
        rows=torch.cat([steps.rows, extra], 2),
        weights=torch.cat([steps.weights, torch.zeros(extra.shape)], 2),
    )
    short, long = (stepped("fused", bank, loss, data, s)[0] for s in (steps, padded))
    assert apart(short, long) < 1e-6


def test_more_rows_than_are_multiplied_at_once_are_all_learned_from():
    assert agree(both(batch=600))


def test_a_network_that_diverges_has_losses_of_nan_and_the_others_go_on():
    loss, heads, data = task_of("regression")
    bank = bank_of(heads)
    bank.theta[1] = math.nan
    steps = plan_steps(5, len(data.x))
    theta, losses = stepped("fused", bank, loss, data, steps)
    assert losses[:, 1].isnan().all()
    assert losses[:, [0, 2]].isfinite().all()
    assert theta[[0, 2]].isfinite().all()


@given(
    task=st.sampled_from(["regression", "classification"]),
    hidden=st.lists(st.integers(1, 9), max_size=3).map(tuple),
    n_members=st.integers(1, 4),
    own_rows=st.booleans(),
    batch=st.integers(1, 20),
    n_networks=st.integers(2, 4),
    dropout=st.sampled_from([0.0, 0.1, 0.5]),
    data=st.data(),
)
@settings(max_examples=25, deadline=None)
def test_its_steps_are_the_plain_steps_for_all_of_it_together(
    task, hidden, n_members, own_rows, batch, n_networks, dropout, data
):
    words = st.lists(st.sampled_from(SUBSETS), min_size=len(hidden) + 1, max_size=len(hidden) + 1)
    assert agree(
        both(
            task,
            hidden=hidden,
            n_members=n_members,
            width=n_members if own_rows else 1,
            batch=batch,
            n_networks=n_networks,
            dropout=dropout,
            adapters=data.draw(words),
        )
    )
