import numpy as np
import pytest
from scipy import stats

from batchensemble.metrics import (
    member_disagreement,
    selective_accuracy,
    selective_rmse,
    summarise_classification,
    summarise_paths,
    summarise_regression,
)
from batchensemble.predictive import (
    CategoricalPredictive,
    GaussianPredictive,
    SamplePredictive,
)
from batchensemble.study.judgement import (
    Judgement,
    judge_classification,
    judge_paths,
    judge_regression,
)

RANDOM = np.random.default_rng(0)
N = 60
IS_TAIL = np.arange(N) % 4 == 0
NO_TAIL = np.zeros(N, dtype=bool)


def gaussian(n_members=3):
    means = RANDOM.normal(size=(N, n_members))
    return GaussianPredictive(means, RANDOM.uniform(0.5, 2, size=(N, n_members)))


def categorical(n_members=3):
    p = RANDOM.dirichlet(np.ones(2), size=(N, n_members))
    return CategoricalPredictive(p)


def test_regression_keeps_the_numbers_of_all_rows_and_of_the_tails_alone():
    y, dist = RANDOM.normal(size=N), gaussian()
    found = judge_regression(y, dist, IS_TAIL)
    assert found.metrics.items() >= summarise_regression(y, dist).items()
    for name, value in summarise_regression(y[IS_TAIL], dist[IS_TAIL]).items():
        assert found.metrics[f"tail_{name}"] == value
    expected = selective_rmse(y, mean=dist.mean, uncertainty=dist.std).values
    assert found.curves["selective"] == expected.tolist()
    assert len(found.curves["coverage"]) == 39


def test_classes_keep_the_numbers_of_all_rows_and_of_the_tails_alone():
    y, dist = RANDOM.integers(0, 2, N), categorical()
    found = judge_classification(y, dist, IS_TAIL)
    assert found.metrics.items() >= summarise_classification(y, dist).items()
    for name, value in summarise_classification(y[IS_TAIL], dist[IS_TAIL]).items():
        assert found.metrics[f"tail_{name}"] == value
    expected = selective_accuracy(y, probabilities=dist.mean, uncertainty=dist.total).values
    assert found.curves["selective"] == expected.tolist()


def test_without_tails_nothing_is_said_about_them():
    for found in (
        judge_regression(RANDOM.normal(size=N), gaussian(), NO_TAIL),
        judge_classification(RANDOM.integers(0, 2, N), categorical(), NO_TAIL),
    ):
        assert not [name for name in found.metrics if name.startswith("tail")]


def test_doubt_that_marks_the_tails_has_auroc_1_and_one_member_has_no_doubt():
    means = np.where(IS_TAIL[:, None], [[-3.0, 3.0]], [[-0.1, 0.1]])
    dist = GaussianPredictive(means, np.ones_like(means))
    y = np.zeros(N)
    assert judge_regression(y, dist, IS_TAIL).metrics["tail_auroc"] == 1
    assert judge_regression(y, dist, ~IS_TAIL).metrics["tail_auroc"] == 0
    assert "tail_auroc" not in judge_regression(y, gaussian(1), IS_TAIL).metrics


def test_it_is_epistemic_doubt_that_is_asked_about_the_tails_and_not_all_doubt():
    # In the tails members disagree, elsewhere they agree on a far larger uncertainty.
    tail = IS_TAIL[:, None]
    numbers = GaussianPredictive(
        np.where(tail, [[-1.0, 1.0]], [[0.0, 0.0]]), np.where(tail, [[1.0, 1.0]], [[50.0, 50.0]])
    )
    one = np.where(tail, [[0.99, 0.8]], [[0.5, 0.5]])
    classes = CategoricalPredictive(np.stack([one, 1 - one], axis=2))
    for found, dist in (
        (judge_regression(np.zeros(N), numbers, IS_TAIL), numbers),
        (judge_classification(np.zeros(N, dtype=int), classes, IS_TAIL), classes),
    ):
        assert dist.total[IS_TAIL].max() < dist.total[~IS_TAIL].min()
        assert found.metrics["tail_auroc"] == 1


def inside(y, mean, std):
    """The share of truths in each of the 39 central intervals of N(mean, std^2)."""
    reach = [stats.norm.ppf(0.5 + level / 80) for level in range(1, 40)]
    return [np.mean(np.abs(y - mean) <= one * std) for one in reach]


def test_coverage_is_that_of_intervals_as_wide_as_the_whole_uncertainty():
    y, dist = 3 * RANDOM.normal(size=N), gaussian()
    within = dist.variances.mean(axis=1)
    mean, whole = dist.means.mean(axis=1), np.sqrt(within + dist.means.var(axis=1))
    found = judge_regression(y, dist, NO_TAIL).curves["coverage"]
    np.testing.assert_allclose(found, inside(y, mean, whole))
    assert not np.allclose(found, inside(y, mean, np.sqrt(within)))

    members = RANDOM.normal(size=(7, 3, 1, 4))
    paths = members + RANDOM.normal(size=(7, 3, 50, 4))
    steps = RANDOM.normal(size=(7, 4))
    found = judge_paths(steps, SamplePredictive(paths)).curves["coverage"]
    mean = paths.mean(axis=(1, 2))
    np.testing.assert_allclose(found, inside(steps, mean, paths.std(axis=(1, 2))))
    assert not np.allclose(found, inside(steps, mean, paths.std(axis=2).mean(axis=1)))


def test_windows_are_kept_by_their_mean_uncertainty_over_the_horizon():
    spread = RANDOM.uniform(0.1, 3, size=(40, 1, 1, 4))
    paths = spread * RANDOM.normal(size=(40, 2, 100, 4))
    y = RANDOM.normal(size=(40, 4))
    found = judge_paths(y, SamplePredictive(paths)).curves["selective"]

    def kept(uncertainty):
        errors = ((paths.mean(axis=(1, 2)) - y) ** 2)[np.argsort(uncertainty)]
        return [np.sqrt(errors[: 2 * n].mean()) for n in range(6, 21)]  # 30 %, 35 %, ..., 100 %

    std = paths.std(axis=(1, 2))
    np.testing.assert_allclose(found, kept(std.mean(axis=1)))
    assert not np.allclose(found, kept(std.max(axis=1)))


def test_paths_keep_members_moments_and_quantiles_but_no_path():
    y = RANDOM.normal(size=(7, 4))
    dist = SamplePredictive(RANDOM.normal(size=(7, 3, 50, 4)))
    found = judge_paths(y, dist)
    assert found.metrics.items() >= summarise_paths(y, dist).items()
    by_step = found.arrays["means"].astype(float).transpose(0, 2, 1).reshape(-1, dist.n_members)
    disagreement = member_disagreement(means=by_step)
    assert found.metrics["member_disagreement"] == pytest.approx(disagreement, rel=1e-5)
    np.testing.assert_allclose(found.arrays["means"].mean(axis=1), dist.mean, atol=1e-6)
    assert found.arrays["quantiles"].shape == (7, 4, 39)
    assert max(array.size for array in found.arrays.values()) < dist.paths.size


@pytest.mark.parametrize("kept", ["means", "variances"])
def test_what_is_kept_is_small_and_says_the_same(kept):
    dist = gaussian()
    found = judge_regression(np.zeros(N), dist, NO_TAIL).arrays[kept]
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, getattr(dist, kept), rtol=1e-6)


def test_what_is_beyond_single_precision_is_kept_as_infinite_without_a_warning():
    kept = Judgement({}, {}, {"means": np.array([1e300, 1.0])})
    assert kept.arrays["means"].tolist() == [np.inf, 1.0]
