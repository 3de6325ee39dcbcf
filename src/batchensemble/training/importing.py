"""Packages that are imported when they are first needed, in the middle of a fit or a prediction."""

import signal
from importlib import import_module
from threading import current_thread, main_thread
from types import ModuleType


def import_whole(package: str) -> ModuleType:
    """Import a package even if Ctrl-C comes meanwhile, which then counts when it is there.

    Cut short, a large package may stay in part, and nothing could import it in this process again.
    """
    before = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or before is None:  # no handler of Python's
        return import_module(package)
    stopped: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: stopped.append(number))
    try:
        return import_module(package)
    finally:
        signal.signal(signal.SIGINT, before)
        for number in stopped[:1]:
            signal.raise_signal(number)
