"""The summaries are the metrics by name, and say of which distribution."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from batchensemble import metrics
from batchensemble.predictive import CategoricalPredictive, GaussianPredictive, SamplePredictive

RNG = np.random.default_rng(0)
GAUSSIAN = GaussianPredictive(3 * RNG.normal(size=(200, 4)), RNG.exponential(size=(200, 4)) + 0.01)
Y = GAUSSIAN.sample(1, 1)[:, 0]
CLASSES = CategoricalPredictive(RNG.dirichlet(np.ones(3), size=(200, 4)))
LABELS = CLASSES.sample(1, 2)[:, 0]
WALKS = RNG.normal(size=(200, 4, 1, 3)) + RNG.normal(size=(200, 4, 101, 3)).cumsum(axis=-1)
PATHS, TRUTH = SamplePredictive(WALKS[:, :, 1:]), WALKS[:, 0, 0]


def test_a_frame_of_one_column_is_judged_as_its_column():
    frame, row = pd.DataFrame({"y": Y}), metrics.summarise_regression(Y, GAUSSIAN)
    assert metrics.summarise_regression(frame, GAUSSIAN) == row
    row = metrics.summarise_classification(LABELS, CLASSES)
    assert metrics.summarise_classification(pd.DataFrame({"y": LABELS}), CLASSES) == row
    with pytest.raises(ValueError, match="shape"):
        metrics.summarise_regression(pd.DataFrame({"a": Y, "b": Y}), GAUSSIAN)


def test_regression_is_judged_by_the_matched_gaussian_but_crps_and_coverage_by_the_mixture():
    row = metrics.summarise_regression(Y, GAUSSIAN)
    matched = GAUSSIAN.moment_matched()
    mean, std = matched.mean, matched.std
    low, high = GAUSSIAN.interval(0.9).T
    assert row == pytest.approx(
        {
            "rmse": metrics.rmse(Y, mean=GAUSSIAN.mean),
            "nll": -matched.log_prob(Y).mean(),
            "rmsce": metrics.pit_coverage_curve(matched.cdf(Y)).rmsce(),
            "miscalibration_area": metrics.miscalibration_area(Y, mean=mean, std=std),
            "crps": GAUSSIAN.crps(Y).mean(),
            "coverage_90": metrics.interval_coverage(Y, lower=low, upper=high),
            "total": GAUSSIAN.total.mean(),
            "aleatoric": GAUSSIAN.aleatoric.mean(),
            "epistemic": GAUSSIAN.epistemic.mean(),
        }
    )
    mixture = metrics.mixture_nll(Y, means=GAUSSIAN.means, variances=GAUSSIAN.variances)
    assert row["nll"] > mixture + 0.05  # negative control: the two are told apart
    assert all(type(value) is float for value in row.values())


def test_classification_is_judged_by_the_mean_probabilities():
    row = metrics.summarise_classification(LABELS, CLASSES)
    assert row == pytest.approx(
        {
            "accuracy": np.mean(CLASSES.mode == LABELS),
            "nll": -CLASSES.log_prob(LABELS).mean(),
            "brier": metrics.brier(LABELS, probabilities=CLASSES.mean),
            "ece": metrics.ece(LABELS, probabilities=CLASSES.mean),
            "total": CLASSES.total.mean(),
            "aleatoric": CLASSES.aleatoric.mean(),
            "epistemic": CLASSES.epistemic.mean(),
        }
    )
    assert all(type(value) is float for value in row.values())


def test_paths_are_judged_step_by_step_and_as_a_whole():
    row = metrics.summarise_paths(TRUTH, PATHS)
    draws = PATHS.paths.reshape(200, 400, 3)
    mean, std = draws.mean(axis=1), draws.std(axis=1)

    def coverage(share, truth, draws):
        low, high = np.quantile(draws, [0.5 - share / 2, 0.5 + share / 2], axis=1)
        return np.mean((low <= truth) & (truth <= high))

    assert row == pytest.approx(
        {
            "rmse": np.sqrt(np.mean((mean - TRUTH) ** 2)),
            "nll": -stats.norm.logpdf(TRUTH, mean, std).mean(),
            "rmsce": metrics.rmsce(TRUTH.ravel(), mean=mean.ravel(), std=std.ravel()),
            "miscalibration_area": metrics.miscalibration_area(
                TRUTH.ravel(), mean=mean.ravel(), std=std.ravel()
            ),
            "crps": PATHS.crps(TRUTH).mean(),
            "energy_score": metrics.energy_score(TRUTH, paths=draws),
            "variogram_score": metrics.variogram_score(TRUTH, paths=draws),
            "coverage_80": coverage(0.8, TRUTH, draws),
            "coverage_95": coverage(0.95, TRUTH, draws),
            "coverage_80_sum": coverage(0.8, TRUTH.sum(axis=1), draws.sum(axis=2)),
            "total": PATHS.total.mean(),
            "aleatoric": PATHS.aleatoric.mean(),
            "epistemic": PATHS.epistemic.mean(),
        }
    )
    assert all(type(value) is float for value in row.values())


def test_only_the_scores_of_whole_paths_see_that_the_steps_were_torn_apart():
    torn = SamplePredictive(RNG.permuted(PATHS.paths, axis=2))
    row, other = (metrics.summarise_paths(TRUTH, dist) for dist in (PATHS, torn))
    changed = {name for name in row if other[name] != pytest.approx(row[name])}
    assert changed == {"energy_score", "variogram_score", "coverage_80_sum"}
    assert other["coverage_80_sum"] < row["coverage_80_sum"]
    assert other["energy_score"] > row["energy_score"]


def test_the_coverages_of_a_true_forecast_are_their_names_also_of_the_sum():
    rng = np.random.default_rng(1)
    walks = rng.normal(size=(2000, 1, 201, 5)).cumsum(axis=-1)
    row = metrics.summarise_paths(walks[:, 0, 0], SamplePredictive(walks[:, :, 1:]))
    assert row["coverage_80"] == pytest.approx(0.8, abs=0.03)
    assert row["coverage_95"] == pytest.approx(0.95, abs=0.02)
    assert row["coverage_80_sum"] == pytest.approx(0.8, abs=0.03)
    narrow = metrics.summarise_paths(walks[:, 0, 0], SamplePredictive(walks[:, :, 1:] / 2))
    assert narrow["coverage_80_sum"] < 0.6  # negative control


def test_paths_of_another_number_of_steps_than_the_truth_are_refused():
    with pytest.raises(ValueError, match=r"y: expected shape \(200, 3\), got \(200, 2\)"):
        metrics.summarise_paths(TRUTH[:, :2], PATHS)


def test_the_most_certain_windows_of_a_forecast_are_chosen_by_the_mean_std_of_their_steps():
    certain = PATHS.std.mean(axis=1)
    curve = metrics.selective_rmse(TRUTH, mean=PATHS.mean, uncertainty=certain, coverages=[0.5, 1])
    kept = np.argsort(certain)[:100]
    expected = [
        metrics.rmse(TRUTH[kept], mean=PATHS.mean[kept]),
        metrics.rmse(TRUTH, mean=PATHS.mean),
    ]
    np.testing.assert_allclose(curve.values, expected)


def test_every_public_name_of_the_metrics_exists_and_says_what_it_is():
    for name in metrics.__all__:
        value = getattr(metrics, name)
        if callable(value):
            assert value.__doc__, name


def test_every_known_value_counts_where_others_are_missing():
    gaps = TRUTH.copy()
    gaps[::2, 1] = np.nan
    row, known = metrics.summarise_paths(gaps, PATHS), ~np.isnan(gaps)
    whole = known.all(axis=1)
    assert row["rmse"] == pytest.approx(metrics.rmse(TRUTH[known], mean=PATHS.mean[known]))
    assert row["crps"] == pytest.approx(PATHS.crps(TRUTH)[known].mean())
    expected = metrics.summarise_paths(TRUTH[whole], PATHS[whole])
    for name in ("energy_score", "variogram_score", "coverage_80_sum"):
        assert row[name] == pytest.approx(expected[name])
    gaps[:, 1] = np.nan
    assert "energy_score" not in metrics.summarise_paths(gaps, PATHS)
    with pytest.raises(ValueError, match="got only NaN"):
        metrics.summarise_paths(np.full_like(gaps, np.nan), PATHS)


def test_truths_that_a_mask_hides_are_refused_by_every_summary():
    hidden = np.ma.masked_array([[0.0], [1.0]], [[True], [False]])
    rows = GaussianPredictive(np.zeros((2, 1)), np.ones((2, 1)))
    classes = CategoricalPredictive(np.full((2, 1, 2), 0.5))
    paths = SamplePredictive(np.random.default_rng(0).normal(size=(2, 1, 5, 1)))
    for summary, dist in (
        (metrics.summarise_regression, rows),
        (metrics.summarise_classification, classes),
        (metrics.summarise_paths, paths),
    ):
        with pytest.raises(ValueError, match="y: expected a value for each row, got a masked"):
            summary(hidden, dist)


def test_a_distribution_of_another_kind_is_refused_with_the_summary_that_takes_it():
    rows = GaussianPredictive(np.zeros((2, 1)), np.ones((2, 1)))
    classes = CategoricalPredictive(np.full((2, 1, 2), 0.5))
    paths = SamplePredictive(np.zeros((2, 1, 5, 1)))
    for summary, dist, words in (
        (metrics.summarise_paths, rows, "of sample paths, got a GaussianP.*; use summarise_regr"),
        (metrics.summarise_regression, classes, "of numbers, got a Cat.*; use summarise_class"),
        (metrics.summarise_classification, paths, "of classes, got a Sam.*; use summarise_paths"),
        (metrics.summarise_regression, None, "of numbers, got a NoneType; pass what predict_dist"),
    ):
        with pytest.raises(TypeError, match=words):
            summary([0, 1], dist)
