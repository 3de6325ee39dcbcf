"""Several requests in one prediction."""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd

from batchensemble.data.columns import Columns
from batchensemble.training.few_rows import FEW_ROWS

Waiting = tuple[Columns, float, asyncio.Future[pd.DataFrame]]


class Batches:
    """Requests that wait at the same time are answered by one prediction, in one thread.

    At most so many rows together that they get the same bits as alone; a larger request is
    predicted by itself. Where one of them cannot be answered, the others are.
    """

    def __init__(self, answer: Callable[[Columns, float], pd.DataFrame]) -> None:
        self._answer, self._thread = answer, ThreadPoolExecutor(1)
        self._waiting: deque[Waiting] = deque()
        self._work: asyncio.Task[None] | None = None

    async def __call__(self, columns: Columns, coverage: float) -> pd.DataFrame:
        future = asyncio.get_running_loop().create_future()
        self._waiting.append((columns, coverage, future))
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._answer_all())
        return await future

    async def _answer_all(self) -> None:
        while self._waiting:
            some = [self._waiting.popleft()]
            n_rows, coverage = some[0][0].n_rows, some[0][1]
            while self._waiting and self._waiting[0][1] == coverage:
                n_rows += self._waiting[0][0].n_rows
                if n_rows > FEW_ROWS:
                    break
                some.append(self._waiting.popleft())
            await self._answer_together(some)

    async def _answer_together(self, some: list[Waiting]) -> None:
        columns, coverage = joined([columns for columns, _, _ in some]), some[0][1]
        loop = asyncio.get_running_loop()
        try:
            frame = await loop.run_in_executor(self._thread, self._answer, columns, coverage)
        except Exception as error:
            if len(some) > 1:
                for one in some:
                    await self._answer_together([one])
            elif not some[0][2].done():  # the client may have gone
                some[0][2].set_exception(error)
            return
        start = 0
        for part, _, future in some:
            if not future.done():
                future.set_result(frame.iloc[start : start + part.n_rows])
            start += part.n_rows


def joined(parts: list[Columns]) -> Columns:
    """The rows of all parts, in order."""
    if len(parts) == 1:
        return parts[0]
    return Columns(
        tuple(
            own[0]._replace(values=np.concatenate([column.values for column in own]))
            for own in zip(*parts, strict=True)
        )
    )
