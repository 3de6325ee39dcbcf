"""The kernels: which networks each trains, what it is compiled with, and what it is given."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from batchensemble.bank import Bank
from batchensemble.engines.cuda.constants import CHUNK, STRIDE, THREADS, Shape, padded
from batchensemble.engines.data import Data, Source, Windows
from batchensemble.engines.shapes import layer_table
from batchensemble.networks import MLP, Recurrent
from batchensemble.nn.cells import GRUBECell


@dataclass(frozen=True)
class Kernel:
    """file       its text, after that of `network.cuh`
    constants  besides those of the shape
    n_bytes    of shared memory
    data       what it learns from
    scratch    numbers that each block keeps outside the chip
    """

    file: str
    shape: Shape
    constants: dict[str, Any]
    n_bytes: int
    data: tuple[Tensor, ...]
    scratch: int = 0


def kernel_for(bank: Bank, data: Source, batch: int) -> Kernel | None:
    """Of a known network; None if there is none for it."""
    network = bank.module
    has_clusters = torch.cuda.get_device_capability(bank.theta.device) >= (9, 0)
    if isinstance(network, MLP) and isinstance(data, Data):
        return mlp_kernel(bank, network, data, batch, blocks_for(network.n_members, has_clusters))
    if isinstance(network, Recurrent) and isinstance(data, Windows):
        blocks = blocks_for(network.n_members, has_clusters)
        return grube_kernel(bank, network, data, batch, blocks)
    return None


MOST_BLOCKS = 8  # of a cluster, on any GPU that has clusters


def blocks_for(n_members: int, has_clusters: bool) -> int:
    """As many as there are members, or so many that all have the same number of them."""
    rounds = -(-n_members // (MOST_BLOCKS if has_clusters else 1))
    return -(-n_members // rounds)


def mlp_kernel(bank: Bank, network: MLP, data: Data, batch: int, blocks: int) -> Kernel:
    table = layer_table(bank, (*network.layers, *network.heads))
    n_hidden = len(network.hidden)
    layer_of = tuple(min(part, n_hidden) for part in range(len(table)))
    shape = Shape(table, layer_of, sum(network.hidden), network.n_members, batch, blocks)
    sizes = shape.sizes
    floats = (
        shape.floats
        + 2 * padded(sizes[0][0]) * STRIDE
        + 8 * CHUNK
        + sum(padded(n_in) for n_in, _ in sizes[1:]) * STRIDE
        + 4
        + 2 * max(padded(n_out) for _, n_out in (*sizes, (0, 4))) * STRIDE
        + padded(max(n_out * (n_in + 1) for n_in, n_out in sizes))
    )
    tensors = (data.x.contiguous(), data.y.float().contiguous())
    return Kernel("mlp.cu", shape, {}, 4 * floats, tensors)


def grube_kernel(
    bank: Bank, network: Recurrent, data: Windows, batch: int, blocks: int
) -> Kernel | None:
    cell = network.recurrent.cells[0]
    size, head = network.hidden_size, network.head
    n_covariates = data.series.shape[1] - 1
    if not isinstance(cell, GRUBECell) or n_covariates or size * CHUNK % THREADS:
        return None
    gates = (cell.reset, cell.update, cell.candidate)
    table = layer_table(bank, (*gates, *head.layers, *head.heads))
    table[len(gates) :, -1] -= 3 * size  # units of the head alone
    n_hidden = len(head.hidden)
    layer_of = (0, 0, 1, *(min(2 + part, 2 + n_hidden) for part in range(len(table) - 3)))
    shape = Shape(table, layer_of, sum(head.hidden), network.n_members, batch, blocks)
    sizes = shape.sizes
    head_rows = sum(n_in for n_in, _ in sizes[3:]) + 2 * max(n_out for _, n_out in sizes[2:])
    n_lags, n_xh = len(network.lags), sizes[0][0]
    if head_rows > n_xh + 3 * size:
        return None
    floats = (
        shape.floats
        + (2 * n_xh + 4 * size + n_lags) * STRIDE
        + (data.reach + 3 * data.horizon + 2) * CHUNK
        + sum(padded(n_out) for _, n_out in sizes)
        + padded(sum(n_out * (n_in + 1) for n_in, n_out in sizes))
    )
    constants = {
        "CONTEXT": network.context,
        "HORIZON": network.horizon,
        "REACH": data.reach,
        "LAGS": list(network.lags),
        "FEEDS_BACK": network.feedback == "mean",
    }
    tensors = tuple(t.contiguous() for t in (data.series, data.location, data.scale))
    scratch = (network.context + network.horizon - 1) * size * CHUNK
    return Kernel("grube.cu", shape, constants, 4 * padded(floats), tensors, scratch)


def most_bytes(device: torch.device) -> int:
    """Of shared memory that a block can have."""
    properties = torch.cuda.get_device_properties(device)
    return int(getattr(properties, "shared_memory_per_block_optin", 0))
