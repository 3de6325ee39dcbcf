import copy
import pickle

import pytest
import torch
from laws import generator, randomised
from torch import nn

from batchensemble.bank import Bank
from batchensemble.networks import MLP


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
        assert not touched[[0, 1, 3]].any()


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


def test_networks_of_different_shapes_none_and_buffers_are_refused():
    with pytest.raises(ValueError, match="at least one"):
        Bank([])
    with pytest.raises(ValueError, match="one shape"):
        Bank([MLP(5, (1,)), MLP(6, (1,))])
    with pytest.raises(ValueError, match="buffers"):
        Bank([nn.BatchNorm1d(3)])
