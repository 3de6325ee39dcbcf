"""The CUDA engine for small MLPs: one launch trains all networks of a bank for many steps.

A network stays in the shared memory of a cluster of blocks, so that a step costs its arithmetic and
a few barriers instead of some dozen launches.
"""

from functools import lru_cache
from importlib.resources import files
from typing import Any

import torch
from torch import Tensor

from batchensemble.bank import Bank
from batchensemble.engines.adam import Adam
from batchensemble.engines.cuda.constants import THREADS, Shape, text_of, training_constants
from batchensemble.engines.data import Data, Source
from batchensemble.engines.plain import Steps
from batchensemble.engines.shapes import is_known, layer_table
from batchensemble.losses import Loss
from batchensemble.networks import MLP

MOST_BLOCKS = 8  # of a cluster, on any GPU that has clusters


def covers(bank: Bank, loss: Loss, data: Source, batch: int) -> bool:
    """Whether a kernel can train this bank: a known MLP in float32 that fits the chip."""
    if bank.theta.dtype != torch.float32 or data.dtype != torch.float32:
        return False
    if not isinstance(data, Data) or not is_known(bank.module, loss, data):
        return False
    if not hasattr(torch.cuda, "_compile_kernel"):
        return False
    properties = torch.cuda.get_device_properties(bank.theta.device)
    room: int = getattr(properties, "shared_memory_per_block_optin", 0)
    return _shape(bank, batch).bytes <= room


class KernelEngine:
    def __init__(self, bank: Bank, loss: Loss, data: Source, adam: Adam, *, batch: int) -> None:
        assert isinstance(data, Data)
        self.adam, self.n_networks = adam, len(bank)
        self.shape = _shape(bank, batch)
        decay = 0.0 if adam.decay is None else float(adam.decay.max())
        constants = self.shape.constants()
        constants |= training_constants(loss, adam, bank.module.dropout, decay)
        self.kernel = _compiled(text_of(constants), self.shape.blocks, self.shape.bytes)
        self.data = (data.x.contiguous(), data.y.float().contiguous())

    def run(self, steps: Steps) -> Tensor:
        adam, (n_steps, n_networks, _, width) = self.adam, steps.rows.shape
        losses = adam.theta.new_empty(n_steps, n_networks)
        keys = steps.keys
        if keys is None:
            keys = torch.zeros(n_steps, n_networks, dtype=torch.int32, device=losses.device)
        active = (steps.weights.flatten(2).sum(2) > 0).to(torch.uint8)
        state = (adam.theta, adam.moment1, adam.moment2, adam.count)
        inputs = (steps.rows.contiguous(), steps.weights.contiguous(), keys.contiguous(), active)
        self.kernel(
            grid=(n_networks * self.shape.blocks, 1, 1),
            block=(THREADS, 1, 1),
            args=[
                *state, *self.data, *inputs, losses,
                n_steps, n_networks, width, adam.theta.shape[1],
            ],
            shared_mem=self.shape.bytes,
        )  # fmt: skip
        return losses


def _shape(bank: Bank, batch: int) -> Shape:
    network = bank.module
    assert isinstance(network, MLP)
    table = layer_table(bank, (*network.layers, *network.heads))
    has_clusters = torch.cuda.get_device_capability(bank.theta.device) >= (9, 0)
    most = MOST_BLOCKS if has_clusters else 1
    rounds = -(-network.n_members // most)
    blocks = -(-network.n_members // rounds)
    return Shape(table, len(network.hidden), network.n_members, batch, blocks)


@lru_cache(maxsize=64)
def _compiled(constants: str, blocks: int, n_bytes: int) -> Any:
    text = files("batchensemble.engines.cuda").joinpath("mlp.cu").read_text()
    source = f"#define BLOCKS_OF_NETWORK {blocks}\n{constants}\n{text}"
    kernel = torch.cuda._compile_kernel(source, "train", nvcc_options=["--std=c++17"])
    kernel.set_shared_memory_config(n_bytes)
    return kernel
