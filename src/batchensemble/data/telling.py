"""What users are told as warnings, and what other packages would say that is no concern of theirs.

Python's filters of warnings are those of the whole process. Two threads that change them at a time
may leave them changed; so one does at a time, and only for as long as one call of a package takes.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import RLock

_COLLECTED: ContextVar[list[str] | None] = ContextVar("collected", default=None)
_FILTERS = RLock()


class BatchEnsembleWarning(UserWarning):
    """Something in the data or the training that its user should know of."""


def tell(doubt: str, stacklevel: int) -> None:
    """Warn the user, or the caller who collects; the caller of this function has level 1."""
    collected = _COLLECTED.get()
    if collected is None:
        warnings.warn(doubt, BatchEnsembleWarning, stacklevel=stacklevel + 1)
    else:
        collected.append(doubt)


@contextmanager
def collected() -> Iterator[list[str]]:
    """What is told inside, by this thread, instead of warnings."""
    told: list[str] = []
    token = _COLLECTED.set(told)
    try:
        yield told
    finally:
        _COLLECTED.reset(token)


@contextmanager
def silenced(message: str = "") -> Iterator[None]:
    """Without warnings that begin so, around one call of another package."""
    with _FILTERS, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message)
        yield
