"""Calls in several processes of this machine, each with one thread: joblib runs them."""

import logging
import os
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky.process_executor import TerminatedWorkerError

MapCalls = Callable[[Callable[..., Any], Iterable[tuple[Any, ...]]], Iterable[Any]]
"""A function and the arguments of its calls -> what they return, as they are finished."""


@contextmanager
def _quiet_threads() -> Iterator[None]:
    """Threads of joblib say nothing of their own when processes end early: the caller does."""
    before, log = threading.excepthook, logging.getLogger("concurrent.futures")

    def shown(failure: threading.ExceptHookArgs) -> None:
        frames = traceback.walk_tb(failure.exc_traceback)
        if not any(frame.f_globals["__name__"].startswith("joblib.") for frame, _ in frames):
            before(failure)

    threading.excepthook, was_disabled, log.disabled = shown, log.disabled, True
    try:
        yield
    finally:
        threading.excepthook, log.disabled = before, was_disabled


@contextmanager
def _interrupts(answer: Callable[[Any], Any]) -> Iterator[None]:
    """Ctrl-C answered by what `answer` makes of the handler there is; in the main thread only."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    signal.signal(signal.SIGINT, answer(before))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _only_the_first(before: Callable[..., Any]) -> Callable[..., None]:
    """Later ones would reach what joblib starts to end its processes."""

    def answer(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        before(number, frame)

    return answer


def _none(_: Any) -> Any:
    """Nor do processes begun meanwhile know it: a terminal tells all of them, and one ends them."""
    return signal.SIG_IGN


@contextmanager
def worker_processes(n_jobs: int) -> Iterator[MapCalls]:
    """Runs so many calls at a time, -1 for one per core; 1 is here, in this process.

    An error, Ctrl-C or the kill of a process ends all of them at once.
    """
    begun: list[Any] = []
    here = os.getpid()

    def map_calls(function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> Iterable[Any]:
        with parallel_config("loky", n_jobs=n_jobs, inner_max_num_threads=1):
            parallel = Parallel(return_as="generator_unordered", max_nbytes=None)
        with _interrupts(_none):
            begun.append(parallel(delayed(_call)(here, function, *call) for call in calls))
        return begun[-1]  # type: ignore[no-any-return]

    with _quiet_threads(), _interrupts(_only_the_first):
        try:
            yield map_calls
        except TerminatedWorkerError as error:
            raise ChildProcessError(
                "a worker process was killed, perhaps by a lack of memory; finished work is "
                "kept. Run the same command again, with fewer jobs if memory is short"
            ) from error
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # joblib's own: there are calls that did not end
                for results in begun:
                    results.close()


def _call(parent: int, function: Callable[..., Any], *arguments: Any) -> Any:
    if os.getpid() != parent:
        _end_with(parent)
    return function(*arguments)


@cache
def _end_with(parent: int) -> None:
    """End this process once its parent is gone: nobody would ever read what it answers."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
