import copy
import dataclasses
import pickle

import numpy as np
import pytest
from fixtures import regression_table

from batchensemble import Classifier, Regressor
from batchensemble.estimators import table_model
from batchensemble.estimators.table_model import by_layer
from batchensemble.training.methods import Members

TINY = {"epochs": 2, "hidden": (8,), "n_members": 3, "random_state": 0}


@pytest.fixture(scope="module")
def fitted():
    x, y = regression_table(200)
    return {
        Regressor: Regressor(**TINY).fit(x, y, calibrate=True),
        Classifier: Classifier(**TINY).fit(x, y > np.median(y), calibrate=True),
    }


@pytest.fixture
def passes(monkeypatch):
    """How many rows have gone through the networks."""
    rows, forward = [], Members.__call__

    def counted(self, x):
        rows.append(len(x))
        return forward(self, x)

    monkeypatch.setattr(Members, "__call__", counted)
    return rows


QUESTIONS = [
    (Regressor, "predict", {}),
    (Regressor, "predict", {"return_std": True}),
    (Regressor, "predict_dist", {}),
    (Regressor, "predict_interval", {}),
    (Regressor, "predict_quantiles", {"q": [0.1, 0.9]}),
    (Regressor, "uncertainty", {}),
    (Regressor, "shift_score", {}),
    (Classifier, "predict", {}),
    (Classifier, "predict_proba", {}),
    (Classifier, "predict_set", {}),
    (Classifier, "uncertainty", {}),
    (Classifier, "shift_score", {}),
]


@pytest.mark.parametrize(("estimator", "name", "settings"), QUESTIONS)
def test_a_row_goes_through_the_network_once_for_a_question(
    fitted, passes, estimator, name, settings
):
    x, _ = regression_table(70)
    getattr(fitted[estimator], name)(x, **settings)
    assert sum(passes) == 70


def test_rows_held_back_go_through_the_network_once_to_calibrate(fitted, passes):
    x, y = regression_table(60, seed=1)
    for estimator, target in ((Regressor, y), (Classifier, y > np.median(y))):
        model = pickle.loads(pickle.dumps(fitted[estimator]))
        passes.clear()
        model.calibrate(x, target)
        assert sum(passes) == 60


@pytest.mark.parametrize("estimator", [Regressor, Classifier])
def test_a_fitted_model_is_frozen_and_calibration_makes_another(fitted, estimator):
    model = pickle.loads(pickle.dumps(fitted[estimator]))
    before = model.model_
    with pytest.raises(dataclasses.FrozenInstanceError):
        before.encoder = None
    x, y = regression_table(60, seed=1)
    model.calibrate(x, y if estimator is Regressor else y > np.median(y))
    assert model.model_ is not before
    assert model.model_.ensemble is before.ensemble


def test_chunks_are_the_rows_of_the_whole_prediction_in_their_order(fitted, monkeypatch):
    monkeypatch.setattr(table_model, "ENCODED_ROWS", 7)
    model = fitted[Regressor]
    x, _ = regression_table(30)
    columns = model.read(x)
    parts = list(model.model_.chunks(columns))
    assert [len(part) for part in parts] == [7, 7, 7, 7, 2]
    whole = model.model_.predict(columns)
    assert np.allclose(np.concatenate([part.means for part in parts]), whole.means, rtol=1e-12)
    asked = model.model_.ask(columns, lambda dist: dist.interval(0.8))
    assert np.allclose(asked, whole.interval(0.8), rtol=1e-9)


def test_a_pickle_holds_parameters_once(fitted):
    model = fitted[Regressor]
    assert "members" in vars(model.model_.ensemble)
    assert "members" not in vars(pickle.loads(pickle.dumps(model)).model_.ensemble)


def test_words_for_layers_are_one_for_all_two_for_parts_or_one_for_each():
    assert by_layer("rsb", 3, first=1) == "rsb"
    assert by_layer(("rsb", "wb"), 3, first=3) == ("rsb", "rsb", "rsb", "wb")
    assert by_layer(["random_sign", "ones"], 3, first=1) == ("random_sign", "ones", "ones", "ones")
    assert by_layer(("rsb", "wb"), 0, first=0) == ("wb",)
    assert by_layer(["r", "s", "b", "w"], 3, first=3) == ("r", "s", "b", "w")


def test_two_words_make_members_differ_in_the_layers_they_name():
    x, y = regression_table()
    settings = {"hidden": (8, 6), "n_members": 3, "epochs": 1, "folds": 1, "random_state": 0}
    model = Regressor(adapters=("r", "wb"), init=("normal", "ones"), **settings).fit(x, y)
    network = model.model_.ensemble.bank.network(0)
    assert [layer.adapters for layer in network.layers] == ["r", "r"]
    assert [head.adapters for head in network.heads] == ["wb", "wb"]
    assert [layer.init for layer in network.layers] == ["normal", "ones"]
    with pytest.raises(ValueError, match="adapters for 2 hidden layers and the heads"):
        Regressor(adapters=("r", "s", "b", "w"), **settings).fit(x, y)


def test_beyond_the_rows_of_fit_predictions_go_on_and_doubt_grows():
    random = np.random.default_rng(0)
    X = np.column_stack([random.random(400), random.integers(0, 4, 400)])  # 4 values: few bins
    y = 2 * X[:, 0] + X[:, 1] + 0.05 * random.normal(size=400)
    model = Regressor(preset="fast", random_state=0).fit(X, y)
    inside = np.array([[0.99, 1.0], [0.5, 3.0]])
    beyond = inside + np.array([[0.08, 0.0], [0.0, 1.0]])

    def answers(model, rows):
        dist = model.predict_dist(rows)
        return dist.mean, dist.epistemic

    (near, sure), (far, unsure) = answers(model, inside), answers(model, beyond)
    assert (far - near > [0.08, 0.5]).all()  # of 0.16 and 1
    assert (unsure > sure).all()
    flat, encoder = copy.deepcopy(model), model.model_.encoder
    same = copy.copy(encoder)
    same.binned_ = dataclasses.replace(encoder.binned_, reach=0)
    flat.model_ = dataclasses.replace(model.model_, encoder=same)
    assert (answers(flat, inside)[0] == near).all()
    assert (answers(flat, beyond)[0] - near < far - near).all()


@pytest.mark.parametrize("estimator", [Regressor, Classifier])
def test_members_are_a_quarter_farther_from_their_mean_for_each_bin_beyond_the_rows_of_fit(
    fitted, estimator, monkeypatch
):
    model, (x, _) = fitted[estimator].model_, regression_table(200)
    x[:100] += np.linspace(0, 9, 100)[:, None]  # some inside, some beyond in several columns
    columns = fitted[estimator].read(x)
    beyond = model.encoder.bins_beyond(model.encoder.transform(columns))
    assert 0 < (beyond > 0).sum() < 100
    monkeypatch.setattr(table_model, "APART_A_BIN", 0.0)
    (as_trained,) = model.outputs(columns)
    monkeypatch.undo()
    (outputs,) = model.outputs(columns)
    factors = 1 + np.where(np.arange(200) < 100, 0.25 * beyond, 0.0)
    for i in range(as_trained.shape[2]):
        by = factors if estimator is Classifier or i == 0 else np.ones(200)  # 1: the spread
        middle = as_trained[:, :, i].mean(1)
        expected = middle[:, None] + (as_trained[:, :, i] - middle[:, None]) * by[:, None]
        np.testing.assert_allclose(outputs[:, :, i], expected, rtol=1e-12, atol=1e-14)
    assert (outputs[beyond == 0] == as_trained[beyond == 0]).all()


def test_a_shift_score_is_finite_however_much_the_members_agreed_at_fit(fitted):
    model, (x, _) = fitted[Regressor], regression_table(5)
    columns, apart = model.read(x), np.array([0.0, 1e-300, 1.0, 1e200, 1e300])
    scores = table_model.shift_scores(model.model_, columns, apart, np.finfo(float).tiny)
    assert np.isfinite(scores).all()
    assert (np.diff(scores) >= 0).all()
