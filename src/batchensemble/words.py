"""Words from a list, yes or no, and the errors for anything else."""

from collections.abc import Iterable
from difflib import get_close_matches

import numpy as np

MOST = 20  # words that an error lists


def one_of(word: object, known: Iterable[str], what: str) -> str:
    """Return `word` if it is known; otherwise raise with the known words and the closest."""
    names = list(known)
    if isinstance(word, str) and word in names:
        return word
    close = closest(word, names) if isinstance(word, str) else None
    hint = f"; did you mean {close!r}?" if close else ""
    listed = ", ".join(map(repr, names[:MOST]))
    more = f", ... ({len(names)} in all)" if len(names) > MOST else ""
    raise ValueError(f"expected {what} to be one of {listed}{more}, got {word!r}{hint}")


def true_or_false(value: object, name: str) -> bool:
    """An answer of yes or no as Python or numpy has it; anything else is a slip."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"expected {name} to be True or False, got {value!r:.80}")
    return bool(value)


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word most like this one, ignoring case; None if none is close."""
    names = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), names, n=1, cutoff=0.5)
    return names[close[0]] if close else None
