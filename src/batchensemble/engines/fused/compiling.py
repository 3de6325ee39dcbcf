"""How the loops are compiled, and what they are given.

Loops over an array run several numbers at a time. Sums may be reordered; infinite values and NaN
stay what they are. Compiled code is kept on disk, so that a machine compiles once.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

F = np.float32
U = np.uintp  # an index that is a sum, so that it need not be asked whether it is below zero
FAST = {"contract", "reassoc", "nsz", "arcp"}


def compiled(function: Function) -> Function:
    """A function on arrays; other threads go on while it runs."""
    wrap = njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
    return cast(Function, wrap(function))


def inlined(function: Function) -> Function:
    """A function on single numbers, put into the loops that call it."""
    wrap = njit(inline="always", error_model="numpy", fastmath=FAST)
    return cast(Function, wrap(function))
