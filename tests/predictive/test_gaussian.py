"""Laws of Gaussian mixtures, each against scipy, scoringrules or the slow, obvious computation."""

import numpy as np
import pytest
import scoringrules
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import integrate, optimize, stats
from scipy.special import ndtr

from batchensemble.predictive import GaussianPredictive, gaussian

LAW = settings(deadline=None)  # a busy machine must not fail a law
LEVELS = np.array([1e-12, 1e-4, 0.025, 0.2, 0.5, 0.8, 0.975, 1 - 1e-4])


def random_gaussian(n=40, k=5, seed=0):
    rng = np.random.default_rng(seed)
    return GaussianPredictive(rng.normal(size=(n, k)), rng.exponential(size=(n, k)) + 0.01)


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


@LAW
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


@LAW
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


@LAW
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


@pytest.mark.parametrize("k", [2, 3, 7, 12])
def test_members_that_agree_have_exactly_the_quantiles_of_one(k):
    one = GaussianPredictive([[0.1]], [[0.7]])
    same = GaussianPredictive(np.full((1, k), 0.1), np.full((1, k), 0.7))
    np.testing.assert_array_equal(same.quantile([0.3, 0.9]), one.quantile([0.3, 0.9]))


def test_members_of_many_widths_do_not_trap_the_quantile_solver():
    # F grows like sqrt|x| around the median: plain Newton steps jump from side to side for ever.
    widths = np.append((np.arange(1, 99) / 100) ** 1.841, [1e-3, 1e-3])
    means = np.append(np.zeros(98), [-1.0, 30.0])
    dist = GaussianPredictive([means], [widths**2])
    assert dist.quantile(0.5)[0] == pytest.approx(0, abs=1e-12)


@LAW
@given(gaussians(), hnp.arrays(np.float64, 6, elements=st.floats(0, 1)))
def test_quantiles_never_cross(dist, q):
    quantiles = dist.quantile(np.sort(q))
    assert (quantiles[:, 1:] >= quantiles[:, :-1]).all()
    assert not np.isnan(quantiles).any()


def test_quantiles_of_levels_a_few_bits_apart_do_not_cross_either():
    dist = random_gaussian(n=500)
    q = 0.3 + 1e-16 * np.arange(20)
    assert (np.diff(dist.quantile(q), axis=1) >= 0).all()


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
    monkeypatch.setattr("batchensemble.predictive.base.CHUNK", 13)
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


@LAW
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


def test_moment_matching_keeps_mean_and_variance_and_leaves_one_member():
    dist = random_gaussian()
    matched = dist.moment_matched()
    assert matched.n_members == 1
    np.testing.assert_array_equal(matched.mean, dist.mean)
    np.testing.assert_array_equal(matched.variance, dist.variance)
    assert (matched.epistemic == 0).all()


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


TAILS = [(0.05, 3.0), (0.5, 10.0), (1e-3, 30.0), (0.3, 1.0), (0.9, 1000.0)]


def with_tails(share, width, n=12, k=3, seed=0):
    plain = random_gaussian(n, k, seed)
    return GaussianPredictive(plain.means, plain.variances, share, width)


def explicit(dist):
    """Weights, means and standard deviations of all Gaussians of the mixture, (samples, 2k)."""
    share, width = dist.tail_share, dist.tail_width
    core = np.sqrt(dist.variances / (1 - share + share * width**2))
    weights = np.repeat([1 - share, share], dist.n_members) / dist.n_members
    return weights, np.hstack([dist.means] * 2), np.hstack([core, width * core])


@pytest.mark.parametrize(("share", "width"), TAILS)
def test_with_tails_cdf_and_density_are_those_of_the_weighted_mixture(share, width):
    dist, y = with_tails(share, width), np.linspace(-8, 8, 12)
    weights, means, stds = explicit(dist)
    members = stats.norm(means, stds)
    np.testing.assert_allclose(dist.cdf(y), members.cdf(y[:, None]) @ weights, rtol=1e-12)
    density = members.pdf(y[:, None]) @ weights
    np.testing.assert_allclose(dist.log_prob(y), np.log(density), rtol=1e-12)


@pytest.mark.parametrize(("share", "width"), TAILS)
def test_with_tails_mean_and_variance_are_those_of_the_weighted_mixture(share, width):
    dist = with_tails(share, width)
    weights, means, stds = explicit(dist)
    mean = means @ weights
    variance = (stds**2 + (means - mean[:, None]) ** 2) @ weights
    np.testing.assert_allclose(dist.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(dist.variance, variance, rtol=1e-12)
    np.testing.assert_allclose(dist.variance, dist.aleatoric + dist.epistemic, rtol=1e-12)
    np.testing.assert_allclose(dist.std, np.sqrt(variance), rtol=1e-12)


def test_the_variance_is_that_of_the_density_by_integration():
    dist = with_tails(0.1, 5.0, n=1)
    moment = [
        integrate.quad(lambda t, p=p: t**p * np.exp(dist.log_prob([t])[0]), -80, 80, limit=500)[0]
        for p in (0, 1, 2)
    ]
    assert moment[0] == pytest.approx(1, abs=1e-8)
    assert dist.mean[0] == pytest.approx(moment[1], abs=1e-7)
    assert dist.variance[0] == pytest.approx(moment[2] - moment[1] ** 2, rel=1e-6)


@pytest.mark.parametrize(("share", "width"), TAILS)
def test_with_tails_cdf_undoes_quantile_and_quantiles_match_a_root_finder(share, width):
    dist = with_tails(share, width)
    for q, x in zip(LEVELS, dist.quantile(LEVELS).T, strict=True):
        np.testing.assert_allclose(dist.cdf(x), q, rtol=1e-11)
    weights, means, stds = explicit(dist)
    for row in range(3):
        members = stats.norm(means[row], stds[row])
        for q in (0.01, 0.37, 0.9):
            expected = optimize.brentq(
                lambda t, q=q, m=members: m.cdf(t) @ weights - q, -1e3, 1e3, xtol=1e-13
            )
            assert dist[row].quantile(q)[0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("share", "width"), TAILS)
def test_with_tails_the_crps_is_that_of_scoringrules_for_the_weighted_mixture(share, width):
    dist, y = with_tails(share, width), np.linspace(-8, 8, 12)
    weights, means, stds = explicit(dist)
    expected = scoringrules.crps_mixnorm(y, means, stds, np.tile(weights, (12, 1)))
    np.testing.assert_allclose(dist.crps(y), expected, rtol=1e-10)


def test_with_tails_the_crps_is_the_integral_of_the_squared_cdf_error():
    dist = with_tails(0.2, 4.0, n=4)
    for row, y in enumerate([-3.0, -0.5, 0.7, 6.0]):
        one = dist[row]
        below, _ = integrate.quad(lambda t, d=one: d.cdf(t)[0] ** 2, -60, y, limit=400)
        above, _ = integrate.quad(lambda t, d=one: (1 - d.cdf(t)[0]) ** 2, y, 60, limit=400)
        assert one.crps([y])[0] == pytest.approx(below + above, abs=1e-6)


def test_samples_have_the_tails_of_the_mixture_and_a_gaussian_has_not():
    dist = GaussianPredictive([[-2.0, 1.0, 4.0]], [[0.25, 1.0, 4.0]], 0.1, 6.0)
    draws = dist.sample(100_000, np.random.default_rng(3))[0]
    weights, means, stds = explicit(dist)

    def cdf(t):
        return stats.norm(means[0], stds[0]).cdf(np.asarray(t)[:, None]) @ weights

    assert stats.kstest(draws, cdf).pvalue > 0.01
    plain = GaussianPredictive(dist.means, dist.variances)
    assert stats.kstest(draws, lambda t: mixture_cdf(plain, t)).pvalue < 1e-6  # negative control
    assert draws.std() == pytest.approx(dist.std[0], rel=0.03)


@pytest.mark.parametrize("tails", [(0.0, 1.0), (0.0, 30.0)])
def test_a_share_of_zero_changes_no_bit(tails):
    plain, y = random_gaussian(), np.linspace(-4, 4, 40)
    dist = GaussianPredictive(plain.means, plain.variances, *tails)
    for ask in (
        lambda d: d.cdf(y),
        lambda d: d.log_prob(y),
        lambda d: d.quantile(LEVELS),
        lambda d: d.crps(y),
        lambda d: d.variance,
        lambda d: d.sample(50, 7),
    ):
        np.testing.assert_array_equal(ask(dist), ask(plain))


def test_tails_as_wide_as_the_rest_are_no_tails():
    plain, y = random_gaussian(), np.linspace(-4, 4, 40)
    dist = GaussianPredictive(plain.means, plain.variances, 0.3, 1.0)
    near = {"rtol": 1e-10}
    np.testing.assert_allclose(dist.cdf(y), plain.cdf(y), **near)
    np.testing.assert_allclose(dist.log_prob(y), plain.log_prob(y), **near)
    np.testing.assert_allclose(dist.quantile(LEVELS), plain.quantile(LEVELS), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(dist.crps(y), plain.crps(y), **near)


def test_rows_taken_from_a_predictive_keep_its_tails():
    dist = with_tails(0.1, 5.0)
    some = dist[3:7]
    assert (some.tail_share, some.tail_width) == (0.1, 5.0)
    np.testing.assert_array_equal(some.quantile(0.99), dist.quantile(0.99)[3:7])
    assert dist.moment_matched().tail_share == 0


def test_a_zero_variance_with_tails_is_still_extremely_narrow():
    dist = GaussianPredictive([[2.0], [2.0], [2.0]], np.zeros((3, 1)), 0.1, 5.0)
    y = np.array([1.0, 2.0, 4.0])
    np.testing.assert_allclose(dist.cdf(y), [0.0, 0.5, 1.0], atol=1e-15)
    np.testing.assert_allclose(dist.crps(y), [1.0, 0.0, 2.0], atol=1e-15)
    np.testing.assert_allclose(dist.quantile([0.01, 0.99]), np.full((3, 2), 2.0))
    assert np.isfinite(dist.log_prob(y)).all()


def test_with_tails_rows_are_scored_alike_in_one_chunk_or_many(monkeypatch):
    dist, y = with_tails(0.1, 5.0, n=50), np.linspace(-2, 2, 50)
    crps, quantile = dist.crps(y), dist.quantile(0.3)
    monkeypatch.setattr("batchensemble.predictive.base.CHUNK", 13)
    np.testing.assert_array_equal(dist.crps(y), crps)
    np.testing.assert_array_equal(dist.quantile(0.3), quantile)


@pytest.mark.parametrize(
    ("share", "width"),
    [(-0.1, 2.0), (1.0, 2.0), (np.nan, 2.0), (0.1, 0.5), (0.1, np.inf), (0.1, np.nan), (0.1, 1e4)],
)
def test_tails_that_make_no_sense_are_refused(share, width):
    with pytest.raises(ValueError, match=r"tail_share in \[0, 1\) and a tail_width from 1 to 1000"):
        GaussianPredictive(ONE, ONE, share, width)


def test_several_quantiles_at_once_have_the_bits_of_one_at_a_time_and_of_each_row_alone():
    random = np.random.default_rng(0)
    levels = [0.0, 1e-300, 0.05, 0.5, 0.95, 1.0]
    for tail_share, tail_width in ((0.0, 1.0), (0.1, 4.0)):
        means, variances = random.normal(size=(40, 5)), random.gamma(1, size=(40, 5))
        variances[:3] = 0
        dist = GaussianPredictive(means, variances, tail_share, tail_width)
        together = dist.quantile(levels)
        for j, level in enumerate(levels):
            assert np.array_equal(dist.quantile(level), together[:, j])
        for i in range(0, 40, 7):
            assert np.array_equal(dist[i].quantile(levels), together[i : i + 1])


def test_the_interval_of_members_that_nearly_agree_takes_three_looks_at_their_mixture(monkeypatch):
    random, looks = np.random.default_rng(0), []
    means, variances = 0.2 * random.normal(size=(100, 10)), random.uniform(0.7, 1.3, (100, 10))
    dist = GaussianPredictive(means, variances, 0.1, 3.0)
    monkeypatch.setattr(gaussian, "ndtr", lambda z: [ndtr(z), looks.append(z)][0])
    low, high = dist.interval(0.9).T
    assert len(looks) == 3
    np.testing.assert_allclose(dist.cdf(low), 0.05, rtol=1e-13)
    np.testing.assert_allclose(dist.cdf(high), 0.95, rtol=1e-13)


def test_the_interval_has_the_bits_of_the_quantiles_at_its_ends():
    random = np.random.default_rng(0)
    means, variances = random.normal(size=(40, 5)), random.gamma(1, size=(40, 5))
    variances[:3], means[1:5] = 0, means[1:5, :1]
    for coverage in (1e-9, 0.5, 0.9, 1 - 1e-9):
        tail = (1 - coverage) / 2
        for tails in ((0.0, 1.0), (0.1, 4.0)):
            dist = GaussianPredictive(means, variances, *tails)
            ends = dist.quantile([tail, 1 - tail])
            np.testing.assert_array_equal(dist.interval(coverage), ends)


def test_members_that_agree_keep_the_quantile_that_all_of_them_have():
    dist = GaussianPredictive(np.full((2, 4), [[3.0], [-3.0]]), np.full((2, 4), 4.0))
    alone = GaussianPredictive(dist.means[:, :1], dist.variances[:, :1])
    levels = [0.01, 0.3, 0.5, 0.9]
    np.testing.assert_array_equal(dist.quantile(levels), alone.quantile(levels))
    expected = stats.norm(dist.means[:, :1], 2.0).ppf(levels)
    np.testing.assert_allclose(alone.quantile(levels), expected, rtol=1e-14)


@pytest.mark.parametrize("n_members", [3, 7, 10])
def test_no_more_than_everything_lies_below_a_value(n_members):
    for share in np.linspace(0.001, 0.5, 400):  # for some of them, weights add up to more than 1
        dist = GaussianPredictive(np.zeros((1, n_members)), np.ones((1, n_members)), share, 3.0)
        assert 1 - 1e-12 < dist.cdf(1e6) <= 1
        assert dist.cdf(-1e6) == 0
