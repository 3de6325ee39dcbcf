"""The cells of a column of texts: trimmed, their gaps, and their numbers if all are plain."""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchensemble.data.scalars import GAPS

CODES = re.compile(r"\0[ +-]*0[0-9]")  # 007 is no amount


def trimmed(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    texts = np.array(["" if value is None else value.strip() for value in values], dtype=object)
    return texts, np.array([text in GAPS for text in texts], dtype=bool)


def fast_numbers(cells: NDArray[Any]) -> tuple[NDArray[np.float64] | None, bool]:
    """The usual column, every cell a plain number, or None; and whether there is a point."""
    values = cells.tolist()
    try:
        joined = "\0".join(["", *values])
        if any(letter in joined for letter in "_nN") or CODES.search(joined):  # 1_0, nan, INF; 007
            return None, False
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):  # a gap, for example
        return None, False
    return (numbers if np.isfinite(numbers).all() else None), "." in joined


def tells_no_number(word: str) -> bool:
    """Whether it is a mark such as ? or -, the gap of a database, or a bound such as <0.3."""
    return word == r"\N" or word[0] in "<>≤≥" or not any(map(str.isalnum, word))
