"""What targets are recognised as, and where predictions for them end."""

import math

import numpy as np
import pytest

from batchensemble.estimators.target_kinds import FEWEST_ROWS, described, learn_kind, recognise
from batchensemble.predictive import Transform

RANDOM = np.random.default_rng(0)
NORMAL = RANDOM.normal(size=500)
EXAMPLES = {
    "prices": (np.exp(10 + NORMAL), "positive"),
    "prices without cents": (np.round(np.exp(6 + NORMAL)), "positive"),
    "waiting times": (RANDOM.exponential(size=500), "positive"),
    "rain, often none": (np.maximum(0, NORMAL), "positive"),
    "errors": (NORMAL, "real"),
    "heights": (170 + 8 * NORMAL, "real"),
    "kelvin": (280 + 10 * NORMAL, "real"),
    "warm days": (22 + 3 * NORMAL, "real"),
    "visits": (RANDOM.poisson(3.0, 500).astype(float), "count"),
    "many visits": (RANDOM.poisson(np.exp(3 + NORMAL)).astype(float), "count"),
    "years": (RANDOM.integers(1950, 2020, 500).astype(float), "real"),
    "flags": (RANDOM.integers(0, 2, 500).astype(float), "positive"),
    "shares": (RANDOM.beta(0.5, 0.5, 500), "bounded"),
    "points out of 100": (np.minimum(100, RANDOM.integers(0, 130, 500)).astype(float), "bounded"),
    "scaled by its own ends": ((NORMAL - NORMAL.min()) / np.ptp(NORMAL), "positive"),
}


@pytest.mark.parametrize(("y", "kind"), EXAMPLES.values(), ids=EXAMPLES)
def test_a_target_is_recognised_by_its_rows(y, kind):
    assert recognise(y) == kind
    assert recognise(y[: FEWEST_ROWS - 1]) == "real"
    assert recognise(np.append(y, -1.0)) == "real"


@pytest.mark.parametrize(("y", "kind"), EXAMPLES.values(), ids=EXAMPLES)
def test_the_transform_of_a_kind_keeps_every_target_and_goes_no_further_than_it_can_be(y, kind):
    word, transform = learn_kind(y, "auto")
    assert word == kind
    if transform is None:
        return
    np.testing.assert_allclose(transform(transform.inverse(y)), y, rtol=1e-12, atol=1e-12)
    assert not any(transform.rates)
    ends = transform(np.array([-1e30, 1e30]))
    assert ends[0] == 0
    assert ends[1] <= {"bounded": 100}.get(kind, math.inf)


@pytest.mark.parametrize("name", ["prices", "visits", "shares", "heights"])
def test_a_logarithmic_scale_is_used_where_it_was_asked_for(name):
    y, kind = EXAMPLES[name]
    found, transform = learn_kind(y, "auto", logarithmic=True)
    assert found == ("positive" if kind == "real" else kind)
    assert any(transform.rates)
    np.testing.assert_allclose(transform(transform.inverse(y)), y, rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match="'log' is for targets of at least 0, got target='real'"):
        learn_kind(y, "real", logarithmic=True)
    with pytest.raises(ValueError, match=r"target_scaling='log' is for .* 0, got -\d.*; omit it"):
        learn_kind(EXAMPLES["errors"][0], "auto", logarithmic=True)


def test_bounds_are_those_given_or_the_usual():
    y = RANDOM.uniform(0.2, 0.7, 50)
    assert learn_kind(y, "bounded")[1] == Transform.straight(0.0, 1.0)
    assert learn_kind(100 * y, "bounded")[1] == Transform.straight(0.0, 100.0)
    assert learn_kind(y, "bounded", (0.1, 0.8))[1] == Transform.straight(0.1, 0.8)
    assert learn_kind(y, "auto", (0.1, 0.8))[0] == "bounded"


@pytest.mark.parametrize(
    ("y", "word", "bounds", "said"),
    [
        ([-1.0, 2.0], "positive", None, "at least 0 with target='positive', got -1"),
        ([-1.0, 2.0], "count", None, "at least 0 with target='count'"),
        ([0.5, 2.0], "count", None, "whole numbers with target='count', got 0.5"),
        ([0.5, 2.0], "bounded", (0, 1), "targets from 0 to 1, got values from 0.5 to 2"),
        ([0.5, 2.0], "bounded", (3, 1), "low < high"),
        ([0.5, 2.0], "bounded", (0, 1, 2), r"two numbers .* low < high, got \(0, 1, 2\)"),
        ([0.5, 2.0], "bounded", ("a", "b"), r"got \('a', 'b'\)"),
        ([0.5, 2.0], "bounded", (-1e308, 1e308), "size at most 1e100"),
        ([0.5, 200.0], "bounded", None, r"from 0.5 to 200; pass target_bounds="),
        ([0.5, 2.0], "positive", (0, 3), "belong to target='bounded', got target='positive'"),
        ([0.5, 2.0], "postive", None, "did you mean 'positive'"),
    ],
)
def test_targets_that_are_not_of_their_kind_are_refused(y, word, bounds, said):
    with pytest.raises(ValueError, match=said):
        learn_kind(np.array(y), word, bounds)


@pytest.mark.parametrize("word", ["auto", "positive", "count", "bounded"])
@pytest.mark.parametrize("y", [np.zeros(50), np.ones(50), np.r_[np.zeros(49), 1.0]])
def test_targets_that_hardly_vary_are_no_harm(word, y):
    transform = learn_kind(y, word, logarithmic=True)[1]
    assert transform is None or not any(transform.rates)


def test_kinds_are_described_in_words():
    assert described("real", None) == "real: any number"
    assert described("count", Transform.straight(0.0)) == "count: never below 0"
    assert described("bounded", Transform.straight(0.0, 100.0)) == "bounded: from 0 to 100"
    words = "positive: never below 0, on a logarithmic scale"
    assert described("positive", Transform.logarithmic(1.0, 9.0)) == words


def test_a_logarithmic_scale_is_used_though_many_targets_are_at_their_ends():
    y = np.clip(RANDOM.normal(0.5, 0.5, 400), 0, 1)
    assert 0.25 < np.isin(y, (0, 1)).mean() < 0.5
    _, transform = learn_kind(y, "bounded", logarithmic=True)
    assert any(transform.rates)
    np.testing.assert_allclose(transform(transform.inverse(y)), y, rtol=1e-12, atol=1e-12)
    ends = np.repeat([0.0, 1.0], 30)  # nothing is left to take the logarithm of
    assert not any(learn_kind(ends, "bounded", bounds=(0, 1), logarithmic=True)[1].rates)
