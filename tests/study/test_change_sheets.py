import pytest

from batchensemble.plots.sheets import MeanSE
from batchensemble.study.change_sheets import as_written, matched
from batchensemble.study.results import Study
from batchensemble.study.spec import PLAIN, Change, Run
from batchensemble.study.store import Result

WIDER, WRITTEN = Change(matched=True), Change(bounded=False)
ABOUT = {"n_parameters": 7, "n_networks": 1}


def runs(seeds, method="batch_ensemble", change=PLAIN, variant="id", lost=()):
    """An RMSE that a seed decides; none of the runs that diverged."""
    return [
        Result(
            Run("diabetes", variant, method, seed, change=change),
            {"diverged": 1.0} if seed in lost else {"rmse": float(seed)},
            about=ABOUT,
        )
        for seed in seeds
    ]


def cells(sheet, column):
    return [row[sheet.columns.index(column)] for row in sheet.rows]


@pytest.mark.parametrize(("table", "change"), [(matched, WIDER), (as_written, WRITTEN)])
@pytest.mark.parametrize("paired", [False, True])
def test_entrants_that_are_equal_on_the_seeds_of_all_have_equal_numbers(table, change, paired):
    own = runs(range(10)) + runs(range(1, 4), change=change) + runs(range(7), "single", change)
    found = table(Study(own, paired=paired))
    assert cells(found, "RMSE") == [MeanSE.of([1.0, 2.0, 3.0])] * 3


def test_seeds_of_one_place_do_not_limit_those_of_another():
    own = runs(range(4)) + runs(range(4), change=WRITTEN)
    own += runs(range(9), variant="shift") + runs(range(2), change=WRITTEN, variant="shift")
    whole, few = MeanSE.of([0.0, 1.0, 2.0, 3.0]), MeanSE.of([0.0, 1.0])
    assert cells(as_written(Study(own, paired=True)), "RMSE") == [whole, whole, few, few]


def test_a_seed_that_diverged_is_counted_and_still_compared_for_the_others():
    own = runs(range(10)) + runs(range(4), change=WRITTEN, lost=(0, 1))
    found = as_written(Study(own, paired=True))
    assert cells(found, "RMSE") == [MeanSE.of([0.0, 1.0, 2.0, 3.0]), MeanSE.of([2.0, 3.0])]
    assert cells(found, "diverged runs") == [0, 2]


def test_entrants_without_a_seed_in_common_are_not_compared():
    own = runs(range(3)) + runs(range(5, 8), change=WIDER)
    assert matched(Study(own, paired=True)).rows == ()
