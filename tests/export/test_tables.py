import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from fixtures import forget_members, onnx_answers, onnx_session, scrambled
from hypothesis import given, settings
from hypothesis import strategies as st

from batchensemble import Classifier, Regressor
from batchensemble.estimators.heads import ClassHead
from batchensemble.export import onnx_inputs, to_onnx
from batchensemble.training.methods import METHODS

TINY = {"n_members": 3, "n_passes": 5, "hidden": (8, 6), "epochs": 2, "random_state": 0}
UNCERTAINTY = ("total", "aleatoric", "epistemic")


def table(n=80, seed=0):
    """Columns of every kind, with gaps, and a target far from zero."""
    random = np.random.default_rng(seed)
    days = pd.Timestamp("2023-11-01") + pd.to_timedelta(random.integers(0, 200, n), unit="D")
    X = pd.DataFrame(
        {
            "mean": random.normal(size=n) * 100,
            "b, in %": np.where(random.random(n) < 0.2, np.nan, random.exponential(size=n)),
            "word": random.choice(["red", "blue", None], n),
            "day": days,
            "truth": random.random(n) < 0.5,
            "constant": 1.0,
        }
    )
    return X, 1e6 + 3 * X["mean"].to_numpy() + 20 * random.normal(size=n)


def rows():
    """Rows to predict: known ones, one with an unknown word, a gap and an extreme, one beyond."""
    X = table(20, seed=1)[0]
    X.loc[1, ["mean", "b, in %"]] = -400.0, 9.0
    X.loc[0, "word"], X.loc[0, "b, in %"], X.loc[0, "mean"] = "green", np.nan, 1e5
    return X


def answers(model, X, path):
    to_onnx(model, path)
    return onnx_answers(onnx_session(path), onnx_inputs(model, X))


def check_regression(model, X, path):
    ours, dist = answers(model, X, path), model.predict_dist(X)
    expected = {
        "mean": dist.mean,
        "std": dist.std,
        "members_mean": dist.means,
        "members_std": np.sqrt(dist.variances),
    }
    for name, values in expected.items():
        scale = model.target_scale_ + np.abs(values - model.target_location_)
        assert ours[name].shape == values.shape
        assert (np.abs(ours[name] - values) < 1e-5 * scale).all(), name
    for name in UNCERTAINTY:
        values = getattr(dist, name)
        assert (np.abs(ours[name] - values) < 1e-5 * (model.target_scale_**2 + values)).all(), name


def check_classes(model, X, path):
    ours, dist = answers(model, X, path), model.predict_dist(X)
    assert np.allclose(ours["members"], dist.probabilities, atol=1e-5)
    assert np.allclose(ours["probabilities"], model.predict_proba(X), atol=1e-5)
    for name in UNCERTAINTY:
        assert np.allclose(ours[name], getattr(dist, name), atol=1e-5), name
    assert np.array_equal(ours["label"], model.predict(X))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.onnx"


@pytest.mark.parametrize("method", METHODS)
def test_an_exported_regressor_answers_as_the_regressor(method, path):
    model = scrambled(Regressor(method, **TINY).fit(*table()))
    check_regression(model, rows(), path)
    check_regression(model, rows().head(1), path)


@pytest.mark.parametrize("method", METHODS)
def test_an_exported_classifier_answers_as_the_classifier(method, path):
    X, y = table()
    third = np.searchsorted(np.quantile(y, [1 / 3, 2 / 3]), y)
    model = scrambled(Classifier(method, **TINY).fit(X, np.array(["low", "mid", "high"])[third]))
    check_classes(model, rows(), path)
    check_classes(model, rows().head(1), path)


def test_a_calibrated_classifier_is_exported_with_its_temperature(path):
    X, y = table()
    model = scrambled(Classifier(**TINY).fit(X, y > 1e6))
    before = answers(model, rows(), path)["probabilities"]
    X, y = table(60, seed=2)
    model.calibrate(X, y > 1e6)
    head = ClassHead(model.classes_, temperature=2.5)
    model.model_ = dataclasses.replace(model.model_, head=head)
    check_classes(model, rows(), path)
    assert np.abs(answers(model, rows(), path)["probabilities"] - before).max() > 0.01


@pytest.mark.parametrize("scaling", ["minmax", "standard", "quantile"])
def test_every_scaling_is_exported(scaling, path):
    model = Regressor(scaling=scaling, **TINY).fit(*table())
    check_regression(scrambled(model), rows(), path)


@pytest.mark.parametrize(
    "settings",
    [
        {"adapters": ""},
        {"adapters": "s"},
        {"adapters": ("", "", "rsb")},
        {"adapters": ("rb", "rsb", "")},
        {"hidden": ()},
        {"method": "mc_dropout", "dropout": 0.0},
        {"method": "mc_dropout", "hidden": ()},
        {"method": "deep_ensemble", "hidden": ()},
        {"n_members": 1},
        {"log_variance_bounds": (-math.inf, math.inf)},
        {"preset": "paper"},
        {"adapters": "w"},
        {"adapters": ("w", "rsb", "b")},
        {"adapters": ("w", "rsb", "b"), "folds": 1},
        {"adapters": ("rsb", "wb"), "hidden": ()},
        {"max_categories": 2},  # words as numbers
        {"max_categories": 2, "bins": 1, "embedding_width": 1},
        {"bins": 0},
        {"folds": 2, "method": "deep_ensemble", "n_members": 4},
        {"rescale": False},
    ],
    ids=str,
)
def test_every_shape_of_network_is_exported(settings, path):
    model = Regressor(**TINY | settings).fit(*table())
    check_regression(scrambled(model), rows(), path)


@pytest.mark.parametrize("classes", [[3, 7], [False, True], [0.0, 2.0], ["no", "yés"]], ids=str)
def test_labels_are_of_the_kind_of_the_classes(classes, path):
    X, y = table()
    model = Classifier(**TINY).fit(X, np.array(classes)[(y > np.median(y)).astype(int)])
    check_classes(model, rows(), path)
    label = answers(model, rows(), path)["label"]
    assert label.dtype == (object if isinstance(classes[0], str) else model.classes_.dtype)


@pytest.mark.parametrize("method", METHODS)
def test_the_control_a_changed_weight_is_noticed(method, path):
    model = Regressor(method, **TINY).fit(*table())
    other = Regressor(method, **TINY).fit(*table())
    other.model_.ensemble.bank.theta[0, 0] += 0.1
    forget_members(other)
    apart = answers(model, rows(), path)["mean"] - other.predict(rows())
    assert np.abs(apart).max() > 1e-4 * model.target_scale_


def test_a_table_of_plain_numbers_has_inputs_x0_x1_and_so_on(path):
    random = np.random.default_rng(0)
    x = random.normal(size=(40, 3))
    check_regression(Regressor(**TINY).fit(x, x.sum(1)), x, path)
    assert [each.name for each in onnx_session(path).get_inputs()] == ["x0", "x1", "x2"]


cells = {
    "number": st.floats(-1e6, 1e6) | st.none(),
    "word": st.sampled_from(["a", "b", "c", "d", None]),
    "truth": st.booleans(),
}
# onnxruntime leaves out a sum with a constant that float32 cannot tell from zero.
targets = st.floats(-1e3, 1e3).map(lambda y: y if abs(y) > 1e-30 else 0.0)


@given(st.data())
@settings(max_examples=15, deadline=None)
def test_any_table_is_answered_as_by_the_regressor(tmp_path_factory, data):
    kinds = data.draw(st.lists(st.sampled_from(list(cells)), min_size=1, max_size=4))
    row = st.tuples(*(cells[kind] for kind in kinds)).map(list)
    known = data.draw(st.lists(row, min_size=6, max_size=20))
    new = known + data.draw(st.lists(row, max_size=5))
    y = data.draw(st.lists(targets, min_size=len(known), max_size=len(known)))
    model = Regressor(**TINY | {"epochs": 1, "hidden": (4,)}).fit(known, y)
    check_regression(model, new, tmp_path_factory.mktemp("any") / "model.onnx")


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_a_model_of_full_size_answers_alike(method, path):
    X, y = table(2000)
    model = Regressor(method, epochs=40, random_state=0).fit(X, y)
    check_regression(model, table(500, seed=2)[0], path)


TARGETS = {
    "real": lambda y: y,
    "positive": lambda y: np.exp(y / 2),
    "count": lambda y: np.rint(np.exp(3 + y / 2)),
    "bounded": lambda y: 1 / (1 + np.exp(-y)),
}


@pytest.mark.parametrize("target", TARGETS)
def test_calibrated_bounds_are_those_of_the_regressor(target, path):
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(400, 3)), columns=["lower", "b", "lower_"])
    y = TARGETS[target](X["b"].to_numpy() + 0.5 * random.normal(size=400))
    model = Regressor(**TINY, target=target).fit(X, y, calibrate=True)
    to_onnx(model, path, coverage=0.8)
    ours = onnx_answers(onnx_session(path), onnx_inputs(model, X))
    ends = np.stack([ours["lower"], ours["upper"]], axis=1)
    expected = model.predict_interval(X, 0.8)
    assert (np.abs(ends - expected) <= 1e-5 * model.target_scale_ * (1 + np.abs(expected))).all()
    control = model.predict_interval(X, 0.5)
    assert (np.abs(ends - control) > 1e-3).any()


def test_bounds_are_refused_where_no_calibration_promises_them(path):
    X, y = table()
    for model in (Regressor(**TINY).fit(X, y), Classifier(**TINY).fit(X, y > np.median(y))):
        with pytest.raises(ValueError, match="coverage needs a Regressor that is calibrated"):
            to_onnx(model, path, coverage=0.9)
    by_group = Regressor(**TINY).fit(X, y).calibrate(X, y, groups="truth")
    with pytest.raises(ValueError, match="and not by group"):
        to_onnx(by_group, path, coverage=0.5)
    few = Regressor(**TINY).fit(X, y, calibrate=True)
    with pytest.raises(ValueError, match="calibration"):
        to_onnx(few, path, coverage=0.99)
    assert not path.exists()


@pytest.mark.parametrize("seed", range(4))
def test_bounds_of_counts_in_few_kinds_of_rows_are_those_of_the_regressor(seed, path):
    random = np.random.default_rng(seed)  # many calibrated bounds lie in the middle of two numbers
    X = pd.DataFrame({"shop": random.choice(list("abc"), 300), "day": random.choice([*"xyz"], 300)})
    y = random.poisson(X["shop"].map({"a": 1, "b": 3, "c": 6}))
    model = Regressor(**TINY | {"epochs": 20}).fit(X, y, calibrate=True)
    to_onnx(model, path, coverage=0.9)
    found = onnx_answers(onnx_session(path), onnx_inputs(model, X))
    bounds = model.predict_interval(X, 0.9)
    np.testing.assert_array_equal(found["lower"].ravel(), bounds[:, 0])
    np.testing.assert_array_equal(found["upper"].ravel(), bounds[:, 1])
