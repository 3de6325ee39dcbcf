import numpy as np

from batchensemble import CategoricalPredictive, GaussianPredictive, SamplePredictive
from batchensemble.cli.scores import (
    MEANINGS,
    doubt_about_coverage,
    doubts_about_scores,
    in_words,
)
from batchensemble.metrics import (
    summarise_classification,
    summarise_paths,
    summarise_regression,
)
from batchensemble.plots.sheets import brief

RANDOM = np.random.default_rng(0)


def test_every_score_of_the_library_has_a_name_and_a_meaning():
    y = RANDOM.normal(size=5)
    members = RANDOM.normal(size=(5, 2)), RANDOM.uniform(1, 2, size=(5, 2))
    found = {
        **summarise_regression(y, GaussianPredictive(*members)),
        **summarise_classification([0, 1, 0, 1, 0], CategoricalPredictive(np.full((5, 2, 2), 0.5))),
        **summarise_paths(y[:, None], SamplePredictive(RANDOM.normal(size=(5, 2, 9, 1)))),
    }
    assert found.keys() <= MEANINGS.keys()
    told = in_words(found, target="price", task="regression", coverage=0.9)
    assert len(told) == len(found)
    assert ("RMSE", brief(found["rmse"]), "typical error, in units of price") in told


def test_a_model_no_better_than_a_guess_is_told_so():
    good = {"rmse": 1.0, "rmse_of_mean": 2.0}
    assert doubts_about_scores(good, "regression") == []
    assert (
        "no better than predicting the mean"
        in (doubts_about_scores(good | {"rmse": 2.0}, "regression")[0])
    )
    series = {"rmse": 1.4, "rmse_of_season": 1.0, "rmse_of_last": 2.0}
    (doubt,) = doubts_about_scores(series, "forecast")
    assert "no better than repeating the last season; do not rely" in doubt
    (doubt,) = doubts_about_scores(series, "forecast", 1)
    assert "in so few windows, which may be chance" in doubt
    (doubt,) = doubts_about_scores(series | {"rmse": 10.0}, "forecast", 1)
    assert "do not rely" in doubt
    classes = {"accuracy": 0.9, "accuracy_of_commonest": 0.9}
    assert "most common class" in doubts_about_scores(classes, "classification")[0]
    assert doubts_about_scores(classes | {"accuracy": 0.91}, "classification") == []


def test_intervals_that_hold_too_little_are_told_unless_it_may_be_chance():
    assert doubt_about_coverage(0.8, 0.9, 20) == []
    assert doubt_about_coverage(0.95, 0.9, 10_000) == []
    (doubt,) = doubt_about_coverage(0.8, 0.9, 1000)
    assert "intervals cover only 80" in doubt
    assert doubt_about_coverage(0.4, 0.9, 2) == []
    (doubt,) = doubt_about_coverage(0.4, 0.9, 2, 24)  # of two windows of twelve steps
    assert "intervals cover only 40" in doubt


def test_good_intervals_are_hardly_ever_doubted():
    held = np.random.default_rng(0).binomial(200, 0.9, 2000) / 200
    alarms = sum(bool(doubt_about_coverage(share, 0.9, 200)) for share in held)
    assert alarms <= 8  # one in a thousand, and room for chance
