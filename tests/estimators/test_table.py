"""Calibration, unusual rows and abstention of the estimators for tables."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from fixtures import regression_table
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split

from batchensemble import BatchEnsembleWarning, Classifier, Regressor, load
from batchensemble.conformal import conformal_rank, fit_temperature, promised_sets
from batchensemble.estimators.splits import hold_back
from batchensemble.metrics import interval_coverage
from batchensemble.study.datasets import DatasetMissing, load_table
from batchensemble.training.checkpoint import Checkpoint
from batchensemble.training.methods import METHODS

QUICK = {
    "epochs": 15,
    "hidden": (16,),
    "n_members": 3,
    "n_passes": 8,
    "random_state": 0,
    "lr": 0.01,
}
TINY = {"epochs": 2, "hidden": (8,), "n_members": 2, "folds": 1, "random_state": 0}
BOTH = pytest.mark.parametrize("estimator", [Regressor, Classifier])


def table(estimator, n_rows=300, seed=0):
    x, y = regression_table(n_rows, seed)
    if estimator is Regressor:
        return x, y
    cuts = np.searchsorted([7, 13], y + 3 * np.random.default_rng(seed).normal(size=n_rows))
    return x, np.array(["low", "middle", "high"])[cuts]


def same(first, second):
    """Whether two calibrations hold the same numbers."""
    fields = vars(first).items()
    return all(np.array_equal(value, getattr(second, name)) for name, value in fields)


@pytest.fixture(scope="module")
def fitted():
    models = {}
    for estimator in (Regressor, Classifier):
        x, y = table(estimator)
        models[estimator] = estimator(**QUICK).fit(x, y)
    return models


@pytest.fixture
def fresh(fitted):
    """A fitted model that a test may calibrate."""
    return lambda estimator: copy.copy(fitted[estimator])


def test_intervals_reach_as_many_deviations_as_the_calibration_rows_needed(fresh):
    model, (x, y), (new, _) = fresh(Regressor), table(Regressor, 80, 1), table(Regressor, 30, 2)
    own, quantiles = model.predict_interval(new), model.predict_quantiles(new, [0.1, 0.9])
    mean, std = model.predict(x, return_std=True)
    factor = np.sort(np.abs(y - mean) / std)[conformal_rank(80, 0.8) - 1]
    assert model.calibrate(x, y) is model
    mean, std = model.predict(new, return_std=True)
    expected = np.column_stack([mean - factor * std, mean + factor * std])
    assert np.allclose(model.predict_interval(new, 0.8), expected)
    assert not np.allclose(model.predict_interval(new), own)
    assert np.array_equal(model.predict_quantiles(new, [0.1, 0.9]), quantiles)


def test_ties_are_inside_and_rows_are_answered_alike_alone_and_among_others():
    random = np.random.default_rng(30)
    x = pd.DataFrame({"s": random.choice(["a", "b", "c"], 900)})
    y = random.integers(0, 2, 900) * 3
    regressor = Regressor(epochs=3, hidden=(8,), random_state=30).fit(x[:300], y[:300])
    classifier = Classifier(epochs=3, hidden=(8,), random_state=30).fit(x[:300], y[:300])
    for model in (regressor, classifier):
        model.calibrate(x[300:600], y[300:600])
    few = x[600:620]
    for coverage in (0.5, 0.8, 0.9, 0.95):
        low, high = regressor.predict_interval(x[600:], coverage).T
        assert np.mean((low <= y[600:]) & (y[600:] <= high)) > coverage - 0.05
        alone = [classifier.predict_set(few[i : i + 1], coverage)[0] for i in range(20)]
        assert np.array_equal(classifier.predict_set(x[600:], coverage)[:20], alone)


def test_all_answers_about_classes_come_from_members_of_one_temperature(fresh):
    model, (x, y), (new, _) = fresh(Classifier), table(Classifier, 80, 1), table(Classifier, 30, 2)
    before = model.predict_dist(new).probabilities
    model.calibrate(x, y)
    temperature = model.calibration_.temperature
    assert abs(temperature - 1) > 0.01
    powers = before ** (1 / temperature)
    dist = model.predict_dist(new)
    assert np.allclose(dist.probabilities, powers / powers.sum(2, keepdims=True))
    assert np.array_equal(model.predict_proba(new), dist.mean)
    assert np.array_equal(model.predict(new), dist.mode)
    assert np.array_equal(model.uncertainty(new).total, dist.total)


def test_sets_and_temperature_come_from_different_halves_of_the_rows(fresh):
    model, (x, y) = fresh(Classifier), table(Classifier, 81, 1)
    plain = model.predict_proba(x)
    logits = np.log(model.predict_dist(x).probabilities)
    labels = np.searchsorted(model.classes_, y)
    calibration = model.calibrate(x, y).calibration_
    for_sets = [int(np.flatnonzero((plain == row).all(1))[0]) for row in calibration.untempered]
    others = np.setdiff1d(np.arange(81), for_sets)
    assert (len(for_sets), len(others)) == (41, 40)
    expected = fit_temperature(labels[others], logits=logits[others])
    assert np.isclose(calibration.temperature, expected, rtol=1e-4)
    p = model.predict_proba(x)
    limit = np.sort(1 - p[for_sets, labels[for_sets]])[conformal_rank(41, 0.9) - 1]
    sets = model.predict_set(x, 0.9, allow_empty=True)
    assert np.array_equal(sets, 1 - p <= limit)
    assert np.array_equal(model.predict_set(x, 0.9), sets | (p == p.max(1, keepdims=True)))
    assert model.predict_set(x, 0.3).any(1).all()
    assert not model.predict_set(x, 0.3, allow_empty=True).any(1).all()


@BOTH
def test_fit_may_spare_rows_for_calibration_and_learns_from_the_others_only(estimator):
    x, y = table(estimator, 200)
    model = estimator(**QUICK).fit(x, y, calibrate=True)
    n = 40 if estimator is Regressor else 20
    assert len(model.calibration_) == n
    again = estimator(**QUICK).fit(x, y, calibrate=True)
    assert same(model.calibration_, again.calibration_)
    learned, spared = hold_back(200, model._fewest_calibration_rows, *seeds(0))
    assert sorted([*learned, *spared]) == list(range(200))
    # The same model from the learned rows alone, calibrated by hand.
    by_hand = estimator(**QUICK).fit(x[learned], y[learned]).calibrate(x[spared], y[spared])
    assert same(model.calibration_, by_hand.calibration_)
    thetas = [each.model_.ensemble.bank.theta.numpy() for each in (model, by_hand)]
    assert np.array_equal(*thetas)


def seeds(random_state):
    return np.random.RandomState(random_state).randint(2**31 - 1, size=3)[:1].tolist()


@BOTH
def test_weights_count_for_learning_and_not_for_calibration(estimator):
    x, y = table(estimator, 200)
    weight = np.random.default_rng(0).integers(0, 3, size=200)
    model = estimator(**QUICK).fit(x, y, sample_weight=weight, calibrate=True)
    kept = np.flatnonzero(weight)
    learned, spared = (kept[rows] for rows in hold_back(len(kept), 1, *seeds(0)))
    by_hand = estimator(**QUICK).fit(x[learned], y[learned], sample_weight=weight[learned])
    assert same(model.calibration_, by_hand.calibrate(x[spared], y[spared]).calibration_)


def test_a_class_that_only_spared_rows_have_is_known():
    x, y = table(Classifier, 200)
    spared = hold_back(200, 1, *seeds(0))[1]
    y[spared[0]] = "rare"
    model = Classifier(**QUICK).fit(x, y, calibrate=True)
    assert "rare" in model.classes_
    assert model.predict_set(x).shape == (200, 4)


@BOTH
def test_a_new_fit_forgets_and_one_that_fails_does_not(estimator, fresh):
    model, (x, y) = fresh(estimator), table(estimator, 80, 1)
    calibration = model.calibrate(x, y).calibration_
    with pytest.raises(ValueError, match="as many targets"):
        model.fit(x, y[:-1])
    assert model.calibration_ is calibration
    with pytest.raises(ValueError, match="as many targets"):
        model.calibrate(x, y[:-1])
    assert model.calibration_ is calibration
    assert clone(model).calibration_ is None
    assert model.fit(x, y).calibration_ is None


@BOTH
def test_a_model_fitted_again_without_its_column_of_groups_can_be_loaded(estimator, tmp_path):
    x, y = table(estimator)
    frame = pd.DataFrame(x).rename(columns=str).assign(group=np.arange(len(x)) % 2)
    model = estimator(**TINY).fit(frame, y).calibrate(frame, y, groups="group")
    with pytest.raises(ValueError, match="as many targets"):
        model.fit(frame, y[:-1])
    assert model.group_column_ == "group"
    model.fit(frame.drop(columns="group"), y).save(tmp_path / "again.be")
    assert load(tmp_path / "again.be").calibration_ is None
    model.fit(frame, y).calibrate(frame, y, groups="group").update(frame, y)
    assert "group_column_" not in vars(model)


@BOTH
def test_copies_are_calibrated_alike(estimator, fresh):
    model, (x, y) = fresh(estimator), table(estimator, 80, 1)
    model.calibrate(x, y)
    twin = pickle.loads(pickle.dumps(model))
    assert same(model.calibration_, twin.calibration_)
    ask = Regressor.predict_interval if estimator is Regressor else Classifier.predict_set
    assert np.array_equal(ask(model, x), ask(twin, x))
    assert np.array_equal(model.shift_score(x), twin.shift_score(x))


@BOTH
def test_what_needs_calibration_says_so(estimator, fresh):
    model = fresh(estimator)
    questions = [model.calibration_report, lambda: model.abstain_threshold(0.1)]
    if estimator is Classifier:
        questions.append(lambda: model.predict_set(table(estimator)[0]))
    for question in questions:
        with pytest.raises(NotFittedError, match=r"is not calibrated; .* fit with calibrate=True"):
            question()
    with pytest.raises(NotFittedError):
        estimator().calibrate([[1.0]], [1])


@BOTH
def test_too_few_rows_are_refused_before_anything_is_learned(estimator, fresh):
    x, y = table(estimator, 44)
    fewest = 9 if estimator is Regressor else 18
    with pytest.raises(ValueError, match=f"expected at least {fewest} rows to calibrate"):
        fresh(estimator).calibrate(x[:8], y[:8])
    model = estimator(**QUICK)
    with pytest.raises(ValueError, match=f"at least {fewest} rows among the 20% .*got 8 of 42"):
        model.fit(x[:42], y[:42], calibrate=True)
    assert not hasattr(model, "model_")


def test_a_coverage_that_needs_more_rows_says_how_many(fresh):
    model = fresh(Regressor).calibrate(*table(Regressor, 50, 1))
    with pytest.raises(ValueError, match=r"at least 99 calibration cases for 0.99, got 50"):
        model.predict_interval(np.zeros((1, 3)), coverage=0.99)


def test_labels_that_fit_has_not_seen_are_refused(fresh):
    x, y = table(Classifier, 50, 1)
    with pytest.raises(ValueError, match="expected 50 labels out of"):
        fresh(Classifier).calibrate(x, np.where(y == "low", "lowest", y))
    with pytest.raises(ValueError, match="expected numbers as targets"):
        fresh(Regressor).calibrate(x, y)


@BOTH
def test_the_report_shows_before_and_after_by_coverage(estimator, fresh):
    report = fresh(estimator).calibrate(*table(estimator, 120, 1)).calibration_report()
    assert isinstance(report, pd.DataFrame)
    assert report.index.tolist() == [0.5, 0.8, 0.9, 0.95]
    size = "width" if estimator is Regressor else "size"
    names = {f"{what}_{when}" for what in ("coverage", size) for when in ("before", "after")}
    assert names <= set(report.columns)
    n = 120 if estimator is Regressor else 60
    assert (report["rows"] == n).all()
    assert (report["coverage_after"] >= report.index - 1 / n).all()


@BOTH
def test_rows_that_are_kept_err_as_little_as_asked_for(estimator, fresh):
    model, (x, y) = fresh(estimator), table(estimator, 300, 1)
    model.calibrate(x, y)

    def error(rows):
        if estimator is Classifier:
            return np.mean(model.predict(x[rows]) != y[rows])
        return np.sqrt(np.mean((model.predict(x[rows]) - y[rows]) ** 2))

    allowed = 0.9 * error(slice(None))
    kept = model.uncertainty(x).total <= model.abstain_threshold(allowed)
    assert 10 <= kept.sum() < 300
    # Of classes half of the rows were for the temperature: two standard errors of a share.
    slack = 1.0 if estimator is Regressor else 1.25
    assert error(kept) <= slack * allowed < error(~kept)
    with pytest.raises(ValueError, match="max_error: expected"):
        model.abstain_threshold(-1)


@BOTH
@pytest.mark.parametrize("method", ["batch_ensemble", "deep_ensemble", "mc_dropout"])
def test_rows_like_those_of_fit_are_usual_and_the_farther_a_row_the_less(estimator, method):
    x, y = table(estimator)
    model = estimator(method, scaling="standard", **QUICK).fit(x, y)
    assert abs(np.mean(model.shift_score(x) < 1) - 0.95) < 0.01
    new = table(estimator, 300, 1)[0]
    assert np.mean(model.shift_score(new) < 1) > 0.85
    away = np.array([[1.0, -1.0, 1.0]])
    scores = [model.shift_score(far * away)[0] for far in (1, 10, 100)]
    assert scores == sorted(scores)
    assert scores[-1] > 1


@BOTH
def test_calibration_does_not_change_how_unusual_a_row_is(estimator, fresh):
    model, (x, y) = fresh(estimator), table(estimator, 80, 1)
    before = model.shift_score(x)
    assert np.array_equal(model.calibrate(x, y).shift_score(x), before)


@BOTH
def test_a_number_adds_one_for_each_tenth_of_a_range_outside_those_of_fit(estimator, fresh):
    x, y = table(estimator)
    low, high = x.min(axis=0), x.max(axis=0)
    rows = np.repeat(x[:1], 4, axis=0)
    rows[1, 1] = high[1] + 0.35 * (high[1] - low[1])
    rows[2, 1], rows[2, 2] = rows[1, 1], low[2] - 0.1 * (high[2] - low[2])  # the farthest counts
    rows[3, 0] = -1e308
    for model, added in (
        (fresh(estimator), [0, 3.5, 3.5, 0]),
        (estimator(preset="paper", **QUICK).fit(x, y), [0, 0, 0, 0]),
    ):
        (outputs,) = model.model_.outputs(model.read(rows))
        apart = model.model_.head.disagreement(outputs) / model.shift_scale_
        score = model.shift_score(rows)
        assert np.allclose((score - apart)[:3], added[:3])
        assert np.isfinite(score).all()
    assert fresh(estimator).shift_score(rows)[3] > 1e6


@BOTH
def test_a_number_that_was_0_or_1_in_fit_adds_ten_for_each_one_beyond(estimator):
    x, y = table(estimator)
    x = np.column_stack([x, np.arange(len(x)) % 2, np.ones(len(x))])
    rows = np.repeat(x[:1], 5, axis=0)
    rows[:, 3] = [0, 1, 2, -0.5, np.nan]
    rows[4, 4] = 9  # a column that did not vary has no range
    model = estimator(**QUICK).fit(x, y)
    (outputs,) = model.model_.outputs(model.read(rows))
    apart = model.model_.head.disagreement(outputs) / model.shift_scale_
    assert np.allclose(model.shift_score(rows) - apart, [0, 0, 10, 5, 0])


def test_disagreement_is_the_spread_of_means_or_of_logits(fresh):
    x = table(Regressor)[0][:20]  # no number is beyond those of fit
    model = fresh(Regressor)
    assert np.allclose(model.shift_score(x), model.uncertainty(x).epistemic / model.shift_scale_)
    model = fresh(Classifier)
    logits = np.log(model.predict_dist(x).probabilities)
    logits -= logits.mean(2, keepdims=True)
    assert np.allclose(model.shift_score(x), logits.var(1).sum(1) / model.shift_scale_)


@BOTH
def test_one_network_cannot_tell_unusual_rows(estimator):
    x, y = table(estimator, 60)
    for settings in ({"method": "single"}, {"method": "deep_ensemble", "n_members": 1}):
        model = estimator(**{**QUICK, **settings}).fit(x, y)
        with pytest.raises(
            ValueError, match="disagreement of several members, and this model has one"
        ):
            model.shift_score(x)


def test_members_that_agree_about_everything_find_nothing_unusual():
    x, y = table(Regressor, 60)
    model = Regressor(adapters="", folds=1, **QUICK).fit(x, y)
    assert (model.uncertainty(x).epistemic == 0).all()
    assert (model.shift_score(x) == 0).all()


SPLITS = 50


def cover(name, method, nominal):
    """Coverage without calibration, and the mean over random splits of the rows not learned."""
    whole = load_table(name, download=False)
    n = min(1200, len(whole.y))
    rows = np.random.default_rng(0).permutation(len(whole.y))[:n]
    x, y = whole.X.iloc[rows], whole.y[rows]
    x, x_rest, y, y_rest = train_test_split(x, y, test_size=0.5, random_state=0)
    estimator = Regressor if whole.task == "regression" else Classifier
    model = estimator(method, **{**QUICK, "preset": "paper"}).fit(x, y)
    if estimator is Regressor:
        low, high = model.predict_interval(x_rest, nominal).T
        own = interval_coverage(y_rest, lower=low, upper=high)
    else:
        held = promised_sets(model.predict_proba(x_rest), nominal)
        own = held[np.arange(len(held)), np.searchsorted(model.classes_, y_rest)].mean()
    shares = []
    for seed in range(SPLITS):
        x_cal, x_test, y_cal, y_test = train_test_split(
            x_rest, y_rest, test_size=0.5, random_state=seed
        )
        model.calibrate(x_cal, y_cal)
        if estimator is Regressor:
            low, high = model.predict_interval(x_test, nominal).T
            shares.append(interval_coverage(y_test, lower=low, upper=high))
        else:
            held = model.predict_set(x_test, nominal, allow_empty=True)
            truth = np.arange(len(held)), np.searchsorted(model.classes_, y_test)
            shares.append(held[truth].mean())
    return own, np.mean(shares)


@pytest.mark.parametrize("name", ["diabetes", "breast_cancer", "california", "phoneme", "adult"])
def test_calibrated_coverage_is_within_two_points_for_every_method_and_the_models_own_is_not(name):
    try:
        load_table(name, download=False)
    except DatasetMissing:
        pytest.skip(f"needs the file of {name} in the folder BATCHENSEMBLE_DATA")
    nominal = 0.9
    found = [cover(name, method, nominal) for method in METHODS]
    assert all(abs(calibrated - nominal) < 0.02 for _, calibrated in found)
    assert max(abs(own - nominal) for own, _ in found) > 0.02


def test_a_column_of_five_thousand_cities_carries_what_they_differ_in():
    random = np.random.default_rng(0)
    city, effect = np.tile(np.arange(5000), 4), random.normal(size=5000)
    y = effect[city] + 0.3 * random.normal(size=len(city))
    settings = {"hidden": (32,), "folds": 1, "epochs": 12, "patience": 3, "random_state": 0}

    def explained(column, **more):
        """The share of what cities differ in, for a row of each."""
        x = random.normal(size=len(city))
        table = pd.DataFrame({"city": [f"city {c}" for c in column], "x": x})
        model = Regressor(preset="fast", **settings, **more).fit(table, y)
        new = pd.DataFrame({"city": [f"city {c}" for c in range(5000)], "x": 0.0})
        return 1 - np.mean((model.predict(new) - effect) ** 2) / effect.var()

    assert explained(city) > 0.9
    # Negative controls: cities in any order say nothing, and one column for most of them little.
    assert explained(random.permutation(city)) < 0.05
    with pytest.warns(BatchEnsembleWarning, match="the 4,969 rarest of the 5,000 categories"):
        assert explained(city, bins=0) < 0.05


def test_texts_that_are_dates_are_dates_as_in_files(tmp_path):
    random = np.random.default_rng(0)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 300, 80), "D")
    x, y = random.normal(size=80), random.normal(size=80)
    dates = pd.DataFrame({"day": days, "x": x})
    expected = Regressor(**TINY).fit(dates, y).predict(dates)
    for form in ("%Y-%m-%d", "%d/%m/%Y", "%d %b %Y"):
        texts = dates.assign(day=days.strftime(form))
        model = Regressor(**TINY).fit(texts, y)
        assert model.model_.encoder.kinds_ == ["date", "number"]
        np.testing.assert_array_equal(model.predict(texts), expected)
        model.save(tmp_path / "m.be")
        loaded = load(tmp_path / "m.be")
        np.testing.assert_array_equal(loaded.predict(texts[:1]), expected[:1])
        np.testing.assert_array_equal(loaded.predict(dates), expected)  # dates are understood, too
        np.testing.assert_array_equal(model.shift_score(texts), model.shift_score(dates))
        with pytest.raises(ValueError, match=r"column 'day': expected dates such as .* got 'soon'"):
            model.predict(texts.assign(day="soon"))


def test_words_stay_words_even_if_new_rows_hold_dates():
    words = pd.DataFrame({"when": ["soon", "2024-01-01"] * 40, "x": np.arange(80) % 7.0})
    model = Regressor(**TINY).fit(words, np.arange(80) % 5.0)
    assert model.model_.encoder.kinds_ == ["category", "number"]
    assert model.predict(words[1:2]).shape == (1,)
    coded = words.assign(when=pd.Categorical(["2024-01-01", "2024-01-02"] * 40))
    model = Regressor(**TINY).fit(coded, np.arange(80) % 5.0)
    assert model.model_.encoder.kinds_ == ["category", "number"]


def test_a_warning_is_given_at_the_line_of_the_user_and_may_be_made_an_error():
    x = np.random.default_rng(0).normal(size=(80, 2))
    model = Regressor(**TINY)
    with pytest.warns(BatchEnsembleWarning, match="'x1' almost determines") as told:
        model.fit(x, 3 * x[:, 1])
    assert [one.filename for one in told] == [__file__]
    with pytest.raises(BatchEnsembleWarning):  # here, warnings are errors
        Regressor(**TINY).fit(x, 3 * x[:, 1])


def test_training_that_time_cut_short_is_told_if_it_still_improved():
    x, y = regression_table(400)
    settings = {"hidden": (8,), "n_members": 2, "lr": 1e-4, "random_state": 0}
    with pytest.warns(BatchEnsembleWarning, match=r"time limit of 0\.1 s while still improving"):
        Regressor(**settings, epochs=100_000, patience=100_000, time_limit=0.1).fit(x, y)
    Regressor(**settings, epochs=3, time_limit=1e6).fit(x, y)


def test_training_that_too_few_epochs_cut_short_is_told_at_the_line_of_the_user():
    x, y = regression_table(400)
    settings = {"hidden": (8,), "n_members": 2, "random_state": 0, "lr": 1e-4}
    with pytest.warns(BatchEnsembleWarning, match="after 12 epochs while still improving") as told:
        Regressor(**settings, epochs=12).fit(x, y)
    assert {one.filename for one in told} == {__file__}


def test_a_checkpoint_of_a_warm_start_is_refused(tmp_path):
    x, y = regression_table()
    model = Regressor(**QUICK, warm_start=True).fit(x, y, checkpoint=tmp_path / "first")
    with pytest.raises(ValueError, match="a checkpoint is for a first fit, not for warm_start"):
        model.fit(x, y, checkpoint=tmp_path / "second")


def test_a_fit_without_a_seed_goes_on_from_its_checkpoint(tmp_path, monkeypatch):
    x, y = regression_table(40)
    unseeded, write = Regressor(**TINY | {"random_state": None, "epochs": 3}), Checkpoint.write

    def write_and_die(self, state):
        write(self, state)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Checkpoint, "write", write_and_die)
        patched.setattr(Checkpoint, "is_due", True)
        with pytest.raises(KeyboardInterrupt):
            unseeded.fit(x, y, checkpoint=tmp_path / "half")
    assert (tmp_path / "half").exists()
    model = clone(unseeded).fit(x, y, checkpoint=tmp_path / "half")
    whole = clone(unseeded).set_params(random_state=0).fit(x, y)
    np.testing.assert_array_equal(model.predict(x), whole.predict(x))
    other = clone(unseeded).fit(x, y)  # without a checkpoint, chance decides
    assert (other.predict(x) != whole.predict(x)).any()


@pytest.mark.parametrize("value", [pd.NA, pd.Series([True, False]), "yes", None])
def test_what_is_neither_true_nor_false_is_refused_by_name(value):
    x, y = table(Classifier, 120)
    model = Classifier(**TINY).fit(x, y, calibrate=np.True_)
    number = Regressor(**TINY).fit(x, np.arange(120.0))
    asks = {
        "calibrate": lambda: Regressor(**TINY).fit(x, x[:, 0], calibrate=value),
        "in_time": lambda: model.update(x, y, in_time=value),
        "per_class": lambda: model.calibrate(x, y, groups=y, per_class=value),
        "allow_empty": lambda: model.predict_set(x, allow_empty=value),
        "return_std": lambda: number.predict(x, return_std=value),
    }
    for name, ask in asks.items():
        with pytest.raises(ValueError, match=f"expected {name} to be True or False, got"):
            ask()


@pytest.mark.parametrize("path", [None, 3, True, pd.NA])
def test_what_names_no_file_is_refused_before_anything_is_written(path, tmp_path):
    x, y = regression_table(40)
    model = Regressor(**TINY).fit(x, y)
    with pytest.raises(TypeError, match=r"expected the path of a file, .* got .* \("):
        model.save(path)
    with pytest.raises(TypeError, match="expected the path of a file"):
        load(path)
    if path is not None:
        with pytest.raises(TypeError, match="expected the path of a file"):
            model.fit(x, y, checkpoint=path)


def test_an_update_tells_how_many_rows_a_tiny_share_would_need():
    x, y = regression_table(60)
    model = Regressor(**TINY | {"validation_fraction": 1e-320}).fit(x, y)
    with pytest.raises(ValueError, match=r"expected at least .* new rows"):
        model.update(x, y)


@BOTH
def test_what_fit_reads_as_targets_score_reads_too(estimator):
    x = table(estimator, 60)[0]
    labels = np.array([0, 1, 2] * 20, dtype=object)
    model = estimator(**TINY).fit(x, labels)
    assert model.score(x, labels) == model.score(x, labels.astype(int))
    with pytest.raises(ValueError, match="got a missing value"):
        model.score(x, np.array([None] * 60, dtype=object))
    with pytest.raises(ValueError, match="expected sample_weight to be numbers"):
        model.score(x, labels, ["a"] * 60)


@BOTH
def test_targets_of_the_other_byte_order_are_the_same_targets(estimator):
    x, _ = regression_table(60)
    y = np.arange(60) % 3
    models = [estimator(**TINY).fit(x, y.astype(kind)) for kind in ("<i8", ">i8")]
    first, second = (model.predict(x) for model in models)
    assert np.array_equal(first, second)


def test_texts_of_numpys_own_kind_are_classes():
    x, _ = regression_table(60)
    y = np.array(["a", "b"] * 30, dtype=np.dtypes.StringDType())
    assert set(Classifier(**TINY).fit(x, y).classes_) == {"a", "b"}


@BOTH
def test_one_group_that_counts_is_refused_as_if_there_were_no_other(estimator):
    x, y = table(estimator, 120)
    groups, model = np.arange(120) // 30, estimator(**TINY).fit(x, y)
    weight = (groups == 1).astype(float)
    for ask in (estimator(**TINY).fit, model.update):
        for calibrate in (False, True):
            with pytest.raises(ValueError, match="expected at least 2 groups, got one: 1"):
                ask(x, y, sample_weight=weight, groups=groups, calibrate=calibrate)


def test_enormous_weights_and_groups_are_taken_as_they_are():
    x, y = regression_table(60)
    huge = np.linspace(0.5, 1, 60).round(1) * 1.7e308  # a warning would be an error
    folded = TINY | {"folds": 2, "n_members": 4}
    model = Regressor(**folded).fit(x, y, sample_weight=huge, groups=huge)
    assert np.isfinite(model.predict(x)).all()


@BOTH
def test_dates_that_a_frame_holds_as_texts_are_those_of_fit_everywhere(estimator):
    x, y = table(estimator, 120)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(len(y)) % 50, "D")
    X = pd.DataFrame({"number": x[:, 0], "day": days})
    texts = X.assign(day=days.strftime("%d/%m/%Y"))
    model = estimator(**TINY).fit(X, y, calibrate=True)
    for ask in (model.predict, model.uncertainty, model.shift_score):
        np.testing.assert_array_equal(ask(texts), ask(X))
    assert model.score(texts, y) == model.score(X, y)
    again = copy.deepcopy(model).update(texts, y)
    np.testing.assert_array_equal(again.predict(X), model.update(X, y).predict(X))
    watched = [estimator(**TINY).fit(X, y, eval_set=(each, y)).predict(X) for each in (X, texts)]
    np.testing.assert_array_equal(*watched)
    many = pd.concat([texts[:12]] * 3000 + [texts[13:14]])  # days after the 12th come last
    assert len(model.predict(many)) == len(many)
    for odd in ("01/02/2020", 5.0, "soon"):
        with pytest.raises(ValueError, match="'day': expected "):
            model.predict(X.assign(day=odd))


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_numbers_in_another_unit_are_told_also_by_a_loaded_model(preset, tmp_path):
    area = np.random.default_rng(0).uniform(30, 200, 60)
    frame = pd.DataFrame({"area": area})
    model = Regressor(preset=preset, random_state=0, epochs=2).fit(frame, area)
    model.save(tmp_path / "m.be")
    for one in (model, load(tmp_path / "m.be")):
        with pytest.warns(BatchEnsembleWarning, match="column 'area': .* 1,000 times larger"):
            one.predict(frame[:3] / 1000)
        one.predict(frame[:2] / 1000)
        one.predict(frame)


@pytest.mark.filterwarnings("always::batchensemble.BatchEnsembleWarning")
def test_words_that_fit_did_not_know_are_named_where_a_column_has_no_others(recwarn):
    rooms = np.arange(40.0)
    model = Regressor(**TINY).fit(pd.DataFrame({"a": ["yes", "no"] * 20, "rooms": rooms}), rooms)
    recwarn.clear()
    new = pd.DataFrame({"a": [1, 0] * 5, "rooms": rooms[:10]})
    model.predict(new)
    (said,) = recwarn
    told = "column 'a': none of its categories, such as '0' and '1', occurred in training"
    assert told in str(said.message)
    recwarn.clear()
    model.predict(new[:9])  # few rows may have few words
    model.predict(new.assign(a=[*["maybe"] * 9, "no"]))
    assert not recwarn


@pytest.mark.parametrize("labels", [[2019, 2020, 2021], pd.date_range("2024-01-01", periods=3)])
def test_columns_named_by_numbers_or_dates_are_not_taken_for_others(labels):
    x = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=labels)
    model = Regressor(**TINY).fit(x, x.iloc[:, 0] + x.iloc[:, 1])
    own = model.predict(x)
    np.testing.assert_array_equal(model.predict(x.to_numpy()), own)
    later = x.set_axis([label + (labels[1] - labels[0]) for label in labels], axis=1)
    with pytest.raises(ValueError, match=r"expected the columns of fit, got .* in place of"):
        model.predict(later)
    with pytest.raises(ValueError, match="select them in that order"):
        model.predict(x.iloc[:, ::-1])


def test_an_update_trains_with_the_share_that_it_was_told():
    x, y = regression_table(200)
    model = Regressor(**TINY, validation_fraction=0.15).fit(x, y)
    model.set_params(validation_fraction=0.3, weight_decay=0.5).update(x, y)
    assert (model.settings_["validation_fraction"], model.settings_["weight_decay"]) == (0.3, 0.5)
    assert model.history_[-1].scores
    with pytest.raises(ValueError, match="expected at least 76 new rows"):
        model.set_params(validation_fraction=0.9).update(x[:75], y[:75])


def test_an_update_leaves_the_settings_of_a_copy_and_of_a_failed_one_alone():
    x, y = regression_table(200)
    model = Regressor(**TINY).fit(x, y)
    before = dict(model.settings_)
    copy.copy(model).set_params(epochs=7).update(x, y)
    assert model.settings_ == before
    with pytest.raises(ValueError, match="infinity"):
        model.set_params(epochs=7).update(np.where(x == x.max(), np.inf, x), y)
    assert model.settings_ == before
