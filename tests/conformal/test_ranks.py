from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from batchensemble.conformal import (
    assured_coverage,
    conformal_quantile,
    conformal_rank,
    fewest_rows,
    left_out_quantiles,
)

SHARES = st.integers(1, 999).map(lambda n: Fraction(n, 1000))


@given(SHARES, st.integers(1, 3000))
@example(Fraction(7, 100), 99)  # 100 * 0.07 is above 7 in floating point
def test_the_rank_is_the_smallest_that_suffices_in_exact_arithmetic(share, n):
    enough = [k for k in range(1, n + 1) if Fraction(k, n + 1) >= share]
    if enough:
        assert conformal_rank(n, float(share)) == enough[0]
    else:
        with pytest.raises(ValueError, match="expected at least"):
            conformal_rank(n, float(share))


@given(SHARES)
def test_the_fewest_rows_are_enough_and_one_less_is_not(share):
    n = fewest_rows(float(share))
    assert Fraction(n, n + 1) >= share
    assert n == 1 or Fraction(n - 1, n) < share


def test_the_error_says_how_many_cases_it_takes():
    words = "at least 99 calibration cases for 0.99, got 50; .* ask for at most 0.98$"
    with pytest.raises(ValueError, match=words):
        conformal_rank(50, 0.99)
    with pytest.raises(ValueError, match=r"calibration cases for 0\.9999999, got 50"):
        conformal_rank(50, 0.9999999)
    with pytest.raises(ValueError, match="strictly between 0 and 1, got 90"):
        conformal_rank(50, 90)


@pytest.mark.parametrize("coverage", [0.1, 0.5, 0.6, 0.8])
@pytest.mark.parametrize("n", [4, 5, 6])
def test_over_all_orders_of_exchangeable_scores_coverage_is_exactly_the_rank_over_n_plus_one(
    n, coverage
):
    values = np.random.default_rng(n).exponential(size=n + 1)
    orders = list(permutations(values))
    held = sum(new <= conformal_quantile(known, coverage) for *known, new in orders)
    exact = Fraction(conformal_rank(n, coverage), n + 1)
    assert Fraction(int(held), len(orders)) == exact
    assert 0 <= exact - Fraction(str(coverage)) < Fraction(1, n + 1)


@given(st.lists(st.integers(0, 3), min_size=6, max_size=6), st.sampled_from([0.3, 0.5, 0.8]))
def test_ties_can_only_raise_the_coverage(values, coverage):
    held = [
        values[i] <= conformal_quantile(np.delete(values, i), coverage) for i in range(len(values))
    ]
    assert np.mean(held) >= coverage


@given(st.lists(st.integers(0, 9), min_size=6, max_size=30), st.sampled_from([0.2, 0.5, 0.8]))
def test_quantiles_without_a_row_are_those_of_the_other_rows(values, coverage):
    expected = [
        conformal_quantile(np.delete(values, i).astype(float), coverage) for i in range(len(values))
    ]
    assert left_out_quantiles(values, coverage).tolist() == expected


def test_quantiles_are_taken_column_by_column():
    scores = np.random.default_rng(0).normal(size=(40, 3, 2))
    expected = np.sort(scores, axis=0)[conformal_rank(40, 0.9) - 1]
    assert np.array_equal(conformal_quantile(scores, 0.9), expected)


def test_after_95_of_100_calibrations_the_coverage_is_not_below_the_assured_one():
    # Uniform scores: the coverage is the quantile itself. 4,000 calibrations: +- 0.01 is 3 sigma.
    scores = np.random.default_rng(0).random((60, 4000))
    reached = conformal_quantile(scores, 0.9)
    assert abs(np.mean(reached >= assured_coverage(60, 0.9)) - 0.95) < 0.011
    assert abs(np.mean(reached >= assured_coverage(60, 0.9, probability=0.5)) - 0.5) < 0.025
    assert np.mean(reached >= 0.9) < 0.7  # the control: the nominal one is not assured


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: conformal_rank(-1, 0.5), "expected n as a whole number"),
        (lambda: conformal_rank(20.5, 0.5), "expected n as a whole number"),
        (lambda: assured_coverage(-1, 0.5), "expected n as a whole number"),
        (lambda: left_out_quantiles([], 0.5), "at least 1 calibration cases"),
        (lambda: conformal_quantile([10**400] * 20, 0.5), "expected numbers"),
    ],
)
def test_what_is_no_number_of_cases_is_refused(ask, words):
    with pytest.raises(ValueError, match=words):
        ask()


def test_one_score_alone_is_a_list_of_one():
    assert conformal_quantile(5.0, 0.5) == 5
