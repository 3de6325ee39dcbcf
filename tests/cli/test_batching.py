import asyncio

import numpy as np
import pandas as pd
import pytest
from loops import waited

from batchensemble.cli.batching import Batches, joined
from batchensemble.data.frames import read_columns
from batchensemble.training.few_rows import FEW_ROWS


def doubled(log):
    """A model that notes how many rows came at once."""

    def answer(columns, coverage):
        log.append((columns.n_rows, coverage))
        return pd.DataFrame({"twice": 2 * columns[0].values, "coverage": coverage})

    return answer


def ask(batches, requests):
    async def all_of_them():
        tasks = [batches(columns, share) for columns, share in requests]
        return await asyncio.gather(*tasks, return_exceptions=True)

    return waited(all_of_them())


def rows(*values):
    return read_columns(np.array(values, float).reshape(-1, 1))


def test_requests_that_wait_together_are_one_prediction_and_get_their_own_rows():
    log = []
    requests = [(rows(i, i + 0.5), 0.9) for i in range(10)]
    answers = ask(Batches(doubled(log)), requests)
    assert log == [(20, 0.9)]
    for (columns, _), answer in zip(requests, answers, strict=True):
        assert answer["twice"].tolist() == (2 * columns[0].values).tolist()


def test_other_coverages_and_too_many_rows_wait_for_their_turn():
    log = []
    half = rows(*range(FEW_ROWS // 2))
    requests = [(rows(1), 0.9), (half, 0.9), (half, 0.9), (half, 0.9), (rows(1), 0.5)]
    requests.append((rows(*range(1000)), 0.5))
    ask(Batches(doubled(log)), requests)
    assert log == [(1 + FEW_ROWS // 2, 0.9), (FEW_ROWS, 0.9), (1, 0.5), (1000, 0.5)]


def test_an_error_reaches_those_who_asked_and_nobody_after_them():
    def answer(columns, coverage):
        if coverage == 0.5:
            raise ValueError("no such share")
        return pd.DataFrame({"n": [columns.n_rows]})

    batches = Batches(answer)
    first, second = ask(batches, [(rows(1), 0.5), (rows(1), 0.9)])
    assert isinstance(first, ValueError)
    assert second["n"].tolist() == [1]


def test_a_request_that_cannot_be_answered_costs_those_beside_it_nothing():
    def answer(columns, coverage):
        if (columns[0].values < 0).any():
            raise ValueError("below 0")
        return pd.DataFrame({"value": columns[0].values})

    first, wrong, last = ask(Batches(answer), [(rows(1, 2), 0.9), (rows(-1), 0.9), (rows(3), 0.9)])
    assert first["value"].tolist() == [1, 2]
    assert isinstance(wrong, ValueError)
    assert last["value"].tolist() == [3]


@pytest.mark.parametrize("n", [1, 3])
def test_joined_rows_keep_kinds_zones_and_order(n):
    frame = pd.DataFrame(
        {
            "a": [1.0, np.nan],
            "b": ["x", None],
            "c": pd.to_datetime(["2026-01-01", None]).tz_localize("UTC"),
        }
    )
    whole = joined([read_columns(frame)] * n)
    assert whole.kinds == ["number", "category", "date"]
    assert [column.is_zoned for column in whole] == [False, False, True]
    assert whole[1].values.tolist() == ["x", None] * n
