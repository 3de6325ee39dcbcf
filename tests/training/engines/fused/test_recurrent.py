import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch
from agreement import apart, doubled, same_steps, stepped
from fixtures import generator, plan_steps, walk
from hypothesis import given, settings
from hypothesis import strategies as st

from batchensemble.training.bank import Bank
from batchensemble.training.engines.fused.recurrent import gather
from batchensemble.training.losses import FREE, GaussianNLL
from batchensemble.training.networks import Recurrent

# Plain torch in float64 is the truth; plain torch in float32 is about 5e-6 from it after so many
# steps, the loops are 2e-7.
N_STEPS = 20
CONTEXT = 3
ADAPTERS = ["".join(word) for n in range(1, 4) for word in combinations("rsb", n)]
GATES = ["".join(word) for n in range(4) for word in combinations("czf", n)]
FEEDBACK = pytest.mark.parametrize("feedback", ["mean", "teacher"])


def bank_of(loss, covariates, horizon, n_networks=3, **kwargs):
    """Vectors r and s of any size and biases that are not zero, which would hide mistakes."""
    settings = {"hidden_size": 5, "hidden": (6,), "n_members": 3, "dropout": 0.0, "lags": (1,)}
    nets = [
        Recurrent(
            covariates,
            (1, 1),
            draw=loss.draw,
            context=CONTEXT,
            horizon=horizon,
            init="normal",
            generator=generator(i),
            **settings | kwargs,
        )
        for i in range(n_networks)
    ]
    with torch.no_grad():
        for i, net in enumerate(nets):
            for name, parameter in net.named_parameters():
                if name.endswith("bias"):
                    parameter.normal_(0, 0.3, generator=generator(i + 7))
    return Bank(nets)


def both(
    *, covariates=1, n_past=0, horizon=4, batch=8, width=1, loss=None, rates=None, rest=None,
    **network,
):  # fmt: skip
    """The bank at the start, and theta and losses by the loops and by plain torch."""
    loss = loss or GaussianNLL()
    bank = bank_of(loss, covariates, horizon, **network)
    data = replace(
        walk(covariates=covariates, horizon=horizon, reach=bank.module.reach), n_past=n_past
    )
    steps = plan_steps(
        N_STEPS,
        len(data.series) - data.reach - horizon + 1,
        n_networks=len(bank),
        batch=batch,
        n_members=bank.module.n_members,
        width=width,
        keys=bank.module.mask_features > 0,
    )
    if rest is not None:
        steps.weights[rest] = 0
    rates = {"clip_norm": 1.0} if rates is None else rates
    return bank, *(stepped(e, bank, loss, data, steps, **rates) for e in ("fused", "plain"))


def agree(case):
    """Both moved away from the start, to the same place, with the same losses on the way."""
    bank, ours, truth = case
    return apart(truth[0], bank.theta) > 0.01 and same_steps(ours, truth)


@FEEDBACK
@pytest.mark.parametrize("gates", GATES)
def test_its_steps_are_the_plain_steps_for_every_subset_of_gates(gates, feedback):
    assert agree(both(gates=gates, feedback=feedback))


@FEEDBACK
@pytest.mark.parametrize("n_members", [1, 3])
@pytest.mark.parametrize("adapters", ["", *ADAPTERS])
def test_its_steps_are_the_plain_steps_for_a_plain_gru_and_all_adapters(
    adapters, n_members, feedback
):
    assert agree(both(adapters=adapters, n_members=n_members, feedback=feedback))


@FEEDBACK
@pytest.mark.parametrize("adapters", ["", "rsb"])
@pytest.mark.parametrize("horizon", [1, 4])
@pytest.mark.parametrize(
    ("lags", "covariates", "n_past"),
    [((1,), 0, 0), ((1, 3), 2, 1), ((2,), 2, 2), ((3, 1, 2), 1, 0)],
)
def test_its_steps_are_the_plain_steps_for_any_lags_covariates_and_horizon(
    lags, covariates, n_past, horizon, adapters, feedback
):
    assert agree(
        both(
            lags=lags,
            covariates=covariates,
            n_past=n_past,
            horizon=horizon,
            adapters=adapters,
            feedback=feedback,
        )
    )


@pytest.mark.parametrize("adapters", ["", "rsb"])
@pytest.mark.parametrize(("batch", "width"), [(1, 1), (1, 3), (8, 3), (150, 1)])
def test_its_steps_are_the_plain_steps_for_any_batch_and_windows_of_each_member_s_own(
    batch, width, adapters
):
    assert agree(both(batch=batch, width=width, adapters=adapters))


@FEEDBACK
@pytest.mark.parametrize("adapters", ["", "rsb"])
@pytest.mark.parametrize("hidden", [(), (4,), (4, 7, 3)])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_its_steps_are_the_plain_steps_for_any_head_and_with_dropout_as_the_masks_are_the_same(
    hidden, dropout, adapters, feedback
):
    case = both(hidden=hidden, dropout=dropout, adapters=adapters, feedback=feedback)
    assert agree(case)
    if hidden and dropout:  # Negative control: without dropout it is another training.
        _, (without, _), _ = both(hidden=hidden, adapters=adapters, feedback=feedback)
        assert apart(case[1][0], without) > 0.01


@pytest.mark.parametrize(
    "rates",
    [
        {"clip_norm": math.inf},
        {"clip_norm": 0.1},
        {"clip_norm": math.inf, "weight_decay": 0.5},
        {"clip_norm": 1.0, "weight_decay": 0.5},
    ],
)
def test_its_steps_are_the_plain_steps_with_any_decay_and_clipping(rates):
    assert agree(both(rates=rates))


@pytest.mark.parametrize("bounds", [(-1.0, 0.5), FREE])
@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_its_steps_are_the_plain_steps_for_any_bounds_and_beta(bounds, beta):
    assert agree(both(loss=GaussianNLL(bounds, beta)))


@pytest.mark.parametrize("adapters", ["", "rsb"])
def test_a_resting_network_stays_bit_for_bit_and_goes_on_as_if_it_had_not_rested(adapters):
    case = both(rest=(slice(None), 1), rates={"weight_decay": 0.5}, adapters=adapters)
    bank, (theta, losses), _ = case
    assert torch.equal(theta[1], bank.theta[1])
    assert (losses[:, 1] == 0).all()
    assert agree(case)
    assert agree(both(rest=slice(0, None, 2), adapters=adapters))


def test_a_network_that_diverges_has_losses_of_nan_and_the_others_go_on():
    loss, data = GaussianNLL(), walk()
    bank = bank_of(loss, 0, 4, lags=(1, 3))
    bank.theta[1] = math.nan
    theta, losses = stepped("fused", bank, loss, data, plan_steps(3, 70))
    assert losses[:, 1].isnan().all()
    assert losses[:, [0, 2]].isfinite().all()
    assert theta[[0, 2]].isfinite().all()


@given(
    context=st.integers(1, 5),
    horizon=st.integers(1, 4),
    lags=st.lists(st.integers(1, 4), min_size=1, max_size=3, unique=True),
    covariates=st.integers(0, 3),
    n_past=st.integers(0, 3),
    n_rows=st.integers(1, 6),
)
@settings(max_examples=60, deadline=None)
def test_gathered_inputs_and_targets_are_cut_from_the_windows(
    context, horizon, lags, covariates, n_past, n_rows
):
    reach, n_past = context - 1 + max(lags), min(n_past, covariates)
    data = replace(walk(covariates=covariates, horizon=horizon, reach=reach), n_past=n_past)
    rows = torch.randint(80 - reach - horizon + 1, (n_rows,), generator=generator(n_rows))
    inputs = np.full((context + horizon - 1, n_rows, len(lags) + covariates), np.nan, np.float32)
    target = np.full((horizon, n_rows), np.nan, np.float32)
    scaling = torch.stack([data.location, data.scale]).numpy()
    gather(
        data.series.numpy(), scaling, rows.numpy(), reach, n_past, context, np.array(lags), inputs,
        target,
    )  # fmt: skip
    x, y = doubled(data).take(rows)  # (rows, times, 1 + covariates)
    np.testing.assert_allclose(target, y.T, rtol=1e-6, atol=1e-6)
    for i in range(len(inputs)):
        time = reach - context + 1 + i
        lagged = [x[:, time - lag, :1] for lag in lags]
        expected = torch.cat([*lagged, x[:, time, 1:]], 1)
        np.testing.assert_allclose(inputs[i], expected, rtol=1e-6, atol=1e-6)


@given(
    adapters=st.sampled_from(["", *ADAPTERS]),
    gates=st.sampled_from(GATES),
    feedback=st.sampled_from(["mean", "teacher"]),
    lags=st.lists(st.integers(1, 4), min_size=1, max_size=3, unique=True),
    covariates=st.integers(0, 2),
    n_past=st.integers(0, 2),
    horizon=st.integers(1, 5),
    hidden_size=st.integers(1, 7),
    hidden=st.lists(st.integers(1, 7), max_size=2).map(tuple),
    n_members=st.integers(1, 3),
    own_rows=st.booleans(),
    batch=st.integers(1, 9),
    dropout=st.sampled_from([0.0, 0.2]),
)
@settings(max_examples=25, deadline=None)
def test_its_steps_are_the_plain_steps_for_all_of_it_together(
    covariates, n_past, n_members, own_rows, **rest
):
    assert agree(
        both(
            covariates=covariates,
            n_past=min(n_past, covariates),
            n_members=n_members,
            width=n_members if own_rows else 1,
            **rest,
        )
    )
