import pytest
import torch
from fixtures import generator

from batchensemble.nn.dropout import draw_keys
from batchensemble.training.bank import Bank
from batchensemble.training.engines.adam import Adam
from batchensemble.training.engines.data import Data
from batchensemble.training.engines.graph import GraphEngine
from batchensemble.training.engines.plain import PlainEngine, Steps
from batchensemble.training.losses import GaussianNLL
from batchensemble.training.networks import MLP

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="captured graphs need a CUDA device"
)


@pytest.mark.parametrize("compiled", [False, True])
def test_captured_steps_are_the_plain_steps_also_in_parts_of_another_length(compiled):
    x = torch.randn(200, 3, device="cuda")
    data = Data(x, x.sum(1))
    rows = torch.randint(200, (50, 2, 16, 1), device="cuda")
    weights = torch.full(rows.shape, 1 / 48, device="cuda")
    keys = draw_keys((50, 2), device="cuda")

    def trained(graph: bool) -> torch.Tensor:
        bank = Bank([MLP(3, (1, 1), n_members=3, generator=generator(i)) for i in range(2)])
        bank = bank.to("cuda")
        adam = Adam.over(bank.theta, bank.parameter_names(), lr=0.005, clip_norm=1.0)
        engine = PlainEngine(bank, GaussianNLL(), data, adam)
        if graph:
            engine = GraphEngine(engine, compiled=compiled)
        for part in (slice(0, 20), slice(20, 30), slice(30, 50)):
            engine.run(Steps(rows[part], weights[part], keys[part]))
        return bank.theta

    plain, captured = trained(False), trained(True)
    assert ((plain - captured).norm() / plain.norm()).item() < 1e-4
