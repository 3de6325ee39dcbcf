"""One training step of a bank on the GPU: plain torch, a graph, compiled and captured, a kernel.

    python benchmarks/gpu_step.py

Prints microseconds a step at the paper's setting (batch 64, 8 inputs), and how far the networks are
from those that plain torch trains.
"""

import time

import torch
from torch import Generator

from batchensemble.bank import Bank
from batchensemble.engines.adam import Adam
from batchensemble.engines.cuda import KernelEngine
from batchensemble.engines.data import Data
from batchensemble.engines.graph import GraphEngine
from batchensemble.engines.plain import Engine, PlainEngine, Steps
from batchensemble.losses import GaussianNLL
from batchensemble.networks import MLP
from batchensemble.nn.dropout import draw_keys

N_STEPS = 256
DEVICE = "cuda"


def bank(n_networks: int, n_members: int) -> Bank:
    adapters = "rsb" if n_members > 1 else ""
    return Bank(
        [
            MLP(
                8,
                (1, 1),
                n_members=n_members,
                adapters=adapters,
                generator=Generator().manual_seed(i),
            )
            for i in range(n_networks)
        ]
    ).to(DEVICE)


def main() -> None:
    source = Generator(DEVICE).manual_seed(0)
    x = torch.rand(16512, 8, generator=source, device=DEVICE)
    data = Data(x, x.sum(1) + 0.1 * torch.randn(16512, generator=source, device=DEVICE))
    print(torch.cuda.get_device_name(), torch.__version__)
    for n_networks, n_members in ((1, 10), (5, 10), (5, 32), (5, 1), (50, 1)):
        rows = torch.randint(16512, (N_STEPS, n_networks, 64, 1), generator=source, device=DEVICE)
        weights = torch.full(rows.shape, 1 / (64 * n_members), device=DEVICE)
        steps = Steps(rows, weights, draw_keys((N_STEPS, n_networks), source, DEVICE))
        reference = None
        for kind in ("plain", "graph", "compiled graph", "kernel"):
            nets = bank(n_networks, n_members)
            adam = Adam.over(nets.theta, nets.parameter_names(), lr=0.005, clip_norm=1.0)
            start = time.perf_counter()
            engine: Engine
            plain = engine = PlainEngine(nets, GaussianNLL(), data, adam)
            if kind == "kernel":
                engine = KernelEngine(nets, GaussianNLL(), data, adam, batch=64)
            elif kind != "plain":
                engine = GraphEngine(plain, compiled=kind == "compiled graph")
            losses = engine.run(steps)
            torch.cuda.synchronize()
            first = time.perf_counter() - start
            reference = losses if reference is None else reference
            apart = ((losses - reference).abs() / reference.abs().clamp(min=0.1))[:50].max().item()
            start = time.perf_counter()
            for _ in range(3):
                engine.run(steps)
            torch.cuda.synchronize()
            us = (time.perf_counter() - start) / 3 / N_STEPS * 1e6
            print(
                f"{n_networks:3} networks of {n_members:2} members  {kind:15} {us:9.1f} us a step"
                f"   first run {first:6.2f} s   first 50 losses apart {apart:.1e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
