"""Times, frequencies and ids as people read them, for messages."""

from typing import Any

import pandas as pd
from numpy.typing import NDArray

LONGEST = 100  # letters of an id in a message


def shown(values: NDArray[Any], i: int) -> str:
    """As Python writes it: 3, not np.int64(3); of a long text the start."""
    word = repr(values[i : i + 1].tolist()[0])
    return word if len(word) <= LONGEST else f"{word[:LONGEST]}..."


def when(time: Any) -> str:
    midnight = isinstance(time, pd.Timestamp) and time == time.normalize()
    return str(time.date()) if midnight else str(time)


def some(times: pd.Index, n: int | None = None) -> str:
    """The first of n times."""
    n = len(times) if n is None else n
    more = f" and {n - 5:,} more" if n > 5 else ""
    return ", ".join(map(when, times[:5])) + more


def freq_word(freq: pd.offsets.BaseOffset | int) -> str:
    return repr(freq if isinstance(freq, int) else freq.freqstr)
