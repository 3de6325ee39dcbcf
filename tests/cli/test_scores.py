import numpy as np
import pytest

from batchensemble import CategoricalPredictive, GaussianPredictive, SamplePredictive
from batchensemble.cli.scores import (
    MEANINGS,
    doubt_about_coverage,
    doubts_about_scores,
    in_words,
    is_worse,
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
    assert doubts_about_scores(good, "regression", 50) == []
    assert doubts_about_scores(good | {"rmse": 2.0}, "regression", 50) == [
        "no better than predicting the mean; do not rely on its predictions"
    ]
    series = {"rmse": 1.4, "rmse_of_season": 1.0, "rmse_of_last": 2.0}
    (doubt,) = doubts_about_scores(series, "forecast", 100)
    assert "no better than repeating the last season; do not rely" in doubt
    (doubt,) = doubts_about_scores(series, "forecast", 1)
    assert "in so few windows, which may be chance" in doubt
    (doubt,) = doubts_about_scores(series | {"rmse": 10.0}, "forecast", 1)
    assert "do not rely" in doubt
    classes = {"accuracy": 0.9, "accuracy_of_commonest": 0.9}
    (doubt,) = doubts_about_scores(classes, "classification", 50)
    assert "most common class; judge it by its probabilities" in doubt
    assert doubts_about_scores(classes | {"accuracy": 0.91}, "classification", 50) == []


def test_a_few_rows_slander_no_model_that_chance_may_have_struck():
    chance = "which may be chance: evaluate it on more"
    scores = {"rmse": 1.1, "rmse_of_mean": 1.0}
    (doubt,) = doubts_about_scores(scores, "regression", 10)
    assert doubt == f"no better than predicting the mean in so few rows, {chance}"
    (doubt,) = doubts_about_scores(scores | {"rmse": 3.0}, "regression", 20)
    assert "do not rely" in doubt
    assert doubts_about_scores(scores | {"rmse_of_mean": 0.0}, "regression", 9) == []
    classes = {"accuracy": 0.8, "accuracy_of_commonest": 0.9}
    assert chance in doubts_about_scores(classes, "classification", 10)[0]
    one_class = classes | {"accuracy_of_commonest": 1.0}
    assert doubts_about_scores(one_class, "classification", 900) == []
    censored = {"nll": 2.0, "nll_of_constant": 1.0}
    assert chance in doubts_about_scores(censored, "regression", 10)[0]
    assert "do not rely" in doubts_about_scores(censored, "regression", 50)[0]


@pytest.mark.parametrize("n", [2, 5, 20])
def test_a_useless_model_errs_more_than_the_mean_by_far_in_few_of_a_thousand_draws(n):
    y, errors = RANDOM.normal(size=(2, 20_000, n))
    ours, theirs = np.sqrt(np.mean(errors**2, axis=1)), y.std(axis=1)
    share = np.mean([is_worse(*pair, n) for pair in zip(ours, theirs, strict=True)])
    assert 2e-4 < share < 2.5e-3
    assert is_worse(100.0, 0.1, n)  # negative control


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
