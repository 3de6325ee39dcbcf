import pytest
import torch
from fixtures import bank_of_mlps as bank
from fixtures import doubled_line as data

from batchensemble.training.engines import Adam
from batchensemble.training.engines.plain import PlainEngine
from batchensemble.training.engines.shared import SharedEngine
from batchensemble.training.losses import GaussianNLL
from batchensemble.training.plan import Plan
from batchensemble.training.processes import Team


class Alone(Team):
    """A process that keeps what it would have sent to the others."""

    def summed(self, tensor):
        self.sent.append(tensor.clone())
        return tensor


def sent_by(rank, size, penalty):
    """The gradient and the loss of the first step."""
    networks, rows = bank(), data()
    plan = Plan(
        networks,
        rows,
        [torch.arange(150)] * 3,
        [torch.Generator().manual_seed(i) for i in range(3)],
        batch_size=33,
    )
    adam = Adam.over(networks.theta, networks.parameter_names(), lr=0.01)
    plain = PlainEngine(networks, GaussianNLL(), rows, adam, penalty=penalty)
    team = Alone(rank, size)
    object.__setattr__(team, "sent", [])
    steps = next(iter(plan.epoch([True] * 3)))
    SharedEngine(plain, team).run(steps)
    return team.sent[0]


@pytest.mark.parametrize("penalty", [0.0, 0.5])
@pytest.mark.parametrize("size", [2, 3])
def test_the_shares_of_a_step_add_up_to_the_step_of_one_process(size, penalty):
    """Dropout is on: a row has the same mask in whichever process it is."""
    assert bank().module.dropout > 0
    whole = sent_by(0, 1, penalty)
    shares = [sent_by(rank, size, penalty) for rank in range(size)]
    assert torch.allclose(sum(shares), whole, atol=1e-12)
    assert not torch.allclose(shares[0] * size, whole, atol=1e-3)  # no share is the whole
