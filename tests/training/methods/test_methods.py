import pytest
import torch
from fixtures import generator, randomised

from batchensemble.training.bank import Bank
from batchensemble.training.methods import METHODS, in_folds, make_method, share_of
from batchensemble.training.networks import MLP


def make(generator, *, n_members=None):
    return MLP(
        5,
        (1, 1),
        hidden=(7, 6),
        n_members=n_members or 1,
        adapters="" if n_members is None else "rsb",
        dropout=0.3,
        generator=generator,
    )


def built(word, **kwargs):
    method = make_method(word, **kwargs)
    nets = [randomised(method.network(make, generator(i)), i) for i in range(method.n_networks)]
    return method, nets, method.members(Bank(nets), generator())


def rows(n=9):
    return torch.randn(n, 5, generator=generator(3))


@pytest.mark.parametrize(
    ("word", "predictions"),
    [("batch_ensemble", 4), ("deep_ensemble", 4), ("mc_dropout", 20), ("single", 1)],
)
def test_every_method_gives_its_number_of_predictions_and_the_same_ones_again(word, predictions):
    _, _, forward = built(word, n_members=4, n_passes=20)
    assert forward(rows()).shape == (9, predictions, 2)
    assert torch.equal(forward(rows()), forward(rows()))


@pytest.mark.parametrize("word", METHODS)
def test_a_rows_answer_does_not_depend_on_the_rows_it_came_with(word):
    _, _, forward = built(word, n_members=4, n_passes=20)
    whole = forward(rows())
    parts = torch.cat([forward(row.unsqueeze(0)) for row in rows()])
    assert torch.allclose(whole, parts, rtol=1e-4, atol=1e-4)


def test_batch_ensemble_predicts_with_its_members():
    _, (net,), forward = built("batch_ensemble", n_members=4)
    expected = net.eval()(rows().unsqueeze(1).expand(9, 4, 5))
    assert torch.allclose(forward(rows()), expected, rtol=1e-4, atol=1e-4)


def test_deep_ensemble_predicts_with_each_of_its_networks():
    _, nets, forward = built("deep_ensemble", n_members=4)
    expected = torch.cat([net.eval()(rows().unsqueeze(1)) for net in nets], dim=1)
    assert torch.allclose(forward(rows()), expected, rtol=1e-4, atol=1e-4)


def test_single_predicts_with_dropout_off_also_after_training():
    _, (net,), forward = built("single")
    assert torch.allclose(forward(rows()), net.eval()(rows().unsqueeze(1)))


def test_mc_dropout_predicts_with_dropout_on_around_its_deterministic_answer():
    _, (net,), forward = built("mc_dropout", n_passes=4000)
    first_layer = torch.relu(net.layers[0](rows()))
    passes = forward(rows())
    assert passes.std(1).min() > 0.01
    # A network that is linear behind its dropout has that answer for a mean; this one nearly so.
    exact = net.heads[0](torch.relu(net.layers[1](first_layer)))
    slope = torch.corrcoef(torch.stack([passes[..., 0].mean(1), exact.squeeze(1)]))[0, 1]
    assert slope > 0.9


def test_mc_dropout_without_dropout_agrees_with_itself():
    method = make_method("mc_dropout", n_passes=6)
    net = randomised(MLP(5, (1, 1), adapters="", dropout=0.0))
    out = method.members(Bank([net]), generator())(rows())
    assert out.shape == (9, 6, 2)
    assert (out == out[:, :1]).all()


def test_predicting_leaves_the_networks_as_they_were():
    for word in METHODS:
        method = make_method(word, n_members=3, n_passes=5)
        bank = Bank([method.network(make, generator(i)) for i in range(method.n_networks)])
        before = bank.theta.clone()
        method.members(bank, generator())(rows())
        assert torch.equal(bank.theta, before)


def test_bad_words_and_counts_are_refused():
    with pytest.raises(ValueError, match="did you mean 'deep_ensemble'"):
        make_method("deep-ensemble")
    with pytest.raises(ValueError, match="n_members of at least 1"):
        make_method("single", n_members=0)
    with pytest.raises(ValueError, match="n_passes of at least 1"):
        make_method("mc_dropout", n_passes=0)


@pytest.mark.parametrize("most", range(1, 8))
@pytest.mark.parametrize("n_members", [1, 2, 4, 6, 7, 10])
@pytest.mark.parametrize("word", METHODS)
def test_folds_share_out_all_networks_evenly_and_are_as_many_as_can_be(word, n_members, most):
    method = make_method(word, n_members=n_members, n_passes=9)
    cut, n_folds = in_folds(method, most)
    share = share_of(cut, n_folds)
    assert 1 <= n_folds <= most
    assert type(cut) is type(share) is type(method)
    assert share.n_networks * n_folds == cut.n_networks
    if word == "batch_ensemble":
        assert n_folds == most
        assert share == method  # each fold trains a whole BatchEnsemble
    else:
        assert cut == method  # no more networks than without folds
        more = range(n_folds + 1, most + 1)
        assert all(method.n_networks % folds for folds in more)


@pytest.mark.parametrize("word", METHODS)
def test_one_fold_leaves_a_method_as_it_is(word):
    method = make_method(word, n_members=4, n_passes=9)
    assert in_folds(method, 1) == (method, 1)
    assert share_of(method, 1) == method


@pytest.mark.parametrize(("word", "members"), [("batch_ensemble", 12), ("deep_ensemble", 4)])
def test_a_method_in_folds_predicts_with_the_members_of_all_folds_in_their_order(word, members):
    method, n_folds = in_folds(make_method(word, n_members=4), 3)
    share = share_of(method, n_folds)
    nets = [
        randomised(share.network(make, generator(i)), i) for i in range(n_folds * share.n_networks)
    ]
    forward = method.members(Bank(nets), generator())
    assert forward(rows()).shape == (9, members, 2)
    each = members // len(nets)
    expected = [net.eval()(rows().unsqueeze(1).expand(9, each, 5)) for net in nets]
    assert torch.allclose(forward(rows()), torch.cat(expected, 1), rtol=1e-4, atol=1e-4)
