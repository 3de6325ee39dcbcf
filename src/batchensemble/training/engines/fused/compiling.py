"""How the loops are compiled, and the types of their arguments.

Loops over an array run several numbers at a time. Sums may be reordered; infinite values and NaN
stay as they are. Compiled code is cached on disk, so that a machine compiles once. Its name depends
on the sources of all loops, because Numba looks only at the file of the function itself. Where the
cache cannot be written or read, each process compiles anew.
"""

import hashlib
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numba.core import caching
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

F = np.float32
U = np.uintp  # an index that is a sum: unsigned, so that it is not tested for being negative
FAST = {"contract", "reassoc", "nsz", "arcp"}

HERE = Path(__file__).parent
SOURCES = [
    *sorted(HERE.glob("*.py")),
    *(HERE.parent / name for name in ("adam.py", "shapes.py")),
    HERE.parents[2] / "nn" / "dropout.py",
]
VERSION = hashlib.sha256(b"".join(file.read_bytes() for file in SOURCES)).hexdigest()[:12]


def compiled(function: Function, fastmath: set[str] = FAST) -> Function:
    """A function on arrays; it runs without the GIL."""
    function.__qualname__ += f"_{VERSION}"
    dispatcher: Any = njit(nogil=True, error_model="numpy", fastmath=fastmath)(function)
    try:
        dispatcher._cache = _Cache(function)  # as `njit(cache=True)` does with its own
    except (RuntimeError, OSError):  # a read-only installation, and no home to write to
        _warn_once()
    return cast(Function, dispatcher)


FunctionCache: Any = caching.FunctionCache


class _Cache(FunctionCache):  # type: ignore[misc]
    """A damaged cache or a full disk costs time, not the training."""

    def load_overload(self, *key: Any) -> Any:
        try:
            return super().load_overload(*key)
        except Exception:  # whatever unpickling leads to
            return None

    def save_overload(self, *entry: Any) -> None:
        try:
            super().save_overload(*entry)
        except Exception:  # the index may be damaged, too
            _warn_once()


@cache
def _warn_once() -> None:
    warnings.warn(
        "compiled training loops cannot be kept on disk, so every process compiles them again "
        "(about half a minute); set NUMBA_CACHE_DIR to a folder that can be written",
        RuntimeWarning,
        stacklevel=2,
    )


def inlined(function: Function) -> Function:
    """A function on single numbers, inlined into the loops that call it."""
    wrap = njit(inline="always", error_model="numpy", fastmath=FAST)
    return cast(Function, wrap(function))
