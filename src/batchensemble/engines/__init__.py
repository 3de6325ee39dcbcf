"""Engines run the steps of an epoch of a bank; they differ in speed, never in what they compute."""

from collections.abc import Sequence

from batchensemble.bank import Bank
from batchensemble.engines.adam import Adam
from batchensemble.engines.data import Data, Source, Windows
from batchensemble.engines.fused import FusedEngine, covers
from batchensemble.engines.graph import GraphEngine
from batchensemble.engines.plain import Engine, PlainEngine, Steps, mean_over_steps, place_members
from batchensemble.losses import Loss

__all__ = [
    "Adam",
    "Data",
    "Engine",
    "Source",
    "Steps",
    "Windows",
    "choose_engine",
    "mean_over_steps",
    "place_members",
]

# Compiling, once on a machine for loops on the CPU and once a training for a graph, takes as
# long as is won back by about so many steps.
STEPS_WORTH_COMPILING = {"table": 4_000, "series": 1_000, "cuda": 50_000}


def choose_engine(
    bank: Bank,
    loss: Loss,
    data: Source,
    adam: Adam,
    *,
    penalty: float | Sequence[float] = 0.0,
    n_steps: int = 0,
    n_threads: int = 1,
) -> Engine:
    """The fastest engine for this bank where it is; `n_steps` is how long the training may be."""
    plain = PlainEngine(bank, loss, data, adam, penalty=penalty)
    if bank.theta.device.type == "cuda":
        return GraphEngine(plain, compiled=n_steps >= STEPS_WORTH_COMPILING["cuda"])
    kind = "series" if isinstance(data, Windows) else "table"
    if n_steps < STEPS_WORTH_COMPILING[kind] or plain.penalty is not None:
        return plain
    if not covers(bank, loss, data):
        return plain
    return FusedEngine(bank, loss, data, adam, n_threads=n_threads)
