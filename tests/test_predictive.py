"""Laws of the predictives, each against scipy, scoringrules or the slow, obvious computation."""

import dataclasses

import numpy as np
import pytest
import scoringrules
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import integrate, optimize, stats

from batchensemble.predictive import CategoricalPredictive, GaussianPredictive, SamplePredictive

LEVELS = np.array([1e-12, 1e-4, 0.025, 0.2, 0.5, 0.8, 0.975, 1 - 1e-4])


def random_gaussian(n=40, k=5, seed=0):
    rng = np.random.default_rng(seed)
    return GaussianPredictive(rng.normal(size=(n, k)), rng.exponential(size=(n, k)) + 0.01)


def random_categorical(n=40, k=5, c=3, seed=0):
    return CategoricalPredictive(np.random.default_rng(seed).dirichlet(np.ones(c), size=(n, k)))


def random_paths(n=6, k=4, s=50, h=3, seed=0):
    rng = np.random.default_rng(seed)
    return SamplePredictive(rng.normal(size=(n, k, 1, h)) + rng.normal(size=(n, k, s, h)))


def gaussians(scale=1e6):
    """Predictives of any shape and spread, zero variances included."""
    shapes = hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=5)
    numbers = st.floats(-scale, scale)
    spreads = st.just(0.0) | st.floats(1e-6, scale)
    return shapes.flatmap(
        lambda shape: st.builds(
            GaussianPredictive,
            hnp.arrays(np.float64, shape, elements=numbers),
            hnp.arrays(np.float64, shape, elements=spreads),
        )
    )


def mixture_cdf(dist, t):
    """The cdf of the first row at many points, by scipy."""
    return stats.norm(dist.means[0], np.sqrt(dist.variances[0])).cdf(np.asarray(t)[:, None]).mean(1)


# ---------------------------------------------------------------- Gaussian mixtures


@given(gaussians())
def test_total_is_aleatoric_plus_epistemic_and_no_part_is_negative(dist):
    u = dist.uncertainty()
    np.testing.assert_array_equal(u.total, u.aleatoric + u.epistemic)
    np.testing.assert_array_equal(dist.std, np.sqrt(dist.variance))
    assert (u.aleatoric >= 0).all()
    assert (u.epistemic >= 0).all()


def test_two_members_apart_have_the_spread_of_their_mixture():
    dist = GaussianPredictive([[-3.0, 3.0]], [[0.01, 0.01]])
    assert dist.std[0] == pytest.approx(np.sqrt(9.01), abs=1e-12)
    assert dist.std[0] == pytest.approx(3.0017, abs=1e-4)
    assert dist.mean[0] == 0


def test_the_variance_contains_the_disagreement_of_the_members():
    agreeing = GaussianPredictive([[1.0, 1.0, 1.0]], [[0.1, 0.2, 0.3]])
    apart = GaussianPredictive([[0.0, 1.0, 2.0]], [[0.1, 0.2, 0.3]])
    assert apart.variance[0] == pytest.approx(agreeing.variance[0] + 2 / 3)
    assert apart.mean[0] == pytest.approx(agreeing.mean[0])


@given(st.floats(-1e30, 1e30), st.integers(1, 101))
def test_members_that_agree_give_exactly_their_mean_and_no_epistemic_variance(mean, k):
    dist = GaussianPredictive(np.full((2, k), mean), np.ones((2, k)))
    assert (dist.mean == mean).all()
    assert (dist.epistemic == 0).all()


def test_large_means_close_together_keep_their_small_variance():
    offsets = np.array([[0.0, 1e-6, 2e-6, 5e-6]])
    dist = GaussianPredictive(1e8 + offsets, np.zeros((1, 4)))
    exact = (1e8 + offsets) - 1e8  # what float64 holds of the offsets
    assert dist.epistemic[0] == pytest.approx(exact.var(), rel=1e-12)
    naive = np.mean((1e8 + offsets) ** 2) - np.mean(1e8 + offsets) ** 2
    assert naive != pytest.approx(exact.var(), rel=0.5)  # negative control: E[x^2] - E[x]^2


def test_one_member_is_the_normal_distribution():
    rng = np.random.default_rng(0)
    mean, std, y = rng.normal(size=50), rng.exponential(size=50) + 0.1, rng.normal(size=50) * 3
    dist, norm = GaussianPredictive(mean[:, None], std[:, None] ** 2), stats.norm(mean, std)
    np.testing.assert_allclose(dist.cdf(y), norm.cdf(y), rtol=1e-13)
    np.testing.assert_allclose(dist.log_prob(y), norm.logpdf(y), rtol=1e-13)
    for q in LEVELS:
        np.testing.assert_allclose(dist.quantile(q), norm.ppf(q), rtol=1e-11)
    np.testing.assert_allclose(dist.interval(0.8).T, norm.interval(0.8), rtol=1e-12)
    np.testing.assert_allclose(dist.crps(y), scoringrules.crps_normal(y, mean, std), rtol=1e-11)
    np.testing.assert_array_equal(dist.mean, mean)
    np.testing.assert_allclose(dist.std, std, rtol=1e-15)


def test_cdf_and_log_prob_are_those_of_the_mixture_by_hand():
    dist, y = random_gaussian(), np.linspace(-4, 4, 40)
    members = stats.norm(dist.means, np.sqrt(dist.variances))
    np.testing.assert_allclose(dist.cdf(y), members.cdf(y[:, None]).mean(1), rtol=1e-13)
    np.testing.assert_allclose(
        dist.log_prob(y), np.log(members.pdf(y[:, None]).mean(1)), rtol=1e-12
    )


def test_the_density_integrates_to_the_cdf():
    dist = random_gaussian(n=1)
    for y in (-2.0, 0.3, 1.7):
        area, _ = integrate.quad(lambda t: np.exp(dist.log_prob([t])[0]), -30, y, limit=200)
        assert dist.cdf([y])[0] == pytest.approx(area, abs=1e-8)


@pytest.mark.parametrize("sigmas", [40, 1e3, 1e9])
def test_log_prob_is_finite_and_right_far_out(sigmas):
    dist = GaussianPredictive([[0.0, 0.0]], [[1.0, 1.0]])
    assert dist.log_prob([sigmas])[0] == pytest.approx(stats.norm.logpdf(sigmas), rel=1e-14)


def test_one_number_as_y_is_asked_of_every_row():
    dist = random_gaussian()
    np.testing.assert_array_equal(dist.cdf(0.5), dist.cdf(np.full(40, 0.5)))


@settings(max_examples=150)
@given(gaussians(scale=100.0), st.floats(1e-6, 1 - 1e-6))
def test_the_cdf_jumps_over_q_at_the_quantile(dist, q):
    # Between two neighbouring floats a narrow member can pass much probability.
    x = dist.quantile(q)
    slack = 1e-12
    assert (dist.cdf(x - 4 * np.spacing(np.abs(x))) <= q + slack).all()
    assert (dist.cdf(x + 4 * np.spacing(np.abs(x))) >= q - slack).all()


def test_cdf_undoes_quantile():
    dist = random_gaussian(n=300, k=7)
    for q, x in zip(LEVELS, dist.quantile(LEVELS).T, strict=True):
        np.testing.assert_allclose(dist.cdf(x), q, rtol=1e-12)


def test_quantiles_match_a_root_finder():
    dist = random_gaussian(n=10)
    for row in range(10):
        members = stats.norm(dist.means[row], np.sqrt(dist.variances[row]))
        for q in (0.01, 0.37, 0.9):
            expected = optimize.brentq(
                lambda t, q=q, m=members: m.cdf(t).mean() - q, -50, 50, xtol=1e-13
            )
            assert dist[row].quantile(q)[0] == pytest.approx(expected, abs=1e-9)


@settings(max_examples=60)
@given(gaussians(), hnp.arrays(np.float64, 6, elements=st.floats(0, 1)))
def test_quantiles_never_cross(dist, q):
    quantiles = dist.quantile(np.sort(q))
    assert (quantiles[:, 1:] >= quantiles[:, :-1]).all()
    assert not np.isnan(quantiles).any()


def test_quantiles_of_levels_a_few_bits_apart_do_not_cross_either():
    dist = random_gaussian(n=500)
    q = 0.3 + 1e-16 * np.arange(20)
    assert (np.diff(dist.quantile(q), axis=1) >= 0).all()
    one_by_one = np.stack([dist.quantile(level) for level in q], axis=1)
    assert (np.diff(one_by_one, axis=1) < 0).any()  # negative control: the last bit is noise


def test_quantiles_come_in_the_order_they_were_asked_for():
    dist = random_gaussian(n=3)
    mixed = dist.quantile([0.9, 0.1, 0.5])
    assert mixed.shape == (3, 3)
    np.testing.assert_array_equal(mixed, dist.quantile([0.1, 0.5, 0.9])[:, [2, 0, 1]])
    np.testing.assert_array_equal(mixed[:, 2], dist.quantile(0.5))
    np.testing.assert_array_equal(dist.quantile([0, 1]), [[-np.inf, np.inf]] * 3)


def test_bimodal_quantiles_lie_in_the_modes_and_the_interval_spans_both():
    dist = GaussianPredictive([[-3.0, 3.0]], [[0.01, 0.01]])
    assert dist.quantile(0.25)[0] == pytest.approx(-3, abs=1e-12)
    assert dist.quantile(0.75)[0] == pytest.approx(3, abs=1e-12)
    low, high = dist.interval(0.9)[0]
    assert low == pytest.approx(-high, rel=1e-14)
    assert low == pytest.approx(-3 + 0.1 * stats.norm.ppf(0.1), abs=1e-9)


@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1e8, 1e30])
def test_a_change_of_unit_changes_only_the_unit(scale):
    dist, y = random_gaussian(), np.linspace(-3, 3, 40)
    scaled = GaussianPredictive(dist.means * scale, dist.variances * scale**2)
    near = {"rtol": 1e-9}
    np.testing.assert_allclose(scaled.quantile(LEVELS) / scale, dist.quantile(LEVELS), **near)
    np.testing.assert_allclose(scaled.crps(y * scale) / scale, dist.crps(y), **near)
    np.testing.assert_allclose(scaled.cdf(y * scale), dist.cdf(y), **near)
    np.testing.assert_allclose(scaled.std / scale, dist.std, **near)
    # The mean NLL moves by log c.
    shift = -scaled.log_prob(y * scale).mean() + dist.log_prob(y).mean()
    assert shift == pytest.approx(np.log(scale), rel=1e-12)


def test_crps_matches_scoringrules():
    dist, y = random_gaussian(n=200, k=8), np.linspace(-5, 5, 200)
    expected = scoringrules.crps_mixnorm(y, dist.means, np.sqrt(dist.variances))
    np.testing.assert_allclose(dist.crps(y), expected, rtol=1e-10)


def test_crps_is_the_integral_of_the_squared_cdf_error():
    dist = random_gaussian(n=5)
    for row, y in enumerate([-2.0, -0.5, 0.0, 0.7, 3.0]):
        one = dist[row]
        below, _ = integrate.quad(lambda t, d=one: d.cdf(t)[0] ** 2, -40, y, limit=200)
        above, _ = integrate.quad(lambda t, d=one: (1 - d.cdf(t)[0]) ** 2, y, 40, limit=200)
        assert one.crps([y])[0] == pytest.approx(below + above, abs=1e-6)


def test_rows_are_scored_alike_in_one_chunk_or_many(monkeypatch):
    dist, y = random_gaussian(n=50, k=6), np.linspace(-2, 2, 50)
    crps, quantile = dist.crps(y), dist.quantile(0.3)
    monkeypatch.setattr("batchensemble.predictive._CHUNK", 13)
    np.testing.assert_array_equal(dist.crps(y), crps)
    np.testing.assert_array_equal(dist.quantile(0.3), quantile)


def test_a_zero_variance_is_an_extremely_narrow_gaussian():
    dist = GaussianPredictive([[2.0], [2.0], [2.0]], np.zeros((3, 1)))
    y = np.array([1.0, 2.0, 4.0])
    np.testing.assert_array_equal(dist.cdf(y), [0.0, 0.5, 1.0])
    np.testing.assert_allclose(dist.crps(y), [1.0, 0.0, 2.0], atol=1e-99)
    np.testing.assert_array_equal(dist.quantile([0.01, 0.99]), np.full((3, 2), 2.0))
    assert np.isfinite(dist.log_prob(y)).all()
    assert dist.log_prob(y)[1] > 200
    assert (dist.sample(4, 0) == 2.0).all()
    steps = GaussianPredictive([[0.0, 1.0, 2.0]], np.zeros((1, 3)))
    np.testing.assert_allclose(steps.quantile([0.2, 0.5, 0.8]), [[0.0, 1.0, 2.0]], atol=1e-15)


@given(gaussians(scale=1e3), st.randoms(use_true_random=False))
def test_permuting_the_members_changes_nothing(dist, random):
    order = list(range(dist.n_members))
    random.shuffle(order)
    other = GaussianPredictive(dist.means[:, order], dist.variances[:, order])
    y = np.zeros(len(dist))
    near = {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(other.mean, dist.mean, **near)
    np.testing.assert_allclose(other.variance, dist.variance, **near)
    np.testing.assert_allclose(other.cdf(y), dist.cdf(y), **near)
    np.testing.assert_allclose(other.log_prob(y), dist.log_prob(y), **near)
    np.testing.assert_allclose(other.crps(y), dist.crps(y), **near)


def test_samples_have_the_moments_of_the_mixture_and_not_of_one_member():
    dist = GaussianPredictive([[-2.0, 1.0, 4.0]], [[0.25, 1.0, 4.0]])
    draws = dist.sample(200_000, np.random.default_rng(3))
    assert draws.shape == (1, 200_000)
    # Standard errors: mean 0.0065, std about 0.006; four of them.
    assert draws.mean() == pytest.approx(dist.mean[0], abs=0.026)
    assert draws.std() == pytest.approx(dist.std[0], abs=0.026)
    matched = dist.moment_matched()
    assert stats.kstest(draws[0], lambda t: mixture_cdf(dist, t)).pvalue > 0.01
    assert (
        stats.kstest(draws[0], lambda t: mixture_cdf(matched, t)).pvalue < 1e-6
    )  # negative control


def test_the_same_seed_gives_the_same_draws():
    for dist in (random_gaussian(), random_categorical()):
        np.testing.assert_array_equal(dist.sample(7, 1), dist.sample(7, np.random.default_rng(1)))
        assert (dist.sample(7, 1) != dist.sample(7, 2)).any()


def test_moment_matching_keeps_mean_and_variance_and_leaves_one_member():
    dist = random_gaussian()
    matched = dist.moment_matched()
    assert matched.n_members == 1
    np.testing.assert_array_equal(matched.mean, dist.mean)
    np.testing.assert_array_equal(matched.variance, dist.variance)
    assert (matched.epistemic == 0).all()


def test_a_predictive_is_frozen_and_owns_its_numbers():
    means, variances = np.zeros((2, 1)), np.ones((2, 1))
    dist = GaussianPredictive(means, variances)
    means[:] = 9
    assert (dist.means == 0).all()
    with pytest.raises(ValueError, match="read-only"):
        dist.means[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        dist.means = means


@pytest.mark.parametrize("make", [random_gaussian, random_categorical, random_paths])
def test_rows_are_selected_by_slice_mask_indices_or_integer(make):
    dist = make(n=6)
    mask = np.array([True, False, True, False, False, True])
    for rows in (slice(1, 4), mask, mask.tolist(), [4, 0], np.array([5, 5]), -1, np.int64(2)):
        chosen = dist[rows]
        assert type(chosen) is type(dist)
        expected = dist.mean[[rows] if isinstance(rows, int | np.integer) else rows]
        np.testing.assert_array_equal(chosen.mean, expected)
        assert len(chosen) == len(expected)
        assert chosen.n_members == dist.n_members
    assert len(dist[np.zeros(6, bool)]) == 0
    assert [len(row) for row in dist] == [1] * 6


def test_no_rows_give_no_rows():
    dist = random_gaussian()[:0]
    assert dist.quantile([0.1, 0.9]).shape == (0, 2)
    assert dist.crps([]).shape == dist.cdf([]).shape == dist.std.shape == (0,)


ONE = np.ones((3, 2))


@pytest.mark.parametrize(
    ("means", "variances", "message"),
    [
        (ONE[:, 0], ONE[:, 0], r"means: expected shape \(samples, members\), got \(3,\).*None"),
        (ONE, ONE[:, :1], r"variances: expected shape \(3, 2\), got \(3, 1\)"),
        (ONE * np.nan, ONE, "means: expected finite numbers.*got nan"),
        (ONE, ONE * np.inf, "variances: expected finite numbers.*got inf"),
        (ONE, -ONE, "variances: expected values >= 0, got -1; .*exp"),
        (ONE[:, :0], ONE[:, :0], "at least one member"),
    ],
)
def test_a_wrong_gaussian_says_what_was_expected_what_came_and_what_to_do(
    means, variances, message
):
    with pytest.raises(ValueError, match=message):
        GaussianPredictive(means, variances)


@pytest.mark.parametrize("q", [-0.1, 1.1, np.nan, [0.5, 90], [], [[0.5]]])
def test_a_level_outside_zero_and_one_is_refused(q):
    with pytest.raises(ValueError, match=r"q: expected .* in \[0, 1\]"):
        random_gaussian().quantile(q)
    with pytest.raises(ValueError, match=r"q: expected .* in \[0, 1\]"):
        random_paths().quantile(q)


@pytest.mark.parametrize("coverage", [0, 1, 90, np.nan])
def test_a_coverage_that_is_no_share_is_refused(coverage):
    with pytest.raises(ValueError, match=r"for 90 % pass 0\.9"):
        random_gaussian().interval(coverage)


@pytest.mark.parametrize("method", ["cdf", "log_prob", "crps"])
def test_a_column_of_truths_is_refused_before_it_broadcasts(method):
    with pytest.raises(
        ValueError, match=r"y: expected shape \(40,\), got \(40, 1\).*\[\.\.\., 0\]"
    ):
        getattr(random_gaussian(), method)(np.zeros((40, 1)))


# ---------------------------------------------------------------- classes


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(2, 5), st.floats(0.01, 5))
def test_entropy_is_mean_entropy_plus_mutual_information(seed, k, c, alpha):
    rng = np.random.default_rng(seed)
    dist = CategoricalPredictive(rng.dirichlet(np.full(c, alpha), size=(8, k)))
    u = dist.uncertainty()
    np.testing.assert_allclose(u.total, u.aleatoric + u.epistemic, atol=1e-12)
    assert (u.epistemic >= 0).all()
    assert (u.total <= np.log(c) + 1e-12).all()


def test_entropies_match_scipy():
    dist = random_categorical()
    p = dist.probabilities
    np.testing.assert_allclose(dist.mean, p.mean(axis=1), rtol=1e-13)
    np.testing.assert_allclose(dist.total, stats.entropy(p.mean(axis=1), axis=1), rtol=1e-12)
    np.testing.assert_allclose(dist.aleatoric, stats.entropy(p, axis=2).mean(axis=1), rtol=1e-12)


@given(st.integers(0, 10_000), st.integers(1, 30))
def test_members_that_agree_have_exactly_no_mutual_information(seed, k):
    p = np.random.default_rng(seed).dirichlet(np.full(4, 0.05), size=(5, 1))
    dist = CategoricalPredictive(np.repeat(p, k, axis=1))
    assert (dist.epistemic == 0).all()
    np.testing.assert_array_equal(dist.mean, dist.probabilities[:, 0])


def test_certain_members_that_contradict_each_other_are_all_epistemic():
    dist = CategoricalPredictive([[[1.0, 0.0], [0.0, 1.0]]])
    assert dist.aleatoric[0] == 0
    assert dist.total[0] == dist.epistemic[0] == pytest.approx(np.log(2))
    denormal = CategoricalPredictive([[[1.0, 0.0], [1.0, 5e-324], [1.0, 0.0]]])
    assert np.isfinite(denormal.epistemic).all()


def test_mode_confidence_and_log_prob_are_those_of_the_mean():
    dist, y = random_categorical(), np.arange(40) % 3
    mean = dist.probabilities.mean(axis=1)
    np.testing.assert_array_equal(dist.mode, mean.argmax(axis=1))
    np.testing.assert_allclose(dist.confidence, mean.max(axis=1))
    np.testing.assert_allclose(dist.log_prob(y), np.log(mean[np.arange(40), y]))
    assert dist.n_classes == 3
    impossible = CategoricalPredictive([[[1.0, 0.0]]])
    assert impossible.log_prob([1])[0] == -np.inf


def test_drawn_classes_have_the_mean_probabilities_and_impossible_ones_never_come():
    dist = CategoricalPredictive([[[0.0, 0.2, 0.8, 0.0], [0.0, 0.6, 0.4, 0.0]]])
    draws = dist.sample(100_000, 5)
    shares = np.bincount(draws[0], minlength=4) / 100_000
    assert shares[0] == shares[3] == 0
    tolerance = 4 * np.sqrt(0.24 / 100_000)  # four standard errors
    np.testing.assert_allclose(shares, dist.mean[0], atol=tolerance)
    assert abs(shares[1] - 0.2) > tolerance  # negative control: one member's probabilities


@pytest.mark.parametrize("u", [0.0, np.nextafter(1.0, 0.0)])
def test_the_ends_of_the_unit_interval_draw_no_impossible_class(u):
    class Ends(np.random.Generator):
        def random(self, size):
            return np.full(size, u)

    p = [0.0] + [0.1] * 10 + [0.0]  # its cumulative sum ends below 1
    assert np.cumsum(p)[-1] < 1
    draws = CategoricalPredictive([[p]]).sample(3, Ends(np.random.PCG64(0)))
    assert np.isin(draws, range(1, 11)).all()


def test_float32_probabilities_are_renormalised_and_selection_keeps_their_bits():
    p = np.random.default_rng(0).dirichlet(np.ones(7), size=(20, 3)).astype(np.float32)
    dist = CategoricalPredictive(p)
    np.testing.assert_allclose(dist.probabilities.sum(axis=2), 1, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(dist[:].probabilities, dist.probabilities)


@pytest.mark.parametrize(
    ("probabilities", "message"),
    [
        ([[0.5, 0.5]], r"expected shape \(samples, members, classes\), got \(1, 2\)"),
        ([[[0.5, 0.6]]], "sum to 1 .* sums 1.1 to 1.1; apply a softmax"),
        ([[[1.5, -0.5]]], "values >= 0 .* got values from -0.5"),
        ([[[np.nan, 1.0]]], "expected finite numbers"),
    ],
)
def test_wrong_probabilities_are_refused_with_a_cure(probabilities, message):
    with pytest.raises(ValueError, match=message):
        CategoricalPredictive(probabilities)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 3], r"expected class indices 0 to 2, got 0 to 3"),
        ([-1, 0], r"expected class indices 0 to 2, got -1 to 0"),
        ([0.0, 1.0], "integer class indices.*float64"),
        ([0], r"expected 2 integer class indices, shape \(2,\), got shape \(1,\)"),
        (["a", "b"], "encode class names"),
    ],
)
def test_wrong_labels_are_refused_with_a_cure(y, message):
    with pytest.raises(ValueError, match=message):
        random_categorical(n=2).log_prob(y)


# ---------------------------------------------------------------- sample paths


def test_moments_of_paths_are_those_of_all_draws():
    dist = random_paths()
    draws = dist.paths.reshape(6, -1, 3)
    np.testing.assert_allclose(dist.mean, draws.mean(axis=1), atol=1e-14)
    np.testing.assert_allclose(dist.variance, draws.var(axis=1), rtol=1e-12)
    np.testing.assert_allclose(dist.std, draws.std(axis=1), rtol=1e-12)
    assert dist.horizon == 3


@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(2, 6), st.floats(0, 2))
def test_total_variance_of_paths_is_aleatoric_plus_epistemic(seed, k, s, disagreement):
    rng = np.random.default_rng(seed)
    centres = disagreement * rng.normal(size=(4, k, 1, 2))
    dist = SamplePredictive(centres + rng.normal(size=(4, k, s, 2)))
    u = dist.uncertainty()
    np.testing.assert_allclose(u.total, u.aleatoric + u.epistemic, rtol=1e-12)
    assert (u.epistemic >= 0).all()
    assert (u.aleatoric >= 0).all()


def test_aleatoric_is_the_mean_variance_within_members():
    dist = random_paths(s=200)
    assert (dist.epistemic > 0).all()
    within = dist.paths.var(axis=2, ddof=1).mean(axis=1)
    between = dist.paths.mean(axis=2).var(axis=1)
    np.testing.assert_allclose(dist.aleatoric, within, rtol=1e-12)
    np.testing.assert_allclose(dist.epistemic, between - within / 200, rtol=1e-10)


def test_sampling_noise_is_not_taken_for_disagreement():
    rng = np.random.default_rng(0)
    same = SamplePredictive(rng.normal(size=(2000, 10, 20, 1)))
    uncorrected = same.paths.mean(axis=2).var(axis=1).mean()
    assert uncorrected > 0.04  # negative control: about 0.9 / 20 without the correction
    assert same.epistemic.mean() < 0.01
    apart = SamplePredictive(same.paths + rng.normal(size=(2000, 10, 1, 1)))
    assert apart.epistemic.mean() == pytest.approx(0.9, abs=0.05)  # (1 - 1/10), known noise


def test_one_member_has_no_epistemic_variance_and_one_path_cannot_tell():
    assert (random_paths(k=1).epistemic == 0).all()
    constant = SamplePredictive(np.full((2, 3, 4, 1), 0.1))
    assert (constant.total == 0).all()
    assert (constant.epistemic == 0).all()
    with pytest.raises(ValueError, match="at least 2 paths per member"):
        _ = random_paths(s=1).epistemic


def test_quantiles_of_paths_are_those_of_all_draws_and_never_cross():
    dist = random_paths()
    draws = dist.paths.reshape(6, -1, 3)
    np.testing.assert_allclose(dist.quantile(0.3), np.quantile(draws, 0.3, axis=1))
    several = dist.quantile([0, 0.1, 0.5, 0.9, 1])
    assert several.shape == (6, 3, 5)
    assert (np.diff(several, axis=-1) >= 0).all()
    np.testing.assert_array_equal(several[..., 4], draws.max(axis=1))
    np.testing.assert_allclose(dist.interval(0.8), several[..., [1, 3]])


def test_crps_of_paths_matches_scoringrules_and_the_double_sum():
    dist, y = random_paths(), np.linspace(-3, 3, 18).reshape(6, 3)
    draws = np.moveaxis(dist.paths.reshape(6, -1, 3), 1, -1)
    expected = scoringrules.crps_ensemble(y, draws, estimator="nrg")
    np.testing.assert_allclose(dist.crps(y), expected, rtol=1e-10)
    apart = np.abs(draws[..., None] - draws[..., None, :]).mean(axis=(-1, -2))
    slow = np.abs(draws - y[..., None]).mean(axis=-1) - 0.5 * apart
    np.testing.assert_allclose(dist.crps(y), slow, rtol=1e-10)


@pytest.mark.parametrize("shape", [(6, 4, 50), (6, 0, 50, 3), (6, 4, 0, 3)])
def test_paths_of_a_wrong_shape_are_refused(shape):
    with pytest.raises(ValueError, match="paths: expected"):
        SamplePredictive(np.zeros(shape))


def test_a_predictive_shows_its_shape():
    assert repr(random_gaussian()) == "GaussianPredictive(40 samples, 5 members)"
