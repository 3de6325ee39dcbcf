"""What must hold of a value that a file brought."""

import math
from numbers import Integral, Real
from typing import Any


def require(holds: object, what: str) -> None:
    if not holds:
        raise ValueError(f"expected {what}")


def is_count(value: Any, least: int = 1) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def is_positive(value: Any) -> bool:
    return is_number(value) and value > 0
