import numpy as np
import pytest
from scipy import stats

from batchensemble.cli.evaluation import Curve, Evaluation
from batchensemble.cli.verdict import chance_range, in_short
from batchensemble.conformal import conformal_rank
from batchensemble.plots.sheets import Sheet

NOTHING = Curve("x", "y", [0.5], [0.5])


def short(scores, task="regression", n_rows=80, **more):
    sheet = Sheet("doubtful", "", (), ())
    facts = {"file": "f.csv", "task": task, "target": "y", "coverage": 0.9, "n_rows": n_rows}
    facts |= {"n_without_target": 0, "calibration": NOTHING, "selective": NOTHING}
    return in_short(Evaluation(**facts, scores=scores, doubtful=sheet, **more)).replace("\xa0", " ")


def test_the_verdict_compares_with_the_mean_and_knows_what_chance_allows():
    scores = {"rmse": 59.0, "rmse_of_mean": 100.0, "coverage": 0.875}
    assert short(scores) == (
        "Better than always predicting the mean by 41 %: the typical error is 59.00 instead of "
        "100.0. Its 90 % intervals covered 87.5 % of 80 rows, which is what chance allows."
    )
    assert "they are too narrow" in short(scores | {"coverage": 0.7})
    assert "they are wide" in short(scores | {"coverage": 1.0})
    assert short(scores | {"rmse": 120.0}).startswith("Worse than always predicting the mean by 20")
    assert short(scores | {"rmse": 100.1}).startswith("No better than always predicting the mean:")


def test_a_few_rows_or_rows_of_one_value_prove_little():
    scores = {"rmse": 110.0, "rmse_of_mean": 100.0, "coverage": 0.9}
    assert short(scores, n_rows=10).startswith(
        "Worse than always predicting the mean by 10 % (the difference may be chance): the"
    )
    assert "the mean by 200 %: the" in short(scores | {"rmse": 300.0}, n_rows=20)
    assert "may be chance" not in short(scores, n_rows=50)
    assert short(scores | {"rmse_of_mean": 0.0}).startswith(
        "The typical error is 110.0; all true values are the same. Its 90 %"
    )
    classes = {"accuracy": 0.8, "accuracy_of_commonest": 0.9}
    told = short(classes, "classification", n_rows=10)
    assert told.startswith("No better (the difference may be chance) than always predicting")
    assert short(classes, "classification", n_rows=1000).startswith("No better than always")
    one = classes | {"accuracy_of_commonest": 1.0}
    assert short(one, "classification", n_rows=50) == "Right in 80 % of 50 rows, all of one class."


def test_forecasts_are_compared_with_the_season_and_judged_by_windows_that_do_not_overlap():
    scores = {"rmse": 4.0, "rmse_of_season": 5.0, "rmse_of_last": 9.0, "coverage": 0.7}
    told = short(scores, "forecast", n_rows=48, horizon=6, n_windows=38)
    assert told.startswith("Better than always repeating the last season by 20 %")
    assert "covered 70 % of the values in 38 windows, which is what chance allows" in told
    assert "too narrow" in short(scores, "forecast", n_rows=480, horizon=6, n_windows=400)


def test_classes_are_better_than_the_commonest_only_beyond_chance():
    def told(right, **more):
        scores = {"accuracy": right, "accuracy_of_commonest": 0.6, **more}
        return short(scores, "classification", n_rows=100)

    assert told(0.8).startswith(
        "Better than always predicting the most common class: right in 80 %"
    )
    assert told(0.62).startswith("Perhaps better (the difference may be chance)")
    assert told(0.6).startswith("No better")
    assert "Its 90 % sets covered 50 % of 100 rows, fewer than chance" in told(
        0.8, coverage_of_sets=0.5
    )


def test_censored_rows_are_compared_by_likelihood():
    scores = {"nll": 1.0, "nll_of_constant": 2.0, "coverage": 0.9}
    assert short(scores).startswith("Better than one distribution for all rows: the NLL is 1.000")


@pytest.mark.parametrize("n_calibrated", [0, 30])
def test_intervals_as_they_should_be_are_in_the_range_of_chance_95_times_in_100(n_calibrated):
    random = np.random.default_rng(0)
    true = np.full(20_000, 0.9)
    if n_calibrated:  # a calibration's coverage depends on its rows
        k = conformal_rank(n_calibrated, 0.9)
        true = stats.beta(k, n_calibrated + 1 - k).rvs(20_000, random_state=random)
    held = random.binomial(200, true) / 200
    low, high = chance_range(0.9, 200, n_calibrated)
    assert 0.945 < np.mean((low <= held) & (held <= high)) < 0.98
    alone = chance_range(0.9, 200)
    if n_calibrated:  # negative control
        assert np.mean((alone[0] <= held) & (held <= alone[1])) < 0.8
