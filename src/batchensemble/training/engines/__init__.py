"""Engines run the steps of an epoch of a bank; they differ in speed, not in what they compute."""

from collections.abc import Sequence

from batchensemble.training.bank import Bank
from batchensemble.training.engines.adam import Adam
from batchensemble.training.engines.cuda import KernelEngine
from batchensemble.training.engines.cuda import covers as kernel_covers
from batchensemble.training.engines.data import Data, Source, Windows
from batchensemble.training.engines.fused import FusedEngine, covers
from batchensemble.training.engines.graph import GraphEngine
from batchensemble.training.engines.plain import (
    Engine,
    PlainEngine,
    Steps,
    mean_over_steps,
    place_members,
)
from batchensemble.training.engines.shapes import is_plain
from batchensemble.training.engines.shared import SharedEngine
from batchensemble.training.importing import import_whole
from batchensemble.training.losses import Loss
from batchensemble.training.processes import Team

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

# How many steps it takes to win back the time of compiling: loops on the CPU are compiled once on a
# machine, a kernel once for each shape, and a graph once for each training.
STEPS_WORTH_COMPILING = {
    "table": 2_000,
    "embedded": 500,
    "series": 2_000,
    "kernel": 10_000,
    "series kernel": 2_000,
    "graph": 50_000,
}


def choose_engine(
    bank: Bank,
    loss: Loss,
    data: Source,
    adam: Adam,
    *,
    penalty: float | Sequence[float] = 0.0,
    batch: int = 1,
    n_steps: int = 0,
    n_threads: int = 1,
    team: Team | None = None,
) -> Engine:
    """The fastest engine for this bank where it is.

    `batch` is the number of rows in a step, `n_steps` the longest that training may take, and
    `n_threads` how many threads it may use. With a `team`, each process takes its share of the rows
    of a step.
    """

    def pays(kind: str) -> bool:
        return n_steps >= STEPS_WORTH_COMPILING[kind]

    plain = PlainEngine(bank, loss, data, adam, penalty=penalty)
    if team is not None:
        return SharedEngine(plain, team)
    if bank.theta.device.type == "cuda":
        how = "series kernel" if isinstance(data, Windows) else "kernel"
        repels = plain.penalty if bank.module.n_members > 1 else None
        has_penalty = repels is not None
        if pays(how) and kernel_covers(bank, loss, data, batch, has_penalty=has_penalty):
            return KernelEngine(bank, loss, data, adam, batch=batch, penalty=repels)
        return GraphEngine(plain, compiled=pays("graph"))
    kind = "table" if is_plain(bank.module, loss) else "embedded"
    kind = "series" if isinstance(data, Windows) else kind
    if plain.penalty is None and pays(kind) and covers(bank, loss, data):
        import_whole("numba")
        return FusedEngine(bank, loss, data, adam, n_threads=n_threads)
    return plain
