"""Dropout whose masks are data: drawn ahead, from a generator of one's own, and passed in."""

import torch
from torch import Generator, Tensor

LEVELS = 2**16


def keep_masks(
    shape: tuple[int, ...],
    p: float,
    generator: Generator | None = None,
    device: torch.device | str | None = None,
) -> Tensor:
    """Independent masks of ones (kept) and zeros (dropped with probability p), as bytes.

    Four masks are cut from one random integer, which is several times cheaper than one draw
    each; p is rounded to a multiple of 2**-16. On the CPU the first axis can be drawn in parts,
    with the same result.
    """
    first, *rest = shape
    count = torch.Size(rest).numel()
    draws = torch.empty(first, -(-count // 4), dtype=torch.int64, device=device)
    draws.random_(-(2**63), None, generator=generator)
    threshold = round(p * LEVELS) - LEVELS // 2
    kept = draws.view(torch.int16)[:, :count] >= threshold
    return kept.view(torch.uint8).reshape(shape)


def drop(x: Tensor, masks: Tensor, p: float) -> Tensor:
    """Keep what the masks keep, scaled so that the mean stays."""
    return x * masks * (1 / (1 - p))
