"""Words from a list, and the error for a word that is not in it."""

from collections.abc import Iterable
from difflib import get_close_matches

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


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word most like this one, ignoring case; None if none is close."""
    names = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), names, n=1, cutoff=0.5)
    return names[close[0]] if close else None
