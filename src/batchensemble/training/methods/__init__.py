"""The four ways to get several predictions for a row; they differ by one word."""

from collections.abc import Callable
from dataclasses import replace

from batchensemble.training.methods.base import MakeNetwork, Members, Method
from batchensemble.training.methods.batch_ensemble import BatchEnsemble
from batchensemble.training.methods.deep_ensemble import DeepEnsemble
from batchensemble.training.methods.mc_dropout import MCDropout
from batchensemble.training.methods.single import Single
from batchensemble.words import one_of

__all__ = [
    "METHODS",
    "METHOD_CLASSES",
    "MakeNetwork",
    "Members",
    "Method",
    "in_folds",
    "make_method",
    "share_of",
    "word_of",
]

METHOD_CLASSES = (BatchEnsemble, DeepEnsemble, MCDropout, Single)  # a model file may hold them

METHODS: dict[str, Callable[[int, int], Method]] = {
    "batch_ensemble": lambda n_members, n_passes: BatchEnsemble(n_members),
    "deep_ensemble": lambda n_members, n_passes: DeepEnsemble(n_members),
    "mc_dropout": lambda n_members, n_passes: MCDropout(n_passes),
    "single": lambda n_members, n_passes: Single(),
}


def word_of(method: Method) -> str:
    """The name of a method."""
    return dict(zip(METHOD_CLASSES, METHODS, strict=True))[type(method)]


def in_folds(method: Method, most: int) -> tuple[Method, int]:
    """The method with networks for at most so many folds, and how many folds these are.

    A BatchEnsemble gets one network for each fold; the networks of a deep ensemble are dealt out
    evenly. What is one network stays one, without folds.
    """
    if isinstance(method, BatchEnsemble):
        return replace(method, n_networks=most), most
    n = method.n_networks
    return method, max(folds for folds in range(1, min(most, n) + 1) if n % folds == 0)


def share_of(method: Method, n_folds: int) -> Method:
    """What each fold trains of it."""
    if n_folds == 1:
        return method
    assert isinstance(method, BatchEnsemble | DeepEnsemble)
    return replace(method, n_networks=method.n_networks // n_folds)


def make_method(word: str, *, n_members: int = 10, n_passes: int = 100) -> Method:
    """The method of that name; `n_passes` is how often MC dropout draws a mask."""
    for name, count in (("n_members", n_members), ("n_passes", n_passes)):
        if count < 1:
            raise ValueError(f"expected {name} of at least 1, got {count}")
    return METHODS[one_of(word, METHODS, "method")](n_members, n_passes)
