"""Regression metrics against uncertainty-toolbox, scoringrules, scikit-learn and scipy."""

import numpy as np
import pytest
import scoringrules
import uncertainty_toolbox
from scipy import stats
from sklearn import metrics as sklearn_metrics

from batchensemble import metrics

RNG = np.random.default_rng(0)
N = 300
MEAN, STD = RNG.normal(size=N), RNG.exponential(size=N) + 0.05
Y = MEAN + STD * RNG.standard_t(5, size=N)
MEANS, VARIANCES = RNG.normal(size=(N, 6)), RNG.exponential(size=(N, 6)) + 0.01
LOW, HIGH = stats.norm.interval(0.8, MEAN, STD)


def test_errors_match_sklearn():
    assert metrics.rmse(Y, mean=MEAN) == pytest.approx(
        sklearn_metrics.root_mean_squared_error(Y, MEAN)
    )
    assert metrics.mae(Y, mean=MEAN) == pytest.approx(sklearn_metrics.mean_absolute_error(Y, MEAN))


def test_gaussian_nll_matches_uncertainty_toolbox_and_scipy():
    nll = metrics.gaussian_nll(Y, mean=MEAN, std=STD)
    assert nll == pytest.approx(uncertainty_toolbox.nll_gaussian(MEAN, STD, Y))
    assert nll == pytest.approx(-stats.norm.logpdf(Y, MEAN, STD).mean())


@pytest.mark.parametrize("unit", [1e-30, 1e-3, 7.0, 1e30])
def test_scaling_the_target_shifts_the_nll_by_the_log_of_the_unit(unit):
    before = metrics.gaussian_nll(Y, mean=MEAN, std=STD)
    after = metrics.gaussian_nll(Y * unit, mean=MEAN * unit, std=STD * unit)
    assert after - before == pytest.approx(np.log(unit), rel=1e-9)


def test_mixture_nll_matches_scoringrules_and_is_not_that_of_the_matched_gaussian():
    nll = metrics.mixture_nll(Y, means=MEANS, variances=VARIANCES)
    expected = scoringrules.logs_mixnorm(Y, MEANS, np.sqrt(VARIANCES)).mean()
    assert nll == pytest.approx(expected)
    matched = metrics.gaussian_nll(
        Y, mean=MEANS.mean(1), std=np.sqrt(VARIANCES.mean(1) + MEANS.var(1))
    )
    assert nll != pytest.approx(matched, rel=1e-3)


def test_crps_matches_uncertainty_toolbox_and_scoringrules():
    crps = metrics.crps_gaussian(Y, mean=MEAN, std=STD)
    assert crps == pytest.approx(uncertainty_toolbox.crps_gaussian(MEAN, STD, Y))
    assert crps == pytest.approx(scoringrules.crps_normal(Y, MEAN, STD).mean())
    mixture = metrics.crps_mixture(Y, means=MEANS, variances=VARIANCES)
    assert mixture == pytest.approx(scoringrules.crps_mixnorm(Y, MEANS, np.sqrt(VARIANCES)).mean())


def test_crps_of_draws_is_the_energy_form_and_not_the_fair_one():
    draws = MEAN[:, None] + STD[:, None] * RNG.normal(size=(N, 20))
    crps = metrics.crps_samples(Y, samples=draws)
    nrg = scoringrules.crps_ensemble(Y, draws, estimator="nrg").mean()
    fair = scoringrules.crps_ensemble(Y, draws, estimator="fair").mean()
    assert crps == pytest.approx(nrg)
    assert crps > fair + 0.01


def test_crps_of_many_draws_tends_to_the_closed_form():
    draws = stats.norm.ppf((np.arange(4000) + 0.5) / 4000)  # the best 4000 draws there are
    y = np.array([-1.5, 0.0, 2.0])
    crps = metrics.crps_samples(y, samples=np.tile(draws, (3, 1)))
    assert crps == pytest.approx(metrics.crps_gaussian(y, mean=y * 0, std=y * 0 + 1), abs=1e-4)


@pytest.mark.parametrize("score", [metrics.crps_gaussian, metrics.gaussian_nll])
def test_scores_prefer_the_true_spread_over_one_too_narrow_or_too_wide(score):
    rng = np.random.default_rng(1)
    mean, std = rng.normal(size=20_000), rng.exponential(size=20_000) + 0.1
    y = rng.normal(mean, std)
    at = {factor: score(y, mean=mean, std=std * factor) for factor in (0.6, 1.0, 1.6)}
    assert at[1.0] < min(at[0.6], at[1.6]) - 0.005
    # Negative control: where the truth is 1.6 times as wide, the wide one wins.
    y = rng.normal(mean, 1.6 * std)
    assert score(y, mean=mean, std=1.6 * std) < score(y, mean=mean, std=std) - 0.005


def test_crps_without_spread_is_the_absolute_error():
    zero = np.zeros(N)
    assert metrics.crps_gaussian(Y, mean=MEAN, std=zero) == pytest.approx(metrics.mae(Y, mean=MEAN))
    assert np.isfinite(metrics.gaussian_nll(Y, mean=MEAN, std=zero))


def test_interval_metrics_match_scoringrules_and_counting():
    score = metrics.interval_score(Y, lower=LOW, upper=HIGH, coverage=0.8)
    assert score == pytest.approx(scoringrules.interval_score(Y, LOW, HIGH, 0.2).mean())
    inside = sum(low <= y <= high for y, low, high in zip(Y, LOW, HIGH, strict=True)) / N
    assert metrics.interval_coverage(Y, lower=LOW, upper=HIGH) == inside
    assert metrics.interval_width(lower=LOW, upper=HIGH) == pytest.approx(
        2 * stats.norm.ppf(0.9) * STD.mean()
    )


def test_an_interval_contains_its_edges():
    assert metrics.interval_coverage([1.0, 2.0, 3.0], lower=[1, 1, 1], upper=[2, 2, 2]) == 2 / 3


def test_interval_score_prefers_the_true_quantiles():
    y = np.random.default_rng(2).normal(size=50_000)
    z = stats.norm.ppf(0.95)

    def score(width):
        side = np.full(y.shape, width)
        return metrics.interval_score(y, lower=-side, upper=side, coverage=0.9)

    assert score(z) < min(score(0.7 * z), score(1.3 * z)) - 0.05


def test_sharpness_matches_uncertainty_toolbox():
    assert metrics.sharpness(std=STD) == pytest.approx(uncertainty_toolbox.sharpness(STD))


def test_pit_is_the_normal_cdf_and_uniform_for_the_truth():
    np.testing.assert_allclose(metrics.pit(Y, mean=MEAN, std=STD), stats.norm.cdf(Y, MEAN, STD))
    y = np.random.default_rng(3).normal(MEAN, STD)
    assert stats.kstest(metrics.pit(y, mean=MEAN, std=STD), "uniform").pvalue > 0.01
    # Negative control: twice the spread.
    assert stats.kstest(metrics.pit(y, mean=MEAN, std=2 * STD), "uniform").pvalue < 1e-4


def test_a_horizon_is_averaged_like_rows():
    grid = {"mean": MEAN.reshape(100, 3), "std": STD.reshape(100, 3)}
    y = Y.reshape(100, 3)
    assert metrics.rmse(y, mean=grid["mean"]) == pytest.approx(metrics.rmse(Y, mean=MEAN))
    assert metrics.gaussian_nll(y, **grid) == metrics.gaussian_nll(Y, mean=MEAN, std=STD)
    assert metrics.pit(y, **grid).shape == (100, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.rmse(Y, mean=MEAN[:, None]), r"mean: expected shape \(300,\), got"),
        (lambda: metrics.rmse(Y[:, None], mean=MEAN), r"mean: expected shape \(300, 1\), got"),
        (lambda: metrics.rmse(Y, mean=MEAN[:9]), r"mean: expected shape \(300,\), got \(9,\)"),
        (lambda: metrics.rmse([], mean=[]), "y: expected at least one row"),
        (lambda: metrics.rmse(1.0, mean=MEAN), "y: expected at least one row"),
        (lambda: metrics.mae([np.nan], mean=[0.0]), "y: expected finite numbers"),
        (lambda: metrics.gaussian_nll(Y, mean=MEAN, std=-STD), "std: expected .* >= 0"),
        (lambda: metrics.interval_width(lower=HIGH, upper=LOW), "300 crossing of 300; swap"),
        (
            lambda: metrics.interval_score(Y, lower=LOW, upper=HIGH, coverage=80),
            r"for 90 % pass 0\.9",
        ),
        (lambda: metrics.crps_samples(Y, samples=MEANS[:5]), r"samples: expected shape \(300, d"),
        (lambda: metrics.mixture_nll(Y[:5], means=MEANS, variances=VARIANCES), "y: expected shape"),
    ],
)
def test_wrong_shapes_and_numbers_are_refused_with_a_cure(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_means_that_are_no_numbers_are_refused_by_name():
    with pytest.raises(ValueError, match="means: expected numbers, got"):
        metrics.crps_mixture(np.zeros(2), means=[[1], [2, 3]], variances=np.ones((2, 1)))
