import math

import pytest
import torch
from fixtures import autoregression, generator
from fixtures import bank_of_forecasters as forecasters
from fixtures import bank_of_mlps as bank
from fixtures import doubled_line as data
from fixtures import trained_bank as fit

from batchensemble.training.early_stopping import EarlyStopping
from batchensemble.training.engines import Data, Windows
from batchensemble.training.loop import Training, train
from batchensemble.training.losses import GaussianCRPS, GaussianNLL

LOSS = GaussianNLL()


def test_early_stopping_keeps_the_best_state_and_rests_the_network():
    held_out = [torch.arange(150, 200)] * 3
    networks = bank(dropout=0.0)
    history = fit(networks, Training(epochs=200, patience=5, lr=0.05), held_out=held_out)
    assert history.ended == "patience"
    scores = torch.tensor(history.scores)
    for i, best in enumerate(history.best_epochs):
        upto = scores[: best + 6, i]
        assert upto.argmin() == best
    networks.module.eval()
    x = data().x[150:].view(1, 50, 1, 3).expand(3, 50, 4, 3)
    kept = LOSS.mixture(networks(x), data().y[150:].expand(3, 50).unsqueeze(-1)).mean(1)
    expected = [scores[best, i] for i, best in enumerate(history.best_epochs)]
    assert torch.allclose(kept.float(), torch.stack(expected), atol=1e-5)


def test_an_ensemble_of_networks_is_judged_and_stopped_together():
    held_out = [torch.arange(150, 200)] * 4
    history = fit(bank(4), Training(epochs=50, patience=3), held_out=held_out, ensemble_size=2)
    a, b, c, d = history.best_epochs
    assert (a, c) == (b, d)
    for scores in history.scores:
        assert scores[0] == scores[1]
        assert scores[2] == scores[3]
        assert scores[0] != scores[2]


def test_the_ensembles_score_is_the_mixtures_not_the_members_mean():
    networks = bank(2, n_members=1)
    held_out = [torch.arange(150, 200)] * 2
    history = fit(networks, Training(epochs=1, patience=3), held_out=held_out, ensemble_size=2)
    x = data().x[150:].view(1, 50, 1, 3).expand(2, 50, 1, 3)
    outputs = networks(x).squeeze(2).transpose(0, 1)  # (rows, networks, 2)
    expected = LOSS.mixture(outputs, data().y[150:].unsqueeze(-1)).mean()
    assert history.scores[0][0] == pytest.approx(expected.item(), abs=1e-6)
    assert LOSS(outputs, data().y[150:].unsqueeze(-1)).mean() > expected


def test_held_out_rows_are_judged_by_their_weights():
    d = data()
    weight = torch.ones(200).double()
    weight[150:175] = 0.001
    networks = bank(1)
    history = fit(
        networks,
        Training(epochs=1, patience=3),
        data=Data(d.x, d.y, weight),
        held_out=[torch.arange(150, 200)],
    )
    outputs = networks(d.x[150:].view(1, 50, 1, 3).expand(1, 50, 4, 3))[0]
    scores = LOSS.mixture(outputs, d.y[150:].unsqueeze(-1))
    expected = (scores * weight[150:]).sum() / weight[150:].sum()
    assert history.scores[0][0] == pytest.approx(expected.item(), abs=1e-6)


@pytest.mark.parametrize("ensemble_size", [1, 2])
def test_a_held_out_score_of_forecasts_is_the_mixtures_averaged_over_steps_and_windows(
    ensemble_size,
):
    weight = torch.rand(260, generator=generator(4), dtype=torch.float64) + 0.5
    data, networks = autoregression(weight), forecasters(4)
    held_out = [torch.arange(200, 212)] * 2 + [torch.arange(205, 225)] * 2
    training = Training(epochs=1, patience=3)
    history = fit(networks, training, data=data, held_out=held_out, ensemble_size=ensemble_size)
    for first in range(0, 4, ensemble_size):
        ensemble = range(first, first + ensemble_size)
        total = 0.0
        for window in held_out[first].tolist():
            x, y = data.take(torch.tensor(window))
            answers = [
                networks.network(i)(x[None, :, None].expand(1, 7, 2, 2))[0] for i in ensemble
            ]
            for step in range(3):
                densities = []
                for answer in answers:
                    mean, log_variance = LOSS.moments(answer[step])
                    normal = torch.distributions.Normal(mean, (log_variance / 2).exp())
                    densities += normal.log_prob(y[step]).exp().tolist()
                score = -math.log(sum(densities) / len(densities)) - 0.5 * math.log(2 * math.pi)
                total += score / 3 * weight[window].item()
        expected = total / weight[held_out[first]].sum().item()
        for i in ensemble:
            assert history.scores[0][i] == pytest.approx(expected, abs=1e-5)


def test_early_stopping_keeps_the_best_forecaster():
    data, held_out = autoregression(scaled=False), [torch.arange(200, 250)] * 2
    networks = forecasters(2, dropout=0.0)
    history = fit(networks, Training(epochs=60, patience=3, lr=0.05), data=data, held_out=held_out)
    scores = torch.tensor(history.scores)
    x, y = data.take(held_out[0])
    for i, best in enumerate(history.best_epochs):
        outputs = networks.network(i).eval()(x.unsqueeze(2).expand(-1, -1, 2, -1))
        kept = LOSS.mixture(outputs, y.unsqueeze(-1)).mean()
        assert scores[: best + 4, i].argmin() == best
        assert kept.item() == pytest.approx(scores[best, i].item(), abs=1e-5)


def test_the_longer_the_windows_the_fewer_are_scored_at_once(monkeypatch):
    monkeypatch.setattr("batchensemble.training.early_stopping.SCORED_ROWS", 70)
    monkeypatch.setattr("batchensemble.training.early_stopping.LEAST_ROWS", 1)
    taken = []
    take = Windows.take

    def spy(self, rows):
        taken.append(tuple(rows.shape))
        return take(self, rows)

    monkeypatch.setattr(Windows, "take", spy)
    held_out = [torch.arange(200, 225)]
    parts = fit(
        forecasters(1), Training(epochs=1, patience=1), data=autoregression(), held_out=held_out
    )
    assert taken[-3:] == [(1, 10, 1), (1, 10, 1), (1, 5, 1)]  # of 7 times each
    monkeypatch.setattr("batchensemble.training.early_stopping.SCORED_ROWS", 8192)
    whole = fit(
        forecasters(1), Training(epochs=1, patience=1), data=autoregression(), held_out=held_out
    )
    assert taken[-1] == (1, 25, 1)
    assert parts.scores[0] == pytest.approx(whole.scores[0], abs=1e-6)


def rests_at(best, *, patience, growth):
    """The epoch after which a network rests whose scores fall until `best` and then no more."""
    stopper = EarlyStopping(
        bank(1),
        LOSS,
        data(),
        [torch.arange(150, 200)],
        ensemble_size=1,
        patience=patience,
        patience_growth=growth,
    )
    for epoch in range(1000):
        stopper.update(epoch, [-float(min(epoch, best))])
        if not stopper.active[0]:
            assert stopper.best_epochs == [best]
            return epoch
    return None


@pytest.mark.parametrize("best", [0, 3, 10, 11, 40, 101])
@pytest.mark.parametrize("growth", [0.0, 0.25, 0.5, 2.0])
def test_patience_is_its_least_or_a_share_of_the_epochs_that_the_best_took(best, growth):
    assert rests_at(best, patience=5, growth=growth) == best + math.ceil(max(5, growth * best))


def test_a_network_that_rests_has_its_best_score_and_the_others_have_theirs():
    networks, held_out = bank(4), [torch.arange(150, 200)] * 4
    stopper = EarlyStopping(networks, LOSS, data(), held_out, ensemble_size=2, patience=1)
    first = stopper.scores()
    stopper.update(0, first)
    stopper.update(1, [score + 1 for score in first[:2]] + [score - 1 for score in first[2:]])
    assert stopper.active == [False, False, True, True]
    networks.theta *= 0.5
    resting, still = stopper.scores()[:2], stopper.scores()[2:]
    assert resting == first[:2]
    assert still[0] == still[1] != first[2]
    stopper.active[:] = [True] * 4
    assert still == pytest.approx(stopper.scores()[2:], abs=1e-9)


def test_a_late_improvement_that_patience_alone_would_miss_is_waited_for():
    scores = [-float(epoch) for epoch in range(41)] + [0.0] * 15 + [-99.0]
    for growth, kept in ((0.5, 56), (0.0, 40)):
        stopper = EarlyStopping(
            bank(1),
            LOSS,
            data(),
            [torch.arange(150, 200)],
            ensemble_size=1,
            patience=5,
            patience_growth=growth,
        )
        for epoch, score in enumerate(scores):
            stopper.update(epoch, [score])
        assert stopper.best_epochs == [kept]


def test_a_training_hands_its_growth_on_to_early_stopping():
    held_out = [torch.arange(150, 200)]
    ends = {}
    for growth in (0.0, 1.0):
        training = Training(epochs=400, patience=3, patience_growth=growth, lr=0.2)
        history = fit(bank(1, dropout=0.0), training, held_out=held_out)
        assert history.ended == "patience"
        (best,) = history.best_epochs
        # Judged by the last improvement, a network rests after so many epochs more.
        assert len(history.scores) == best + math.ceil(max(3, growth * best)) + 1
        ends[growth] = len(history.scores)
    assert ends[0.0] < ends[1.0]


def test_the_score_of_early_stopping_is_the_losss_own():
    loss, networks = GaussianCRPS(), bank(1)
    history = train(
        networks,
        loss,
        data(),
        Training(epochs=1, patience=3),
        rows=[torch.arange(150)],
        generators=[generator()],
        held_out=[torch.arange(150, 200)],
    )
    outputs = networks(data().x[150:].view(1, 50, 1, 3).expand(1, 50, 4, 3))[0]
    expected = loss.score(outputs, data().y[150:].unsqueeze(-1)).mean().item()
    assert history.scores[0][0] == pytest.approx(expected, abs=1e-6)
    nll = loss.mixture(outputs, data().y[150:].unsqueeze(-1)).mean().item()
    assert history.scores[0][0] != pytest.approx(nll, abs=1e-3)  # negative control
