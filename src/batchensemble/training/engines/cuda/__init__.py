"""Training on a GPU in kernels that keep a network on the chip; see `engine`."""

from batchensemble.training.engines.cuda.engine import KernelEngine, covers

__all__ = ["KernelEngine", "covers"]
