"""Single precision on the processor, whatever torch's defaults are in this process."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch

from batchensemble.training.threads import SharedSetting


def _to_single() -> torch.dtype:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    return before


_CPU = torch.device("cpu")
_SINGLE = SharedSetting(_to_single, torch.set_default_dtype)


@contextmanager
def single_precision() -> Iterator[None]:
    """For numbers that depend on the seed alone."""
    with ExitStack() as stack:
        for device in ("cpu", "cuda"):
            if torch.is_autocast_enabled(device):
                stack.enter_context(torch.autocast(device, enabled=False))
        if torch.get_default_device() != _CPU:
            stack.enter_context(_CPU)
        stack.enter_context(_SINGLE.held())
        yield
