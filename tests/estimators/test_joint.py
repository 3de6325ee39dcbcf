import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from fixtures import regression_table
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score

import batchensemble
from batchensemble import JointPredictive, JointRegressor, Regressor
from batchensemble.data.telling import BatchEnsembleWarning
from batchensemble.estimators.joint_file import stored_jointly
from batchensemble.metrics import energy_score
from batchensemble.modelfile.persistence import ModelFileError, describe, write_model

QUICK = {"epochs": 12, "hidden": (8,), "n_members": 2, "bins": 0, "lr": 0.02} | {
    "batch_size": 64,
    "random_state": 0,
}


def noisy_pair(rho, n_rows=600, seed=0):
    """Two targets in different units, whose noise has correlation rho."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(n_rows, 2))
    noise = random.multivariate_normal([0, 0], [[1, rho], [rho, 1]], n_rows)
    y = noise + 0.7 * x
    return x, pd.DataFrame({"euros": 100 + 10 * y[:, 0], "grams": y[:, 1]})


@pytest.fixture(scope="module")
def related():
    return JointRegressor(**QUICK).fit(*noisy_pair(0.8))


@pytest.fixture(scope="module")
def unrelated():
    return JointRegressor(**QUICK).fit(*noisy_pair(0.0))


def test_each_target_is_predicted_as_by_a_regressor_fitted_alone():
    x, y = regression_table(100)
    Y = np.column_stack([y, np.exp(y / 10)])
    weight = np.random.default_rng(1).uniform(0, 2, 100)
    kinds = {"y1": "positive"}
    model = JointRegressor(**QUICK, target=kinds).fit(x, Y, weight)
    alone = [Regressor(**QUICK, target=kinds.get(f"y{k}")).fit(x, Y[:, k], weight) for k in (0, 1)]
    assert model.target_names_ == ["y0", "y1"]
    assert [one.target_kind_ for one in model.regressors_.values()] == ["real", "positive"]
    assert np.array_equal(model.predict(x), np.stack([one.predict(x) for one in alone], 1))
    _, std = model.predict(x, return_std=True)
    assert np.array_equal(std[:, 1], alone[1].predict(x, return_std=True)[1])
    intervals = np.stack([one.predict_interval(x, 0.8) for one in alone], 1)
    assert np.array_equal(model.predict_interval(x, 0.8), intervals)
    quantiles = np.stack([one.predict_quantiles(x, [0.1, 0.5]) for one in alone], 1)
    assert np.array_equal(model.predict_quantiles(x, [0.1, 0.5]), quantiles)
    dist = model.predict_dist(x)
    assert isinstance(dist, JointPredictive)
    assert list(dist) == ["y0", "y1"]
    assert np.array_equal(dist["y1"].crps(Y[:, 1]), alone[1].predict_dist(x).crps(Y[:, 1]))


def test_draws_have_the_correlation_of_the_noise_and_none_where_there_is_none(related, unrelated):
    x, _ = noisy_pair(0.0, 50, seed=1)
    for model, rho in ((related, 0.8), (unrelated, 0.0)):
        draws = model.sample(x, 400, 3)
        assert draws.shape == (400, 50, 2)
        scaled = (draws - draws.mean(0)) / draws.std(0)
        found = (scaled[..., 0] * scaled[..., 1]).mean()
        # 600 rows know it to +-0.04; errors of the networks, which are independent, weaken it.
        assert rho - 0.12 < found < rho + 0.06
        assert model.n_held_out_ == 600
        assert model.correlation_.shape == (2, 2)


def test_a_negative_correlation_stays_negative_whatever_the_targets_can_be():
    x, Y = noisy_pair(-0.7)
    kinds = {"target": {"euros": "bounded"}, "target_bounds": {"euros": (0, 200)}}
    model = JointRegressor(**QUICK, **kinds)
    model.fit(x, Y.assign(grams=np.exp(Y["grams"])))
    assert [one.target_kind_ for one in model.regressors_.values()] == ["bounded", "positive"]
    assert -0.8 < model.correlation_[0, 1] < -0.55


def test_intervals_of_a_sum_need_draws_that_go_together(related):
    x, Y = noisy_pair(0.8, 500, seed=2)
    total = Y["euros"] / 10 + Y["grams"]
    coverages = []
    draws = related.sample(x, 120, 0)
    apart = [related.predict_dist(x)[name].sample(120, k).T for k, name in enumerate(Y)]
    for pair in (draws, np.stack(apart, -1)):
        lower, upper = np.quantile(pair[..., 0] / 10 + pair[..., 1], [0.05, 0.95], axis=0)
        coverages.append(((lower <= total) & (total <= upper)).mean())
    assert coverages[0] == pytest.approx(0.9, abs=0.04)  # of 500 rows, +-0.013
    assert coverages[1] < 0.84
    truth, scale = Y.to_numpy(), Y.std().to_numpy()
    together, independent = (
        energy_score(truth / scale, paths=pair.swapaxes(0, 1) / scale)
        for pair in (draws, np.stack(apart, -1))
    )
    assert together < independent


def test_draws_are_those_of_the_seed_and_of_each_targets_distribution(related):
    x = noisy_pair(0.8, 12, seed=4)[0]
    draws = related.sample(x, 400, 7)
    assert np.array_equal(draws, related.sample(x, 400, np.random.default_rng(7)))
    assert not np.array_equal(draws, related.sample(x, 400, 8))
    dist = related.predict_dist(x)
    for k, name in enumerate(dist):
        levels = np.array([dist[name].cdf(draw) for draw in draws[..., k]]).ravel()
        heights = np.histogram(levels, bins=10, range=(0, 1))[0] / levels.size
        assert np.abs(heights - 0.1).max() < 0.022  # of 4,800 draws, five standard errors


def test_a_model_comes_back_from_its_file_and_from_pickle(related, tmp_path):
    x, Y = noisy_pair(0.8, 30, seed=5)
    model = clone(related).set_params(target={"grams": "real"}).fit(*noisy_pair(0.8, 100))
    model.calibrate(*noisy_pair(0.8, 60, seed=6))
    model.save(tmp_path / "m.be")
    for again in (batchensemble.load(tmp_path / "m.be"), pickle.loads(pickle.dumps(model))):
        assert isinstance(again, JointRegressor)
        assert again.get_params() == model.get_params()
        assert again.target_names_ == ["euros", "grams"]
        assert np.array_equal(again.correlation_, model.correlation_)
        assert np.array_equal(again.sample(x, 5, 1), model.sample(x, 5, 1))
        assert np.array_equal(again.predict_interval(x), model.predict_interval(x))
        assert again.score(x, Y) == model.score(x, Y)
        assert again.n_features_in_ == 2
        assert again.n_parameters_ == model.n_parameters_
    about = describe(tmp_path / "m.be")
    assert about["estimator"] == "JointRegressor"
    assert about["target"]["name"] == "euros, grams"
    assert [one["name"] for one in about["targets"]] == ["euros", "grams"]
    (tmp_path / "bad.be").write_bytes((tmp_path / "m.be").read_bytes()[:-3])
    with pytest.raises(ModelFileError):
        batchensemble.load(tmp_path / "bad.be")


def test_a_file_whose_correlation_is_none_is_refused(related, tmp_path):
    bad = pickle.loads(pickle.dumps(related))
    bad.correlation_ = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match=r"bad\.be was not written: .* symmetric matrix"):
        bad.save(tmp_path / "bad.be")
    write_model(tmp_path / "bad.be", *stored_jointly(bad))
    with pytest.raises(ModelFileError, match="symmetric matrix"):
        batchensemble.load(tmp_path / "bad.be")


def test_names_come_from_frames_of_both_kinds(related):
    x, Y = noisy_pair(0.8, 80)
    frame = pd.DataFrame(x, columns=["size", "age"])
    model = JointRegressor(**QUICK).fit(frame, pl.DataFrame(Y.to_dict("list")))
    assert model.target_names_ == ["euros", "grams"]
    assert model.feature_names_in_.tolist() == ["size", "age"]
    assert model.regressors_["grams"].target_name_ == "grams"
    assert np.array_equal(model.predict(frame), model.predict(pl.DataFrame(frame.to_dict("list"))))
    assert not hasattr(related, "feature_names_in_")
    numbered = pd.DataFrame(Y.to_numpy())
    assert JointRegressor(**QUICK).fit(x, numbered).target_names_ == ["y0", "y1"]


def test_calibrated_intervals_are_those_of_each_target(related):
    model = pickle.loads(pickle.dumps(related))
    x, Y = noisy_pair(0.8, 100, seed=8)
    before = related.predict_interval(x)
    model.calibrate(x, Y)
    alone = pickle.loads(pickle.dumps(related.regressors_["grams"])).calibrate(x, Y["grams"])
    assert np.array_equal(model.predict_interval(x)[:, 1], alone.predict_interval(x))
    assert np.array_equal(related.predict_interval(x), before)
    report = model.calibration_report()
    assert report.loc["grams"].equals(alone.calibration_report())
    fresh = JointRegressor(**QUICK).fit(x, Y, calibrate=True)
    assert [len(one.calibration_) for one in fresh.regressors_.values()] == [20, 20]


def test_the_score_is_the_mean_r2_and_a_second_fit_may_go_on(related):
    x, Y = noisy_pair(0.8, 100, seed=9)
    assert related.score(x, Y) == pytest.approx(r2_score(Y, related.predict(x)))
    assert related.score(x, Y.to_numpy()) == related.score(x, Y)
    model = clone(related).set_params(warm_start=True, epochs=2).fit(x, Y)
    first = model.regressors_["grams"]
    model.fit(x, Y)
    assert len(model.regressors_["grams"].history_) == 2
    assert len(first.history_) == 1
    model.set_params(epochs=5, patience=9).fit(x, Y)
    assert len(model.regressors_["grams"].history_[-1].losses) == 5
    with pytest.raises(ValueError, match="select them in that order"):
        model.fit(x, Y[["grams", "euros"]])


@pytest.mark.parametrize("warm_start", [False, True])
def test_after_an_interrupt_the_targets_that_are_left_train_for_one_epoch(monkeypatch, warm_start):
    x, Y = noisy_pair(0.8, 200)
    Y["more"] = Y["euros"] ** 2
    model = JointRegressor(**QUICK, keep_on_interrupt=True, warm_start=warm_start)
    if warm_start:
        model.fit(x, Y)
    calls = iter(range(100))

    def tired(*args):
        if next(calls) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("batchensemble.training.loop.check_finite", tired)
    model.fit(x, Y)
    last = [one.history_[-1] for one in model.regressors_.values()]
    assert [one.ended for one in last] == ["interrupt", "epochs", "epochs"]
    assert [len(one.losses) for one in last] == [3, 1, 1]
    assert [one.epochs for one in model.regressors_.values()] == [12] * 3
    assert np.isfinite(model.predict(x)).all()


def test_what_cannot_be_learned_is_refused_in_words(related):
    x, Y = noisy_pair(0.8, 60)
    with pytest.raises(ValueError, match="got 1; for one use Regressor"):
        JointRegressor(**QUICK).fit(x, Y[["grams"]])
    with pytest.raises(ValueError, match=r"got \(60,\); for one target use Regressor"):
        JointRegressor(**QUICK).fit(x, Y["grams"])
    gap = Y.copy()
    gap.loc[3, "grams"] = np.nan
    with pytest.raises(ValueError, match="target 'grams'"):
        JointRegressor(**QUICK).fit(x, gap)
    with pytest.raises(ValueError, match="did you mean 'grams'"):
        JointRegressor(**QUICK, target={"gram": "real"}).fit(x, Y)
    with pytest.raises(ValueError, match="different names"):
        JointRegressor(**QUICK).fit(x, Y.set_axis(["a", "a"], axis=1))
    with pytest.raises(ValueError, match="inconsistent numbers"):
        JointRegressor(**QUICK).fit(x[:50], Y)
    with pytest.raises(ValueError, match=r"expected 2 targets as in fit.*got 3 columns"):
        related.score(x, np.ones((60, 3)))
    with pytest.raises(ValueError, match="select them in that order"):
        related.score(x, Y[["grams", "euros"]])
    with pytest.raises(NotFittedError):
        JointRegressor().predict(x)


def test_an_error_about_one_of_the_targets_names_it():
    x, y = regression_table(60)
    with pytest.raises(ValueError, match=r"^target 'y1': expected numbers as targets, got <U1"):
        JointRegressor(**QUICK).fit(x, pd.DataFrame({"y0": y, "y1": ["a"] * 60}))
    with pytest.raises(ValueError, match=r"^target 'y1': expected targets of at least 0"):
        JointRegressor(**QUICK, target="positive").fit(x, np.column_stack([y**2, -(y**2)]))


def test_targets_may_be_a_table_of_pyarrow():
    pyarrow = pytest.importorskip("pyarrow")
    x, y = regression_table(60)
    quick, frame = QUICK | {"epochs": 1}, pd.DataFrame({"a": y, "b": -y})
    model = JointRegressor(**quick).fit(x, pyarrow.Table.from_pandas(frame))
    same = JointRegressor(**quick).fit(x, frame)
    assert model.target_names_ == ["a", "b"]
    assert np.array_equal(model.predict(x), same.predict(x))


def test_a_fit_that_a_warning_ends_leaves_the_estimator_as_it_was():
    x, y = regression_table(200)
    model = JointRegressor(**QUICK).fit(x, np.column_stack([y, -y]))
    before = model.n_held_out_, model.correlation_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(BatchEnsembleWarning, match="joint draws will be independent"):
            model.fit(x[:29], np.column_stack([y, -y])[:29])
    assert (model.n_held_out_, model.correlation_) == before


def test_without_held_out_rows_draws_are_independent_and_a_warning_says_so():
    x, Y = noisy_pair(0.9, 60)
    with pytest.warns(BatchEnsembleWarning, match="independent: .* and there are 0"):
        model = JointRegressor(**QUICK, validation_fraction=0).fit(x, Y)
    assert np.array_equal(model.correlation_, np.eye(2))


def test_a_warning_names_the_targets_it_is_about():
    x, Y = noisy_pair(0.0, 300)
    noise = Y.assign(euros=np.random.default_rng(5).permutation(Y["euros"]))
    with pytest.warns(BatchEnsembleWarning, match=r"no better .*\(target euros\)$"):
        JointRegressor(**{**QUICK, "epochs": 2, "lr": 0.001}).fit(x, noise)


@pytest.mark.parametrize(
    ("weight", "words"),
    [(np.full(60, -1.0), "weight"), (np.ma.masked_array(np.ones(60), np.arange(60) < 1), "masked")],
)
def test_a_score_reads_weights_as_fit_does(related, weight, words):
    x, Y = noisy_pair(0.8, 60)
    with pytest.raises(ValueError, match=words):
        related.score(x, Y, weight)
    ones = related.score(x, Y, np.ones(60))
    assert ones == pytest.approx(related.score(x, Y))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda Y: 1e300 * Y, "targets of size at most 1e100"),
        (lambda Y: Y.assign(euros=pd.Timestamp("2020")), "expected numbers as targets"),
        (lambda Y: Y.astype(str), "expected numbers as targets"),
    ],
)
def test_a_score_reads_targets_as_fit_does(related, change, words):
    x, Y = noisy_pair(0.8, 40)
    with pytest.raises(ValueError, match=words):
        related.score(x, change(Y))


def test_an_array_in_place_of_a_frame_is_warned_of_once_and_by_our_name():
    x, Y = noisy_pair(0.8, 60)
    frame = pd.DataFrame(x, columns=["a", "b"])
    model = JointRegressor(**QUICK | {"epochs": 1}).fit(frame, Y)
    asked = (
        model.predict,
        model.predict_interval,
        lambda X: model.sample(X, 2),
        lambda X: model.calibrate(X, Y),
    )
    for ask in asked:
        with pytest.warns(UserWarning, match="but JointRegressor was fitted") as said:
            ask(x)
        assert len(said) == 1


def test_names_that_fit_had_not_are_told_once():
    x, y = regression_table(60)
    model = JointRegressor(**QUICK | {"folds": 2}).fit(x, np.column_stack([y, -y]))
    with pytest.warns(UserWarning, match="X has feature names, but JointRegressor") as said:
        model.predict(pd.DataFrame(x, columns=[f"c{i}" for i in range(x.shape[1])]))
    assert len(said) == 1
