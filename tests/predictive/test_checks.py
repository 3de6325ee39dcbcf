"""What is refused at the door, through the predictives where they are the door."""

import numpy as np
import pytest

from batchensemble import metrics
from batchensemble.predictive import (
    CategoricalPredictive,
    GaussianPredictive,
    SamplePredictive,
    check_array,
    check_labels,
    check_probabilities,
)
from batchensemble.predictive.checks import LARGEST, MOST_DRAWN, central_levels, check_draws

GAUSSIAN = GaussianPredictive(np.zeros((2, 1)), np.ones((2, 1)))
CATEGORICAL = CategoricalPredictive(np.full((2, 1, 3), 1 / 3))
PATHS = SamplePredictive(np.zeros((2, 1, 4, 1)))


def test_an_array_is_copied_and_any_shape_is_welcome_where_none_is_asked_for():
    ours = np.zeros((2, 3))
    copy = check_array("x", ours)
    ours[:] = 1
    assert copy.shape == (2, 3)
    assert (copy == 0).all()


@pytest.mark.parametrize(
    ("shape", "cure"),
    [
        ((2,), r"to add an axis of length 1, pass x\[:, None\]"),
        ((2, 3, 1), r"to drop the last axis, pass x\[\.\.\., 0\]"),
        ((2, 4), "check that the rows and axes match"),
        ((2, 3, 4), "check that the rows and axes match"),
    ],
)
def test_a_wrong_shape_is_refused_with_the_cure_for_it(shape, cure):
    with pytest.raises(ValueError, match=rf"x: expected shape \(rows, 3\), got .*; {cure}"):
        check_array("x", np.zeros(shape), "rows", 3)


@pytest.mark.parametrize(
    ("shape", "axes", "cure"),
    [
        ((), (3,), r"to use one number everywhere, pass np\.full\(3, x\)"),
        ((), (3, 2), r"to use one number everywhere, pass np\.full\(\(3, 2\), x\)"),
        ((), ("rows",), "check that the rows and axes match"),
        ((3,), ("windows", "horizon"), r"for one window, pass x\[None\]"),
        ((3,), ("rows", "classes"), "pass one column per class, also if there are only two"),
    ],
)
def test_the_cure_for_an_axis_that_lacks_is_that_of_its_kind(shape, axes, cure):
    with pytest.raises(ValueError, match=cure):
        check_array("x", np.zeros(shape), *axes)


def test_numbers_whose_square_is_no_float_are_counted_and_refused():
    assert check_array("x", [-LARGEST, LARGEST]).max() == LARGEST
    with pytest.raises(ValueError, match=r"at most 1e\+150, got -1e\+151 \(2 such values\)"):
        check_array("x", [0.0, -1e151, np.nan])


def test_no_rows_of_probabilities_or_labels_are_none():
    assert check_probabilities("p", np.empty((0, 3)), "rows", "classes").shape == (0, 3)
    assert check_labels("y", np.empty(0, int), n_rows=0, n_classes=3).shape == (0,)


@pytest.mark.parametrize("method", ["cdf", "log_prob", "crps"])
def test_a_column_of_truths_is_refused_before_it_broadcasts(method):
    with pytest.raises(ValueError, match=r"y: expected shape \(2,\), got \(2, 1\).*\[\.\.\., 0\]"):
        getattr(GAUSSIAN, method)(np.zeros((2, 1)))


@pytest.mark.parametrize("q", [-0.1, 1.1, np.nan, [0.5, 90], [], [[0.5]], "a", [[0.5], 0.9]])
def test_a_level_outside_zero_and_one_is_refused(q):
    with pytest.raises(ValueError, match=r"q: expected .* in \[0, 1\]"):
        GAUSSIAN.quantile(q)
    with pytest.raises(ValueError, match=r"q: expected .* in \[0, 1\]"):
        PATHS.quantile(q)


@pytest.mark.parametrize("coverage", [0, 1, 90, np.nan, "0.9", [0.8, 0.9], None])
def test_a_coverage_that_is_no_share_is_refused(coverage):
    with pytest.raises(ValueError, match=r"for 90 % pass 0\.9"):
        GAUSSIAN.interval(coverage)


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


def test_float32_probabilities_are_renormalised_and_selection_keeps_their_bits():
    p = np.random.default_rng(0).dirichlet(np.ones(7), size=(20, 3)).astype(np.float32)
    dist = CategoricalPredictive(p)
    np.testing.assert_allclose(dist.probabilities.sum(axis=2), 1, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(dist[:].probabilities, dist.probabilities)


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
        CATEGORICAL.log_prob(y)


def test_as_much_lies_below_central_levels_as_above():
    assert central_levels(0.5) == [0.25, 0.75]
    np.testing.assert_allclose(central_levels(0.9), [0.05, 0.95])


@pytest.mark.parametrize("n", [0, -1, 1.5, "3", True, None])
def test_a_number_of_draws_that_is_none_is_refused(n):
    with pytest.raises(ValueError, match="n to be a whole number of draws above 0"):
        check_draws(n, 0, 1)


def test_draws_that_do_not_fit_into_memory_are_refused_before_they_are_made():
    check_draws(MOST_DRAWN // 100, 0, 100)
    with pytest.raises(ValueError, match="10,000,000,000 draws of 100 values do not fit"):
        check_draws(10**10, 0, 100)


@pytest.mark.parametrize("rng", ["x", 1.5, -1, np.nan, object()])
def test_what_is_no_source_of_random_numbers_is_refused(rng):
    with pytest.raises(ValueError, match="rng: expected a numpy Generator or a seed"):
        check_draws(1, rng, 1)


def test_a_generator_goes_on_where_it_is_and_a_seed_starts_anew():
    generator = np.random.default_rng(3)
    assert check_draws(1, generator, 1) is generator
    assert check_draws(1, 3, 1).random() == np.random.default_rng(3).random()


def test_the_widest_interval_has_finite_ends_and_a_wider_one_is_refused():
    assert central_levels(1 - 2**-52)[1] < 1
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        central_levels(1 - 2**-53)


@pytest.mark.parametrize("q", [True, np.True_, [True, False], [0.5, True], np.array([True]), 1j])
def test_true_is_no_probability(q):
    with pytest.raises(ValueError, match="q: expected one probability or a list of them"):
        GAUSSIAN.quantile(q)


TEXTS = ["1", ["1", "2"], [b"1"], np.array([1.0, "2"], dtype=object)]


@pytest.mark.parametrize(
    "y", ["a", {}, 1j, np.array(["2020"], "M8[D]"), [[1], [2, 3]], object(), *TEXTS]
)
def test_what_is_no_number_is_refused_by_name(y):
    with pytest.raises(ValueError, match="y: expected numbers, got"):
        GAUSSIAN.log_prob(y)


def test_a_small_type_of_numpy_does_not_hide_how_many_draws_are_asked_for():
    many = GaussianPredictive(np.zeros((300, 1)), np.ones((300, 1)))
    assert many.sample(np.uint8(2), 0).shape == (300, 2)


@pytest.mark.parametrize(
    "use",
    [
        lambda y: metrics.rmse(y, mean=np.zeros(3)),
        lambda y: metrics.accuracy(y.astype(int), probabilities=np.full((3, 2), 0.5)),
        lambda y: GaussianPredictive(y[:, None], np.ones((3, 1))),
        lambda y: GaussianPredictive(np.zeros((3, 1)), np.ones((3, 1))).crps(y),
    ],
)
def test_values_that_a_mask_hides_are_refused_and_a_mask_that_hides_none_is_welcome(use):
    y = np.ma.array([0.0, 1.0, 1.0])
    use(y)
    with pytest.raises(ValueError, match="masked array that hides 1 of them"):
        use(np.ma.array([0.0, 1.0, -9999.0], mask=[False, False, True]))
