"""Laws of sample paths, each against numpy, scoringrules or the slow, obvious computation."""

import numpy as np
import pytest
import scoringrules
from hypothesis import given, settings
from hypothesis import strategies as st

from batchensemble.predictive import SamplePredictive

LAW = settings(deadline=None)  # a busy machine must not fail a law


def random_paths(n=6, k=4, s=50, h=3, seed=0):
    rng = np.random.default_rng(seed)
    return SamplePredictive(rng.normal(size=(n, k, 1, h)) + rng.normal(size=(n, k, s, h)))


def test_moments_of_paths_are_those_of_all_draws():
    dist = random_paths()
    draws = dist.paths.reshape(6, -1, 3)
    np.testing.assert_allclose(dist.mean, draws.mean(axis=1), atol=1e-14)
    np.testing.assert_allclose(dist.variance, draws.var(axis=1), rtol=1e-12)
    np.testing.assert_allclose(dist.std, draws.std(axis=1), rtol=1e-12)
    assert dist.horizon == 3


@LAW
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


@LAW
@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 5), st.integers(1, 4))
def test_energy_score_matches_scoringrules_for_every_layout_of_members_and_paths(seed, k, s, h):
    dist = random_paths(k=k, s=s, h=h, seed=seed)
    y = np.random.default_rng(seed + 1).normal(size=(6, h))
    expected = scoringrules.es_ensemble(y, dist.paths.reshape(6, -1, h), estimator="nrg")
    np.testing.assert_allclose(dist.energy_score(y), expected, rtol=1e-10, atol=1e-14)


def test_energy_score_is_not_the_fair_one_and_of_one_draw_the_distance():
    dist, y = random_paths(k=2, s=4), np.zeros((6, 3))
    fair = scoringrules.es_ensemble(y, dist.paths.reshape(6, -1, 3), estimator="fair")
    assert (dist.energy_score(y) > fair + 0.05).all()
    one = random_paths(k=1, s=1)
    np.testing.assert_allclose(one.energy_score(y), np.linalg.norm(one.paths[:, 0, 0], axis=1))
    assert (one.energy_score(one.paths[:, 0, 0]) == 0).all()


def test_energy_score_of_one_step_is_the_crps_and_of_many_steps_forgets_their_names():
    dist, y = random_paths(h=1), np.linspace(-2, 2, 6)[:, None]
    np.testing.assert_allclose(dist.energy_score(y), dist.crps(y)[:, 0], rtol=1e-12)
    dist, y = random_paths(h=3), np.linspace(-2, 2, 18).reshape(6, 3)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    turned = SamplePredictive(dist.paths @ turn)
    np.testing.assert_allclose(turned.energy_score(y @ turn), dist.energy_score(y), rtol=1e-12)
    # Negative control: the variogram looks at the steps by name.
    assert not np.allclose(turned.variogram_score(y @ turn), dist.variogram_score(y), rtol=0.05)


def apart(kind, k, s, n=8, h=5):
    """Members that differ strongly, in rank, at random or only in scale but in the same noise."""
    rng = np.random.default_rng(0)
    centres = {
        "ranked": np.linspace(-9, 9, k),
        "random": rng.normal(0, 5, k),
        "scaled": 0 * np.r_[:k],
    }
    noise = rng.normal(size=(n, k, s, h)).cumsum(axis=-1)
    if kind == "scaled":
        noise = noise[:, :1] * np.linspace(0.1, 3, k)[:, None, None]
    y = rng.normal(size=(n, h)).cumsum(axis=-1)
    return SamplePredictive(centres[kind][:, None, None] + noise), y


@pytest.mark.parametrize("kind", ["ranked", "random", "scaled"])
@pytest.mark.parametrize("layout", [(1, 1500), (2, 750), (10, 150), (100, 15), (500, 3), (1500, 1)])
def test_energy_score_from_some_pairs_is_fair_to_members_that_differ_strongly(kind, layout):
    dist, y = apart(kind, *layout)
    ratio = dist.energy_score(y) / dist.energy_score(y, pairs=None)
    assert (ratio != 1).all()  # it is the estimate that is looked at
    assert np.abs(ratio - 1).max() < 0.015
    if layout[0] <= 100:  # every two members are looked at
        assert np.abs(ratio - 1).max() < 0.01
        assert ratio.mean() == pytest.approx(1, abs=0.003)


@pytest.mark.parametrize(("k", "s", "pairs"), [(10, 12, 700), (60, 2, 900), (120, 1, 900)])
def test_energy_score_from_some_pairs_is_too_high_as_often_as_too_low(k, s, pairs):
    rng = np.random.default_rng(0)
    centres = 5 * rng.normal(size=(1000, k, 1, 3))  # other members in every row
    dist, y = SamplePredictive(centres + rng.normal(size=(1000, k, s, 3))), np.zeros((1000, 3))
    off = dist.energy_score(y, pairs=pairs) / dist.energy_score(y, pairs=None) - 1
    assert off.std() > 1e-4
    assert abs(off.mean()) < 3 * off.std() / np.sqrt(1000)


@pytest.mark.parametrize("neighbour", ["akr", "akr_circperm"])
def test_energy_score_from_neighbours_alone_is_unfair_where_draws_lie_member_by_member(neighbour):
    dist, y = apart("ranked", 10, 150)  # negative control of the law above
    one_shift = scoringrules.es_ensemble(y, dist.paths.reshape(8, -1, 5), estimator=neighbour)
    assert (np.abs(one_shift / dist.energy_score(y, pairs=None) - 1) > 0.2).all()


def test_energy_score_takes_all_pairs_up_to_512_draws_and_comes_closer_with_more_pairs():
    dist, y = apart("random", 8, 64, n=3)
    np.testing.assert_array_equal(dist.energy_score(y), dist.energy_score(y, pairs=None))
    dist, y = apart("random", 8, 100, n=40)
    exact = dist.energy_score(y, pairs=None)
    off = [np.abs(dist.energy_score(y, pairs=n) / exact - 1).mean() for n in (1, 20_000, 200_000)]
    assert off[0] < 0.02
    assert off[0] > 2 * off[1] > 4 * off[2]


def test_energy_score_of_a_row_does_not_depend_on_the_rows_beside_it():
    dist, y = apart("random", 10, 150)
    whole = dist.energy_score(y)
    np.testing.assert_array_equal(whole, dist.energy_score(y))
    np.testing.assert_allclose(dist[3:5].energy_score(y[3:5]), whole[3:5], rtol=1e-12)


@LAW
@given(st.integers(0, 10_000), st.integers(1, 5), st.sampled_from([0.5, 1.0, 1.7, 2.0]))
def test_variogram_score_matches_scoringrules_so_each_two_steps_count_twice(seed, h, p):
    dist = random_paths(h=h, seed=seed)
    y = np.random.default_rng(seed + 1).normal(size=(6, h))
    expected = scoringrules.vs_ensemble(y, dist.paths.reshape(6, -1, h), p=p, estimator="nrg")
    np.testing.assert_allclose(dist.variogram_score(y, p), expected, rtol=1e-9, atol=1e-12)


def test_variogram_score_is_blind_to_a_shift_of_the_path_and_energy_score_is_not():
    dist, y = random_paths(), np.linspace(-3, 3, 18).reshape(6, 3)
    shifted = SamplePredictive(dist.paths + 9)
    np.testing.assert_allclose(shifted.variogram_score(y), dist.variogram_score(y), rtol=1e-9)
    assert (shifted.energy_score(y) > dist.energy_score(y) + 1).all()
    assert (random_paths(h=1).variogram_score(y[:, :1]) == 0).all()


def shuffled_steps(dist, rng):
    return SamplePredictive(rng.permuted(dist.paths, axis=2))


@pytest.mark.parametrize("walks", [True, False])
def test_joint_scores_know_the_dependence_between_steps_that_crps_cannot_see(walks):
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(3000, 1, 81, 5)).cumsum(axis=-1)
    joint = SamplePredictive(noise[:, :, 1:])
    broken = shuffled_steps(joint, rng)
    y = noise[:, 0, 0] if walks else shuffled_steps(SamplePredictive(noise), rng).paths[:, 0, 0]
    np.testing.assert_array_equal(joint.crps(y), broken.crps(y))
    for score in ("energy_score", "variogram_score"):
        worse = getattr(broken, score)(y) - getattr(joint, score)(y)
        # Negative control: where the truth's steps are independent, the broken paths win.
        z = worse.mean() / worse.std() * np.sqrt(len(worse)) * (1 if walks else -1)
        assert z > 5, score


def test_aggregate_is_the_sum_of_every_path_with_the_variance_the_dependence_gives():
    dist, weights = random_paths(s=200), np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(dist.aggregate().paths[..., 0], dist.paths.sum(axis=-1))
    one = dist.aggregate(weights)
    assert one.paths.shape == (6, 4, 200, 1)
    np.testing.assert_allclose(one.mean[:, 0], dist.mean @ weights, rtol=1e-10)
    spread = dist.std * weights
    variance = (spread[:, None] @ dist.step_correlation() @ spread[..., None])[:, 0, 0]
    np.testing.assert_allclose(one.variance[:, 0], variance, rtol=1e-10)


def test_the_interval_of_a_sum_is_not_the_sum_of_the_intervals_unless_steps_move_as_one():
    rng = np.random.default_rng(0)
    walk = SamplePredictive(rng.normal(size=(5, 1, 4000, 4)))
    one = SamplePredictive(np.repeat(walk.paths[..., :1], 4, axis=-1))

    def width(interval):
        return (interval[..., 1] - interval[..., 0]).sum(axis=1)

    np.testing.assert_allclose(width(one.aggregate().interval(0.8)), width(one.interval(0.8)))
    ratio = width(walk.aggregate().interval(0.8)) / width(walk.interval(0.8))
    np.testing.assert_allclose(ratio, 0.5, atol=0.04)  # independent: sqrt(4) / 4


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e100])
def test_step_correlation_is_that_of_all_draws_in_every_unit(unit):
    dist = random_paths()
    expected = [np.corrcoef(draws.T) for draws in dist.paths.reshape(6, -1, 3)]
    scaled = SamplePredictive(dist.paths * unit).step_correlation()
    np.testing.assert_allclose(scaled, expected, atol=1e-12)


def test_step_correlation_of_steps_that_move_as_one_is_1_and_of_a_still_step_0():
    paths = np.random.default_rng(0).normal(size=(2, 3, 20, 4))
    paths[..., 1], paths[..., 2], paths[..., 3] = 7 * paths[..., 0], -paths[..., 0], 0.1
    correlation = SamplePredictive(paths).step_correlation()
    expected = [[1, 1, -1, 0], [1, 1, -1, 0], [-1, -1, 1, 0], [0, 0, 0, 1]]
    np.testing.assert_allclose(correlation, [expected, expected], atol=1e-12)
    assert np.abs(correlation).max() == 1
    assert (correlation[:, 3] == [0, 0, 0, 1]).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: d.energy_score(np.zeros(6)), r"y: expected shape \(6, 3\), got \(6,\)"),
        (lambda d: d.energy_score(np.zeros((6, 3)), pairs=0), "pairs: expected .* pass None"),
        (lambda d: d.variogram_score(np.zeros((6, 2))), r"y: expected shape \(6, 3\)"),
        (lambda d: d.variogram_score(np.zeros((6, 3)), p=0), "p: expected a number > 0, got 0"),
        (lambda d: d.variogram_score(np.zeros((6, 3)), p=np.nan), "p: expected a number > 0"),
        (lambda d: d.aggregate([1, 2]), r"weights: expected shape \(3,\), got \(2,\)"),
    ],
)
def test_joint_questions_of_a_wrong_shape_are_refused_with_a_cure(call, message):
    with pytest.raises(ValueError, match=message):
        call(random_paths())


@pytest.mark.parametrize("shape", [(6, 4, 50), (6, 0, 50, 3), (6, 4, 0, 3)])
def test_paths_of_a_wrong_shape_are_refused(shape):
    with pytest.raises(ValueError, match="paths: expected"):
        SamplePredictive(np.zeros(shape))


def test_paths_without_noise_have_no_aleatoric_variance_not_even_a_negative_one():
    members = 1e8 + np.random.default_rng(0).normal(size=(50, 7, 1, 1))
    dist = SamplePredictive(np.broadcast_to(members, (50, 7, 3, 1)))
    assert (dist.variance < dist.epistemic).any()  # by rounding
    assert (dist.aleatoric >= 0).all()
