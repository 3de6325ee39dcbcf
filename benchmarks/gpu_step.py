"""One training step of a bank on the GPU: plain torch, a graph, compiled and captured, a kernel.

    python benchmarks/gpu_step.py

Prints microseconds a step at the paper's settings (tables: batch 64, 8 inputs; series: the
study's), and how far the networks are from those that plain torch trains.
"""

import time
from typing import Any

import torch
from torch import Generator, Tensor

from batchensemble.estimators.presets import SERIES_PRESETS
from batchensemble.nn.dropout import draw_keys
from batchensemble.training.bank import Bank
from batchensemble.training.engines import Data, Windows
from batchensemble.training.engines.adam import Adam
from batchensemble.training.engines.cuda import KernelEngine
from batchensemble.training.engines.data import Source
from batchensemble.training.engines.graph import GraphEngine
from batchensemble.training.engines.plain import Engine, PlainEngine, Steps
from batchensemble.training.losses import GaussianNLL
from batchensemble.training.networks import MLP, Network, Recurrent

DEVICE = "cuda"
LOSS = GaussianNLL()
PAPER = SERIES_PRESETS["paper"]
CONTEXT, HORIZON, SERIES_BATCH = PAPER["context"], PAPER["horizon"], PAPER["batch_size"]


def mlp(seed: int, n_members: int) -> Network:
    return MLP(8, (1, 1), **settings(seed, n_members))


def forecaster(seed: int, n_members: int) -> Network:
    return Recurrent(
        0, (1, 1), draw=LOSS.draw, context=CONTEXT, horizon=HORIZON, **settings(seed, n_members)
    )


def settings(seed: int, n_members: int) -> dict[str, Any]:
    return {
        "n_members": n_members,
        "adapters": "rsb" if n_members > 1 else "",
        "generator": Generator().manual_seed(seed),
    }


def measure(kind: str, bank: Bank, data: Source, steps: Steps) -> tuple[float, float, Tensor]:
    """Seconds of the first run, microseconds a step, and the first losses."""
    adam = Adam.over(bank.theta, bank.parameter_names(), lr=0.005, clip_norm=1.0)
    start = time.perf_counter()
    engine: Engine
    plain = engine = PlainEngine(bank, LOSS, data, adam)
    if kind == "kernel":
        engine = KernelEngine(bank, LOSS, data, adam, batch=steps.rows.shape[2])
    elif kind != "plain":
        engine = GraphEngine(plain, compiled=kind == "compiled graph")
    losses = engine.run(steps)
    torch.cuda.synchronize()
    first = time.perf_counter() - start
    start = time.perf_counter()
    for _ in range(3):
        engine.run(steps)
    torch.cuda.synchronize()
    return first, (time.perf_counter() - start) / 3 / len(steps.rows) * 1e6, losses


def main() -> None:
    source = Generator(DEVICE).manual_seed(0)
    x = torch.rand(16512, 8, generator=source, device=DEVICE)
    table = Data(x, x.sum(1) + 0.1 * torch.randn(16512, generator=source, device=DEVICE))
    one = torch.ones(3650, device=DEVICE)
    values = (torch.arange(3650, device=DEVICE) / 58).sin().unsqueeze(1)
    values += 0.1 * torch.randn(3650, 1, generator=source, device=DEVICE)
    series = Windows(values, 0 * one, one, CONTEXT, HORIZON)
    print(torch.cuda.get_device_name(), torch.__version__)
    tables = ((1, 10), (5, 10), (5, 32), (5, 1), (50, 1))
    everything = ("plain", "graph", "compiled graph", "kernel")
    cases = [(mlp, table, 64, 256, everything, sizes) for sizes in tables]
    cases += [
        (forecaster, series, SERIES_BATCH, 64, ("plain", "graph", "kernel"), sizes)
        for sizes in ((5, 10), (5, 1), (50, 1))
    ]
    for make, data, batch, n_steps, kinds, (n_networks, n_members) in cases:
        rows = torch.randint(3500, (n_steps, n_networks, batch, 1), generator=source, device=DEVICE)
        weights = torch.full(rows.shape, 1 / (batch * n_members), device=DEVICE)
        steps = Steps(rows, weights, draw_keys((n_steps, n_networks), source, DEVICE))
        reference = None
        for kind in kinds:
            bank = Bank([make(i, n_members) for i in range(n_networks)]).to(DEVICE)
            first, us, losses = measure(kind, bank, data, steps)
            reference = losses if reference is None else reference
            apart = ((losses - reference).abs() / reference.abs().clamp(min=0.1))[:50].max().item()
            print(
                f"{make.__name__:10} {n_networks:3} of {n_members:2} members  {kind:15} "
                f"{us:9.1f} us a step   first run {first:6.2f} s   losses apart {apart:.1e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
