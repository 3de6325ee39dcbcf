"""The kernels: which networks each trains, its sources and constants, and its arguments."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from batchensemble.nn.cells import GRUBECell, GRUCell
from batchensemble.training.bank import Bank
from batchensemble.training.engines.cuda.constants import (
    CHUNK,
    STRIDE,
    Parts,
    Shape,
    Spread,
    one_below_the_other,
    padded,
)
from batchensemble.training.engines.data import Data, Source, Windows
from batchensemble.training.engines.shapes import gru_table, layer_table
from batchensemble.training.networks import MLP, Recurrent

SHARED_TEXTS = ("network.cuh", "penalty.cuh")
MOST_BLOCKS = 8  # in a cluster, on any GPU that has clusters


@dataclass(frozen=True)
class Kernel:
    """texts      its source files, in order
    constants  besides those of the shape
    n_bytes    of shared memory
    data       the tensors it trains on
    scratch    how many floats each block keeps outside the chip
    """

    texts: tuple[str, ...]
    shape: Shape
    constants: dict[str, Any]
    n_bytes: int
    data: tuple[Tensor, ...]
    scratch: int


def kernel_for(bank: Bank, data: Source, batch: int, *, has_penalty: bool = False) -> Kernel | None:
    """The kernel for a known network; None if there is none or it does not fit the chip."""
    network, device = bank.module, bank.theta.device
    blocks = blocks_for(network.n_members, torch.cuda.get_device_capability(device) >= (9, 0))
    for outside in (False, True):
        spread = Spread(batch, blocks, outside)
        kernel = None
        if isinstance(network, MLP) and isinstance(data, Data):
            kernel = mlp_kernel(bank, network, data, spread, has_penalty)
        elif isinstance(network, Recurrent) and isinstance(data, Windows):
            kernel = recurrent_kernel(bank, network, data, spread, has_penalty)
        if kernel is None or kernel.n_bytes <= most_bytes(device):
            return kernel
    return None


def blocks_for(n_members: int, has_clusters: bool) -> int:
    """One for each member or, with too many members, so many that all have about as many."""
    rounds = -(-n_members // (MOST_BLOCKS if has_clusters else 1))
    return -(-n_members // rounds)


def mlp_kernel(
    bank: Bank, network: MLP, data: Data, spread: Spread, has_penalty: bool = False
) -> Kernel:
    parts, n_units = mlp_parts(bank, network), sum(network.hidden)
    first_back = min(1, len(network.hidden))  # an only layer is read by its outputs
    shape = Shape(parts, n_units, network.n_members, spread, has_penalty, first_back)
    sizes = shape.sizes
    activations = sum(padded(n_in) for n_in, _ in sizes[1:]) * STRIDE + 4
    floats = (
        shape.floats
        + 2 * padded(sizes[0][0]) * STRIDE
        + 8 * CHUNK
        + (4 if spread.outside else activations)
        + 2 * max(padded(n_out) for _, n_out in (*sizes, (0, 4))) * STRIDE
        + padded(max(n_out * (n_in + 1) for n_in, n_out in sizes))
    )
    tensors = (data.x.contiguous(), data.y.float().contiguous())
    scratch = activations if spread.outside else 1
    return Kernel((*SHARED_TEXTS, "mlp.cu"), shape, {}, 4 * floats, tensors, scratch)


def recurrent_kernel(
    bank: Bank, network: Recurrent, data: Windows, spread: Spread, has_penalty: bool = False
) -> Kernel | None:
    size, head = network.hidden_size, network.head
    known = cell_parts(bank, network.recurrent.cells[0])
    if known is None:
        return None
    file, cell, n_cell_rows = known
    first = max(cell.layer_of) + 1
    of_head = mlp_parts(bank, head, first)
    table = np.concatenate([cell.table, of_head.table])
    parts = Parts(table, cell.layer_of + of_head.layer_of, cell.corners + of_head.corners)
    shape = Shape(parts, sum(head.hidden), network.n_members, spread, has_penalty)
    sizes = shape.sizes
    n_xh = sizes[0][0]
    head_rows = sum(n_in for n_in, _ in sizes[first + 1 :])
    head_rows += 2 * max(2, *(n_out for _, n_out in sizes[first:]))
    floats = (
        shape.floats
        + (2 * n_xh + max(n_cell_rows, head_rows)) * STRIDE
        + (data.reach + 3 * data.horizon + 2) * CHUNK
        + sum(padded(n_out) for _, n_out in sizes)
        + padded(sum(n_out * (n_in + 1) for n_in, n_out in sizes))
    )
    constants = {
        "HEAD": first,
        "SIZE": size,
        "N_XH": n_xh,
        "N_INPUTS": n_xh - size,
        "N_LAGS": len(network.lags),
        "N_PAST": data.n_past,
        "CONTEXT": network.context,
        "HORIZON": network.horizon,
        "REACH": data.reach,
        "LAGS": list(network.lags),
        "FEEDS_BACK": network.feedback == "mean",
    }
    texts = (*SHARED_TEXTS, file, "recurrent.cu")
    tensors = tuple(t.contiguous() for t in (data.series, data.location, data.scale))
    scratch = (network.context + network.horizon - 1) * size * CHUNK
    return Kernel(texts, shape, constants, 4 * padded(floats), tensors, scratch)


def mlp_parts(bank: Bank, mlp: MLP, first_layer: int = 0) -> Parts:
    table = layer_table(bank, (*mlp.layers, *mlp.heads))
    layers = range(first_layer, first_layer + len(table))
    return one_below_the_other(table, tuple(min(i, first_layer + len(mlp.hidden)) for i in layers))


def cell_parts(bank: Bank, cell: nn.Module) -> tuple[str, Parts, int] | None:
    """The file about a cell, layers that read inputs and hidden state together, and CELL_ROWS.

    None for a cell that no file is about.
    """
    if isinstance(cell, GRUBECell):
        n_xh, size = cell.input_size + cell.hidden_size, cell.hidden_size
        table = layer_table(bank, (cell.reset, cell.update, cell.candidate))
        return "grube.cuh", one_below_the_other(table, (0, 0, 1)), n_xh + 3 * size
    if isinstance(cell, GRUCell) and not cell.input.adapters:
        n_inputs, size = cell.input_size, cell.hidden_size
        corners = ((0, 0), (0, n_inputs), (3 * size, n_inputs))
        return "gru.cuh", Parts(gru_table(bank, cell), (0, 0, 0), corners), 4 * size
    return None


def most_bytes(device: torch.device) -> int:
    """The most shared memory that a block can have."""
    properties = torch.cuda.get_device_properties(device)
    return int(getattr(properties, "shared_memory_per_block_optin", 0))
