"""A model that is worth nothing is told so; one that is worth little is not slandered."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fixtures import TINY_FORECASTER, long_frame, regression_table

from batchensemble import BatchEnsembleWarning, Classifier, Forecaster, Regressor
from batchensemble.conformal import SetCalibration
from batchensemble.estimators.usefulness import (
    FEWEST_EPOCHS,
    FEWEST_ROWS,
    NAIVE,
    doubt_about_classes,
    doubt_about_held,
    doubt_about_numbers,
    doubts_about_length,
    doubts_about_sets,
    doubts_about_windows,
)
from batchensemble.training.history import History
from batchensemble.training.loop import Training
from batchensemble.training.methods import METHODS

QUICK = {"preset": "fast", "epochs": 15, "hidden": (8,), "random_state": 0, "lr": 0.02, "folds": 2}


def numbers(share, n=300, seed=0):
    """Truths of which predictions explain a share, and such predictions."""
    random = np.random.default_rng(seed)
    mean = np.sqrt(share) * random.normal(size=n)
    return mean + np.sqrt(1 - share) * random.normal(size=n), mean


def told(y, mean):
    return list(doubt_about_numbers(y, mean, float(y.mean())))


def test_numbers_too_small_to_tell_apart_are_no_doubt_and_no_warning():
    y = np.array([0.0, 5e-324] * 50)
    assert not [*doubt_about_numbers(y, y + 1.0, 0.0)]


@pytest.mark.parametrize("seed", range(30))
def test_predictions_that_explain_a_tenth_are_not_slandered(seed):
    assert not told(*numbers(0.1, seed=seed))


@pytest.mark.parametrize("seed", range(10))
def test_predictions_that_are_noise_are_told_and_of_few_rows_nothing_is_said(seed):
    y, _ = numbers(0.0, seed=seed)
    noise = 0.1 * np.random.default_rng(seed + 99).normal(size=len(y))
    assert len(told(y, noise)) == 1
    assert not told(y[: FEWEST_ROWS - 1], noise[: FEWEST_ROWS - 1])
    assert told(1e100 * y, 1e100 * noise)[0].split(",")[0] == told(y, noise)[0].split(",")[0]
    assert not told(np.full(300, 7.0), np.full(300, 7.0) + 1e-12)  # nothing to explain


def test_a_rare_class_that_is_never_predicted_is_told_and_one_that_often_is_right_is_not():
    labels = (np.arange(2000) % 40 == 0).astype(np.int64)
    (sentence,) = doubt_about_classes(labels, np.zeros_like(labels))
    assert sentence.startswith("no better than always predicting the most common class, on 2,000")
    hits = labels * (np.arange(2000) < 1000)
    assert not list(doubt_about_classes(labels, hits))


def windows(error=1.0, std=1.0, n=60, seed=0):
    random = np.random.default_rng(seed)
    shape = (n, 4)
    return error * random.normal(size=shape), np.full(shape, std), random.normal(size=shape)


def test_forecasts_worse_than_the_last_season_and_intervals_too_narrow_are_told():
    assert not list(doubts_about_windows(*windows(), 20, 12))
    (worse,) = doubts_about_windows(*windows(error=2.0, std=2.0), 20, 12)
    assert worse.startswith("worse than repeating the last season: on held-out windows the error")
    (narrow,) = doubts_about_windows(*windows(std=0.3), 20, 12)
    held = np.mean(np.abs(windows()[0]) < 1.2816 * 0.3)
    assert narrow.startswith(f"the 80 % intervals cover only {100 * held:.0f} % of the values")
    assert "last value" in next(doubts_about_windows(*windows(error=2.0, std=2.0), 20, 1))
    # Of windows whose truth is not known, nothing is said.
    gaps = np.full((60, 4), np.nan)
    assert not list(doubts_about_windows(gaps, *windows()[1:], 20, 12))


def test_of_few_windows_only_what_is_far_off_is_told():
    assert not list(doubts_about_windows(*windows(error=1.3, std=1.3), 1.6, 12))
    (worse,) = doubts_about_windows(*windows(error=2.0, std=2.0), 1.6, 12)
    assert worse.startswith("worse than repeating the last season: on held-out windows")
    (of_training,) = doubts_about_windows(*windows(error=2.0, std=0.1), 0, 12)
    assert "on the windows that it was trained on the error is" in of_training
    assert len(list(doubts_about_windows(*windows(error=2.0, std=0.3), 2, 12))) == 2
    one_step = [part[:4, :1] for part in windows(error=2.0, std=0.3)]
    assert not list(doubts_about_windows(*one_step, 1, 12))  # four values say nothing


def monthly(n):
    y = 10 + 3 * np.sin(np.arange(n) * np.pi / 6) + np.random.default_rng(0).normal(size=n) / 3
    return pd.Series(y, pd.date_range("2001", periods=n, freq="MS"))


def test_a_short_series_that_a_network_forecasts_badly_is_told_in_python_too():
    settings = {"horizon": 12, "preset": "fast", "random_state": 0}
    with pytest.warns(BatchEnsembleWarning, match=NAIVE) as told:
        Forecaster(**settings, lr=1.0, epochs=2).fit(monthly(60))
    assert [one.filename for one in told] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Forecaster(**settings).fit(monthly(60))


@pytest.mark.parametrize("method", METHODS)
def test_a_recurrent_network_that_forecasts_badly_is_told_at_the_same_line(method):
    tiny = {"epochs": 2, "n_members": 2, "n_passes": 3, "hidden_size": 4, "random_state": 0}
    with pytest.warns(BatchEnsembleWarning, match=NAIVE) as told:
        Forecaster(preset="recurrent", method=method, horizon=6, **tiny).fit(monthly(120))
    assert [one.filename for one in told] == [__file__]


def test_an_error_that_nobody_notices_is_not_told_beside_a_perfect_naive_forecast():
    errors, stds, naive = windows(error=1e-4, std=1e-4)
    assert not list(doubts_about_windows(errors, stds, 0.0 * naive, 20, 12))
    errors, stds, naive = windows(error=0.1, std=0.1)
    (sentence,) = doubts_about_windows(errors, stds, 0.0 * naive, 20, 12)
    assert len(sentence) < 200


def test_a_window_or_two_far_outside_are_told_and_what_chance_does_often_is_not():
    def doubts(held, n_windows):
        return list(doubt_about_held(held, 0.8, n_windows, 12 * n_windows))

    assert not doubts(0.5, 1)
    assert not doubts(9 / 12, 1)
    (sentence,) = doubts((0.25 + 0.5) / 2, 2)
    assert sentence.startswith("the 80 % intervals cover only 38 % of the values in held-out")
    assert not list(doubt_about_held(0.25, 0.8, 1, 4))  # four values say nothing
    random = np.random.default_rng(0)
    steps = random.normal(size=(12, 4000))
    for k in range(1, 12):  # sound forecasts whose errors hang together
        steps[k] = 0.7 * steps[k - 1] + np.sqrt(1 - 0.7**2) * steps[k]
    held = (np.abs(steps) < 1.2816).mean(axis=0)
    assert np.mean([bool(doubts(share, 1)) for share in held]) < 0.045
    held = held.reshape(2, -1).mean(axis=0)
    assert np.mean([bool(doubts(share, 2)) for share in held]) < 0.01


def test_cross_validation_says_once_that_intervals_hold_far_too_little():
    df, model = long_frame(), Forecaster(**TINY_FORECASTER)
    is_last = df.groupby("unique_id").cumcount(ascending=False) < 4
    broken = df.assign(y=df["y"] + 1000.0 * is_last)
    with pytest.warns(BatchEnsembleWarning, match="the 90 % intervals cover only 0 %") as w:
        model.cross_validation(broken, level=[90, 95])
    assert [each.filename for each in w] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.cross_validation(df, level=[90, 95])
        model.cross_validation(broken)  # without intervals


def falling(n, rate, ended="epochs"):
    """A training whose score falls towards 1 as an exponential."""
    return History(scores=[[1 + np.exp(-rate * i / n)] for i in range(n)], ended=ended)


def test_too_few_epochs_are_told_if_the_user_asked_for_them_and_scores_still_fell():
    training = Training(epochs=40, lr=0.01, batch_size=8)
    (sentence,) = doubts_about_length([falling(40, 0.5)], training, 40)
    assert sentence.startswith("training ended after 40 epochs while still improving")
    assert not list(doubts_about_length([falling(40, 0.5)], training, None))  # the preset's choice
    assert not list(doubts_about_length([falling(40, 5.0)], training, 40))
    assert not list(doubts_about_length([falling(FEWEST_EPOCHS - 1, 0.5)], training, 9))
    assert not list(doubts_about_length([falling(40, 0.5, "patience")], training, 40))
    assert not list(doubts_about_length([History(losses=[[1.0]] * 40)], training, 40))


def test_fit_says_so_once_at_the_line_of_the_user_and_a_model_that_learned_is_not_told():
    random = np.random.default_rng(0)
    x, y = regression_table(150)
    for model, noise in ((Regressor(**QUICK), random.normal(size=150)),):
        with pytest.warns(
            BatchEnsembleWarning, match="no better than always predicting the mean"
        ) as w:
            model.fit(x, noise)
        assert [each.filename for each in w] == [__file__]
        with pytest.warns(BatchEnsembleWarning, match="no better than always") as w:
            model.update(x, noise)
        assert [each.filename for each in w] == [__file__]
    with pytest.warns(BatchEnsembleWarning, match="the most common class"):
        Classifier(**QUICK).fit(x, random.random(150) < 0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Regressor(**QUICK).fit(x, y)
        Classifier(**QUICK).fit(x, y > 10)
        # Whoever weighs rows asks for something else than accuracy.
        Regressor(**QUICK).fit(x, random.normal(size=150), np.linspace(0.5, 1, 150))
        Forecaster(**TINY_FORECASTER).fit(long_frame())


def test_a_forecaster_says_so_at_the_line_of_the_user(monkeypatch):
    from batchensemble.estimators import series_networks

    monkeypatch.setattr(series_networks, "doubts_about_windows", lambda *_: ["worse than it was"])
    with pytest.warns(BatchEnsembleWarning, match="worse than it was") as w:
        Forecaster(**TINY_FORECASTER).fit(long_frame())
    assert [each.filename for each in w] == [__file__]


def sets_of(share, n=400, seed=0):
    """A calibration whose rare class has that share, and which nothing tells from the other."""
    labels = (np.random.default_rng(seed).random(n) < share).astype(np.int64)
    probabilities = np.tile([1 - share, share], (n, 1))
    return SetCalibration(1.0, labels, probabilities, probabilities)


def test_a_class_that_sets_never_hold_is_told_and_leads_to_the_cure():
    classes = np.array(["no", "yes"])
    calibration = sets_of(0.03)
    (sentence,) = doubts_about_sets(calibration, classes)
    n = int(calibration.labels.sum())
    assert sentence.startswith(f"the 90 % sets contain the class yes in only 0 of its {n} rows")
    assert "calibrate with per_class=True" in sentence
    assert not list(doubts_about_sets(replace(calibration, per_class=True), classes))
    assert not list(doubts_about_sets(sets_of(0.5), classes))  # all sets hold both
    assert not list(doubts_about_sets(sets_of(0.03, n=30), classes))  # a row or two
