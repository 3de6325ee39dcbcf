"""Engines run the steps of an epoch of a bank; they differ in speed, never in what they compute."""

from collections.abc import Sequence

from batchensemble.bank import Bank
from batchensemble.engines.adam import Adam
from batchensemble.engines.data import Data, Source, Windows
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

# Compiling costs some tens of seconds, which fewer steps than this do not win back.
STEPS_WORTH_COMPILING = 50_000


def choose_engine(
    bank: Bank,
    loss: Loss,
    data: Source,
    adam: Adam,
    *,
    penalty: float | Sequence[float] = 0.0,
    n_steps: int = 0,
) -> Engine:
    """The fastest engine for this bank where it is; `n_steps` is how long the training may be."""
    plain = PlainEngine(bank, loss, data, adam, penalty=penalty)
    if bank.theta.device.type != "cuda":
        return plain
    return GraphEngine(plain, compiled=n_steps >= STEPS_WORTH_COMPILING)
