import copy
import pickle

import pytest
import torch
from fixtures import generator, randomised
from torch import nn

from batchensemble.training.bank import Bank
from batchensemble.training.losses import GaussianNLL
from batchensemble.training.networks import MLP, Recurrent


def networks(n=4, n_members=3, adapters="rsb"):
    return [
        randomised(
            MLP(5, (1, 1), hidden=(7, 6), n_members=n_members, adapters=adapters), seed
        ).eval()
        for seed in range(n)
    ]


@pytest.mark.parametrize("adapters", ["rsb", "", "r", "sb"])
def test_a_bank_computes_what_its_networks_compute(adapters):
    nets = networks(adapters=adapters)
    x = torch.randn(4, 8, 3, 5, generator=generator(1))
    masks = torch.randint(2, (4, 8, 3, 13), generator=generator(2), dtype=torch.uint8)
    together = Bank(nets)(x, masks)
    for i, net in enumerate(nets):
        assert torch.allclose(together[i], net(x[i], masks[i]), atol=1e-4, rtol=1e-4)


def test_gradients_of_one_network_reach_only_its_own_parameters():
    bank = Bank(networks())
    loss = bank(torch.randn(4, 8, 3, 5, generator=generator(1)))[2].sum()
    for gradient in torch.autograd.grad(loss, bank.parameters()):
        touched = gradient.flatten(1).abs().sum(1) > 0
        assert touched.tolist() == [False, False, True, False]


def test_theta_holds_every_parameter_and_a_change_of_it_changes_the_module():
    nets = networks()
    bank = Bank(nets)
    assert bank.n_parameters == 4 * sum(p.numel() for p in nets[0].parameters())
    x = torch.randn(4, 2, 3, 5)
    bank.theta.zero_()
    assert (bank(x) == 0).all()


def test_networks_come_out_as_they_went_in():
    nets = networks()
    bank = Bank(nets)
    for i, net in enumerate(nets):
        for p, q in zip(net.parameters(), bank.network(i).parameters(), strict=True):
            assert torch.equal(p, q)


def test_parts_and_copies_hold_their_own_numbers():
    bank = Bank(networks())
    part, twin = bank[1:3], copy.deepcopy(bank)
    assert len(part) == 2
    assert torch.equal(part.theta, bank.theta[1:3])
    before = part.theta.clone()
    bank.theta.zero_()
    assert torch.equal(part.theta, before)
    assert torch.equal(twin.theta[1:3], before)
    assert torch.equal(Bank.joined([part, part]).theta, torch.cat([before, before]))


def test_a_bank_survives_pickling_with_its_views():
    bank = Bank(networks())
    twin = pickle.loads(pickle.dumps(bank))
    x = torch.randn(4, 2, 3, 5)
    assert torch.equal(twin(x), bank(x))
    twin.theta.zero_()
    assert (twin(x) == 0).all()


def test_what_a_gpu_has_learned_is_pickled_from_the_cpu_and_unpickled_without_a_gpu():
    bank = Bank(networks())
    state = bank.__getstate__()
    assert state["theta"].device.type == "cpu"
    assert {p.device.type for p in state["module"].parameters()} == {"meta"}
    for device in ("cuda:99", "cpu"):  # no machine has so many
        twin = Bank.__new__(Bank)
        twin.__setstate__(pickle.loads(pickle.dumps(state | {"device": torch.device(device)})))
        assert twin.theta.device.type == "cpu"
        assert torch.equal(twin.theta, bank.theta)


def test_a_bank_goes_back_to_its_device_where_that_is_here():
    state = Bank(networks()).__getstate__() | {"device": torch.device("meta")}
    twin = Bank.__new__(Bank)
    twin.__setstate__(state)
    assert twin.theta.device.type == "meta"


def test_a_bank_of_a_form_without_numbers_and_theta_computes_as_the_one_they_come_from():
    bank = Bank(networks())
    with torch.device("meta"):
        form = networks()[0].train()
    twin = Bank.of(form, bank.theta.clone())
    x = torch.randn(4, 2, 3, 5)
    assert torch.equal(twin(x), bank(x))
    assert not twin.module.training
    with pytest.raises(ValueError, match=r"expected theta of \(networks, \d+ parameters\), got"):
        Bank.of(form, bank.theta[:, 1:])


def test_networks_of_different_shapes_none_and_buffers_are_refused():
    with pytest.raises(ValueError, match="at least one"):
        Bank([])
    with pytest.raises(ValueError, match="one shape"):
        Bank([MLP(5, (1,)), MLP(6, (1,))])
    with pytest.raises(ValueError, match="buffers"):
        Bank([nn.BatchNorm1d(3)])


@pytest.mark.parametrize("n_networks", [1, 4])
@pytest.mark.parametrize("adapters", ["rsb", "", "r", "sb"])
def test_a_folded_bank_has_all_members_of_all_networks_in_order(adapters, n_networks):
    nets = [net.double() for net in networks(n_networks, adapters=adapters)]
    folded = Bank(nets).folded()
    assert folded.n_members == 3 * n_networks
    x = torch.randn(8, 3 * n_networks, 5, generator=generator(1), dtype=torch.float64)
    masks = torch.randint(2, (8, 3 * n_networks, 13), generator=generator(2), dtype=torch.uint8)
    plain, dropped = folded(x), folded(x, masks)
    for i, net in enumerate(nets):
        members = slice(3 * i, 3 * i + 3)
        assert torch.allclose(plain[:, members], net(x[:, members]), atol=1e-10)
        assert torch.allclose(
            dropped[:, members], net(x[:, members], masks[:, members]), atol=1e-10
        )


def test_a_folded_bank_of_one_plain_network_takes_any_number_of_members():
    (net,) = networks(1, n_members=1, adapters="")
    x = torch.randn(8, 20, 5, generator=generator(1))
    assert torch.allclose(Bank([net]).folded()(x), net(x), atol=1e-5)
    with pytest.raises(ValueError, match="members=2"):
        Bank([net, net]).folded()(x)


def recurrent(n=3, adapters="rsb", **kwargs):
    n_members = 3 if adapters else 1
    settings = {"context": 3, "horizon": 4, "hidden_size": 4, "hidden": (5,), "lags": (1, 3)}
    nets = [
        Recurrent(
            1,
            (1, 1),
            draw=GaussianNLL().draw,
            n_members=n_members,
            adapters=adapters,
            **settings,
            **kwargs,
        )
        for _ in range(n)
    ]
    return [randomised(net.double(), seed).eval() for seed, net in enumerate(nets)]


@pytest.mark.parametrize("feedback", ["mean", "sample", "teacher"])
@pytest.mark.parametrize("adapters", ["rsb", ""])
def test_a_bank_of_recurrent_networks_computes_what_they_compute_alone(adapters, feedback):
    nets = recurrent(adapters=adapters, feedback=feedback)
    rows = (3, 8, nets[0].n_members)
    x = torch.randn(3, 8, 9, rows[2], 2, generator=generator(1), dtype=torch.float64)
    masks = torch.randint(2, (*rows, 4 * 5), generator=generator(2), dtype=torch.uint8)
    noise = torch.randn(*rows, 3, generator=generator(3), dtype=torch.float64)
    noise = noise if feedback == "sample" else None
    together = Bank(nets)(x, masks, noise)
    for i, net in enumerate(nets):
        alone = net(x[i], masks[i], None if noise is None else noise[i])
        assert torch.allclose(together[i], alone, atol=1e-10)


@pytest.mark.parametrize("n_networks", [1, 3])
@pytest.mark.parametrize("adapters", ["rsb", ""])
def test_a_folded_bank_of_recurrent_networks_forecasts_and_samples_as_each_of_them(
    adapters, n_networks
):
    nets = recurrent(n_networks, adapters=adapters)
    n_members = nets[0].n_members
    folded = Bank(nets).folded()
    x = torch.randn(8, 9, 2, generator=generator(1), dtype=torch.float64)
    shape = (8, 5, n_networks * n_members, 4)
    noise = torch.randn(shape, generator=generator(2), dtype=torch.float64)
    answers = folded(x.unsqueeze(2).expand(-1, -1, shape[2], -1))
    paths = folded.simulate(x, noise)
    for i, net in enumerate(nets):
        members = slice(n_members * i, n_members * (i + 1))
        alone = net(x.unsqueeze(2).expand(-1, -1, n_members, -1))
        assert torch.allclose(answers[:, :, members], alone, atol=1e-10)
        assert torch.allclose(
            paths[:, :, members], net.simulate(x, noise[:, :, members]), atol=1e-10
        )
