"""What a calibration answered for the coverage that was asked for last: most ask for one alone."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from batchensemble.predictive import check_coverage

Answer = TypeVar("Answer")


def remembered(method: Callable[[Any, float], Answer]) -> Callable[[Any, float], Answer]:
    """A method of a frozen object, of a coverage: for one new row, ranking its rows takes long."""
    place = f"_last_of_{method.__name__}"

    @wraps(method)
    def ask(self: Any, coverage: float) -> Answer:
        coverage = check_coverage(coverage)
        last: tuple[float, Answer] | None = vars(self).get(place)
        if last is None or last[0] != coverage:
            last = vars(self)[place] = coverage, method(self, coverage)
        return last[1]

    return ask
