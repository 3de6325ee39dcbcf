"""Transformed mixtures against scipy's quadrature, samples and the plain mixture."""

import dataclasses

import numpy as np
import pytest
import scoringrules
from scipy import special, stats

from batchensemble.predictive import GaussianPredictive, Transform, TransformedPredictive
from batchensemble.predictive import transformed as module

TRANSFORMS = {
    "above": Transform.straight(0.0),
    "within": Transform.straight(0.0, 5.0),
    "logarithmic": Transform.logarithmic(1.0, 50.0),
    "between": Transform.between(0.0, 100.0, 2.0),
}
EACH = pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
TAILS = pytest.mark.parametrize("tails", [(0.0, 1.0), (0.1, 4.0)])


def drawn(transform, tails=(0.0, 1.0), n=6, k=3, seed=0):
    random = np.random.default_rng(seed)
    top = min(transform.end, 8.0)
    means = random.uniform(-1, top + 1, (n, k))
    return TransformedPredictive(
        means, np.exp(2 * random.uniform(-6, 1, (n, k))), *tails, transform
    )


def gaussians(dist, row):
    """The Gaussians of Z by hand: weights, means, standard deviations."""
    p, width, k = dist.tail_share, dist.tail_width, dist.n_members
    core = np.sqrt(dist.latent_variances[row] / (1 + p * (width**2 - 1)))
    means = np.tile(dist.latent_means[row], 2)
    return np.repeat([(1 - p) / k, p / k], k), means, np.concatenate([core, core * width])


def integral(of, cuts):
    """By scipy's rule for vectors, from cut to cut."""
    cuts = np.unique(cuts)
    middle, half = (cuts[1:] + cuts[:-1]) / 2, np.diff(cuts) / 2

    def stretched(u):
        return half * of(middle + half * u)

    points, weights = special.roots_legendre(12)
    return sum(w * stretched(u).sum() for u, w in zip(points, weights, strict=True))


def steps(means, stds, n=73):
    """Where Gaussians must be cut, to be smooth in between."""
    return (means + stds * np.linspace(-9, 9, n)[:, None]).ravel()


def expected(dist, row, of):
    """E[of(Y)]: every Gaussian on its own, cut where the transform bends."""
    transform, total = dist.transform, 0.0
    for weight, m, s in zip(*gaussians(dist, row), strict=True):
        bends = [b for b in (*transform.starts, transform.end) if abs(b - m) < 9 * s]
        total += weight * integral(
            lambda z: of(transform(z)) * stats.norm.pdf(z, m, s),  # noqa: B023
            [*bends, *steps(m, s)],
        )
    return total


def at(dist, row, name, y):
    """A question to one row about many values."""
    return getattr(dist[np.full(len(y), row)], name)(y)


@TAILS
@EACH
def test_mean_and_variance_are_the_integrals(transform, tails):
    dist = drawn(transform, tails)
    for row in range(len(dist)):
        mean = expected(dist, row, lambda y: y)
        variance = expected(dist, row, lambda y: (y - mean) ** 2)  # noqa: B023
        assert dist.mean[row] == pytest.approx(mean, rel=1e-9, abs=1e-12)
        assert dist.variance[row] == pytest.approx(variance, rel=1e-8, abs=1e-15)


@EACH
def test_moments_by_pieces_and_by_quadrature_agree(transform, monkeypatch):
    random = np.random.default_rng(0)
    means, stds = random.uniform(-2, 12, 400), np.exp(random.uniform(-3.5, 1, 400))
    by_pieces = module._moments(transform, means, stds)
    monkeypatch.setattr(module, "MILD", (0.0, 0.0))
    by_quadrature = module._moments(transform, means, stds)
    np.testing.assert_allclose(by_pieces[0], by_quadrature[0], rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(by_pieces[1], by_quadrature[1], rtol=1e-8, atol=1e-14)


@pytest.mark.parametrize("std", [1e-90, 1e-9, 1e3, 1e9])
@EACH
def test_gaussians_of_any_width_have_finite_moments_inside_the_range(transform, std):
    means = np.array([-1e3, 0.0, 1e-9, 1.0, 3.0, 1e3])
    middle, variance = module._moments(transform, means, np.full(6, std))
    assert np.isfinite(middle).all()
    assert np.isfinite(variance).all()
    assert (variance >= 0).all()
    assert (middle >= transform.low).all()
    assert (middle <= transform.high).all()
    if std < 1e-8:
        np.testing.assert_allclose(middle, transform(means), atol=1e-8)


@TAILS
@EACH
def test_crps_is_the_integral_of_its_definition(transform, tails):
    dist = drawn(transform, tails, n=3)
    top = min(transform.high, 300.0)
    for y in (transform.low, 0.3 * top, top):
        ours = dist.crps(y)
        for row in range(len(dist)):
            _, means, stds = gaussians(dist, row)
            cuts = np.unique([*transform(steps(means, stds)), *transform.values, transform.low, y])

            def squares(t, row=row, y=y):
                return (at(dist, row, "cdf", t) - (t >= y)) ** 2

            assert ours[row] == pytest.approx(integral(squares, cuts), rel=1e-8)


def test_crps_keeps_its_digits_where_slopes_grow_far_or_little_is_inside():
    transform = Transform.logarithmic(1.0, 1e4)
    wide, far, outside = (5.0, 10.0, 0.0), (9.0, 0.01, 0.0), (-9.0, 2.0, 50.0)
    for mean, std, y in (wide, far, outside, (9.0, 0.01, 1e5), (-45.0, 10.0, 0.0)):
        dist = TransformedPredictive([[mean]], [[std**2]], 0.0, 1.0, transform)
        z = np.linspace(0, transform.starts[-1], 99)
        cuts = transform(np.concatenate([z, steps(np.array([mean]), np.array([std]))]))

        def squares(t, dist=dist, y=y):
            if y == 0:
                return np.exp(2 * at(dist, 0, "log_survival", t))
            return (at(dist, 0, "cdf", t) - (t >= y)) ** 2

        found = dist.crps(y)[0]
        assert found == pytest.approx(integral(squares, [*cuts, y]), rel=2e-9)


@TAILS
@EACH
def test_crps_of_many_members_costs_in_proportion_to_them_and_loses_no_digit(
    transform, tails, monkeypatch
):
    n_evaluated = []

    def counted(z):
        n_evaluated.append(z.size)
        return special.ndtr(z)

    def asked(k):
        random = np.random.default_rng(k)
        means = np.array([[0.5], [2.0], [4.0]]) + random.normal(0, 0.3, (3, k))
        variances = np.exp(2 * random.uniform(-1.6, -0.8, (3, k)))
        dist, y = TransformedPredictive(means, variances, *tails, transform), [0.1, 3.0, 4.9]
        n_evaluated.clear()
        return dist.crps(y), sum(n_evaluated) / k, (dist, y)

    monkeypatch.setattr(module, "ndtr", counted)
    few, many = asked(4), asked(100)
    assert many[1] < 3 * few[1]
    monkeypatch.setattr(module, "EVEN", 1e-9)  # each Gaussian is cut at its own places
    dist, y = many[2]
    np.testing.assert_allclose(many[0], dist.crps(y), rtol=1e-10)


def test_crps_of_a_plain_gaussian_above_zero_is_that_of_scoringrules():
    random = np.random.default_rng(0)
    mean, std, y = random.uniform(-1, 2, 50), random.uniform(0.2, 2, 50), random.uniform(0, 3, 50)
    dist = TransformedPredictive(mean[:, None], std[:, None] ** 2, 0.0, 1.0, TRANSFORMS["above"])
    theirs = scoringrules.crps_cnormal(y, mean, std, lower=0.0, upper=np.inf)
    np.testing.assert_allclose(dist.crps(y), theirs, rtol=1e-7)


def test_crps_adds_the_distance_of_what_cannot_be():
    dist = drawn(TRANSFORMS["within"])
    np.testing.assert_allclose(dist.crps(-2.0), dist.crps(0.0) + 2)
    np.testing.assert_allclose(dist.crps(9.0), dist.crps(5.0) + 4)


@TAILS
@EACH
def test_the_density_and_the_ends_together_are_a_probability_of_one(transform, tails):
    dist = drawn(transform, tails, n=3)
    for row in range(3):
        _, means, stds = gaussians(dist, row)
        ends = np.array([transform.low, transform.high])
        masses = np.exp(at(dist, row, "log_prob", ends[np.isfinite(ends)]))
        cuts = [*transform(steps(means, stds)), *transform.values]
        area = integral(lambda y: np.exp(at(dist, row, "log_prob", y)), cuts)  # noqa: B023
        assert area + masses.sum() == pytest.approx(1, abs=1e-9)


@EACH
def test_cdf_and_quantile_undo_each_other_and_the_cdf_steps_at_the_ends(transform):
    dist = drawn(transform)
    for level in (0.05, 0.5, 0.9):
        y = dist.quantile(level)
        inside = (y > transform.low) & (y < transform.high)
        assert inside.any()
        np.testing.assert_allclose(dist.cdf(y)[inside], level, rtol=1e-9)
        assert (dist.cdf(y) >= level - 1e-12).all()
    np.testing.assert_allclose(
        dist.cdf(transform.low), np.exp(dist.log_prob(transform.low)), rtol=1e-9
    )
    assert (dist.cdf(transform.low - 1) == 0).all()
    assert (dist.log_prob(transform.low - 1) == -np.inf).all()
    if transform.high < np.inf:
        assert (dist.cdf(transform.high) == 1).all()
        assert (dist.log_prob(transform.high + 1) == -np.inf).all()
    assert dist.quantile([0.0, 1.0]).min() >= transform.low
    assert dist.interval(0.999).max() <= transform.high


@EACH
def test_samples_have_the_cdf_mean_and_variance(transform):
    dist = drawn(transform, (0.1, 3.0), n=4)
    samples = dist.sample(20_000, 0)
    assert samples.min() >= transform.low
    assert samples.max() <= transform.high
    error = 5 * dist.std / np.sqrt(20_000)
    assert (np.abs(samples.mean(1) - dist.mean) <= error + 1e-12).all()
    for level in (0.2, 0.7):
        y = dist.quantile(level)
        share = (samples <= y[:, None]).mean(1)
        np.testing.assert_allclose(share, dist.cdf(y), atol=0.02)


def test_far_from_the_ends_a_straight_transform_is_the_plain_mixture():
    random = np.random.default_rng(0)
    latent = GaussianPredictive(
        random.normal(100, 1, (20, 4)), random.uniform(0.1, 1, (20, 4)), 0.05, 3.0
    )
    dist, y = TransformedPredictive.of(latent, TRANSFORMS["above"]), random.normal(100, 1, 20)
    for name in ("means", "variances", "mean", "std", "aleatoric", "epistemic"):
        np.testing.assert_allclose(getattr(dist, name), getattr(latent, name), rtol=1e-10)
    for name in ("cdf", "log_prob", "crps"):
        np.testing.assert_array_equal(getattr(dist, name)(y), getattr(latent, name)(y))
    np.testing.assert_array_equal(dist.interval(0.9), latent.interval(0.9))
    np.testing.assert_allclose(
        dist.moment_matched().means, latent.moment_matched().means, rtol=1e-12
    )


def test_total_is_aleatoric_plus_epistemic_and_rows_can_be_chosen():
    dist = drawn(TRANSFORMS["logarithmic"], (0.1, 3.0))
    u = dist.uncertainty()
    np.testing.assert_array_equal(u.total, u.aleatoric + u.epistemic)
    some = dist[[4, 1]]
    assert len(some) == 2
    np.testing.assert_array_equal(some.mean, dist.mean[[4, 1]])
    assert some.transform is dist.transform
    assert repr(some) == "TransformedPredictive(2 samples, 3 members)"
    with pytest.raises(ValueError, match="read-only"):
        dist.latent_means[0, 0] = 1


def test_bounds_that_hold_never_cost_anything_in_crps():
    random = np.random.default_rng(0)
    latent = GaussianPredictive(
        random.normal(1, 1, (300, 3)), random.uniform(0.1, 2, (300, 3)), 0.1, 4.0
    )
    y = np.abs(random.normal(1, 2, 300))
    bounded = TransformedPredictive.of(latent, TRANSFORMS["above"]).crps(y)
    assert (bounded <= latent.crps(y) + 1e-9).all()
    assert (bounded < latent.crps(y) - 1e-3).any()


def test_it_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        drawn(TRANSFORMS["above"]).tail_share = 0.5


@EACH
@TAILS
def test_of_no_rows_every_answer_is_empty(transform, tails):
    dist = drawn(transform, tails)[np.zeros(6, bool)]
    for name in ("mean", "std", "variance", "aleatoric", "epistemic", "total"):
        assert getattr(dist, name).shape == (0,)
    assert dist.means.shape == dist.variances.shape == (0, 3)
