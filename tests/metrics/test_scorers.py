"""Scorers inside scikit-learn's cross-validation against scores by hand."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from batchensemble import (
    Classifier,
    GaussianPredictive,
    JointRegressor,
    Regressor,
    SamplePredictive,
    metrics,
)

QUICK = {"epochs": 2, "hidden": (4,), "n_members": 2, "folds": 1, "random_state": 0}
X = np.random.default_rng(0).normal(size=(60, 2))
Y = X[:, 0] - 3
Y_AND_NOISE = X + np.random.default_rng(1).normal(size=(60, 2))
FOLDS = KFold(2)


def by_hand(model, y, score):
    out = []
    for train, test in FOLDS.split(X):
        out.append(score(model.fit(X[train], y[train]).predict_dist(X[test]), y[test]))
    return out


@pytest.mark.parametrize(
    ("scorer", "score"),
    [
        (metrics.neg_crps, lambda dist, y: -dist.crps(y).mean()),
        (metrics.neg_nll, lambda dist, y: dist.log_prob(y).mean()),
    ],
)
def test_cross_validation_scores_the_distribution(scorer, score):
    found = cross_val_score(Regressor(**QUICK), X, Y, scoring=scorer, cv=FOLDS)
    np.testing.assert_allclose(found, by_hand(Regressor(**QUICK), Y, score), rtol=1e-12)
    through = cross_val_score(
        make_pipeline(StandardScaler(), Regressor(**QUICK)), X, Y, scoring=scorer, cv=FOLDS
    )
    assert np.isfinite(through).all()


@pytest.mark.parametrize("scorer", [metrics.neg_crps, metrics.neg_nll])
def test_a_target_of_one_column_is_scored_as_it_is_fitted(scorer):
    model = Regressor(**QUICK).fit(X[:40], Y[:40])
    assert scorer(model, X, pd.DataFrame({"y": Y})) == scorer(model, X, Y)


@pytest.mark.filterwarnings("ignore::batchensemble.BatchEnsembleWarning")
@pytest.mark.parametrize("scorer", [metrics.neg_crps, metrics.neg_nll])
def test_an_estimator_without_the_score_is_refused_in_words(scorer):
    others = [
        (JointRegressor(**QUICK).fit(X, Y_AND_NOISE), "JointRegressor; .*by their regressors_"),
        (LinearRegression().fit(X, Y), "LinearRegression; score .*by a scorer of scikit-learn"),
        (make_pipeline(StandardScaler(), LinearRegression()).fit(X, Y), "LinearRegression"),
    ]
    for model, got in others:
        with pytest.raises(TypeError, match=f"^expected a Regressor.*, got {got}") as error:
            scorer(model, X, Y)
        assert "\n" not in str(error.value)


def test_the_crps_of_classes_is_refused_and_leads_to_the_likelihood():
    labels = Y_AND_NOISE[:, 0] > 0
    model = Classifier(**QUICK).fit(X, labels)
    with pytest.raises(TypeError, match="a Regressor, got Classifier; score classes by neg_nll"):
        metrics.neg_crps(model, X, labels)


def test_without_a_scorer_a_regressor_is_scored_by_r2():
    model = Regressor(**QUICK).fit(X[:40], Y[:40])
    assert model.score(X, Y) == r2_score(Y, model.predict(X))


def test_the_likelihood_of_classes_is_scored_too_and_a_better_model_scores_higher():
    labels = np.where(X[:, 0] > 0, "high", "low")
    short, long = (
        Classifier(**QUICK | {"epochs": epochs, "lr": 0.05}).fit(X, labels) for epochs in (1, 60)
    )
    assert metrics.neg_nll(long, X, labels) > metrics.neg_nll(short, X, labels) + 0.1
    expected = -metrics.categorical_nll(
        (labels == "low").astype(int), probabilities=long.predict_proba(X)
    )
    assert metrics.neg_nll(long, X, labels) == pytest.approx(expected)


@pytest.mark.parametrize("scorer", [metrics.neg_crps, metrics.neg_nll])
def test_pipelines_of_any_depth_and_searches_are_scored_by_the_model_inside(scorer):
    model = Regressor(**QUICK)
    alone = cross_val_score(model, X, Y, scoring=scorer, cv=FOLDS)
    for outer in (
        make_pipeline(model),
        make_pipeline(make_pipeline("passthrough"), make_pipeline("passthrough", model)),
        GridSearchCV(model, {"epochs": [2]}, scoring=scorer, cv=FOLDS),
        make_pipeline(GridSearchCV(make_pipeline(model), {}, scoring=scorer, cv=FOLDS)),
    ):
        found = cross_val_score(outer, X, Y, scoring=scorer, cv=FOLDS, error_score="raise")
        np.testing.assert_allclose(found, alone)


@pytest.mark.parametrize(
    "y", [torch.zeros(3, requires_grad=True), torch.zeros(3, dtype=torch.bfloat16)]
)
def test_tensors_that_numpy_cannot_read_are_refused_in_words(y):
    dist = GaussianPredictive(np.zeros((3, 2)), np.ones((3, 2)))
    paths = SamplePredictive(np.random.default_rng(0).normal(size=(3, 2, 9, 1)))
    with pytest.raises(ValueError, match=r"(?s)expected numbers, got tensor.*; convert them"):
        metrics.summarise_regression(y, dist)
    with pytest.raises(ValueError, match=r"(?s)expected numbers, got tensor.*; convert them"):
        metrics.summarise_paths(torch.stack([y, y], 1), paths)
    model = Regressor(**QUICK).fit(X, Y_AND_NOISE[:, 0])
    with pytest.raises(ValueError, match=r"(?s)expected numbers, got tensor.*; convert them"):
        metrics.neg_crps(model, X[:3], y)
