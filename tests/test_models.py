import numpy as np
import pytest
import torch
from laws import line

from batchensemble.losses import GaussianNLL
from batchensemble.methods import make_method
from batchensemble.models import Rows, fit_models, make_members, mlp_maker, predict_rows
from batchensemble.training import Training


def fitted(word="deep_ensemble", seeds=(0, 1), epochs=2):
    method = make_method(word, n_members=3, n_passes=5)
    make = mlp_maker(3, (1, 1), hidden=(8,), dropout=0.3)
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
    make = mlp_maker(3, (1, 1), hidden=(8,), dropout=0.3, adapters="rs")
    assert make(generator).layers[0].adapters == ""
    assert make(generator, n_members=4).layers[0].adapters == "rs"


@pytest.mark.parametrize("word", ["batch_ensemble", "deep_ensemble", "mc_dropout", "single"])
def test_answers_come_in_float64_and_do_not_depend_on_the_chunks(word, monkeypatch):
    method, bank, _ = fitted(word, seeds=(0,))
    forward = make_members(method, bank, seed=0)
    x = line().x.numpy()
    whole = torch.cat(list(predict_rows(forward, x, bank.theta.device, floats_a_row=1)))
    monkeypatch.setattr("batchensemble.models.CHUNK_FLOATS", 7)
    parts = list(predict_rows(forward, x, bank.theta.device, floats_a_row=1))
    assert len(parts) == -(-200 // 7)
    assert whole.dtype == torch.float64
    assert np.allclose(torch.cat(parts), whole, rtol=1e-12, atol=1e-12)


def test_mc_dropout_drops_as_it_did_in_training():
    method = make_method("mc_dropout", n_passes=4000)
    make = mlp_maker(3, (1, 1), hidden=(200,), dropout=0.3)
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
