"""Fits of several models whose networks are trained as one bank.

A fit with a seed does the same whenever it is made. So each is made as far as its training, all
are trained together, and each is made again with what its training gave.
"""

from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, TypeVar

import torch

from batchensemble.training.bank import Bank
from batchensemble.training.engines import Data, Source
from batchensemble.training.history import History
from batchensemble.training.loop import Training, TrainingDiverged
from batchensemble.training.losses import Loss
from batchensemble.training.methods import MakeNetwork, Method
from batchensemble.training.models import Rows, fit_models

T = TypeVar("T")
Trained = tuple[Bank, list[History]]

MOST_PADDING = 2.0  # times the smallest batch of a bank is the largest: the others are padded


@dataclass(frozen=True, eq=False)
class Request:
    """A training that may be made beside others."""

    method: Method
    make: MakeNetwork
    loss: Loss
    data: Data
    training: Training
    rows: Sequence[Rows]
    recipe: dict[str, Any]

    @property
    def batch(self) -> int:
        return min(self.training.batch_size, max(len(fold.train) for fold in self.rows))

    @property
    def kind(self) -> str:
        """Networks of one kind can be one bank."""
        data, training = self.data, replace(self.training, epochs=1, batch_size=1)
        has_held_out = [fold.held_out is not None for fold in self.rows]
        shapes = (data.x.shape[1:], data.y.shape[1:], data.y.dtype, data.weight is None)
        return repr((self.method, self.recipe, self.loss, training, has_held_out, shapes))


class _Asked(BaseException):
    """Leaves a fit at its training."""

    def __init__(self, request: Request) -> None:
        self.request = request


_answers: ContextVar[Iterator[Trained | Exception] | None] = ContextVar("answers", default=None)


def fit_beside_others(
    method: Method,
    make: MakeNetwork,
    loss: Loss,
    data: Source,
    training: Training,
    *,
    rows: Sequence[Rows],
    recipe: dict[str, Any],
    **how: Any,
) -> Trained:
    """`fit_models`, for one of several fits that are made together, too."""
    answers = _answers.get()
    is_limited = training.time_limit is not None or training.keep_on_interrupt
    if answers is None or is_limited or any(how.values()) or not isinstance(data, Data):
        return fit_models(method, make, loss, data, training, rows=rows, **how)
    answer = next(answers, None)
    if answer is None:
        raise _Asked(Request(method, make, loss, data, training, rows, recipe))
    if isinstance(answer, Exception):
        raise answer
    return answer


def fit_together(fits: Sequence[Callable[[], T]]) -> list[T]:
    """What each of these calls returns, with the networks of all of them trained as banks.

    A call fits one model or several, does the same whenever it is made, and handles its errors.
    """
    if len(fits) == 1:
        return [fits[0]()]
    answers: list[list[Trained | Exception]] = [[] for _ in fits]
    done: dict[int, T] = {}
    while len(done) < len(fits):
        asked: dict[int, Request] = {}
        for i in (i for i in range(len(fits)) if i not in done):
            token = _answers.set(iter(answers[i]))
            try:
                done[i] = fits[i]()
            except _Asked as left:
                asked[i] = left.request
            finally:
                _answers.reset(token)
        for bank in _banks(asked):
            for i, answer in zip(bank, _trained([asked[i] for i in bank]), strict=True):
                answers[i].append(answer)
    return [done[i] for i in range(len(fits))]


def _banks(asked: dict[int, Request]) -> Iterator[list[int]]:
    """Requests of one kind and with batches of about one size."""
    in_order = sorted(asked, key=lambda i: (asked[i].kind, asked[i].batch))
    bank: list[int] = []
    for i in in_order:
        if bank:
            first, one = asked[bank[0]], asked[i]
            if one.kind != first.kind or one.batch > MOST_PADDING * first.batch:
                yield bank
                bank = []
        bank.append(i)
    if bank:
        yield bank


def _trained(requests: Sequence[Request]) -> list[Trained | Exception]:
    """As one bank; where that fails, in halves, so that one cannot spoil the others."""
    try:
        return list(_in_one_bank(requests))
    except (TrainingDiverged, torch.OutOfMemoryError) as error:
        if len(requests) == 1:
            return [error]
        half = len(requests) // 2
        return _trained(requests[:half]) + _trained(requests[half:])


def _in_one_bank(requests: Sequence[Request]) -> Iterator[Trained]:
    one, every = requests[0], [request.data for request in requests]
    weights = [each.weight for each in every if each.weight is not None]
    data = Data(
        torch.cat([each.x for each in every]),
        torch.cat([each.y for each in every]),
        torch.cat(weights) if weights else None,
    )
    firsts = accumulate((len(each.x) for each in every), initial=0)
    rows = [
        Rows(fold.seed, fold.train + first, None if held_out is None else held_out + first)
        for request, first in zip(requests, firsts, strict=False)
        for fold in request.rows
        for held_out in (fold.held_out,)
    ]
    trainings = [replace(request.training, batch_size=request.batch) for request in requests]
    bank, histories = fit_models(one.method, one.make, one.loss, data, trainings, rows=rows)
    size = len(bank) // len(requests)
    for i, history in enumerate(histories):
        yield bank[i * size : (i + 1) * size], [history]
