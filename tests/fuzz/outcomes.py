"""What came of a case: an answer, one of our errors, or a failure.

A case is a plan in plain JSON, made from a seed and carried out by the `run` of its kind. It may
answer, or refuse with an error of ours. Everything else is a failure: another exception, a message
of several lines, a warning, NaN, a wrong shape, times that repeat or go back, and more time or
memory than stated here.
"""

import resource
import time
import warnings
from typing import Any

import numpy as np

from batchensemble.data.telling import BatchEnsembleWarning
from batchensemble.training.loop import TrainingDiverged

MOST_SECONDS = 30.0
MOST_BYTES = 2**29  # that a case may add to the largest memory of its process
LONGEST_MESSAGE = 2000
SAID = ".* values are missing, the first of series"  # a warning that is meant for the user

ANSWER, REFUSED = "answer", "refused"


class Wrong(Exception):
    """An answer that breaks a law."""


def outcome(run: Any, plan: dict[str, Any]) -> str:
    """ "answer", "refused", or what failed in one line."""
    before, started = _peak(), time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", SAID)
            warnings.simplefilter("ignore", BatchEnsembleWarning)
            run(plan)
        result = ANSWER
    except (ValueError, TypeError, TrainingDiverged) as error:
        result = REFUSED if _is_ours(error) else _failure(error)
    except Exception as error:
        result = _failure(error)
    seconds, grown = time.perf_counter() - started, _peak() - before
    if seconds > MOST_SECONDS:
        return f"slow: {seconds:.0f} s"
    if grown > MOST_BYTES:
        return f"large: {grown / 2**20:.0f} MB"
    return result


def is_failure(result: str) -> bool:
    return result not in (ANSWER, REFUSED)


def check(holds: Any, law: str) -> None:
    if not holds:
        raise Wrong(law)


def check_numbers(values: Any, *shape: int) -> None:
    array = np.asarray(values, dtype=np.float64)
    check(array.shape == shape, f"shape {array.shape}, not {shape}")
    check(np.isfinite(array).all(), "NaN or infinite answers")


def _is_ours(error: BaseException) -> bool:
    """Raised by our code, or by scikit-learn's checks of parameters; in one line of words."""
    message, trace = str(error), error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    raised_in = "" if trace is None else trace.tb_frame.f_code.co_filename
    ours = "batchensemble" in raised_in or "sklearn/utils" in raised_in
    return ours and "\n" not in message and 10 < len(message) < LONGEST_MESSAGE


def _failure(error: BaseException) -> str:
    trace, where = error.__traceback__, ""
    while trace is not None:
        code = trace.tb_frame.f_code
        if "/batchensemble/" in code.co_filename:
            where = f" in {code.co_filename.rpartition('/batchensemble/')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    words = " ".join(str(error).split())
    return f"{type(error).__name__}{where}: {words:.200}"


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
