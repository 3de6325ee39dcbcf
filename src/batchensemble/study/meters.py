"""Seconds and bytes of calls, on a CPU or a GPU."""

import math
import time
import weakref
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from batchensemble.training.methods.base import CALLS_WORTH_LOADING

CUDA_STREAMS = 32  # as many as torch hands out, in turn
LEAST_SECONDS = {"cpu": 0.2, "cuda": 0.1}  # of a timed piece
Work = Callable[[], object]


class Cost(NamedTuple):
    seconds: list[float]
    peak: int | None  # bytes


def measure(
    makes: Mapping[str, Callable[[], Work]], device: torch.device, n_repeats: int
) -> dict[str, Cost]:
    """Seconds of a call of each work, and the peak memory of making it and of its first call."""
    works: dict[str, Work] = {}

    def first_call(name: str) -> None:
        works[name] = makes[name]()
        works[name]()  # compiles and captures, where this is done at all

    peaks = {name: peak_bytes(partial(first_call, name), device) for name in makes}
    least = LEAST_SECONDS.get(device.type, max(LEAST_SECONDS.values()))
    seconds = seconds_a_call(works, clock_of(device), least, n_repeats)
    return {name: Cost(seconds[name], peaks[name]) for name in works}


def seconds_a_call(
    works: Mapping[str, Work], clock: Callable[[], float], least: float, n_repeats: int
) -> dict[str, list[float]]:
    """Seconds of one call of each work, once for every repeat, in which the works take turns.

    A first call warms up, and a second shows how many calls make a piece of `least` seconds;
    neither counts. Nor do further calls that let a quick work load its loops for a few rows.
    """
    calls = {}
    for name, work in works.items():
        work()
        calls[name] = _calls_of(work, clock, least)
        if n_repeats * calls[name] > CALLS_WORTH_LOADING // 2:  # else there are too few in all
            for _ in range(CALLS_WORTH_LOADING):
                work()
            calls[name] = _calls_of(work, clock, least)
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(n_repeats):
        for name, work in works.items():
            start = clock()
            for _ in range(calls[name]):
                work()
            seconds[name].append((clock() - start) / calls[name])
    return seconds


def _calls_of(work: Work, clock: Callable[[], float], least: float) -> int:
    """How many make a piece of `least` seconds, by one of them."""
    start = clock()
    work()
    return math.ceil(least / max(clock() - start, 1e-6))


def clock_of(device: torch.device) -> Callable[[], float]:
    """Seconds, once the device has finished all its work.

    On a CPU it is processor time: with one thread the same as wall time on an idle machine, and
    hardly more on a busy one.
    """
    if device.type == "cpu":
        return time.process_time

    def clock() -> float:
        torch.accelerator.synchronize(device)
        return time.perf_counter()

    return clock


def peak_bytes(work: Work, device: torch.device) -> int | None:
    """The peak of bytes in tensors during a call, beyond those alive before; None if unknown."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        work()
        torch.cuda.synchronize(device)
        return torch.cuda.max_memory_allocated(device) - before
    if device.type == "cpu":
        with _CountBytes() as count:
            work()
        return int(count.peak)
    work()
    return None


class _CountBytes(TorchDispatchMode):
    """Sees the result of every operation, and when its memory is freed.

    The CPU has no counter such as CUDA's, and the memory of the process says little about a few
    MiB. Scratch memory inside an operation is not seen.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.now = self.peak = 0
        self.alive: dict[int, weakref.ref[Any]] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self._see((args, kwargs), is_new=False)  # an unseen argument was there before
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
    """Let cuBLAS take its memory for each stream now, so that it is in no peak."""
    x = torch.ones(8, 8, device=device)
    for stream in (None, *(torch.cuda.Stream(device) for _ in range(CUDA_STREAMS))):
        with torch.cuda.stream(stream):
            x @ x
    torch.cuda.synchronize(device)
