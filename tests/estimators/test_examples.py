"""Rows with something said about them: censored targets, rows to stop by, and rows to go on with"""

import copy

import numpy as np
import pandas as pd
import pytest
from fixtures import regression_table

from batchensemble import BatchEnsembleWarning, Classifier, Regressor, load
from batchensemble.modelfile.persistence import describe
from batchensemble.training.losses import GaussianNLL

TINY = {"epochs": 3, "hidden": (8,), "n_members": 2, "random_state": 0}
QUICK = {"epochs": 30, "hidden": (16,), "n_members": 2, "random_state": 0, "lr": 0.02, "folds": 2}


def times(n=600, seed=0):
    """Log-normal times, about half of them cut off: X, y, which are cut, and the true mean."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, 2))
    truth = np.exp(1 + 0.6 * x[:, 0] + 0.4 * random.normal(size=n))
    end = random.exponential(4, n)
    return x, np.minimum(truth, end), end < truth, np.exp(1 + 0.6 * x[:, 0] + 0.4**2 / 2)


def drifted(n=200, seed=5):
    """A table whose targets follow another column than those of `regression_table`."""
    x, y = regression_table(n, seed)
    return x, y + 6 * x[:, 2]


def rmse(model, x, y):
    return float(np.sqrt(np.mean((model.predict(x) - y) ** 2)))


# ------------------------------------------------------------------------------------ censored rows


def test_rows_of_weight_0_do_not_count_as_known_targets():
    x, y, censored, _ = times(60)
    with pytest.raises(ValueError, match="every target is censored"):
        Regressor(**TINY).fit(x, y, censored=censored, sample_weight=censored.astype(float))


@pytest.mark.parametrize("scaling", [pytest.param("standard", marks=pytest.mark.slow), "log"])
def test_the_censored_fit_finds_the_mean_that_the_naive_one_underestimates(scaling):
    x, y, censored, _ = times()
    new, _, _, mean = times(500, seed=1)
    settings = QUICK | {"target_scaling": scaling}
    bias = {
        name: float(np.mean(model.predict(new) - mean))
        for name, model in (
            ("naive", Regressor(**settings).fit(x, y)),
            ("censored", Regressor(**settings).fit(x, y, censored=censored)),
        )
    }
    assert 0.4 < censored.mean() < 0.6
    assert abs(bias["censored"]) < 0.3
    assert bias["naive"] < -1  # negative control


def test_censored_targets_are_learned_by_their_likelihood_which_the_settings_say(tmp_path):
    x, y, censored, _ = times(80)
    model = Regressor(**TINY).fit(x, y, censored=pd.Series(censored))
    assert model.settings_["loss"] == "nll"
    assert type(model.model_.head.loss) is GaussianNLL
    model.save(tmp_path / "m.be")
    twin = load(tmp_path / "m.be")
    assert np.array_equal(twin.predict(x), model.predict(x))
    assert np.array_equal(
        twin.update(x, y, censored=censored).predict(x),
        model.update(x, y, censored=censored).predict(x),
    )


def test_a_mask_without_a_censored_row_changes_nothing():
    x, y, _, _ = times(80)
    plain = Regressor(**TINY).fit(x, y)
    masked = Regressor(**TINY).fit(x, y, censored=np.zeros(80))
    assert np.array_equal(plain.predict(x), masked.predict(x))
    assert masked.settings_["loss"] == "crps"


def test_weights_of_zero_leave_censored_rows_out_exactly():
    x, y, censored, _ = times(120)
    weight = np.random.default_rng(0).integers(0, 3, 120).astype(float)
    kept = weight > 0
    model = Regressor(**TINY).fit(x, y, weight, censored=censored)
    alone = Regressor(**TINY).fit(x[kept], y[kept], weight[kept], censored=censored[kept])
    assert np.array_equal(model.predict(x), alone.predict(x))


def test_where_censoring_makes_no_sense_one_line_says_so():
    x, y, censored, _ = times(60)
    with pytest.raises(ValueError, match="loss='nll', got loss='crps'; omit it"):
        Regressor(**TINY, loss="crps").fit(x, y, censored=censored)
    with pytest.raises(ValueError, match=r"calibrate=True needs the true values, and \d+ of 60"):
        Regressor(**TINY).fit(x, y, censored=censored, calibrate=True)
    with pytest.raises(ValueError, match="a Classifier predicts classes; omit censored"):
        Classifier(**TINY).fit(x, y > 2, censored=censored)
    model = Regressor(**TINY).fit(x, y, censored=censored)
    assert model.calibrate(x[~censored], y[~censored]).calibration_ is not None


# ---------------------------------------------------------------------------------- rows to stop by


@pytest.mark.parametrize("preset", ["fast", "paper"])
def test_rows_of_an_eval_set_decide_when_to_stop_and_all_others_are_learned_from(
    preset, monkeypatch
):
    from batchensemble.estimators import base

    seen = {}

    def spy(method, make, loss, data, training, *, rows, **more):
        seen.update(data=data, training=training, rows=rows)
        return fit(method, make, loss, data, training, rows=rows, **more)

    fit = base.fit_beside_others
    monkeypatch.setattr(base, "fit_beside_others", spy)
    (x, y), (other, its) = regression_table(60), regression_table(30, 1)
    model = Regressor(**TINY, preset=preset, folds=3).fit(x, y, eval_set=(other, its))
    [rows] = seen["rows"]
    assert rows.train.tolist() == list(range(60))
    assert rows.held_out.tolist() == list(range(60, 90))
    head = model.model_.head
    assert np.array_equal(seen["data"].y[60:], head.encode(its))
    assert seen["training"].patience is not None
    assert len(model.history_[0].scores) == len(model.history_[0].losses)
    assert len(model.model_.ensemble.bank) == 3


def test_an_eval_set_may_be_a_list_of_one_and_have_censored_rows_and_weights_beside_it():
    x, y, censored, _ = times(80)
    new, its, cut, _ = times(40, seed=1)
    one = Regressor(**TINY).fit(x, y, eval_set=(new, its))
    assert np.array_equal(
        Regressor(**TINY).fit(x, y, eval_set=[(new, its)]).predict(x), one.predict(x)
    )
    both = Regressor(**TINY).fit(x, y, np.ones(80), censored=censored, eval_set=(new, its, cut))
    half = Regressor(**TINY).fit(x, y, censored=censored, eval_set=(new, its))
    assert not np.array_equal(both.predict(x), half.predict(x))


def test_censored_rows_of_an_eval_set_are_judged_by_their_likelihood_even_if_fit_has_none():
    x, y, _, _ = times(80)
    watched = times(40, seed=1)[:3]
    model = Regressor(**TINY).fit(x, y, eval_set=watched)
    assert model.settings_["loss"] == "nll"
    assert np.isfinite(model.update(x, y, eval_set=watched).predict(x)).all()
    plain = Regressor(**TINY).fit(x, y)
    plain.update(x, y, eval_set=watched)
    assert plain.settings_["loss"] == "nll"
    with pytest.raises(ValueError, match="got loss='crps'; omit it"):
        Regressor(**TINY, loss="crps").fit(x, y, eval_set=watched)
    with pytest.raises(ValueError, match="a Classifier predicts classes; omit censored"):
        Classifier(**TINY).fit(x, y > 2, eval_set=(watched[0], watched[1] > 2, watched[2]))


def test_an_update_with_censored_rows_that_fails_leaves_the_settings_as_they_were(monkeypatch):
    x, y, censored, _ = times(80)
    model = Regressor(**TINY).fit(x, y)

    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(Regressor, "_learn_spread", fail)
    with pytest.raises(MemoryError):
        model.update(x, y, censored=censored)
    assert model.settings_["loss"] == "crps"


@pytest.mark.parametrize(
    ("eval_set", "words"),
    [
        (np.zeros((3, 2)), r"expected eval_set=\(X, y\), one table and its targets, got a ndarray"),
        ((np.zeros((3, 2)),), "got a tuple of 1"),
        ([(np.zeros((3, 3)), np.zeros(3))] * 2, "got a list of 2"),
        ((np.zeros((3, 5)), np.zeros(3)), "expected eval_set with the columns of X"),
        ((np.zeros((3, 3)), np.zeros(2)), "3 rows in X and 2 values in y"),
    ],
)
def test_an_eval_set_that_makes_no_sense_is_refused(eval_set, words):
    x, y = regression_table(40)
    with pytest.raises(ValueError, match=words):
        Regressor(**TINY).fit(x, y, eval_set=eval_set)


# ------------------------------------------------------------------------------- rows to go on with


def test_an_update_follows_a_change_also_from_a_file_and_keeps_encoder_and_scales(tmp_path):
    x, y = regression_table(200)
    new, its = drifted()
    model = Regressor(**QUICK).fit(x, y)
    before = copy.copy(model)
    model.save(tmp_path / "m.be")
    twin = load(tmp_path / "m.be")
    error = rmse(model, *drifted(seed=6))
    assert model.update(new, its) is model
    assert rmse(model, *drifted(seed=6)) < 0.5 * error
    assert np.array_equal(twin.update(new, its).predict(x), model.predict(x))
    assert model.model_.encoder is before.model_.encoder
    assert model.target_scale_ == before.target_scale_
    assert [len(m.history_) for m in (before, model)] == [1, 2]
    assert rmse(before, x, y) < rmse(model, x, y)  # the copy from before stays as it was
    twin.save(tmp_path / "again.be")
    assert np.array_equal(load(tmp_path / "again.be").predict(x), model.predict(x))


def test_rows_that_an_update_cannot_learn_from_leave_networks_and_members_as_they_were():
    x, y = regression_table(200)
    model = Regressor(**QUICK).fit(x, y)
    before = model.model_.ensemble.bank.theta.clone()
    # Noise to learn from, and the truth to be judged by.
    model.set_params(lr=0.5).update(x, np.random.default_rng(0).permutation(y), eval_set=(x, y))
    assert np.array_equal(model.model_.ensemble.bank.theta, before)


@pytest.mark.parametrize("method", ["batch_ensemble", "deep_ensemble", "mc_dropout", "single"])
@pytest.mark.parametrize("preset", ["fast", "paper"])
def test_every_method_and_preset_goes_on(method, preset):
    x, y = regression_table(100)
    settings = TINY | {"n_members": 4, "n_passes": 3, "folds": 2}
    model = Regressor(method, preset=preset, **settings).fit(x, y)
    theta = model.model_.ensemble.bank.theta.clone()
    model.update(*drifted(100), sample_weight=np.linspace(0, 1, 100), calibrate=True)
    assert model.model_.ensemble.bank.theta.shape == theta.shape
    assert not np.array_equal(model.model_.ensemble.bank.theta, theta)
    assert len(model.calibration_) == 20
    assert np.isfinite(model.predict_interval(x)).all()


def test_a_second_fit_with_a_warm_start_is_an_update_and_without_one_it_forgets():
    x, y = regression_table(100)
    new, its = drifted(100)
    warm = Regressor(**TINY, warm_start=True).fit(x, y).fit(new, its)
    updated = Regressor(**TINY).fit(x, y).update(new, its)
    cold = Regressor(**TINY).fit(x, y).fit(new, its)
    assert np.array_equal(warm.predict(x), updated.predict(x))
    assert np.array_equal(cold.predict(x), Regressor(**TINY).fit(new, its).predict(x))
    assert not np.allclose(warm.predict(x), cold.predict(x))


def test_parameters_of_which_an_update_takes_no_notice_are_named_and_the_file_tells_the_truth(
    tmp_path,
):
    x, y = regression_table(100)
    model = Regressor(**TINY, warm_start=True).fit(x, y)
    trained = model.settings_["hidden"]
    model.set_params(hidden=list(trained), lr=1e-4).fit(x, y)
    model.set_params(method="single", hidden=(3,))
    said = r"first fit and ignores method='single', hidden=\(3,\); to have"
    with pytest.warns(BatchEnsembleWarning, match=said) as told:
        model.fit(x, y)
    assert {one.filename for one in told} == {__file__}
    model.save(tmp_path / "m.be")
    about = describe(tmp_path / "m.be")
    assert about["method"] == about["settings"]["method"] == "batch_ensemble"
    assert about["settings"]["hidden"] == list(trained)


def test_an_update_forgets_the_calibration_and_one_that_fails_nothing():
    x, y = regression_table(100)
    model = Regressor(**TINY).fit(x, y, calibrate=True)
    with pytest.raises(ValueError, match=r"expected at least 50 new rows.* got 20; collect more"):
        model.update(x[:20], y[:20])
    assert model.calibration_ is not None
    assert model.update(x, y).calibration_ is None


def test_targets_that_the_model_cannot_know_are_refused_by_an_update():
    x, y = regression_table(100)
    labels = np.where(y > 10, "high", "low")
    model = Classifier(**TINY).fit(x, labels)
    with pytest.raises(ValueError, match=r"\['high', 'low'\], got 'middle'; to learn a new class"):
        model.update(x, np.where(y > 11, "middle", labels))
    assert model.update(x, labels).classes_.tolist() == ["high", "low"]
    positive = Regressor(**TINY, target="positive").fit(x, np.abs(y))
    refused = r"expected targets in the range of the model \(positive: never below 0\)"
    with pytest.raises(ValueError, match=refused):
        positive.update(x, -np.abs(y))
