"""Many charts drawn by several processes."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from joblib import Parallel, delayed

Thing = TypeVar("Thing")
Drawn = TypeVar("Drawn")


def shared_out(
    work: Callable[[Sequence[Thing]], Sequence[Drawn]], things: Sequence[Thing], n_jobs: int
) -> list[Drawn]:
    """What `work` makes of each thing, in their order; each process gets every n-th of them.

    A process is sent all its things at once, so that what they share is sent once.
    """
    n = max(1, min(n_jobs, len(things)))
    shares = [things[i::n] for i in range(n)]
    done = Parallel(n_jobs=n)(delayed(work)(share) for share in shares)  # one of them: here
    return [done[i % n][i // n] for i in range(len(things))]
