import torch
from fixtures import generator, line

from batchensemble.nn import expand_members, orthogonality_penalty
from batchensemble.training.bank import Bank
from batchensemble.training.engines import Adam, Steps, choose_engine
from batchensemble.training.losses import GaussianNLL
from batchensemble.training.networks import MLP


def setup(n_networks=2, n_members=3, penalty=0.0):
    nets = [
        MLP(3, (1, 1), hidden=(8,), n_members=n_members, dropout=0.0, generator=generator(i))
        for i in range(n_networks)
    ]
    bank, data = Bank(nets), line()
    adam = Adam.over(bank.theta, bank.parameter_names(), lr=0.01)
    return nets, bank, data, choose_engine(bank, GaussianNLL(), data, adam, penalty=penalty)


def steps(n_steps=5, n_networks=2, batch=16, n_members=3):
    rows = torch.randint(200, (n_steps, n_networks, batch, 1), generator=generator(5))
    return Steps(rows, torch.full(rows.shape, 1 / (batch * n_members)), None)


def test_its_steps_are_those_of_a_handwritten_loop_with_torch_adam():
    nets, bank, data, engine = setup(penalty=0.3)
    plan = steps()
    losses = engine.run(plan)
    for i, net in enumerate(nets):
        net.train()
        optimiser = torch.optim.Adam(net.parameters(), lr=0.01)
        for t in range(len(plan)):
            rows = plan.rows[t, i, :, 0]
            out = net(expand_members(data.x[rows], 3))
            loss = GaussianNLL()(out, data.y[rows].unsqueeze(-1)).mean()
            loss = loss + 0.3 * orthogonality_penalty(net)
            assert torch.allclose(losses[t, i], loss, atol=1e-5)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        mine = torch.cat([p.detach().flatten() for p in net.parameters()])
        assert torch.allclose(bank.theta[i], mine, atol=1e-5)


def test_rows_of_weight_zero_change_nothing():
    _, bank, _, engine = setup()
    _, other, _, padded_engine = setup()
    plan = steps()
    engine.run(plan)
    extra = torch.zeros(5, 2, 7, 1, dtype=torch.int64)
    padded_engine.run(
        Steps(
            torch.cat([plan.rows, extra], 2),
            torch.cat([plan.weights, torch.zeros(extra.shape)], 2),
            None,
        )
    )
    assert torch.allclose(bank.theta, other.theta, atol=1e-6)


def test_a_network_without_rows_rests():
    _, bank, _, engine = setup()
    before, plan = bank.theta.clone(), steps()
    plan.weights[:, 1] = 0
    engine.run(plan)
    assert torch.equal(bank.theta[1], before[1])
    assert not torch.equal(bank.theta[0], before[0])
