import numpy as np
import pytest
from scipy import stats

from batchensemble.study.results import Study
from batchensemble.study.spec import Change, Run
from batchensemble.study.store import Result
from batchensemble.study.variance import components, variance_sheet


def results(table, method="single"):
    """A run for each start (rows) and split (columns)."""
    return [
        Result(
            Run("adult", "id", method, seed, change=Change(start=start)),
            {"nll": value},
            about={"task": "classification"},
        )
        for start, row in enumerate(table)
        for seed, value in enumerate(row)
    ]


def test_the_variances_of_splits_and_starts_are_told_apart():
    random = np.random.default_rng(0)
    splits, starts = 3.0 * random.normal(size=2_000), 0.5 * random.normal(size=(4, 2_000))
    split, start = components(splits + starts)
    assert split == pytest.approx(3.0, rel=0.05)
    assert start == pytest.approx(0.5, rel=0.05)
    split, start = components(starts)
    assert split < 0.1  # nothing of it comes from the split


def test_they_are_those_of_an_analysis_of_variance():
    table = np.random.default_rng(1).normal(size=(4, 5)) + np.arange(5)
    split, start = components(table)
    ratio = stats.f_oneway(*table.T).statistic
    assert (start**2 + 4 * split**2) / start**2 == pytest.approx(ratio)


def test_the_table_needs_several_starts_of_several_splits():
    table = np.random.default_rng(2).normal(size=(3, 5))
    (row,) = variance_sheet(Study(results(table))).rows
    assert row[:6] == ("Adult", "id", "Single", "NLL", 5, 3)
    assert row[6:8] == pytest.approx(components(table))
    assert variance_sheet(Study(results(table[:1]))).rows == ()
    assert variance_sheet(Study(results(table[:, :1]))).rows == ()
