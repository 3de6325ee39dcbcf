import math

import numpy as np
import pytest

from batchensemble.conformal import Adaptation, conformal_quantile
from batchensemble.conformal.adaptation import LEVELS, LOOK_BACK, STEP_SIZES

N, N_CALIBRATED = 600, 150


def errors(seed, *, h=1, n_series=1, doubled_from=None):
    """Scores, (times, series, steps), of forecasts of a random walk j steps ahead."""
    random = np.random.default_rng(seed)
    shocks = random.normal(size=(n_series, N + h))
    if doubled_from is not None:
        shocks[:, doubled_from:] *= 2
    ahead = np.cumsum(shocks[:, np.arange(N)[:, None] + np.arange(h)], axis=2)
    return np.abs(ahead / np.sqrt(np.arange(1, h + 1))).transpose(1, 0, 2)


def flat(scores):
    times = np.repeat(np.arange(len(scores)), scores.shape[1])
    return Adaptation(scores.reshape(-1, scores.shape[-1]), times)


def coverages(level, first, *, adapt=True, n_seeds=3, **kind):
    """Shares of truths held from the time `first` on, one for each seed."""
    shares = []
    for seed in range(n_seeds):
        scores = errors(seed, **kind)
        before = scores[:N_CALIBRATED].reshape(-1, scores.shape[-1])
        factors = conformal_quantile(before, level)
        if adapt:
            factors = flat(scores).factors(level, np.arange(first, N))[:, None]
        shares.append((scores[first:] <= factors).mean())
    return np.array(shares)


@pytest.mark.parametrize(
    ("kind", "level"), [({}, 0.8), ({"h": 3}, 0.8), ({"n_series": 3}, 0.95)], ids=str
)
def test_where_the_noise_doubles_the_last_part_is_held_and_a_static_one_fails(kind, level):
    change = {"doubled_from": 300, **kind}
    adapted = coverages(level, N - 200, **change).mean()
    static = coverages(level, N - 200, adapt=False, **change).mean()
    assert abs(adapted - level) < 0.03
    assert static < level - 0.2


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_where_nothing_changes_the_nominal_level_is_kept(level):
    assert abs(coverages(level, N_CALIBRATED).mean() - level) < 0.02


def test_right_after_a_change_it_is_ahead_of_a_window_that_forgets_the_oldest():
    held, forgetting = [], []
    for seed in range(4):
        scores = errors(seed, doubled_from=300)[:, 0]
        factors = flat(scores[:, None]).factors(0.8, np.arange(300, 370))
        held.append((scores[300:370] <= factors).mean())
        latest = [conformal_quantile(scores[t - 150 : t], 0.8) for t in range(300, 370)]
        forgetting.append((scores[300:370, 0] <= np.ravel(latest)).mean())
    assert np.mean(held) > np.mean(forgetting) + 0.05


def naive(scores, alpha):
    """The paper's Algorithm, expert by expert: the miss rate to ask for after each truth."""
    k, n = len(STEP_SIZES), len(scores)
    spread = (1 - alpha) ** 2 * alpha**3 + alpha**2 * (1 - alpha) ** 3
    eta = math.sqrt(3 / LOOK_BACK) * math.sqrt((math.log(k * LOOK_BACK) + 2) / spread)
    rates, weights = [alpha] * k, [1 / k] * k
    asked = []
    for t in range(n):
        asked.append(sum(w * a for w, a in zip(weights, rates, strict=True)) / sum(weights))
        if t < 9:
            continue
        recent = scores[max(0, t - LOOK_BACK) : t]
        beta = (1 + sum(before >= scores[t] for before in recent)) / (len(recent) + 1)
        for i in range(k):
            loss = alpha * (beta - rates[i]) - min(0, beta - rates[i])
            weights[i] *= math.exp(-eta * loss)
        total = sum(weights)
        weights = [w / total * (1 - 1 / (2 * LOOK_BACK)) + 1 / (2 * LOOK_BACK * k) for w in weights]
        for i in range(k):
            missed = rates[i] >= beta
            rates[i] += STEP_SIZES[i] * (alpha - missed)
    return asked


def test_it_is_the_papers_algorithm_one_step_ahead():
    scores = errors(0, doubled_from=100)[:200, 0, 0]
    ours = flat(scores[:, None, None]).miss_rates([0.8], np.arange(200))[0, :, 0]
    assert np.allclose(ours, naive(scores, 1 - 0.8), rtol=1e-12)


def test_a_truth_counts_from_when_it_is_known():
    scores = errors(1, h=3)[:120]
    asked = np.arange(60, 120)
    before = flat(scores).factors(0.8, asked)
    changed = scores.copy()
    changed[70, 0, 2] = 50.0  # three steps after time 70
    after = flat(changed).factors(0.8, asked)
    differs = (before != after).any(axis=1)
    assert not differs[:13].any()  # times 60 to 72
    assert differs[13:].any()
    assert np.array_equal(before[:, :2], after[:, :2])


def test_errors_of_long_ago_are_forgotten_unless_the_level_needs_that_many():
    scores = errors(4)[:400]
    changed = scores.copy()
    changed[0] = 50.0
    asked = np.arange(300, 400)
    # Experts remember how they did, but less and less.
    old, new = (flat(each).factors(0.8, asked) for each in (scores, changed))
    assert np.abs(old - new).max() < 0.2
    known = flat(changed).known(350, 0, 9)
    assert len(known) == LOOK_BACK
    assert known.max() < 50.0
    assert len(flat(changed).known(350, 0, 199)) == 199
    assert np.isfinite(flat(scores).factors(0.995, asked)).all()


def test_a_missing_truth_changes_nothing():
    scores = errors(2)[:100]
    gappy = np.insert(scores, 80, np.nan, axis=0)
    ours = flat(gappy).factors(0.8, np.arange(90, 101))
    assert np.array_equal(ours, flat(scores).factors(0.8, np.arange(89, 100)))


def test_factors_stay_among_the_scores_whatever_happens():
    scores = np.concatenate([np.full(50, 1.0), np.full(50, 9.0), np.zeros(100)])
    factors = flat(scores[:, None, None]).factors(0.9, np.arange(30, 200))
    assert set(np.unique(factors)) <= {0.0, 1.0, 9.0}
    assert np.isfinite(factors).all()


@pytest.mark.parametrize("seed", range(4))
def test_intervals_of_a_higher_coverage_are_never_narrower(seed):
    scores = errors(seed, h=3)
    scores[200:] *= np.random.default_rng(seed).uniform(0.3, 1.5)  # it becomes quieter, or louder
    adaptation, asked = flat(scores), np.arange(150, N, 10)
    levels = [*np.arange(1, 100) / 100, 0.905, 0.985, 0.991, 0.993, 0.997]
    factors = np.array([adaptation.factors(level, asked) for level in sorted(levels)])
    assert not (np.diff(factors, axis=0) < 0).any()
    assert np.isfinite(factors[:-1]).all()  # 0.997 takes 332 scores
    each = adaptation._factors(np.arange(50, 100) / 100, asked)
    assert (np.diff(each, axis=0) < 0).any()  # negative control
    alone = adaptation._factors(LEVELS[1:], asked)
    nested = np.array([adaptation.factors(level, asked) for level in LEVELS[1:]])
    assert (nested == alone).mean() > 0.9


@pytest.mark.parametrize("level", [0.68, 0.93, 0.97])
def test_between_the_levels_that_adapt_a_level_is_kept_too(level):
    assert abs(coverages(level, N_CALIBRATED, n_seeds=6).mean() - level) < 0.015


def test_with_few_known_scores_a_higher_level_is_not_narrower_than_one_that_adapts():
    scores = np.concatenate([np.full(30, 1.0), np.full(30, 9.0)])[:, None, None]
    static = np.array([1.5])  # of calibration rows before
    for asked in ([0], [5], [15], [25], [60]):  # from none known to enough for 0.98
        factors = [
            flat(scores).factors(level, np.array(asked), static) for level in (0.5, 0.9, 0.98)
        ]
        assert (np.diff(factors, axis=0) >= 0).all()
    assert flat(scores).factors(0.98, np.array([40]), static) == 9.0
    assert flat(scores).factors(0.98, np.array([25]), static) == 1.5
    assert np.isnan(flat(scores).factors(0.98, np.array([25])))
