import os
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from fixtures import regression_table
from scipy.stats import norm
from sklearn.datasets import load_diabetes
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

from batchensemble import GaussianPredictive, Regressor
from batchensemble.conformal import predicted_interval
from batchensemble.data.telling import BatchEnsembleWarning
from batchensemble.estimators import table
from batchensemble.estimators.answers import prediction_columns
from batchensemble.metrics import gaussian_nll, interval_coverage, mixture_nll, shift_auroc
from batchensemble.study.datasets import load_table, make_shift

QUICK = {"epochs": 30, "hidden": (16,), "n_members": 3, "random_state": 0}


@pytest.fixture(scope="module")
def fitted():
    x, y = regression_table(200)
    return Regressor(**QUICK).fit(x, y), x, y


def test_the_five_lines_of_the_readme(fitted):
    model, x, y = fitted
    dist = model.predict_dist(x)
    assert isinstance(dist, GaussianPredictive)
    interval = model.predict_interval(x, coverage=0.9)
    assert interval.shape == (200, 2)
    for values in (dist.mean, dist.std, dist.aleatoric, dist.epistemic, dist.quantile(0.05)):
        assert values.shape == (200,)
    assert dist.log_prob(y).shape == (200,)


def test_all_answers_come_from_one_distribution(fitted):
    model, x, _ = fitted
    dist = model.predict_dist(x)
    mean, std = model.predict(x, return_std=True)
    assert np.array_equal(mean, model.predict(x))
    assert np.array_equal(mean, dist.mean)
    assert np.array_equal(std, dist.std)
    assert np.array_equal(model.predict_interval(x, 0.8), dist.interval(0.8))
    assert np.array_equal(model.predict_quantiles(x, [0.1, 0.9]), dist.quantile([0.1, 0.9]))
    assert model.predict_quantiles(x, 0.5).shape == (200,)
    parts = model.uncertainty(x)
    assert np.allclose(parts.total, parts.aleatoric + parts.epistemic)
    assert np.allclose(parts.total, std**2)


@pytest.mark.parametrize("target_scaling", ["standard", "minmax"])
@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_answers_are_in_the_users_units(target_scaling, factor):
    x, y = regression_table()
    settings = {**QUICK, "target_scaling": target_scaling}
    a = Regressor(**settings).fit(x, y).predict_dist(x)
    b = Regressor(**settings).fit(x, factor * y).predict_dist(x)
    assert np.allclose(b.mean, factor * a.mean, rtol=1e-2)
    assert np.allclose(b.std, factor * a.std, rtol=5e-2)


def test_a_shifted_and_scaled_target_has_its_nll_shifted_by_the_log_of_the_scale():
    x, y = regression_table()
    a = Regressor(**QUICK).fit(x, y).predict_dist(x)
    b = Regressor(**QUICK).fit(x, 100 * y + 7).predict_dist(x)
    shift = (a.log_prob(y) - b.log_prob(100 * y + 7)).mean()
    assert shift == pytest.approx(np.log(100), abs=0.05)


@pytest.mark.parametrize("method", ["batch_ensemble", "deep_ensemble", "mc_dropout"])
def test_the_variance_contains_the_members_disagreement(method):
    x, y = regression_table()
    dist = Regressor(method, **QUICK).fit(x, y).predict_dist(x)
    assert (dist.epistemic > 0).all()
    assert np.allclose(dist.std**2, dist.variances.mean(1) + dist.means.var(1))


def test_a_single_network_has_no_epistemic_uncertainty_at_all():
    x, y = regression_table()
    assert (Regressor("single", **QUICK).fit(x, y).uncertainty(x).epistemic == 0).all()


def test_a_constant_target_is_predicted_as_it_is():
    x, _ = regression_table()
    for value in (5.0, 0.0, -1e9):
        dist = Regressor(**QUICK).fit(x, np.full(120, value)).predict_dist(x)
        assert np.allclose(dist.mean, value, rtol=1e-5, atol=1e-5)
        assert (dist.std <= 1e-4 * max(1, abs(value))).all()


def test_one_row_two_rows_and_more_columns_than_rows_are_enough_to_fit():
    random = np.random.default_rng(0)
    for n_rows in (1, 2, 5):
        x, y = random.normal(size=(n_rows, 20)), random.normal(size=n_rows)
        assert np.isfinite(Regressor(**QUICK).fit(x, y).predict_interval(x)).all()


def test_without_hidden_layers_it_is_a_linear_model():
    x, y = regression_table()
    model = Regressor(
        **{**QUICK, "hidden": (), "epochs": 200, "lr": 0.05, "scaling": "standard"}
    ).fit(x, y)
    assert model.score(x, y) > 0.9


def test_targets_of_a_frame_or_a_series_are_taken():
    x, y = regression_table()
    expected = Regressor(**QUICK).fit(x, y).predict(x)
    for target in (pd.Series(y), pl.Series(y), y.tolist(), y.astype(object)):
        assert np.array_equal(Regressor(**QUICK).fit(x, target).predict(x), expected)
    with pytest.warns(DataConversionWarning):
        Regressor(**QUICK).fit(x, y.reshape(-1, 1))


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (["a"] * 120, "expected numbers as targets.*use Classifier"),
        (np.full(120, np.nan), "NaN"),
        (np.full(120, np.inf), "infinity"),
        (np.ones((120, 2)), "1d array"),
        (np.ones(7), "as many targets as rows"),
        (np.array([1e300, -1e300] * 60), "size at most 1e100"),
        (np.array([1e-200, 2e-200] * 60), "spread is above"),
        (np.datetime64("2024-01-01") + np.arange(120), "expected numbers as targets"),
        (["1", "2"] * 60, "expected numbers as targets"),
        (7.0, "one target per row"),
        (np.ones(120) * 1j, "Complex"),
        (None, "requires y"),
    ],
)
def test_targets_that_make_no_sense_are_refused_with_words(y, words):
    x, _ = regression_table()
    with pytest.raises(ValueError, match=words):
        Regressor(**QUICK).fit(x, y)


def test_predicting_before_fitting_and_bad_levels_are_refused(fitted):
    model, x, _ = fitted
    with pytest.raises(NotFittedError):
        Regressor().predict_dist(x)
    with pytest.raises(ValueError, match="coverage"):
        model.predict_interval(x, coverage=90)
    with pytest.raises(ValueError, match="q"):
        model.predict_quantiles(x, 1.5)
    with pytest.raises(ValueError, match="target_scaling to be one of"):
        Regressor(target_scaling="quantile", **QUICK).fit(*regression_table())


def test_several_targets_are_refused_with_the_way_that_works():
    x, y = regression_table(80)
    both = pd.DataFrame({"first": y, "second": 100 - 2 * y})
    with pytest.raises(ValueError, match=r"got 2 columns; for several numbers use JointRegressor"):
        Regressor(**QUICK).fit(x, both)


def test_beta_nll_and_unbounded_variance_are_options():
    x, y = regression_table()
    for settings in ({"beta": 0.5}, {"log_variance_bounds": (-np.inf, np.inf)}):
        assert np.isfinite(Regressor(**QUICK, **settings).fit(x, y).predict_interval(x)).all()


@pytest.mark.slow
def test_noise_that_grows_is_seen_to_grow():
    random = np.random.default_rng(0)
    x = random.uniform(0, 1, size=(2000, 1))
    y = random.normal(scale=0.1 + 2 * x[:, 0])
    model = Regressor(random_state=0, epochs=60).fit(x, y)
    low, high = model.predict_dist([[0.1], [0.9]]).aleatoric ** 0.5
    # True sd 0.3 and 1.9.
    assert 0.2 < low < 0.5
    assert 1.5 < high < 2.4


def test_epistemic_uncertainty_grows_away_from_the_data():
    random = np.random.default_rng(0)
    x = random.uniform(-1, 1, size=(500, 1))
    y = np.sin(3 * x[:, 0]) + random.normal(scale=0.1, size=500)
    model = Regressor(random_state=0, scaling="standard").fit(x, y)
    inside = model.uncertainty(np.linspace(-0.9, 0.9, 50)[:, None]).epistemic.mean()
    outside = model.uncertainty(np.array([[-4.0], [4.0]])).epistemic.min()
    assert outside > 10 * inside


# -------------------------------------------------------------------- a fitted regressor is good


def judged(x_train, y_train, x_test, y_test):
    """Our NLL, that of a homoscedastic linear model, and the coverage of our 90 % intervals."""
    dist = Regressor(random_state=0).fit(x_train, y_train).predict_dist(x_test)
    linear = LinearRegression().fit(x_train, y_train)
    residual = y_train - linear.predict(x_train)
    std = (residual @ residual / (len(y_train) - x_train.shape[1] - 1)) ** 0.5
    ours = mixture_nll(y_test, means=dist.means, variances=dist.variances)
    theirs = gaussian_nll(y_test, mean=linear.predict(x_test), std=np.full(len(y_test), std))
    low, high = dist.interval(0.9).T
    return ours, theirs, interval_coverage(y_test, lower=low, upper=high)


@pytest.mark.slow
def test_on_diabetes_it_beats_a_linear_model_and_covers_and_the_control_does_not():
    x, y = load_diabetes(return_X_y=True)
    results, controls = [], []
    for seed in range(6):
        train, test = train_test_split(np.arange(len(y)), test_size=0.2, random_state=seed)
        results.append(judged(x[train], y[train], x[test], y[test]))
        nonsense = np.random.default_rng(seed).permutation(y[train])
        controls.append(judged(x[train], nonsense, x[test], y[test])[0])
    # 89 test rows a split are few (the sd of a coverage is 3 points); the mean of six splits has
    # an sd of about 1.3 points.
    ours, linear, coverage = np.mean(results, axis=0)
    assert ours < linear
    assert 0.85 < coverage < 0.95
    # Trained on shuffled targets it can only know their overall spread: 0.3 nats worse.
    assert np.mean(controls) > linear + 0.1


def test_gaussian_data_get_nearly_the_true_density():
    random = np.random.default_rng(1)
    x = random.normal(size=(2000, 2))
    y = x[:, 0] + random.normal(scale=0.5, size=2000)
    model = Regressor(random_state=0, epochs=60).fit(x[:1500], y[:1500])
    ours = model.predict_dist(x[1500:]).log_prob(y[1500:]).mean()
    best = norm(x[1500:, 0], 0.5).logpdf(y[1500:]).mean()
    assert best - ours < 0.05


@pytest.mark.skipif(
    not os.environ.get("BATCHENSEMBLE_DATA"), reason="BATCHENSEMBLE_DATA names no folder"
)
def test_on_california_it_beats_a_linear_model_covers_and_knows_the_tails():
    table = load_table("california")
    shift = make_shift(table.X, table.y, task="regression", seed=0)
    x, train = table.X.to_numpy(), shift.train[:4000]
    core = shift.test[~shift.is_tail]
    ours, linear, coverage = judged(x[train], table.y[train], x[core], table.y[core])
    # 2,166 test rows: the sd of a coverage is below one point. The gain is about 0.5 nats.
    assert ours < linear - 0.3
    assert 0.85 < coverage < 0.95

    model = Regressor(random_state=0, epochs=60).fit(x[train], table.y[train])
    epistemic = model.uncertainty(x[shift.test]).epistemic
    assert shift_auroc(shift.is_tail, score=epistemic) > 0.6
    # Controls: without anything to learn the gain is gone, and chance knows no tails.
    nonsense = np.random.default_rng(0).permutation(table.y[train])
    assert judged(x[train], nonsense, x[core], table.y[core])[0] > linear
    by_chance = np.random.default_rng(0).permutation(epistemic)
    assert shift_auroc(shift.is_tail, score=by_chance) < 0.6


def test_an_extreme_target_among_the_rows_held_back_is_no_warning():
    x, y = regression_table(100)
    for row in range(0, 100, 5):
        extreme = np.where(np.arange(100) == row, 1e99, y)
        model = Regressor(epochs=1, hidden=(4,), n_members=2, random_state=0)
        assert np.isfinite(model.fit(x, extreme, calibrate=True).predict(x)).all()


SKEWED_X = np.random.default_rng(0).normal(size=(300, 2))
SKEWED_Y = {
    "positive": np.exp(SKEWED_X[:, 0] + 0.7 * np.random.default_rng(1).normal(size=300)),
    "count": np.random.default_rng(2).poisson(np.exp(SKEWED_X[:, 0])).astype(float),
    "bounded": np.round(1 / (1 + np.exp(-2 * SKEWED_X[:, 0])), 2),
}
TINY = {"epochs": 3, "hidden": (8,), "n_members": 2, "random_state": 0}


def test_rows_held_back_for_calibration_show_too_what_a_target_can_be():
    y = np.where(np.arange(100) < 20, -1.0, np.linspace(0.01, 5, 100) ** 2)
    groups = (y < 0).astype(int)  # the smaller group is held back: all negative values
    model = Regressor(**TINY).fit(np.arange(100.0)[:, None], y, groups=groups, calibrate=True)
    assert model.target_kind_ == "real"
    assert Regressor(**TINY).fit(y[20:, None], y[20:]).target_kind_ == "positive"


@pytest.mark.parametrize("scaling", [None, "log"])
@pytest.mark.parametrize("kind", SKEWED_Y)
@pytest.mark.filterwarnings("ignore:.*almost determines")  # shares are a curve of one column
def test_no_answer_lies_outside_of_what_the_target_can_be(kind, scaling):
    y, far = SKEWED_Y[kind], 5 * SKEWED_X
    model = Regressor(**TINY, target_scaling=scaling).fit(SKEWED_X, y, calibrate=True)
    assert model.target_kind_ == kind
    low, high = model.transform_.low, model.transform_.high
    plain = Regressor(**TINY, target_scaling=scaling).fit(SKEWED_X, y)
    for answer in (
        model.predict(far),
        model.predict_interval(far, 0.95),
        plain.predict_interval(far, 0.999),
        model.predict_quantiles(far, [0.0, 0.001, 0.5, 0.999]),
        model.predict_dist(far).sample(50, 0),
    ):
        assert answer.min() >= low
        assert answer.max() <= high
    # Negative control: as any number, they do.
    real = Regressor(**TINY, target="real").fit(SKEWED_X, y)
    assert real.target_kind_ == "real"
    assert real.predict_interval(far, 0.999).min() < low


def test_the_interval_of_a_skewed_target_is_calibrated_before_the_transform():
    y = SKEWED_Y["positive"]
    model = Regressor(**TINY, target_scaling="log").fit(SKEWED_X[:200], y[:200])
    model.calibrate(SKEWED_X[200:], y[200:])
    model.calibration_ = replace(model.calibration_, two_sided=False)
    dist, transform = model.predict_dist(SKEWED_X), model.transform_
    z = np.abs(transform.inverse(y[200:]) - dist.latent.mean[200:]) / dist.latent.std[200:]
    factor = np.sort(z)[90]  # the 91st of 100
    ends = dist.latent.mean[:, None] + factor * dist.latent.std[:, None] * [-1, 1]
    np.testing.assert_allclose(model.predict_interval(SKEWED_X), transform(ends), rtol=1e-6)
    report = model.calibration_report()
    assert report.loc[0.9, "coverage_after"] == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize(
    "groups",
    [
        np.where(np.arange(300) < 100, None, "x"),
        pd.Series([1, 2, "n"] * 100, dtype=object),
        np.where(np.arange(300) % 2, "2024-01-01", "2024-05-01"),
        np.arange(300) % 2 == 0,
        np.arange(300) % 2,
    ],
    ids=["gaps", "numbers among words", "dates", "truths", "numbers"],
)
def test_a_row_alone_is_of_the_group_that_it_has_among_others(groups):
    frame = pd.DataFrame(SKEWED_X, columns=["a", "b"]).assign(group=groups)
    y = np.random.default_rng(0).normal(size=300)
    model = Regressor(**TINY).fit(frame, y).calibrate(frame, y, groups="group")
    together = model.predict_interval(frame)
    for row in (0, 1, 2, 299):
        alone = model.predict_interval(frame[row : row + 1])
        np.testing.assert_allclose(alone, together[row : row + 1], rtol=1e-9)


def test_groups_whose_numbers_cannot_be_told_apart_are_refused():
    frame = pd.DataFrame(SKEWED_X, columns=["a", "b"]).assign(id=2**60 + np.arange(300) % 2)
    y = np.random.default_rng(0).normal(size=300)
    model = Regressor(**TINY).fit(frame, y)
    with pytest.raises(ValueError, match="'id': expected words, or numbers of at most 15 digits"):
        model.calibrate(frame, y, groups="id")


def test_a_target_that_cannot_be_is_no_error_but_is_missed_and_told():
    y = SKEWED_Y["positive"]
    model = Regressor(**TINY).fit(SKEWED_X[:200], y[:200])
    words = "1 of 100 calibration targets .* coverage of such targets is at most 99%"
    with pytest.warns(BatchEnsembleWarning, match=words):
        model.calibrate(SKEWED_X[200:], np.r_[y[200:299], -5.0])
    assert model.calibration_.scores.max() == 1e150
    with pytest.raises(ValueError, match="at least 0 with target='positive', got -5"):
        Regressor(**TINY, target="positive").fit(SKEWED_X, np.r_[y[:299], -5.0])


def test_however_many_targets_cannot_be_intervals_have_finite_ends():
    y = SKEWED_Y["positive"]
    model = Regressor(**TINY, target_scaling="log").fit(SKEWED_X[:200], 1e3 * y[:200])
    with pytest.warns(BatchEnsembleWarning, match="50 of 100 calibration targets"):
        model.calibrate(SKEWED_X[200:], np.r_[y[200:250], np.full(50, -1.0)])
    assert np.abs(model.predict_interval(SKEWED_X)).max() <= 1e150
    assert model.calibration_report() is not None


def test_intervals_by_group_follow_a_column_or_labels():
    y, group = SKEWED_X[:, 0].copy(), np.where(np.arange(300) % 3 == 0, "wild", "tame")
    y[group == "wild"] += 3 * np.random.default_rng(3).normal(size=100)
    frame = pd.DataFrame(SKEWED_X, columns=["a", "b"]).assign(group=group)
    model = Regressor(**TINY).fit(frame[:150], y[:150])
    together = np.ptp(model.calibrate(frame[150:], y[150:]).predict_interval(frame), axis=1)
    by_column = model.calibrate(frame[150:], y[150:], groups="group").predict_interval(frame)
    wide = np.ptp(by_column, axis=1) / together
    assert (wide[group == "wild"] > 1).all()
    assert (wide[group == "tame"] < 1).all()
    model.calibrate(frame[150:], y[150:], groups=group[150:])
    np.testing.assert_array_equal(model.predict_interval(frame, groups=group), by_column)
    with pytest.raises(ValueError, match="pass groups=, one label for each row"):
        model.predict_interval(frame)
    with pytest.raises(ValueError, match="rows, such as 'tame', 'wild', got 'strange'; "):
        model.predict_interval(frame[:1], groups=["strange"])
    with pytest.raises(ValueError, match="calibrate had none"):
        model.calibrate(frame[150:], y[150:]).predict_interval(frame, groups=group)
    with pytest.raises(ValueError, match="per_class=True is for a Classifier"):
        model.calibrate(frame[150:], y[150:], per_class=True)
    with pytest.raises(ValueError, match="did you mean 'group'"):
        model.calibrate(frame[150:], y[150:], groups="gruop")


@pytest.mark.filterwarnings("ignore:.*almost determines")  # the target is a column
def test_early_stopping_sees_no_row_of_a_group_that_it_trains_on(monkeypatch):
    seen = []
    original = table.rows_of

    def spied(*words):
        method, splits = original(*words)
        seen.append(splits)
        return method, splits

    monkeypatch.setattr(table, "rows_of", spied)
    group, y = np.arange(300) // 10, SKEWED_X[:, 0]
    Regressor(**TINY).fit(SKEWED_X, y, groups=group)
    Regressor(**TINY).fit(SKEWED_X, y, in_time=True)
    by_group, in_time = seen
    assert len(by_group) == 5
    for rows in by_group:
        assert not set(group[rows.train]) & set(group[rows.held_out])
    assert len(in_time) == 1
    assert in_time[0].train.max() < in_time[0].held_out.min()


def test_an_update_of_counts_wants_whole_numbers_as_their_fit_does():
    y = SKEWED_Y["count"] + 0.5
    model = Regressor(**TINY).fit(SKEWED_X, SKEWED_Y["count"])
    with pytest.raises(
        ValueError,
        match=r"whole numbers \(target_kind_ is 'count'\), got \d+\.5; fit with target=",
    ):
        model.update(SKEWED_X, y)
    with pytest.raises(ValueError, match=r"whole numbers with target='count', got \d+\.5"):
        Regressor(**TINY, target="count").fit(SKEWED_X, y)


def test_intervals_and_quantiles_of_counts_are_whole_and_hold_what_they_held():
    y = SKEWED_Y["count"]
    model = Regressor(**TINY).fit(SKEWED_X[:200], y[:200])
    for calibrated in (False, True):
        if calibrated:
            model.calibrate(SKEWED_X[200:], y[200:])
        dist = model.predict_dist(SKEWED_X)
        raw, ends = (
            predicted_interval(dist, 0.8, model.calibration_),
            model.predict_interval(SKEWED_X, 0.8),
        )
        assert not np.array_equal(raw, np.rint(raw))
        assert np.array_equal(ends, np.rint(ends))
        for whole in range(int(y.max()) + 1):
            inside = (raw[:, 0] <= whole) & (whole <= raw[:, 1])
            assert ((ends[:, 0] <= whole) & (whole <= ends[:, 1]))[inside].all()
        written = prediction_columns(model, dist, 0.8)[["lower", "upper"]]
        assert np.array_equal(written, ends)
    levels = [0.1, 0.5, 0.9]
    quantiles = model.predict_quantiles(SKEWED_X, levels)
    assert np.array_equal(quantiles, np.rint(dist.quantile(levels)))


@pytest.mark.filterwarnings("ignore:no better than")  # there is little to learn
def test_the_rows_of_fit_decide_whether_a_calibration_has_two_sides():
    random = np.random.default_rng(0)
    x, skewed = random.normal(size=(400, 1)), random.exponential(size=400)
    for noise, is_skewed in ((skewed, True), (random.normal(size=400), False)):
        y = 20 + 0.3 * x[:, 0] + noise
        model = Regressor(**TINY, target="real").fit(x[:300], y[:300])
        assert model.spread_.skewed == is_skewed
        assert model.calibrate(x[300:], y[300:]).calibration_.two_sided == is_skewed
        low, high = model.predict_interval(x[300:]).T
        middle = model.predict(x[300:])
        assert np.allclose(high - middle, middle - low) != is_skewed


def test_numbers_that_become_too_small_stop_no_fit():
    random = np.random.default_rng(1)
    x = random.normal(size=(250, 3))
    y = x[:, 0] + random.standard_t(2, 250)
    with np.errstate(all="raise"):
        Regressor(preset="fast", epochs=2, random_state=0).fit(x, y).predict(x)


def test_counts_of_which_many_are_censored_are_no_larger_than_they_are():
    random = np.random.default_rng(1)
    X, visits = random.normal(size=(1500, 2)), random.poisson(1.5, 1500)
    censored = (random.random(1500) < 0.6) & (visits >= 1)
    model = Regressor(target="count", preset="fast", epochs=60, random_state=0)
    model.fit(X, np.where(censored, 1, visits), censored=censored)
    assert model.predict(X).mean() == pytest.approx(visits.mean(), rel=0.06)  # 1.1 times before
