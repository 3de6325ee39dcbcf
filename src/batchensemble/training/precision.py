"""Single precision on the processor, whatever torch's defaults are in this process."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from batchensemble.training.threads import SharedSetting


def _to_single() -> torch.dtype:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    return before


def _to_unrounded() -> str:
    before = str(_PRODUCTS.fp32_precision)
    _set_products("ieee")
    return before


def _set_products(precision: str) -> None:
    _PRODUCTS.fp32_precision = precision


_CPU = torch.device("cpu")
_PRODUCTS: Any = getattr(torch.backends.mkldnn, "matmul", None)  # from torch 2.9 on
_SETTINGS = [SharedSetting(_to_single, torch.set_default_dtype)]
if _PRODUCTS is not None:
    _SETTINGS += [SharedSetting(_to_unrounded, _set_products)]


@contextmanager
def single_precision() -> Iterator[None]:
    """For numbers that depend on the seed alone."""
    with ExitStack() as stack:
        for device in ("cpu", "cuda"):
            if torch.is_autocast_enabled(device):
                stack.enter_context(torch.autocast(device, enabled=False))
        if torch.get_default_device() != _CPU:
            stack.enter_context(_CPU)
        for setting in _SETTINGS:
            stack.enter_context(setting.held())
        yield
