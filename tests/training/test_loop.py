import math
import time
from contextlib import contextmanager
from itertools import count

import pytest
import torch
from fixtures import SHOCK, SLOPE, autoregression
from fixtures import bank_of_forecasters as forecasters
from fixtures import bank_of_mlps as bank
from fixtures import doubled_line as data
from fixtures import trained_bank as fit

from batchensemble.training.engines import Data
from batchensemble.training.loop import Training, TrainingDiverged


@pytest.mark.parametrize("batching", ["shared", "independent", "split"])
def test_a_network_learns_the_same_in_a_bank_and_alone(batching):
    # Rows of unequal number, one not a multiple of the batch, one smaller than a batch.
    rows = [torch.arange(150), torch.arange(20, 117), torch.arange(40)]
    training = Training(epochs=4, batch_size=32, batching=batching)
    together, alone = bank(), bank()
    fit(together, training, rows=rows)
    fit(alone, training, rows=rows, one_by_one=True)
    # Float64: only rounding can differ. In float32, chaos would hide a real difference.
    assert torch.allclose(together.theta, alone.theta, atol=1e-9)


def test_networks_with_other_seeds_learn_other_things():
    networks = bank()
    twin = networks[[0, 0, 0]]
    fit(twin, Training(epochs=2))
    assert (torch.pdist(twin.theta) > 1e-3).all()


def test_the_same_seed_gives_bit_equal_networks_and_the_global_seed_stays():
    state = torch.get_rng_state()
    a, b = bank(double=False), bank(double=False)
    for networks in (a, b):
        fit(networks, Training(epochs=3), data=data(double=False))
    assert torch.equal(a.theta, b.theta)
    assert torch.equal(torch.get_rng_state(), state)


def test_an_epoch_cut_into_parts_is_the_same_epoch(monkeypatch):
    whole, parts = bank(), bank()
    fit(whole, Training(epochs=2, batch_size=16))
    monkeypatch.setattr("batchensemble.training.plan.STEPS_AT_ONCE", 1)
    fit(parts, Training(epochs=2, batch_size=16))
    assert torch.allclose(whole.theta, parts.theta, atol=1e-12)


def test_training_lowers_the_loss_towards_the_noise():
    history = fit(bank(1, dropout=0.0), Training(epochs=60))
    # Noise of sd 0.3: the best mean loss is log(0.3) + 0.5 = -0.70.
    assert history.losses[0][0] > -0.2
    assert -1.0 < history.losses[-1][0] < -0.5


def test_sample_weights_say_which_rows_to_learn():
    d = data()
    wrong = torch.cat([d.y[:75], -d.y[75:]])
    weight = torch.cat([torch.full((75,), 1.9), torch.full((125,), 0.1)]).double()
    networks = bank(1, dropout=0.0)
    fit(networks, Training(epochs=60), data=Data(d.x, wrong, weight))
    networks.module.eval()
    mean = networks(d.x[:75].view(1, 75, 1, 3).expand(1, 75, 4, 3))[0, ..., 0].mean(1)
    assert torch.corrcoef(torch.stack([mean, d.y[:75]]))[0, 1] > 0.9


def test_the_time_limit_ends_training_with_what_there_is():
    start = time.monotonic()
    history = fit(bank(), Training(epochs=100_000, time_limit=0.3))
    assert history.ended == "time_limit"
    assert time.monotonic() - start < 5
    assert len(history.losses) >= 1


def test_a_time_limit_that_is_not_reached_ends_nothing():
    history = fit(bank(), Training(epochs=3, time_limit=600))
    assert len(history.losses) == 3
    assert history.ended != "time_limit"


def test_the_time_limit_ends_an_epoch_that_is_too_long(monkeypatch):
    monkeypatch.setattr("batchensemble.training.plan.STEPS_AT_ONCE", 1)
    networks, two_steps = bank(1), bank(1)
    history = fit(networks, Training(epochs=9, batch_size=32, time_limit=1e-9))
    fit(two_steps, Training(epochs=1, batch_size=32))
    assert history.ended == "time_limit"
    assert len(history.losses) == 1
    assert not torch.equal(networks.theta, bank(1).theta)
    assert (networks.theta - bank(1).theta).abs().max() < 1.01 * Training().lr  # Adam's first step
    assert (two_steps.theta - bank(1).theta).abs().max() > 1.5 * Training().lr


@contextmanager
def interrupted(what, total, verbose):
    """A bar that presses Ctrl-C in the third epoch."""
    epochs = count(1)

    def advance(n, text):
        if next(epochs) == 3:
            raise KeyboardInterrupt

    yield advance


def test_an_interrupt_leaves_a_usable_bank_when_asked_to_and_raises_otherwise(monkeypatch):
    monkeypatch.setattr("batchensemble.training.loop.progress_bar", interrupted)
    networks = bank()
    history = fit(networks, Training(epochs=50, verbose=True, keep_on_interrupt=True))
    assert history.ended == "interrupt"
    assert len(history.losses) == 3
    assert torch.isfinite(networks.theta).all()
    with pytest.raises(KeyboardInterrupt):
        fit(bank(), Training(epochs=50, verbose=True))


def test_a_loss_that_is_no_number_stops_with_where_and_what_to_try():
    d = data()
    d.y[3] = float("nan")
    rows = [torch.arange(100, 150), torch.arange(50)]
    with pytest.raises(
        TrainingDiverged,
        match=r"network 1 of 2 became nan at epoch 0, step \d+ of \d+; try a smaller lr",
    ):
        fit(bank(2), Training(epochs=2), rows=rows, data=d)


def test_an_interrupt_before_the_first_score_keeps_what_was_learnt(monkeypatch):
    def tired(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("batchensemble.training.loop.check_finite", tired)
    networks = bank()
    before = networks.theta.clone()
    fit(
        networks,
        Training(epochs=5, patience=2, keep_on_interrupt=True),
        held_out=[torch.arange(150, 200)] * 3,
    )
    assert not torch.equal(networks.theta, before)


def test_losses_are_means_over_a_networks_own_steps():
    rows = [torch.arange(150), torch.arange(20)]
    together = fit(bank(2), Training(epochs=1, batch_size=16, penalty=1.0), rows=rows)
    alone = fit(bank(2), Training(epochs=1, batch_size=16, penalty=1.0), rows=rows, one_by_one=True)
    assert together.losses[0] == pytest.approx([h.losses[0][0] for h in alone], abs=1e-6)


def test_a_score_that_is_no_number_stops_with_words():
    d = data()
    d.x[160] = float("nan")
    with pytest.raises(TrainingDiverged, match="score on the held-out rows became"):
        fit(bank(1), Training(epochs=2, patience=1), data=d, held_out=[torch.arange(150, 200)])


def test_threads_are_given_back_after_training():
    before = torch.get_num_threads()
    fit(bank(1), Training(epochs=1))
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"batching": "splitt"}, "did you mean 'split'"),
        ({"epochs": 0}, "epochs above 0"),
        ({"batch_size": -1}, "batch_size above 0"),
        ({"lr": 0.0}, "lr above 0"),
        ({"clip_norm": 0.0}, "clip_norm above 0"),
        ({"weight_decay": -1.0}, "weight_decay of at least 0"),
        ({"patience": 0}, "patience above 0"),
        ({"patience_growth": -0.5}, "patience_growth of at least 0"),
        ({"epoch_steps": 0}, "epoch_steps above 0"),
    ],
)
def test_bad_settings_are_refused_with_words(kwargs, words):
    with pytest.raises(ValueError, match=words):
        Training(**kwargs)


def test_rows_and_generators_must_fit_the_bank():
    with pytest.raises(ValueError, match="for 3 networks, got 1 and 3"):
        fit(bank(), Training(epochs=1), rows=[torch.arange(5)])
    with pytest.raises(ValueError, match="got none for some"):
        fit(bank(1), Training(epochs=1), rows=[torch.arange(0)])
    with pytest.raises(ValueError, match="3 sets of held-out rows, got 1"):
        fit(bank(), Training(epochs=1, patience=1), held_out=[torch.arange(5)])
    with pytest.raises(ValueError, match="ensembles of 2 out of 3"):
        fit(bank(), Training(epochs=1), ensemble_size=2)


@pytest.mark.parametrize(
    "option", [{"patience": 3}, {"time_limit": 5.0}, {"keep_on_interrupt": True}]
)
def test_one_by_one_refuses_what_is_about_the_ensemble(option):
    with pytest.raises(
        ValueError, match=r"one by one cannot have .*validation_fraction=0 without eval_set"
    ):
        fit(bank(), Training(epochs=1, **option), one_by_one=True)


@pytest.mark.parametrize("batching", ["shared", "independent", "split"])
@pytest.mark.parametrize("feedback", ["mean", "sample", "teacher"])
def test_a_forecaster_learns_the_same_in_a_bank_and_alone(feedback, batching):
    rows = [torch.arange(150), torch.arange(20, 117), torch.arange(40)]
    training = Training(epochs=2, batch_size=32, batching=batching)
    together, alone = forecasters(feedback=feedback), forecasters(feedback=feedback)
    before = alone.theta.clone()
    fit(together, training, rows=rows, data=autoregression())
    fit(alone, training, rows=rows, data=autoregression(), one_by_one=True)
    assert torch.allclose(together.theta, alone.theta, atol=1e-9)
    assert (alone.theta != before).any(1).all()


@pytest.mark.parametrize("feedback", ["mean", "sample"])
def test_an_epoch_of_a_forecaster_cut_into_parts_is_the_same_epoch(feedback, monkeypatch):
    whole, parts = forecasters(feedback=feedback), forecasters(feedback=feedback)
    fit(whole, Training(epochs=2, batch_size=16), data=autoregression())
    monkeypatch.setattr("batchensemble.training.plan.STEPS_AT_ONCE", 1)
    fit(parts, Training(epochs=2, batch_size=16), data=autoregression())
    assert torch.allclose(whole.theta, parts.theta, atol=1e-12)


@pytest.mark.parametrize("feedback", ["mean", "sample", "teacher"])
def test_training_a_forecaster_lowers_the_loss_towards_that_of_the_true_autoregression(feedback):
    networks = forecasters(1, feedback=feedback, dropout=0.0)
    rows = [torch.arange(250)]
    history = fit(
        networks, Training(epochs=40, lr=0.02), rows=rows, data=autoregression(scaled=False)
    )
    # h steps ahead the truth has variance SHOCK^2 (1 + SLOPE^2 + ...); a teacher knows all but
    # one. A sample fed back costs more than a mean, as it is not what happened.
    ahead = [SHOCK**2 * sum(SLOPE ** (2 * i) for i in range(h)) for h in (1, 2, 3)]
    variances = ahead[:1] * 3 if feedback == "teacher" else ahead
    best = sum(0.5 * math.log(v) + 0.5 for v in variances) / 3
    assert history.losses[0][0] > best + 0.2
    slack = 0.3 if feedback == "sample" else 0.15
    assert best - 0.15 < history.losses[-1][0] < best + slack
