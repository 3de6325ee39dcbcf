"""Predictions as wide as errors are: known factors are found again, by the right networks."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from batchensemble.estimators import spread as module
from batchensemble.estimators.spread import (
    FEWEST_ROWS,
    LEAST_FACTOR,
    NEW_ROWS,
    Spread,
    held_out_spread,
)
from batchensemble.training.engines import Data
from batchensemble.training.losses import FREE, GaussianCRPS
from batchensemble.training.models import Rows


def drawn(n=3000, members=4, *, variance=1.0, distance=1.0, share=0.0, width=1.0, seed=0):
    """Members' means and variances, and errors of a mixture with these factors."""
    random = np.random.default_rng(seed)
    means = random.normal(size=(n, members))
    variances = random.uniform(0.2, 2.0, (n, members))
    member = random.integers(members, size=n), np.arange(n)
    apart = distance * (means - means.mean(1, keepdims=True))
    core = np.sqrt(variance * variances.T[member])
    noise = core * np.where(random.random(n) < share, width, 1.0) * random.normal(size=n)
    return means, variances, apart.T[member] + noise


@pytest.mark.parametrize("factor", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("distance", [0.5, 1.0, 1.6])
def test_factors_of_variance_and_distance_are_found_again(factor, distance):
    found = Spread.learned(*drawn(variance=factor, distance=distance))
    assert found.variance == pytest.approx(factor, rel=0.12)
    # Where noise is wide beside the distance, the distance is hard to see.
    assert found.distance == pytest.approx(distance, abs=0.1 if factor <= 1 else 0.2)


@pytest.mark.parametrize(("share", "width"), [(0.05, 6.0), (0.2, 4.0)])
def test_heavy_tails_are_found_again(share, width):
    found = Spread.learned(*drawn(share=share, width=width))
    assert found.tail_share == pytest.approx(share, rel=0.3)
    assert found.tail_width == pytest.approx(width, rel=0.2)
    assert found.variance == pytest.approx(1 + share * (width**2 - 1), rel=0.2)


def test_gaussian_errors_have_next_to_no_tails_and_heavy_ones_are_told_apart():
    def excess(found):
        """The kurtosis that tails add: 0 for a Gaussian."""
        share, square = found.tail_share, found.tail_width**2
        return 3 * (1 - share + share * square**2) / (1 - share + share * square) ** 2 - 3

    assert excess(Spread.learned(*drawn())) < 0.3
    assert excess(Spread.learned(*drawn(share=0.05, width=6.0))) > 5  # negative control


def test_factors_are_found_again_though_half_of_the_errors_are_cut_off():
    means, variances, errors = drawn(variance=2.0, distance=0.7)
    limits = np.random.default_rng(1).normal(size=len(errors))
    censored, seen = errors > limits, np.minimum(errors, limits)
    assert 0.4 < censored.mean() < 0.6
    found = Spread.learned(means, variances, seen, censored=censored)
    assert found.variance == pytest.approx(2.0, rel=0.15)
    naive = Spread.learned(means, variances, seen)  # negative control
    assert naive.variance < 0.85 * 2.0


def test_what_is_learned_is_more_likely_than_what_networks_say_on_rows_of_the_same_kind():
    kind = {"variance": 2.0, "distance": 0.7, "share": 0.05, "width": 5.0}
    found = Spread.learned(*drawn(**kind))
    means, variances, errors = drawn(**kind, seed=1)
    truth = means.mean(1) + errors
    learned, plain = (
        spread.predictive(means, variances).log_prob(truth).mean() for spread in (found, Spread())
    )
    best = Spread(2.0 * (1 + 0.05 * 24), 0.7, 0.05, 5.0).predictive(means, variances)
    assert learned > plain + 0.2
    assert learned == pytest.approx(best.log_prob(truth).mean(), abs=0.01)


def test_too_few_rows_teach_nothing():
    means, variances, errors = drawn(FEWEST_ROWS, variance=9.0)
    short = slice(FEWEST_ROWS - 1)
    assert Spread.learned(means[short], variances[short], errors[short]) == Spread()
    assert Spread.learned(means, variances, errors) != Spread()


def test_of_very_many_rows_a_part_is_enough(monkeypatch):
    table = drawn(3000, variance=2.0)
    whole = Spread.learned(*table)
    monkeypatch.setattr(module, "MOST_ROWS", 1000)
    part = Spread.learned(*table)
    assert part != whole
    assert part.variance == pytest.approx(whole.variance, rel=0.15)


def test_rows_count_by_their_weights():
    means, variances, errors = drawn(600, variance=4.0)
    weights = np.ones(600)
    weights[::2] = 0
    errors[::2] *= 100
    found = Spread.learned(means, variances, errors, weights)
    kept = weights > 0
    alone = Spread.learned(means[kept], variances[kept], errors[kept])
    assert found.variance == pytest.approx(alone.variance, rel=1e-3)
    assert found.distance == pytest.approx(alone.distance, abs=1e-2)
    assert Spread.learned(means, variances, errors).variance > 20  # negative control: they count


def test_a_spread_keeps_every_rows_mean_and_moves_distance_and_variance():
    means, variances, _ = drawn(50)
    dist = Spread(2.0, 0.5, 0.1, 4.0).predictive(means, variances)
    np.testing.assert_allclose(dist.mean, means.mean(1), atol=1e-12)
    np.testing.assert_allclose(dist.epistemic, 0.25 * means.var(1), rtol=1e-10)
    np.testing.assert_allclose(dist.aleatoric, 2 * variances.mean(1), rtol=1e-12)
    assert (dist.tail_share, dist.tail_width) == (0.1, 4.0)
    plain = Spread().predictive(means, variances)
    assert np.array_equal(plain.means, means)
    assert np.array_equal(plain.variances, variances)
    assert plain.tail_share == 0


@pytest.mark.parametrize("tails", [(0.0, 1.0), (0.1, 4.0)])
def test_no_gaussian_is_narrower_than_the_narrowest(tails):
    dist = Spread(1.0, 1.0, *tails, narrowest=0.7).predictive(
        np.zeros((1, 3)), np.array([[1e-6, 0.3, 9.0]])
    )
    share, width = tails
    core = np.sqrt(dist.variances[0] / (1 + share * (width**2 - 1)))
    assert core[0] == pytest.approx(0.7)
    assert (core >= 0.7 - 1e-12).all()
    assert dist.variances[0, 2] == 9


# ------------------------------------------------------------------------ rows held out by folds


def in_folds(monkeypatch, means, *, n_rows, variance=1.0):
    """The spread of folds whose networks give these means: (rows, folds, members).

    Row i is held out by fold i modulo their number. The truth is 0 for every row.
    """
    n_folds = means.shape[1]
    outputs = torch.tensor(means).flatten(1).unsqueeze(-1)
    outputs = torch.cat([outputs, torch.full_like(outputs, math.log(variance))], -1)

    def predict_rows(members, x, device):
        yield outputs[x[:, 0].astype(int)].numpy()

    monkeypatch.setattr(module, "predict_rows", predict_rows)
    every = torch.arange(n_rows)
    splits = [
        Rows(i, every[every % n_folds != i], every[every % n_folds == i]) for i in range(n_folds)
    ]
    return held_out_spread(
        SimpleNamespace(members=None, device=None),
        GaussianCRPS(FREE),
        Data(every.float()[:, None], torch.zeros(n_rows)),
        splits,
        transform=lambda scaled: scaled,
    )


@pytest.mark.parametrize("n_folds", [2, 4])
def test_a_rows_error_is_that_of_the_fold_that_held_it_out(monkeypatch, n_folds):
    n = 2400
    random = np.random.default_rng(0)
    is_own = np.arange(n)[:, None] % n_folds == np.arange(n_folds)
    # Networks know the rows they trained on by heart, and miss the others by 1, three and more.
    own = np.where(is_own[..., None], 3 * random.normal(size=(n, n_folds, 1)), 0.0)
    assert in_folds(monkeypatch, own, n_rows=n).variance == pytest.approx(9, rel=0.1)
    # Negative control: were a row judged by networks that trained on it, it would look certain.
    others = np.where(is_own[..., None], 0.0, 3 * random.normal(size=(n, n_folds, 1)))
    assert in_folds(monkeypatch, others, n_rows=n).variance < 0.1


def test_several_members_of_a_fold_are_judged_together(monkeypatch):
    n, random = 1500, np.random.default_rng(0)
    wrong = random.normal(size=(n, 1, 1)) + 2 * random.normal(size=(n, 1, 4))
    found = in_folds(monkeypatch, wrong, n_rows=n, variance=0.5)
    miss = wrong[:, 0].mean(1)
    alone = Spread.learned(wrong[:, 0], np.full((n, 4), 0.5), -miss)
    assert found.variance == pytest.approx(alone.variance, rel=1e-3)
    assert found.distance == pytest.approx(alone.distance, rel=1e-2)


@pytest.mark.parametrize("n", [1000, 3000])
def test_networks_that_err_independently_are_narrowed_to_the_error_of_their_mean(monkeypatch, n):
    n_folds, doubt = 5, 0.25
    random = np.random.default_rng(0)
    is_own = np.arange(n)[:, None] % n_folds == np.arange(n_folds)

    def drawn(doubts):
        errors = random.normal(size=(n, n_folds)) * np.sqrt(doubts)
        return (random.normal(size=(n, 1)) + errors)[..., None]

    # They differ less on rows that they trained on.
    seen = drawn(np.where(is_own, doubt, doubt / (1 + 1 / (1 + n / NEW_ROWS))))
    found = in_folds(monkeypatch, seen, n_rows=n, variance=1 + doubt)
    means = drawn(doubt)
    whole = found.predictive(means[..., 0], np.full((n, n_folds), 1 + doubt))
    error = means.mean((1, 2)).var()
    assert whole.variance.mean() == pytest.approx(error, rel=0.15)
    # Negative control: as wide as a fold's own error, all together would be far too wide.
    plain = Spread().predictive(means[..., 0], np.full((n, n_folds), 1 + doubt))
    assert plain.variance.mean() > 1.3 * error


def test_what_networks_differ_counts_up_to_twice_the_less_rows_there_are(monkeypatch):
    n, random = 1000, np.random.default_rng(0)
    means = random.normal(size=(n, 1, 1)) + 0.4 * random.normal(size=(n, 5, 1))
    usual = in_folds(monkeypatch, means, n_rows=n).variance
    monkeypatch.setattr(module, "NEW_ROWS", 1e-9)  # as if there were very many rows
    once = in_folds(monkeypatch, means, n_rows=n).variance
    monkeypatch.setattr(module, "NEW_ROWS", 1e12)  # or next to none
    twice = in_folds(monkeypatch, means, n_rows=n).variance
    assert 1.03 * twice < usual < 0.97 * once


def test_networks_that_disagree_wildly_are_not_narrowed_without_end(monkeypatch):
    n, n_folds = 600, 4
    means = 30 * np.random.default_rng(0).normal(size=(n, n_folds, 1))
    is_own = np.arange(n)[:, None] % n_folds == np.arange(n_folds)
    means[is_own] /= 30
    found = in_folds(monkeypatch, means, n_rows=n)
    alone = Spread.learned(means[is_own], np.ones((n, 1)), -means[is_own][:, 0])
    assert found.variance == pytest.approx(LEAST_FACTOR * alone.variance, rel=0.02)
    assert found.distance == pytest.approx(math.sqrt(LEAST_FACTOR) * alone.distance, rel=0.02)
    assert (found.tail_share, found.tail_width) == pytest.approx(
        (alone.tail_share, alone.tail_width), rel=0.05
    )


def test_more_rows_than_are_needed_keep_their_folds(monkeypatch):
    n, n_folds = 2400, 2
    is_own = np.arange(n)[:, None] % n_folds == np.arange(n_folds)
    random = np.random.default_rng(0)
    means = np.where(is_own[..., None], 3 * random.normal(size=(n, n_folds, 1)), 0.0)
    monkeypatch.setattr(module, "MOST_ROWS", 1000)
    assert in_folds(monkeypatch, means, n_rows=n).variance == pytest.approx(9, rel=0.15)


def test_without_rows_held_out_nothing_is_learned():
    splits = [Rows(0, torch.arange(100))]
    data = Data(torch.zeros(100, 1), torch.zeros(100))
    found = held_out_spread(SimpleNamespace(), GaussianCRPS(), data, splits, transform=np.exp)
    assert found == Spread()
