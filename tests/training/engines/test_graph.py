import os
import subprocess
import sys

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

needs_cuda = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="captured graphs need a CUDA device"
)


def test_what_torch_says_while_it_loads_its_compiler_is_not_passed_on():
    # In a new process: torch says it once, when its compiler is imported.
    code = (
        "from fixtures import bank_of_mlps, doubled_line\n"
        "from batchensemble.training.engines.adam import Adam\n"
        "from batchensemble.training.engines.graph import GraphEngine\n"
        "from batchensemble.training.engines.plain import PlainEngine\n"
        "from batchensemble.training.losses import GaussianNLL\n"
        "bank = bank_of_mlps()\n"
        "adam = Adam.over(bank.theta, bank.parameter_names(), lr=0.01)\n"
        "GraphEngine(PlainEngine(bank, GaussianNLL(), doubled_line(), adam), compiled=True)\n"
    )
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@needs_cuda
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
