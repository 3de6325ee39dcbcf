"""Seconds and bytes of what a program does, on a CPU or a GPU."""

import math
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

CUDA_STREAMS = 32  # as many as torch hands out, in turn


def seconds_a_call(
    works: Mapping[str, Callable[[], object]],
    clock: Callable[[], float],
    least: float,
    n_repeats: int,
) -> dict[str, list[float]]:
    """Seconds of one call of each work, so many times; in every repeat the works take turns.

    A first call warms up and a second tells how many make a piece of `least` seconds; neither of
    them counts.
    """
    calls = {}
    for name, work in works.items():
        work()
        start = clock()
        work()
        calls[name] = math.ceil(least / max(clock() - start, 1e-6))
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(n_repeats):
        for name, work in works.items():
            start = clock()
            for _ in range(calls[name]):
                work()
            seconds[name].append((clock() - start) / calls[name])
    return seconds


def clock_of(device: torch.device) -> Callable[[], float]:
    """Seconds when the device is done with all it was told.

    On a CPU they are the processor's own: with one thread the same as a clock on the wall shows
    while nothing else runs, and hardly more while something does.
    """
    if device.type == "cpu":
        return time.process_time

    def clock() -> float:
        torch.accelerator.synchronize(device)
        return time.perf_counter()

    return clock


@contextmanager
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass
class Memory:
    peak: int | None = None  # bytes


@contextmanager
def watch_memory(device: torch.device) -> Iterator[Memory]:
    """The most bytes of tensors alive at a time that were not there before; None if unknown."""
    memory = Memory()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        yield memory
        torch.cuda.synchronize(device)
        memory.peak = torch.cuda.max_memory_allocated(device) - before
    elif device.type == "cpu":
        with _CountBytes() as count:
            yield memory
        memory.peak = count.peak
    else:
        yield memory


class _CountBytes(TorchDispatchMode):
    """Sees the result of every operation, and when its memory is given back.

    The CPU has no counter such as CUDA's; what a process takes from the system tells little about
    a few MiB. Scratch memory inside an operation is not seen.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.now = self.peak = 0
        self.alive: dict[int, weakref.ref[Any]] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self._see((args, kwargs), is_new=False)  # what comes unseen was there before
        result = func(*args, **(kwargs or {}))
        self._see(result, is_new=True)
        return result

    def _see(self, values: Any, *, is_new: bool) -> None:
        for value in tree_leaves(values):
            if isinstance(value, Tensor):
                storage = value.untyped_storage()
                if storage._cdata not in self.alive:
                    self._count(storage, storage._cdata, storage.nbytes() if is_new else 0)

    def _count(self, storage: torch.UntypedStorage, key: int, size: int) -> None:
        def gone(_: object) -> None:
            del self.alive[key]
            self.now -= size

        self.alive[key] = weakref.ref(storage, gone)
        self.now += size
        self.peak = max(self.peak, self.now)


def meet_streams(device: torch.device) -> None:
    """cuBLAS takes memory for each stream it meets: met before, it is in nobody's peak."""
    x = torch.ones(8, 8, device=device)
    for stream in (None, *(torch.cuda.Stream(device) for _ in range(CUDA_STREAMS))):
        with torch.cuda.stream(stream):
            x @ x
    torch.cuda.synchronize(device)
