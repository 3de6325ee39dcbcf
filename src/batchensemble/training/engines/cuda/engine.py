"""The CUDA engine for small networks: one launch trains all networks of a bank for many steps.

A network stays in the shared memory of a cluster of blocks, so that a step costs its arithmetic and
a few barriers instead of a dozen or more launches.
"""

from functools import lru_cache
from importlib.resources import files
from typing import Any

import torch
from torch import Tensor

from batchensemble.training.bank import Bank
from batchensemble.training.engines.adam import Adam
from batchensemble.training.engines.cuda.constants import THREADS, text_of, training_constants
from batchensemble.training.engines.cuda.kernels import kernel_for
from batchensemble.training.engines.data import Source
from batchensemble.training.engines.plain import Steps
from batchensemble.training.engines.shapes import is_known, is_plain
from batchensemble.training.losses import Loss


def covers(bank: Bank, loss: Loss, data: Source, batch: int, *, has_penalty: bool = False) -> bool:
    """Whether a kernel can train this bank: a known network in float32 that fits the chip."""
    if bank.theta.dtype != torch.float32 or data.dtype != torch.float32:
        return False
    if not is_plain(bank.module, loss) or not is_known(bank.module, loss, data):
        return False
    if not hasattr(torch.cuda, "_compile_kernel"):
        return False
    return kernel_for(bank, data, batch, has_penalty=has_penalty) is not None


class KernelEngine:
    def __init__(
        self,
        bank: Bank,
        loss: Loss,
        data: Source,
        adam: Adam,
        *,
        batch: int,
        penalty: Tensor | None = None,
    ) -> None:
        """`penalty` is the strength of each network's orthogonality penalty, (networks,)."""
        kernel = kernel_for(bank, data, batch, has_penalty=penalty is not None)
        assert kernel is not None
        self.penalty = bank.theta.new_zeros(len(bank)) if penalty is None else penalty
        self.adam, self.kernel = adam, kernel
        decay = 0.0 if adam.decay is None else float(adam.decay.max())
        constants = kernel.shape.constants() | kernel.constants
        constants |= training_constants(loss, adam, bank.module.dropout, decay)
        blocks = kernel.shape.spread.blocks
        self.blocks = len(bank) * blocks
        self.train = _compiled(kernel.texts, text_of(constants), blocks, kernel.n_bytes)
        self.data = (*kernel.data, bank.theta.new_empty(self.blocks, kernel.scratch))

    def run(self, steps: Steps) -> Tensor:
        adam, (n_steps, n_networks, _, width) = self.adam, steps.rows.shape
        losses = adam.theta.new_empty(n_steps, n_networks)
        keys = steps.keys
        if keys is None:
            keys = torch.zeros(n_steps, n_networks, dtype=torch.int32, device=losses.device)
        active = (steps.weights.flatten(2).sum(2) > 0).to(torch.uint8)
        state = (adam.theta, adam.moment1, adam.moment2, adam.count)
        inputs = (steps.rows.contiguous(), steps.weights.contiguous(), keys.contiguous(), active)
        self.train(
            grid=(self.blocks, 1, 1),
            block=(THREADS, 1, 1),
            args=[
                *state, *self.data, *inputs, self.penalty, losses,
                n_steps, n_networks, width, adam.theta.shape[1],
            ],
            shared_mem=self.kernel.n_bytes,
        )  # fmt: skip
        return losses


@lru_cache(maxsize=64)
def _compiled(names: tuple[str, ...], constants: str, blocks: int, n_bytes: int) -> Any:
    folder = files("batchensemble.training.engines.cuda")
    texts = [folder.joinpath(name).read_text() for name in names]
    source = "\n".join([f"#define BLOCKS_OF_NETWORK {blocks}", constants, *texts])
    kernel = torch.cuda._compile_kernel(source, "train", nvcc_options=["--std=c++17"])
    kernel.set_shared_memory_config(n_bytes)
    return kernel
