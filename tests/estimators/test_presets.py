"""Every preset with every loss, bins, folds and method: it works to the end, or says why not."""

import inspect
import itertools

import numpy as np
import pandas as pd
import pytest
import torch
from fixtures import onnx_answers, onnx_session
from sample_files import Shell, houses, sales

import batchensemble
from batchensemble import Classifier, Regressor
from batchensemble.estimators.presets import (
    CLASSIFIER_PRESETS,
    MANY_ROWS,
    PRESETS,
    SERIES_PRESETS,
    resolve,
)
from batchensemble.export import onnx_inputs, to_onnx
from batchensemble.training.losses import GaussianCRPS, GaussianNLL
from batchensemble.training.methods import METHODS

TINY = {"hidden": (8, 6), "epochs": 2, "n_members": 3, "n_passes": 5, "random_state": 0}
LOSSES = {"crps": {"loss": "crps"}, "nll": {"loss": "nll"}, "beta": {"loss": "nll", "beta": 0.5}}
GRID = list(itertools.product(PRESETS, LOSSES, (0, 4), (1, 3)))


def table(n=72, seed=0):
    """Numbers with gaps and outliers, few and many categories, dates and flags; heavy tails."""
    random = np.random.default_rng(seed)
    amount = random.normal(size=n)
    city = random.choice([f"city {i}" for i in range(7)], n).astype(object)
    city[::11] = None
    X = pd.DataFrame(
        {
            "amount": np.where(random.random(n) < 0.1, np.nan, amount),
            "wide": random.standard_cauchy(n) * 1e6,
            "colour": random.choice(["red", "blue"], n),
            "city": city,
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 90, n), "D"),
            "flag": random.random(n) < 0.5,
        }
    )
    return X, 1e4 + 50 * amount + 10 * random.standard_t(3, n)


X, Y = table()
ROWS = table(15, seed=1)[0]
ROWS.loc[0, "city"], ROWS.loc[1, "amount"], ROWS.loc[2, "wide"] = "nowhere", np.nan, 1e12
LABELS = np.where(np.median(Y) < Y, "high", "low")


def check_file(model, folder):
    """A loaded model answers with equal bits."""
    model.save(folder / "model.be")
    twin = batchensemble.load(folder / "model.be")
    ours, theirs = model.predict_dist(ROWS), twin.predict_dist(ROWS)
    fields = ("means", "variances") if isinstance(model, Regressor) else ("probabilities",)
    for name in fields:
        assert np.array_equal(getattr(ours, name), getattr(theirs, name))
    assert twin.settings_ == model.settings_
    if isinstance(model, Regressor):
        assert twin.spread_ == model.spread_
        assert np.array_equal(model.predict_interval(ROWS), twin.predict_interval(ROWS))


def check_onnx(model, folder):
    """An exported model agrees, to float32."""
    to_onnx(model, folder / "model.onnx")
    session = onnx_session(folder / "model.onnx")
    ours, dist = onnx_answers(session, onnx_inputs(model, ROWS)), model.predict_dist(ROWS)
    if isinstance(model, Classifier):
        np.testing.assert_allclose(ours["members"], dist.probabilities, atol=1e-5)
        return
    near = {"rtol": 1e-5, "atol": 1e-5 * model.target_scale_}
    stds = np.sqrt(dist.variances)
    np.testing.assert_allclose(ours["mean"], model.predict(ROWS), **near)
    np.testing.assert_allclose(ours["std"], dist.std, **near)
    np.testing.assert_allclose(ours["members_mean"], dist.means, **near)
    np.testing.assert_allclose(ours["members_std"], stds, **near)


def check_answers(model):
    interval = model.predict_interval(ROWS, coverage=0.8)
    mean, std = model.predict(ROWS, return_std=True)
    assert np.isfinite(interval).all()
    assert (interval[:, 0] < interval[:, 1]).all()
    assert np.isfinite(mean).all()
    assert (std > 0).all()


@pytest.mark.parametrize(("preset", "loss", "bins", "folds"), GRID)
def test_a_regressor_of_any_settings_predicts_is_saved_and_exported(
    preset, loss, bins, folds, tmp_path
):
    settings = TINY | LOSSES[loss] | {"max_categories": 4}
    model = Regressor(preset=preset, bins=bins, folds=folds, **settings).fit(X, Y)
    check_answers(model)
    check_file(model, tmp_path)
    check_onnx(model, tmp_path)
    # What was asked for is what was trained.
    network, head = model.model_.ensemble.bank.module, model.model_.head
    in_folds = folds > 1 and model.settings_["validation_fraction"] > 0
    assert len(model.model_.ensemble.bank) == (folds if in_folds else 1)
    assert (network.embeddings is not None) == (bins > 0)
    assert isinstance(head.loss, GaussianCRPS if loss == "crps" else GaussianNLL)
    assert getattr(head.loss, "beta", 0.0) == (0.5 if loss == "beta" else 0.0)


@pytest.mark.parametrize(
    ("preset", "bins", "folds"), list(itertools.product(PRESETS, (0, 4), (1, 3)))
)
def test_a_classifier_of_any_settings_predicts_is_saved_and_exported(preset, bins, folds, tmp_path):
    settings = TINY | {"max_categories": 4}
    model = Classifier(preset=preset, bins=bins, folds=folds, **settings).fit(X, LABELS)
    check_file(model, tmp_path)
    check_onnx(model, tmp_path)
    np.testing.assert_allclose(model.predict_proba(ROWS).sum(1), 1)


@pytest.mark.parametrize(
    ("preset", "method", "folds"), list(itertools.product(PRESETS, METHODS, (None, 3)))
)
def test_every_method_works_with_every_preset(preset, method, folds, tmp_path):
    model = Regressor(method, preset=preset, folds=folds, **TINY).fit(X, Y)
    check_answers(model)
    check_file(model, tmp_path)
    check_onnx(model, tmp_path)


@pytest.mark.parametrize(("preset", "folds"), list(itertools.product(PRESETS, (1, 3))))
def test_calibration_and_weights_work_with_every_preset(preset, folds, tmp_path):
    weight = np.random.default_rng(0).integers(0, 3, len(Y)).astype(float)
    settings = TINY | {"preset": preset, "folds": folds}
    model = Regressor(**settings).fit(X, Y, sample_weight=weight, calibrate=True)
    assert len(model.calibration_) == round(0.2 * (weight > 0).sum())
    check_answers(model)
    check_file(model, tmp_path)
    # Rows of weight 0 are as good as absent, and those of weight 2 count more than others.
    kept = weight > 0
    alone, unweighted = (
        Regressor(**settings).fit(
            X[kept].reset_index(drop=True), Y[kept], sample_weight=w, calibrate=True
        )
        for w in (weight[kept], None)
    )
    assert np.array_equal(alone.predict(ROWS), model.predict(ROWS))
    assert not np.allclose(unweighted.predict(ROWS), model.predict(ROWS), rtol=1e-6)


@pytest.mark.parametrize(
    ("preset", "method"), [*itertools.product(PRESETS, ["batch_ensemble"]), ("fast", "single")]
)
def test_censored_rows_eval_sets_and_updates_work_with_every_preset(preset, method, tmp_path):
    random = np.random.default_rng(0)
    weight, censored = random.integers(0, 3, len(Y)).astype(float), random.random(len(Y)) < 0.4
    model = Regressor(method, preset=preset, **TINY)
    model.fit(X, Y, weight, censored=censored, eval_set=(X[:20], Y[:20]))
    check_answers(model)
    check_file(model, tmp_path)
    check_onnx(model, tmp_path)
    before = model.predict(ROWS)
    model = batchensemble.load(tmp_path / "model.be").set_params(lr=0.05)
    model.update(X, Y + 50, weight, eval_set=(X, Y + 50), calibrate=True)
    assert not np.allclose(model.predict(ROWS), before)
    check_file(model, tmp_path)
    check_onnx(model, tmp_path)


@pytest.mark.parametrize(
    ("preset", "target", "scaling"),
    [
        *itertools.product(PRESETS, ("real", "positive", "count", "bounded"), (None,)),
        *itertools.product(PRESETS, ("positive", "bounded"), ("log",)),
    ],
)
def test_every_kind_of_target_works_with_every_preset(preset, target, scaling, tmp_path):
    y = {"real": Y - 1e4, "positive": np.exp((Y - 1e4) / 30), "count": np.round(Y - Y.min())}
    y["bounded"] = 1 / (1 + np.exp((1e4 - Y) / 20))
    weight = np.random.default_rng(0).integers(0, 3, len(Y)).astype(float)
    model = Regressor(preset=preset, target=target, target_scaling=scaling, **TINY)
    model.fit(X, y[target], sample_weight=weight, calibrate=True)
    assert model.target_kind_ == target
    assert (model.transform_ is None) == (target == "real")
    if target != "real":
        assert any(model.transform_.rates) == (scaling == "log")
        interval = model.predict_interval(ROWS, coverage=0.8)
        assert interval.min() >= model.transform_.low
        assert interval.max() <= model.transform_.high
    check_file(model, tmp_path)
    check_onnx(model, tmp_path)


def test_presets_recognise_the_target_and_the_papers_does_not():
    y = np.exp((Y - 1e4) / 30)
    kinds = [Regressor(preset=p, **TINY).fit(X, y).target_kind_ for p in ("fast", "paper")]
    assert kinds == ["positive", "real"]


@pytest.mark.parametrize("preset", PRESETS)
def test_weights_count_with_every_preset_and_their_unit_does_not(preset):
    weight = np.random.default_rng(0).uniform(0.1, 3, len(Y))
    plain, one, same = (
        Regressor(preset=preset, **TINY).fit(X, Y, sample_weight=w).predict(ROWS)
        for w in (None, weight, 1024 * weight)
    )
    np.testing.assert_allclose(one, same, rtol=1e-6)
    assert not np.allclose(one, plain, rtol=1e-6)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_same_seed_gives_equal_bits_with_every_preset(preset):
    first, again, other = (
        Regressor(preset=preset, **TINY | {"random_state": seed}).fit(X, Y).predict_dist(ROWS)
        for seed in (0, 0, 1)
    )
    assert np.array_equal(first.means, again.means)
    assert np.array_equal(first.variances, again.variances)
    assert not np.array_equal(first.means, other.means)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_command_line_fits_with_every_preset(preset, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shell = Shell(tmp_path)
    houses(60).to_csv("houses.csv", index=False)
    sales(40).to_csv("sales.csv", index=False)
    words = ("--preset", preset, "--epochs", 1, "-o", "model.be")
    for target in ("price", "town"):
        shell("fit", "houses.csv", "-t", target, *words)
        model = batchensemble.load("model.be")
        assert model.preset == preset
        assert tuple(model.settings_["hidden"]) == model._presets[preset]["hidden"]
    series = ("fit", "sales.csv", "-t", "sales", "--time", "month", "--series", "store", *words)
    if preset in SERIES_PRESETS:
        shell(*series, "--horizon", 3)
    else:
        said = " ".join(shell(*series, "--horizon", 3, code=1).output.split())
        assert f"got '{preset}'" in said
        assert "default" in said


def test_a_word_that_is_no_preset_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="did you mean 'default'"):
        Regressor(preset="defualt", **TINY).fit(X, Y)


def test_an_explicit_argument_wins_over_every_preset_and_none_does_not():
    for presets, preset in ((PRESETS, "best"), (CLASSIFIER_PRESETS, "fast")):
        settings = resolve(preset, {"bins": 0, "dropout": 0.0, "folds": None}, presets)
        assert (settings["bins"], settings["dropout"]) == (0, 0.0)
        assert settings["folds"] == presets[preset]["folds"]


@pytest.mark.parametrize("preset", ["default", "best"])
def test_many_rows_get_wide_layers_and_large_batches_unless_others_are_given(preset):
    def found(n_rows, estimator=Regressor, **given):
        return estimator(preset=preset, **given)._resolved(n_rows)

    assert found(25_000) == PRESETS[preset]
    wide = found(25_001)
    assert wide == PRESETS[preset] | MANY_ROWS[25_000][preset]
    assert wide["hidden"] != PRESETS[preset]["hidden"]
    assert found(100_001)["batch_size"] == 1024
    given = {"hidden": (7,), "batch_size": 64}
    assert found(30_000, **given) == wide | given
    assert found(10**6, Classifier) == CLASSIFIER_PRESETS[preset]


def test_a_fit_has_the_settings_of_its_rows(monkeypatch):
    monkeypatch.setitem(MANY_ROWS, 50, {"default": {"hidden": (9,), "bins": 3, "batch_size": 11}})
    model = Regressor(preset="default", epochs=1, random_state=0).fit(X, Y)
    assert model.model_.ensemble.recipe["hidden"] == (9,)
    assert (model.settings_["bins"], model.settings_["batch_size"]) == (3, 11)
    model.fit(X[:50], Y[:50])
    assert model.model_.ensemble.recipe["hidden"] == PRESETS["default"]["hidden"]


@pytest.mark.parametrize("estimator", [Regressor, Classifier])
def test_presets_name_the_same_settings_and_only_arguments_of_the_estimator(estimator):
    names = [set(settings) for settings in estimator._presets.values()]
    assert all(each == names[0] for each in names)
    arguments = set(inspect.signature(estimator).parameters)
    assert names[0] - arguments <= {"effort"}
    others = [few for presets in estimator._many_rows.values() for few in presets.values()]
    assert all(set(few) <= names[0] for few in others)


def test_beta_alone_chooses_the_loss_it_belongs_to():
    settings = TINY | {"preset": "default", "beta": 0.5}
    model = Regressor(**settings).fit(X, Y)
    assert model.model_.head.loss == GaussianNLL((-12.0, 4.0), 0.5)
    assert model.settings_["loss"] == "nll"
    said = Regressor(**settings | {"loss": "nll"}).fit(X, Y)
    assert torch.equal(model.model_.ensemble.bank.theta, said.model_.ensemble.bank.theta)
    with pytest.raises(ValueError, match=r"beta=0.5 belongs to loss='nll', got loss='crps'"):
        Regressor(**settings | {"loss": "crps"}).fit(X, Y)
    for beta in (None, 0.5):
        with pytest.raises(ValueError, match="did you mean 'crps'"):
            Regressor(**TINY, loss="crsp", beta=beta).fit(X, Y)


def test_epochs_shorter_than_a_pass_over_the_rows_train_too(monkeypatch):
    monkeypatch.setattr("batchensemble.estimators.effort.STEPS_BETWEEN_SCORES", (1, 2))
    monkeypatch.setattr("batchensemble.estimators.effort.FEWEST_STEPS", 6)
    monkeypatch.setattr("batchensemble.estimators.effort.MOST_STEPS", 6)
    settings = TINY | {"epochs": None, "batch_size": 16}
    model = Regressor(**settings).fit(X, Y)
    assert (model.settings_["epoch_steps"], model.settings_["epochs"]) == (2, 3)
    check_answers(model)
