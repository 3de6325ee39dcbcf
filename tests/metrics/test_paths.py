"""Metrics of whole paths against scoringrules, and scaled errors against numbers by hand."""

import numpy as np
import pytest
import scoringrules

from batchensemble import metrics
from batchensemble.predictive import SamplePredictive

RNG = np.random.default_rng(0)
PATHS = RNG.normal(size=(30, 40, 4)).cumsum(axis=-1)
Y = RNG.normal(size=(30, 4)).cumsum(axis=-1)
HISTORY = [3.0, 10.0, 5.0, 10.0, 6.0, 16.0]  # two steps apart: 2, 0, 1, 6


def test_joint_scores_are_the_means_of_scoringrules_over_windows():
    energy = scoringrules.es_ensemble(Y, PATHS, estimator="nrg").mean()
    assert metrics.energy_score(Y, paths=PATHS) == pytest.approx(energy)
    for p in (0.5, 1.0):
        variogram = scoringrules.vs_ensemble(Y, PATHS, p=p, estimator="nrg").mean()
        assert metrics.variogram_score(Y, paths=PATHS, p=p) == pytest.approx(variogram)
    assert metrics.variogram_score(Y, paths=PATHS) == metrics.variogram_score(Y, paths=PATHS, p=0.5)


def test_energy_score_of_one_step_is_the_crps_of_the_draws():
    crps = metrics.crps_samples(Y[:, 0], samples=PATHS[..., 0])
    assert metrics.energy_score(Y[:, :1], paths=PATHS[..., :1]) == pytest.approx(crps)


def test_energy_score_of_many_draws_in_a_row_does_not_forget_that_members_differ():
    rng = np.random.default_rng(1)
    members = np.linspace(-9, 9, 10)[:, None, None] + rng.normal(size=(8, 10, 150, 4))
    dist, y = SamplePredictive(members), rng.normal(size=(8, 4))
    flat = metrics.energy_score(y, paths=members.reshape(8, 1500, 4))
    assert flat == pytest.approx(dist.energy_score(y, pairs=None).mean(), rel=0.004)


@pytest.mark.parametrize("score", [metrics.energy_score, metrics.variogram_score])
def test_joint_scores_prefer_the_true_spread_over_one_too_narrow_or_too_wide(score):
    rng = np.random.default_rng(2)
    walks = rng.normal(size=(1500, 101, 4)).cumsum(axis=-1)
    y, paths = walks[:, 0], walks[:, 1:]
    at = {factor: score(y, paths=factor * paths) for factor in (0.5, 1.0, 2.0)}
    assert at[1.0] < 0.98 * min(at[0.5], at[2.0])
    # Negative control: where the truth is twice as wide, the wide one wins.
    assert score(2 * y, paths=2 * paths) < 0.98 * score(2 * y, paths=paths)


def test_seasonal_scale_by_hand():
    assert metrics.seasonal_scale(HISTORY, season=2) == (2 + 0 + 1 + 6) / 4
    assert metrics.seasonal_scale(HISTORY, season=1) == (7 + 5 + 5 + 4 + 10) / 5
    assert metrics.seasonal_scale(HISTORY, season=np.int64(5)) == 13


def test_mase_by_hand_divides_every_window_by_its_own_scale():
    y, mean = [[1.0, 2.0], [10.0, 20.0]], [[2.0, 4.0], [10.0, 16.0]]
    assert metrics.mase(y, mean=mean, scale=[0.5, 8.0]) == (1.5 / 0.5 + 2 / 8) / 2
    assert metrics.mase(y, mean=mean, scale=[1, 1]) == metrics.mae(y, mean=mean)


@pytest.mark.parametrize("season", [1, 2, 3])
def test_the_seasonal_naive_forecast_of_the_history_itself_has_mase_1(season):
    past = np.array(HISTORY)
    y, naive = past[None, season:], past[None, :-season]
    scale = metrics.seasonal_scale(past, season=season)
    assert metrics.mase(y, mean=naive, scale=[scale]) == pytest.approx(1)
    assert metrics.mase(1e-6 * y, mean=1e-6 * naive, scale=[1e-6 * scale]) == pytest.approx(1)
    assert metrics.mase(y, mean=(y + naive) / 2, scale=[scale]) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.energy_score(Y[:, 0], paths=PATHS), r"y: expected shape \(windows, hor"),
        (lambda: metrics.energy_score(Y, paths=PATHS[:9]), r"paths: expected shape \(30, draws, 4"),
        (lambda: metrics.variogram_score(Y, paths=PATHS[..., 0]), "paths: expected shape"),
        (lambda: metrics.energy_score(Y[:0], paths=PATHS[:0]), "y: expected at least one window"),
        (lambda: metrics.energy_score(Y, paths=PATHS[:, :0]), "paths: expected at least one"),
        (lambda: metrics.mase(Y, mean=Y[:, :2], scale=np.ones(30)), "mean: expected shape"),
        (lambda: metrics.mase(Y, mean=Y, scale=1.0), r"scale: expected shape \(30,\), got \(\)"),
        (lambda: metrics.mase(Y, mean=Y, scale=np.zeros(30)), "scale: .* > 0, .* seasonal_scale"),
        (
            lambda: metrics.seasonal_scale(HISTORY, season=6),
            "more than season=6 values, got 6; pas",
        ),
        (lambda: metrics.seasonal_scale(HISTORY, season=0), "season: expected .* >= 1, got 0; "),
        (lambda: metrics.seasonal_scale(HISTORY, season=2.5), "season: expected a whole number"),
        (lambda: metrics.seasonal_scale([1, 2, 1, 2], season=2), "a mean change of 0 .*leave the"),
        (
            lambda: metrics.seasonal_scale(np.sin(np.arange(100) * np.pi / 6), season=12),
            "history: expected values that change from season to season",
        ),
        (lambda: metrics.seasonal_scale([1, np.nan, 2], season=1), "history: expected finite"),
    ],
)
def test_wrong_shapes_and_numbers_are_refused_with_a_cure(call, message):
    with pytest.raises(ValueError, match=message):
        call()
