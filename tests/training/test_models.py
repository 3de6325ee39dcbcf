import numpy as np
import pytest
import torch
from fixtures import generator, line, randomised

from batchensemble.training.bank import Bank
from batchensemble.training.engines import Windows
from batchensemble.training.loop import Training
from batchensemble.training.losses import GaussianNLL
from batchensemble.training.methods import make_method
from batchensemble.training.models import (
    Rows,
    fit_models,
    make_members,
    maker,
    predict_rows,
    sample_paths,
)
from batchensemble.training.networks import MLP, Recurrent


def fitted(word="deep_ensemble", seeds=(0, 1), epochs=2):
    method = make_method(word, n_members=3, n_passes=5)
    make = maker(MLP, 3, (1, 1), hidden=(8,), dropout=0.3)
    rows = [Rows(seed, torch.arange(100), torch.arange(100, 200)) for seed in seeds]
    training = Training(epochs=epochs, patience=2)
    return method, *fit_models(method, make, GaussianNLL(), line(), training, rows=rows)


def test_every_network_of_every_model_is_another_and_a_model_is_its_seeds():
    _, bank, _ = fitted()
    assert len(bank) == 6
    assert (torch.pdist(bank.theta) > 1e-2).all()
    _, again, _ = fitted(seeds=(1,))
    assert torch.allclose(again.theta, bank.theta[3:], atol=1e-4)


def test_the_networks_of_a_model_are_judged_together():
    _, _, (history,) = fitted(epochs=30)
    a, b = history.best_epochs[:3], history.best_epochs[3:]
    assert len(set(a)) == len(set(b)) == 1


def test_only_a_batch_ensemble_has_members_in_a_network():
    generator = torch.Generator().manual_seed(0)
    make = maker(MLP, 3, (1, 1), hidden=(8,), dropout=0.3, adapters="rs")
    assert make(generator).layers[0].adapters == ""
    assert make(generator, n_members=4).layers[0].adapters == "rs"


@pytest.mark.parametrize("word", ["batch_ensemble", "deep_ensemble", "mc_dropout", "single"])
def test_answers_come_in_float64_and_do_not_depend_on_the_chunks(word, monkeypatch):
    method, bank, _ = fitted(word, seeds=(0,))
    forward = make_members(method, bank, seed=0)
    x = line().x.numpy()
    whole = np.concatenate(list(predict_rows(forward, x, bank.theta.device)))
    widest = max(3, *forward.network.hidden)
    seven = 7 * forward.n_members * widest
    monkeypatch.setattr("batchensemble.training.models.CHUNK_FLOATS", seven)
    parts = list(predict_rows(forward, x, bank.theta.device))
    assert len(parts) == -(-200 // 7)
    assert whole.dtype == np.float64
    assert np.allclose(np.concatenate(parts), whole, rtol=1e-12, atol=1e-12)


def test_mc_dropout_drops_as_it_did_in_training():
    method = make_method("mc_dropout", n_passes=4000)
    make = maker(MLP, 3, (1, 1), hidden=(200,), dropout=0.3)
    rows = [Rows(0, torch.arange(100))]
    bank, _ = fit_models(method, make, GaussianNLL(), line(), Training(epochs=1), rows=rows)
    network = bank.network(0).double()
    x = line().x[:1].double()
    hidden = torch.relu(network.layers[0](x.unsqueeze(1))).flatten()
    effect = hidden * network.heads[0].weight.flatten()
    # A sum of units each kept with probability 0.7 and scaled by 1/0.7.
    expected = (effect.square().sum() * 0.3 / 0.7).sqrt()
    found = make_members(method, bank, seed=0)(x)[0, :, 0].std()
    assert found.item() == pytest.approx(expected.item(), rel=0.05)  # 4,000 draws: sd 1.1 %


WORDS = pytest.mark.parametrize("word", ["batch_ensemble", "deep_ensemble", "mc_dropout", "single"])


def forecasters(word):
    """Recurrent networks with every parameter random, of all members of a method."""
    method = make_method(word, n_members=3, n_passes=5)
    make = maker(
        Recurrent,
        2,
        (1, 1),
        draw=GaussianNLL().draw,
        context=4,
        horizon=3,
        lags=(1, 3),
        hidden_size=5,
    )
    networks = [method.network(make, generator(i)) for i in range(method.n_networks)]
    for i, network in enumerate(networks):
        randomised(network, i)
        for parameter in network.parameters():
            parameter.data /= 3  # paths that explode would hide everything else
    return make_members(method, Bank(networks), seed=0, dtype=torch.float32)


def windows(horizon=3):
    series = torch.randn(60, 3, generator=generator(7))
    location, scale = torch.randn(2, 60, generator=generator(8))
    return Windows(series, location, scale.abs() + 0.5, 6, horizon)


def paths(members, starts, seeds, n_paths=7, horizon=3):
    chunks = sample_paths(members, windows(horizon), np.array(starts), seeds, n_paths)
    return np.concatenate(list(chunks))


@WORDS
def test_a_path_feeds_back_its_own_draws(word):
    members, data = forecasters(word), windows()
    found = paths(members, [2, 30], [5, 6])
    assert found.shape == (2, members.n_members, 7, 3)
    x, _ = data.take(torch.tensor([2, 30]))
    for row, seed in enumerate((5, 6)):
        source = generator(seed)
        noise = torch.stack([torch.randn(7, members.n_members, generator=source) for _ in range(3)])
        for path in (0, 6):
            own = noise[:, path].T[None, None]  # one window, one path, every member
            with torch.no_grad():
                alone = members.network.simulate(x[row : row + 1], own, members.masks)[0, 0]
            expected = alone * data.scale[[2, 30][row]] + data.location[[2, 30][row]]
            np.testing.assert_allclose(found[row, :, path], expected, rtol=1e-4, atol=1e-4)


@WORDS
@pytest.mark.parametrize("floats", [1, 3_000])
def test_paths_do_not_depend_on_chunks_or_on_the_windows_beside_them(word, floats, monkeypatch):
    members = forecasters(word)
    whole = paths(members, [2, 30, 11], [5, 6, 7])
    alone = paths(members, [30], [6])
    np.testing.assert_allclose(alone[0], whole[1], rtol=1e-4, atol=1e-4)
    monkeypatch.setattr("batchensemble.training.models.PATH_FLOATS", floats)
    chunked = paths(members, [2, 30, 11], [5, 6, 7])
    np.testing.assert_allclose(chunked, whole, rtol=1e-4, atol=1e-4)


@WORDS
@pytest.mark.parametrize("n_paths", [1, 7, 16])
def test_with_a_longer_horizon_paths_begin_as_with_a_shorter_one(word, n_paths):
    members = forecasters(word)
    longest = paths(members, [2, 30], [5, 6], n_paths, horizon=9)
    for horizon in (1, 2, 5):
        found = paths(members, [2, 30], [5, 6], n_paths, horizon)
        np.testing.assert_allclose(longest[..., :horizon], found, rtol=1e-4, atol=1e-4)


def test_members_paths_and_seeds_have_noise_of_their_own():
    found = paths(forecasters("batch_ensemble"), [2, 2], [5, 6])
    assert len(np.unique(found[..., 0].round(4))) == found[..., 0].size


@WORDS
@pytest.mark.parametrize("at_once", [1, 2, 7, 20])
def test_no_more_paths_are_drawn_at_once_than_the_memory_for_them_holds(word, at_once, monkeypatch):
    members = forecasters(word)
    network, drawn = members.network, []
    simulate = network.simulate

    def spy(x, noise, masks):
        drawn.append(noise[..., 0, 0].numel())
        return simulate(x, noise, masks)

    monkeypatch.setattr(network, "simulate", spy)
    floats = at_once * members.n_members * network.floats_a_path
    monkeypatch.setattr("batchensemble.training.models.PATH_FLOATS", floats)
    paths(members, [2, 30, 11], [5, 6, 7])
    assert sum(drawn) == 3 * 7
    assert max(drawn) == min(at_once, 14)  # two windows of 7, never a part of one beside another
