import numpy as np
import pytest

from batchensemble.metrics import COVERAGES
from batchensemble.study.spec import Run
from batchensemble.study.store import Result
from batchensemble.study.tidy import AREA, COLUMNS, numbers_of, points, tidy


def result(**curves):
    return Result(Run("diabetes", "id", "single", 0), {"rmse": 0.0}, curves)


def test_every_number_of_every_run_is_a_row_of_the_frame():
    one = Result(
        Run("adult", "id", "single", 3),
        {"nll": 0.5, "rmse": 2.0},
        {"selective": np.arange(15.0).tolist()},
        {"n_parameters": 7},
    )
    frame = tidy([one])
    assert tuple(frame.columns) == COLUMNS
    names = frame[["dataset", "variant", "entrant", "seed"]].drop_duplicates()
    assert names.to_numpy().tolist() == [["adult", "id", "single", 3]]
    values = dict(zip(frame["quantity"], frame["value"], strict=True))
    assert len(values) == len(frame) == 2 + 1 + 15 + 1
    assert (values["nll"], values["n_parameters"]) == (0.5, 7)
    assert values["selective at 30 %"] == 0.0
    assert values["selective at 100 %"] == 14.0
    assert values[AREA] == pytest.approx(7.0 * 0.7)


def test_points_of_a_curve_are_named_by_their_place_and_ranges_include_both_ends():
    assert points("selective", 45, 55) == (
        "selective at 45 %", "selective at 50 %", "selective at 55 %"
    )  # fmt: skip
    assert len(points("selective")) == 15
    assert len(points("coverage")) == 39
    assert points("coverage", 0, 5) == ("coverage at 2.5 %", "coverage at 5 %")


def test_a_curve_of_other_points_is_refused():
    for curves in ({"selective": [1.0] * 14}, {"coverage": []}):
        with pytest.raises(ValueError, match=r"expected (15|39) points .*got (14|0); delete that"):
            numbers_of(result(**curves))


def test_the_area_of_a_line_is_that_of_its_trapezoid():
    numbers = numbers_of(result(selective=(2 * COVERAGES).tolist()))
    assert numbers[AREA] == pytest.approx(1 - 0.3**2)
