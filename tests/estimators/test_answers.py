import csv

import numpy as np
import pandas as pd
import pytest

from batchensemble import Classifier, Regressor
from batchensemble.estimators.answers import prediction_columns, with_shift, with_zones


def table(n=80):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.normal(size=n), "b": random.choice(["x", "y"], n)})
    return frame, frame["a"].to_numpy() + random.normal(size=n)


def test_shift_is_the_shift_score_and_the_rest_is_what_predict_writes():
    X, y = table()
    for model, target in ((Regressor(epochs=2), y), (Classifier(epochs=2), y > 0)):
        model.fit(X, target)
        frame = with_shift(model, model.read(X), 0.8)
        expected = prediction_columns(model, model.predict_dist(X), 0.8)
        pd.testing.assert_frame_equal(frame.drop(columns="shift"), expected)
        assert np.array_equal(frame["shift"], model.shift_score(X))


def test_a_single_network_has_no_shift():
    X, y = table()
    model = Regressor("single", epochs=2).fit(X, y)
    assert "shift" not in with_shift(model, model.read(X), 0.9)


def test_groups_are_those_of_the_column_that_calibration_named():
    X, y = table(200)
    y = np.where(X["b"] == "x", 5 * y, y)
    model = Regressor(epochs=2).fit(X[:100], y[:100]).calibrate(X[100:], y[100:], groups="b")
    frame = with_shift(model, model.read(X), 0.8)
    assert np.array_equal(frame[["lower", "upper"]], model.predict_interval(X, 0.8))
    unaware = prediction_columns(
        Regressor(epochs=2).fit(X[:100], y[:100]).calibrate(X[100:], y[100:]),
        model.predict_dist(X),
        0.8,
    )
    assert not np.allclose(frame["upper"], unaware["upper"])


@pytest.mark.parametrize("classes", [[True, False], ["a", "b"], [1, 2]])
def test_probabilities_are_named_after_classes(classes):
    X, y = table()
    model = Classifier(epochs=2).fit(X, np.array(classes)[(y > 0).astype(int)])
    names = [name for name in with_shift(model, model.read(X), 0.9) if name.startswith("p_")]
    assert names == [f"p_{str(c).lower() if isinstance(c, bool) else c}" for c in sorted(classes)]


def test_dates_of_a_file_get_the_zone_of_fit_whatever_their_column_is_called():
    days = pd.date_range("2024-01-01", periods=30, tz="Europe/Zurich")
    X = pd.DataFrame({"x": np.arange(30.0), "self": days, "day": days.tz_localize(None)})
    model = Regressor(epochs=1, n_members=2).fit(X, X["x"])
    read = X.assign(day=days.tz_convert("UTC").tz_localize(None))
    read["self"] = read["day"]
    zoned = with_zones(model.model_.encoder, read)
    assert (zoned["self"] == X["self"]).all()
    assert zoned["day"].equals(read["day"])


def test_a_class_with_too_few_rows_for_the_coverage_is_named():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"x": random.normal(size=120)})
    y = np.where(X["x"] > 0, "hi", "lo")
    model = Classifier(preset="fast", epochs=1, random_state=0).fit(X[:80], y[:80])
    model.calibrate(X[80:], y[80:], per_class=True)
    with pytest.raises(ValueError, match=r"got fewer of 'hi' \(\d+\), 'lo'"):
        prediction_columns(model, model.predict_dist(X[:3]), 0.97)


def test_sets_of_classes_with_bars_in_their_names_can_be_told_apart():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 1))
    names = np.array(["Jazz", "Rock", "Jazz|Rock", 'a "b"', ""])
    y = names[np.digitize(X[:, 0] + 0.5 * random.normal(size=400), [-1, -0.3, 0.3, 1])]
    model = (
        Classifier(epochs=20, n_members=2, hidden=(8,), random_state=0).fit(X, y).calibrate(X, y)
    )
    written = prediction_columns(model, model.predict_dist(X), 0.7)["set"]
    inside = [tuple(model.classes_[row]) for row in model.predict_set(X, 0.7)]
    assert len(set(inside)) == len(set(written)) == len(set(zip(inside, written, strict=True))) > 5
    read = [next(csv.reader([one], delimiter="|")) if one else [] for one in written]
    assert list(map(tuple, read)) == inside
