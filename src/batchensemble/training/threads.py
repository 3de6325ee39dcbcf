"""How many threads torch and BLAS use: settings of the whole process, which fits may share.

Fits in several threads end in any order. Each restoring what it found, the last one would restore
what the first had set. So the first to come sets, and the last to go restores.

After torch has worked with several threads, a forked child waits forever for threads that it does
not have. With one thread it needs none: forked children get one. On ARM, torch multiplies with a
library that keeps to the number of threads it began with: forked children do without it.
"""

import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

import torch
from threadpoolctl import ThreadpoolController


class SharedSetting:
    """`change` returns what `restore` needs; both are called once for all who hold it together."""

    def __init__(self, change: Callable[[], Any], restore: Callable[[Any], None]) -> None:
        self._change, self._restore = change, restore
        self._lock, self._n_holders, self._before = Lock(), 0, None

    @contextmanager
    def held(self) -> Iterator[None]:
        with self._lock:
            if not self._n_holders:
                self._before = self._change()
            self._n_holders += 1
        try:
            yield
        finally:
            with self._lock:
                self._n_holders -= 1
                if not self._n_holders:
                    self._restore(self._before)


def _one_torch_thread() -> int:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    return before


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


ONE_TORCH_THREAD = SharedSetting(_one_torch_thread, torch.set_num_threads)
ONE_BLAS_THREAD = SharedSetting(
    lambda: _libraries().limit(limits=1, user_api="blas"),
    lambda limits: limits.restore_original_limits(),
)


def _alone() -> None:
    torch.set_num_threads(1)
    if platform.machine() in ("aarch64", "arm64"):
        torch.backends.mkldnn.set_flags(False)


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(after_in_child=_alone)
