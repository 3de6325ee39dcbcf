"""Words chosen from a list, and the error for one that is not in it."""

from collections.abc import Iterable
from difflib import get_close_matches

MOST = 20  # that an error lists


def one_of(word: object, known: Iterable[str], what: str) -> str:
    """Return `word` if it is known; otherwise say the known ones and the closest."""
    names = list(known)
    if isinstance(word, str) and word in names:
        return word
    close = get_close_matches(word, names, n=1, cutoff=0.5) if isinstance(word, str) else []
    hint = f"; did you mean {close[0]!r}?" if close else ""
    listed = ", ".join(map(repr, names[:MOST]))
    more = f", ... ({len(names)} in all)" if len(names) > MOST else ""
    raise ValueError(f"expected {what} to be one of {listed}{more}, got {word!r}{hint}")
