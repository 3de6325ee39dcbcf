"""What holds for both estimators and all four methods."""

import copy
import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from fixtures import regression_table
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from batchensemble import Classifier, Forecaster, Regressor, load
from batchensemble.estimators.base import pick_device
from batchensemble.estimators.presets import PRESETS, resolve
from batchensemble.training.methods import METHODS

QUICK = {"epochs": 3, "hidden": (8,), "n_members": 3, "n_passes": 7, "random_state": 0}
BOTH = pytest.mark.parametrize("estimator", [Regressor, Classifier])


def table(estimator, n_rows=120):
    x, y = regression_table(n_rows)
    return (x, y) if estimator is Regressor else (x, np.where(y > 10, "high", "low"))


def answers(model, x):
    dist = model.predict_dist(x)
    return dist.means if isinstance(model, Regressor) else dist.probabilities


def frame(n_rows=60, seed=0):
    random = np.random.default_rng(seed)
    number = random.normal(size=n_rows)
    number[::7] = np.nan
    return {
        "number": number,
        "whole": random.integers(0, 9, n_rows),
        "flag": random.random(n_rows) > 0.5,
        "town": np.where(random.random(n_rows) > 0.5, "Bergen", "Oslo").astype(object),
        "day": np.datetime64("2024-01-01") + random.integers(0, 700, n_rows),
    }


# ------------------------------------------------------------------------- scikit-learn's contract


def excused(estimator):
    reason = (
        "rows are shuffled into minibatches: a row given twice falls into two batches, "
        "a row of weight two into one"
    )
    kinds = ("dense", "sparse")
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in kinds}


CONTRACT = parametrize_with_checks(
    [
        estimator(method, **{**QUICK, "lr": 0.02, "hidden": (16,), "folds": folds})
        for estimator in (Regressor, Classifier)
        for method, folds in zip(METHODS, (5, 1, 1, 1), strict=True)
    ],
    expected_failed_checks=excused,
    xfail_strict=True,
)
# The first method goes through all of the contract; these parts of it depend on the method.
OF_METHODS = ("_train", "fit2d", "idempotent", "invariance", "pickle", "weight")


def marked(case):
    case = case if hasattr(case, "values") else pytest.param(*case)
    estimator, check = case.values
    depends = any(word in check.func.__name__ for word in OF_METHODS)
    of_first = estimator.method == next(iter(METHODS))
    return case if of_first or depends else pytest.param(*case.values, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    CONTRACT.args[0], [marked(case) for case in CONTRACT.args[1]], **CONTRACT.kwargs
)
def test_scikit_learn_accepts_the_estimator(estimator, check):
    judges_what_is_learned = "_train" in check.func.__name__
    check(estimator.set_params(epochs=12, lr=0.05) if judges_what_is_learned else estimator)


def test_intervals_come_through_a_pipeline_and_sparse_words_through_a_vectoriser():
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x, y = regression_table(60)
    pipe = make_pipeline(StandardScaler(), Regressor(**QUICK)).fit(x, y)
    inside, model = pipe[:-1].transform(x), pipe[-1]
    mean, std = pipe.predict(x, return_std=True)  # arguments reach the last step
    assert np.array_equal(mean, model.predict(inside))
    assert (std > 0).all()
    assert model.predict_interval(inside).shape == (60, 2)
    texts = np.where(y > 10, "good sound", "bad noise")
    pipe = make_pipeline(CountVectorizer(), Regressor(**QUICK)).fit(texts, y)
    assert pipe[:-1].transform(texts).format == "csr"
    assert pipe.predict(["good sound"])[0] > pipe.predict(["bad noise"])[0]
    assert pipe[-1].calibrate(pipe[:-1].transform(texts), y).calibration_ is not None


@BOTH
@pytest.mark.parametrize("method", METHODS)
def test_pipelines_searches_and_cross_validation_work(estimator, method):
    x, y = table(estimator)
    model = estimator(method, **QUICK)
    assert len(cross_val_predict(model, x, y, cv=3)) == len(y)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), model),
        {f"{estimator.__name__.lower()}__lr": [0.001, 0.01]},
        cv=2,
    )
    assert len(search.fit(x, y).predict(x)) == len(y)


@BOTH
@pytest.mark.parametrize("method", METHODS)
def test_copies_answer_alike_and_a_clone_knows_nothing(estimator, method, tmp_path):
    x, y = table(estimator)
    model = estimator(method, **QUICK).fit(x, y)
    expected = answers(model, x)
    joblib.dump(model, tmp_path / "model")
    for twin in (
        copy.copy(model),
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
        joblib.load(tmp_path / "model"),
    ):
        assert np.array_equal(answers(twin, x), expected)
    assert not hasattr(clone(model), "model_")
    assert clone(model).get_params() == model.get_params()


# ---------------------------------------------------------------------------------- reproducibility


@BOTH
@pytest.mark.parametrize("method", METHODS)
def test_the_same_random_state_gives_bit_equal_refits_and_another_one_does_not(estimator, method):
    x, y = table(estimator)
    state = torch.get_rng_state()
    first = answers(estimator(method, **QUICK).fit(x, y), x)
    again = answers(estimator(method, **QUICK).fit(x, y), x)
    other = answers(estimator(method, **{**QUICK, "random_state": 1}).fit(x, y), x)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert torch.equal(torch.get_rng_state(), state)


@BOTH
@pytest.mark.parametrize("method", METHODS)
def test_predicting_twice_and_in_chunks_gives_the_same_and_changes_nothing(
    estimator, method, monkeypatch
):
    x, y = table(estimator)
    model = estimator(method, **QUICK).fit(x, y)
    theta = model.model_.ensemble.bank.theta.clone()
    whole = answers(model, x)
    assert np.array_equal(answers(model, x), whole)
    monkeypatch.setattr("batchensemble.training.models.CHUNK_FLOATS", 1)
    assert np.allclose(answers(model, x), whole, rtol=1e-4, atol=1e-5)
    assert torch.equal(model.model_.ensemble.bank.theta, theta)


@pytest.mark.parametrize("method", ["deep_ensemble", "batch_ensemble"])
def test_networks_trained_one_by_one_answer_almost_as_those_trained_together(method):
    x, y = regression_table()
    settings = {**QUICK, "validation_fraction": 0.0}
    together = Regressor(method, **settings).fit(x, y)
    alone = Regressor(method, one_by_one=True, **settings).fit(x, y)
    assert np.allclose(together.predict(x), alone.predict(x), rtol=1e-3)
    assert len(alone.history_) == (3 if method == "deep_ensemble" else 1)


# ------------------------------------------------------------------------------------------ tables


@BOTH
def test_pandas_polars_and_their_columns_are_understood_alike(estimator):
    columns = frame()
    y = table(estimator, 60)[1]
    pandas = estimator(**QUICK).fit(pd.DataFrame(columns), y)
    strings = {**columns, "town": columns["town"].tolist()}
    polars = estimator(**QUICK).fit(pl.DataFrame(strings, nan_to_null=True), y)
    expected = answers(pandas, pd.DataFrame(columns))
    assert np.allclose(answers(polars, pl.DataFrame(strings, nan_to_null=True)), expected)
    kinds = {column.name: column.kind for column in pandas.model_.encoder.columns_}
    assert kinds == {
        "number": "number",
        "whole": "number",
        "flag": "boolean",
        "town": "category",
        "day": "date",
    }


@BOTH
def test_gaps_and_unknown_categories_at_prediction_are_answered(estimator):
    columns = pd.DataFrame(frame())
    model = estimator(**QUICK).fit(columns, table(estimator, 60)[1])
    new = columns.head(4).copy()
    new["whole"] = [np.nan, 1, 2, 3]
    new["town"] = ["Trondheim", None, "Oslo", "Bergen"]
    new["day"] = [pd.NaT, *columns["day"][1:4]]
    assert np.isfinite(answers(model, new)).all()


@BOTH
def test_other_columns_at_prediction_are_refused(estimator):
    columns = pd.DataFrame(frame())
    model = estimator(**QUICK).fit(columns, table(estimator, 60)[1])
    with pytest.raises(ValueError, match="feature names"):
        model.predict(columns.rename(columns={"town": "city"}))
    with pytest.raises(ValueError, match="whole"):
        model.predict(columns.assign(whole="many"))


@BOTH
def test_far_away_and_enormous_inputs_give_finite_answers(estimator):
    x, y = table(estimator)
    for preset in PRESETS:
        model = estimator(preset=preset, **QUICK).fit(x, y)
        far = np.array([[1e3] * 3, [-1e30] * 3, [1e300] * 3, [0.0, 1.7e308, -1.7e308]])
        assert np.isfinite(answers(model, far)).all()
        assert np.isfinite(model.uncertainty(far).total).all()


@BOTH
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(estimator):
    x, y = table(estimator)
    model = estimator(**QUICK).fit(x, y)
    before = answers(model, x)
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        model.fit(x[:, :2], y[::-1], sample_weight=-np.ones(120))
    assert np.array_equal(answers(model, x), before)
    untouched = estimator(hidden=(8.5,))
    with pytest.raises(ValueError, match="hidden"):
        untouched.fit(x, y)
    assert not hasattr(untouched, "encoder_")


@BOTH
def test_the_callers_modes_and_defaults_of_torch_do_not_matter(estimator):
    x, y = table(estimator)
    expected = answers(estimator(**QUICK).fit(x, y), x)
    with torch.inference_mode():
        assert np.array_equal(answers(estimator(**QUICK).fit(x, y), x), expected)
    with torch.no_grad():
        assert np.array_equal(answers(estimator(**QUICK).fit(x, y), x), expected)
    with torch.autocast("cpu", torch.bfloat16):
        assert np.array_equal(answers(estimator(**QUICK).fit(x, y), x), expected)
    torch.set_default_dtype(torch.float64)
    try:
        assert np.array_equal(answers(estimator(**QUICK).fit(x, y), x), expected)
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_frames_with_columns_in_another_order_are_refused_also_with_numbers_for_names():
    x, y = regression_table()
    model = Regressor(**QUICK).fit(pd.DataFrame(x, columns=[0, 1, 2]), y)
    with pytest.raises(ValueError, match="columns in the order of fit"):
        model.predict(pd.DataFrame(x, columns=[0, 1, 2])[[2, 1, 0]])


@BOTH
def test_weights_of_zero_leave_rows_out_exactly(estimator):
    x, y = table(estimator)
    weight = np.ones(120)
    weight[90:] = 0
    x[90:] = 1e9
    if estimator is Regressor:
        y[90:] = 1e9
    a = estimator(**QUICK).fit(x, y, sample_weight=weight)
    b = estimator(**QUICK).fit(x, y, sample_weight=1e300 * weight)
    c = estimator(**QUICK).fit(x[:90], y[:90])
    assert np.array_equal(answers(a, x), answers(b, x))
    assert np.allclose(answers(a, x[:90]), answers(c, x[:90]), rtol=1e-3, atol=1e-4)


@BOTH
def test_weights_that_make_no_sense_are_refused(estimator):
    x, y = table(estimator)
    for weight, words in [
        (np.zeros(120), "zero"),
        (-np.ones(120), "[Nn]egative"),
        (np.ones(3), "shape"),
        (np.full(120, np.nan), "NaN"),
    ]:
        with pytest.raises(ValueError, match=words):
            estimator(**QUICK).fit(x, y, sample_weight=weight)


# --------------------------------------------------------------------------------------- settings


@BOTH
def test_numbers_of_numpy_are_as_good_as_pythons(estimator, tmp_path):
    x, y = table(estimator)
    settings = {**QUICK, "folds": 2, "batch_size": 32, "penalty": 0.5, "method": "mc_dropout"}
    odd = {n: np.asarray(v)[()] for n, v in settings.items() if n not in ("hidden", "method")}
    odd["hidden"] = (np.int64(8),)
    model, same = (estimator(**settings | more).fit(x, y) for more in ({}, odd))
    same.save(tmp_path / "m.be")
    np.testing.assert_array_equal(load(tmp_path / "m.be").predict(x), model.predict(x))


@pytest.mark.parametrize("name", ["lr", "weight_decay", "clip_norm", "penalty", "n_members"])
def test_a_number_that_would_overflow_is_refused_by_name(name):
    x, y = table(Regressor)
    with pytest.raises(ValueError, match=f"The '{name}' parameter of Regressor must be"):
        Regressor(**{**QUICK, name: 10**30}).fit(x, y)


@BOTH
def test_an_explicit_argument_wins_over_the_preset(estimator):
    assert resolve("paper", {"epochs": 7})["epochs"] == 7
    assert resolve("paper", {"epochs": None})["epochs"] == 500
    x, y = table(estimator)
    model = estimator(preset="paper", **{**QUICK, "epochs": 2}).fit(x, y)
    assert len(model.history_[0].losses) == 2


@pytest.mark.parametrize(
    ("estimator", "n_features", "counts"),
    [
        (Regressor, 8, (3_704, 14_100, 1_410, 1_410)),
        (Regressor, 10, (3_788, 14_740, 1_474, 1_474)),
        (Classifier, 30, (4_308, 21_140, 2_114, 2_114)),
        (Classifier, 5, (3_258, 13_140, 1_314, 1_314)),
        (Classifier, 108, (7_584, 46_100, 4_610, 4_610)),
    ],
)
def test_the_paper_preset_has_the_published_number_of_parameters(estimator, n_features, counts):
    random = np.random.default_rng(0)
    x, y = random.normal(size=(30, n_features)), np.arange(30) % 2
    found = tuple(
        estimator(method, preset="paper", epochs=1).fit(x, y).n_parameters_ for method in METHODS
    )
    assert found == counts


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ({"method": "batchensemble"}, "did you mean 'batch_ensemble'"),
        ({"preset": "papper"}, "did you mean 'paper'"),
        ({"device": "tpu9"}, "expected device to be 'auto'"),
        ({"n_members": 0}, "'n_members' parameter .* must be an int in the range"),
        ({"epochs": 0}, "'epochs' parameter"),
        ({"epochs": 1.5}, "'epochs' parameter"),
        ({"hidden": 64}, "'hidden' parameter"),
        ({"hidden": (8.5,)}, "expected hidden"),
        ({"batch_size": "many"}, "'batch_size' parameter"),
        ({"one_by_one": "no"}, "'one_by_one' parameter"),
        ({"one_by_one": True}, "validation_fraction=0"),
        ({"random_state": "x"}, "'random_state' parameter"),
        ({"categories": ["a"]}, "'categories' parameter"),
        ({"dropout": 1.5}, "'dropout' parameter"),
        ({"adapters": "q"}, "letters 'wrsb'"),
        ({"init": "zeros"}, "init to be one of"),
        ({"scaling": "log"}, "scaling"),
        ({"batching": "each"}, "batching to be one of"),
        ({"validation_fraction": 1.0}, "'validation_fraction' parameter"),
        ({"hidden": (0,)}, "at least 1"),
        ({"lr": -1.0}, "'lr' parameter"),
    ],
)
@BOTH
def test_bad_arguments_are_refused_at_fit_with_words(estimator, argument, words):
    with pytest.raises(ValueError, match=words):
        estimator(**{**QUICK, **argument}).fit(*table(estimator))


def test_members_may_be_left_out_of_the_first_layers():
    x, y = regression_table()
    model = Regressor(adapters=["", "rsb"], **QUICK).fit(x, y)
    assert model.model_.ensemble.bank.module.layers[0].r is None
    assert model.uncertainty(x).epistemic.max() > 0


def test_auto_takes_the_gpu_where_there_is_one():
    expected = "cuda" if torch.cuda.is_available() else "cpu"
    assert pick_device("auto").type == expected


def test_an_interrupted_fit_is_a_fitted_model_when_asked_to(monkeypatch):
    calls = iter(range(100))

    def tired(*args):
        if next(calls) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr("batchensemble.training.loop.check_finite", tired)
    x, y = regression_table()
    model = Regressor(keep_on_interrupt=True, **QUICK).fit(x, y)
    assert model.history_[0].ended == "interrupt"
    assert np.isfinite(model.predict(x)).all()


# ------------------------------------------------------------------------------------------- fuzz

CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**6), 10**6),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([1e30, -1e30, 1e300, 1e-300]),
    st.text(max_size=3),
    st.datetimes().filter(lambda d: 1700 < d.year < 2200),
)


def column(n_rows):
    def of(cells):
        return st.lists(cells, min_size=n_rows, max_size=n_rows)

    return st.one_of(
        of(st.floats(-10, 10)),
        of(st.floats(allow_nan=True, allow_infinity=False)),
        of(st.sampled_from(["a", "b", None])),
        of(st.none()),
        of(st.just(1e30)),
        of(st.booleans()),
        of(CELLS),
    )


@st.composite
def anything(draw):
    n_rows = draw(st.integers(0, 30))
    columns = draw(st.lists(column(n_rows), min_size=0, max_size=3))
    names = draw(
        st.lists(
            st.sampled_from(["a", "b", "c", "d"]), min_size=len(columns), max_size=len(columns)
        )
    )
    x = (
        pd.concat([pd.Series(c, name=n) for n, c in zip(names, columns, strict=True)], axis=1)
        if (columns and n_rows)
        else pd.DataFrame(dict(zip(names, columns, strict=True)))
    )
    if draw(st.booleans()):
        x = x.to_numpy(dtype=object)
    y = draw(column(n_rows))
    return x, y


@BOTH
@given(data=anything(), method=st.sampled_from(sorted(METHODS)))
@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@pytest.mark.filterwarnings("ignore::pandas.errors.PerformanceWarning")
@pytest.mark.filterwarnings("ignore:.*:FutureWarning:pandas")
def test_any_table_ends_in_finite_answers_or_in_an_error_with_words(estimator, data, method):
    x, y = data
    try:
        model = estimator(method, epochs=1, hidden=(4,), n_members=2, n_passes=2).fit(x, y)
    except (ValueError, TypeError) as error:
        assert len(str(error)) > 15  # noqa: PT017 (either outcome is right)
        return
    assert np.isfinite(answers(model, x)).all()
    assert np.isfinite(model.uncertainty(x).total).all()


@pytest.mark.parametrize("name", ["n_members", "n_passes", "epochs", "batch_size", "patience"])
def test_true_is_no_number(name):
    x, y = regression_table(40)
    with pytest.raises(ValueError, match=f"'{name}' parameter .* must be an int .* Got True"):
        Regressor(**{name: True}).fit(x, y)
    with pytest.raises(ValueError, match=f"'{name}' parameter"):
        Forecaster(**{name: True}).fit(y)


@pytest.mark.parametrize(
    "name", ["dropout", "lr", "penalty", "validation_fraction", "weight_decay"]
)
def test_false_is_no_number_of_any_kind(name):
    x, y = regression_table(40)
    with pytest.raises(ValueError, match=f"'{name}' parameter .* Got False"):
        Regressor(**{name: False}).fit(x, y)


@pytest.mark.parametrize("bounds", [[], (1,), (1, 2, 3), ("a", "b"), (1, 0)])
def test_bounds_of_the_variance_are_a_pair_of_numbers(bounds):
    x, y = regression_table(40)
    for model in (Regressor(log_variance_bounds=bounds), Forecaster(log_variance_bounds=bounds)):
        with pytest.raises(ValueError, match="expected bounds of the log-variance, low < high"):
            model.fit(*((x, y) if isinstance(model, Regressor) else (y,)))


@pytest.mark.parametrize("hidden", [["a"], [None], [True], [2.5]])
def test_widths_of_layers_are_whole_numbers(hidden):
    x, y = regression_table(40)
    with pytest.raises(ValueError, match="expected hidden to be whole numbers of at least 1, got"):
        Regressor(hidden=hidden).fit(x, y)


def test_half_precision_is_as_good_a_number_as_any():
    x, y = regression_table(40)
    settings = QUICK | {"lr": np.float16(0.01), "penalty": np.float16(0)}
    assert np.isfinite(Regressor(**settings).fit(x, y).predict(x)).all()


@pytest.mark.parametrize("device", [None, True, 10**30, pd.NA, np.zeros(2)])
def test_what_names_no_device_is_refused(device):
    with pytest.raises(ValueError, match="expected device to be 'auto' or a device of this mach"):
        pick_device(device)
