"""How the loops are compiled, and the types of their arguments.

Loops over an array run several numbers at a time. Sums may be reordered; infinite values and NaN
stay as they are. Compiled code is cached on disk, so that a machine compiles once. Its name depends
on the sources of all loops, because Numba looks only at the file of the function itself.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
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


def compiled(function: Function) -> Function:
    """A function on arrays; it runs without the GIL."""
    function.__qualname__ += f"_{VERSION}"
    wrap = njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
    return cast(Function, wrap(function))


def inlined(function: Function) -> Function:
    """A function on single numbers, inlined into the loops that call it."""
    wrap = njit(inline="always", error_model="numpy", fastmath=FAST)
    return cast(Function, wrap(function))
