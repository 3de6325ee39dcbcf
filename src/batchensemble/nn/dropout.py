"""Dropout whose masks are a function of a key: drawn anywhere, on any device, and always the same.

The mask of unit i is a hash of key + i, compared with p. So an engine that fuses its loops makes
the masks where it needs them, and they are those that plain torch makes all at once.
"""

import torch
from torch import Generator, Tensor

# Two rounds of multiply and shift spread every bit of the input over 32 bits.
SHIFT1, FACTOR1, SHIFT2, FACTOR2, SHIFT3 = 16, 0x7FEB352D, 15, 0x846CA68B, 16


def draw_keys(
    shape: tuple[int, ...] = (),
    generator: Generator | None = None,
    device: torch.device | str | None = None,
) -> Tensor:
    """Random keys of 32 bits."""
    ends = -(2**31), 2**31
    return torch.randint(*ends, shape, generator=generator, dtype=torch.int32, device=device)


def keep_masks(keys: Tensor, shape: tuple[int, ...], p: float) -> Tensor:
    """Masks of ones (kept) and zeros (dropped with probability p), as bytes: (*keys, *shape)."""
    units = torch.arange(torch.Size(shape).numel(), dtype=torch.int32, device=keys.device)
    x = units + keys.unsqueeze(-1)
    x ^= _shifted(x, SHIFT1)
    x *= FACTOR1
    x ^= _shifted(x, SHIFT2)
    x *= FACTOR2 - 2**32
    x ^= _shifted(x, SHIFT3)
    return (x >= threshold(p)).to(torch.uint8).view(*keys.shape, *shape)


def threshold(p: float) -> int:
    """A fraction p of the integers of 32 bits is below it."""
    return min(round(p * 2**32), 2**32 - 1) - 2**31


def _shifted(x: Tensor, n_bits: int) -> Tensor:
    """To the right, with zeros from the left."""
    return (x >> n_bits).bitwise_and_(2 ** (32 - n_bits) - 1)


def drop(x: Tensor, masks: Tensor, p: float) -> Tensor:
    """Keep what the masks keep, scaled so that the mean stays."""
    return x * masks * (1 / (1 - p))
