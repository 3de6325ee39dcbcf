"""Classification metrics against scikit-learn and torchmetrics."""

import numpy as np
import pytest
import torch
from sklearn import metrics as sklearn_metrics
from torchmetrics.functional import classification as torchmetrics

from batchensemble import metrics

RNG = np.random.default_rng(0)
P = RNG.dirichlet(np.ones(4), size=500)
LABELS = np.array([RNG.choice(4, p=p) for p in P])


def test_accuracy_matches_sklearn_and_torchmetrics():
    value = metrics.accuracy(LABELS, probabilities=P)
    assert value == sklearn_metrics.accuracy_score(LABELS, P.argmax(axis=1))
    other = torchmetrics.multiclass_accuracy(
        torch.tensor(P), torch.tensor(LABELS), num_classes=4, average="micro"
    )
    assert value == pytest.approx(float(other))


def test_nll_matches_sklearn():
    expected = sklearn_metrics.log_loss(LABELS, P, labels=range(4))
    assert metrics.categorical_nll(LABELS, probabilities=P) == pytest.approx(expected)


def test_an_impossible_label_costs_708_nats_and_no_more():
    value = metrics.categorical_nll([1, 0], probabilities=[[1.0, 0.0], [1.0, 0.0]])
    assert value == pytest.approx(708.396 / 2, abs=1e-3)


def test_brier_matches_sklearn_on_both_scales():
    expected = sklearn_metrics.brier_score_loss(LABELS, P, labels=range(4))
    assert metrics.brier(LABELS, probabilities=P) == pytest.approx(expected)
    p, y = P[:, :2] / P[:, :2].sum(axis=1, keepdims=True), LABELS % 2
    one_column = sklearn_metrics.brier_score_loss(y, p[:, 1])
    assert metrics.brier(y, probabilities=p) == pytest.approx(2 * one_column)


def test_brier_runs_from_zero_to_two():
    certain = np.eye(3)
    assert metrics.brier([0, 1, 2], probabilities=certain) == 0
    assert metrics.brier([1, 2, 0], probabilities=certain) == 2


@pytest.mark.parametrize("score", [metrics.categorical_nll, metrics.brier])
def test_scores_prefer_the_true_probabilities_over_sharper_or_flatter_ones(score):
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.full(3, 2.0), size=20_000)
    y = (rng.random((20_000, 1)) > np.cumsum(p, axis=1)).sum(axis=1)

    def tempered(power):
        q = p**power
        return score(y, probabilities=q / q.sum(axis=1, keepdims=True))

    assert tempered(1.0) < min(tempered(2.0), tempered(0.5)) - 0.005
    flat = np.full_like(p, 1 / 3)
    y = rng.integers(3, size=20_000)  # negative control: labels p knows nothing about
    assert score(y, probabilities=flat) < score(y, probabilities=p)


@pytest.mark.parametrize(
    ("labels", "probabilities", "message"),
    [
        (LABELS, P[:, 0], r"expected shape \(rows, classes\), got \(500,\)"),
        (LABELS, P * 2, "sum to 1 .*; apply a softmax"),
        (LABELS[:5], P, r"labels: expected 500 integer class indices"),
        (LABELS + 1, P, "labels: expected class indices 0 to 3, got 1 to 4"),
        (LABELS * 1.0, P, "labels: .* of float64"),
        (LABELS[:0], P[:0], "at least one row"),
    ],
)
def test_wrong_labels_and_probabilities_are_refused_with_a_cure(labels, probabilities, message):
    for metric in (metrics.accuracy, metrics.categorical_nll, metrics.brier, metrics.ece):
        with pytest.raises(ValueError, match=message):
            metric(labels, probabilities=probabilities)


def test_the_cheapest_threshold_is_that_of_trying_all():
    random = np.random.default_rng(0)
    for _ in range(20):
        p = random.random(60).round(1)  # with ties
        labels = (random.random(60) < p).astype(int)
        miss, false_alarm = random.uniform(0.1, 5, 2)
        found = metrics.cheapest_threshold(
            labels, probability=p, miss=miss, false_alarm=false_alarm
        )

        tried = {}
        for threshold in [*np.unique(p), np.inf]:
            yes, is_one = p >= threshold, labels == 1
            tried[threshold] = (miss * (~yes & is_one) + false_alarm * (yes & ~is_one)).mean()
        assert found.cost == pytest.approx(min(tried.values()))
        assert tried[found.threshold] == pytest.approx(found.cost)


def test_with_true_probabilities_the_cheapest_threshold_is_the_ratio_of_costs():
    random = np.random.default_rng(0)
    p = random.random(200_000)
    labels = (random.random(200_000) < p).astype(int)
    found = metrics.cheapest_threshold(labels, probability=p, miss=4.0, false_alarm=1.0)
    assert found.threshold == pytest.approx(0.2, abs=0.02)
    with pytest.raises(ValueError, match="costs of at least 0"):
        metrics.cheapest_threshold([0, 1], probability=[0.1, 0.2], miss=-1, false_alarm=1)


@pytest.mark.parametrize("cost", ["a", {}, np.nan, -1, np.zeros(2)])
def test_costs_are_numbers(cost):
    with pytest.raises(ValueError, match="expected rows, and costs of at least 0, got 2 rows"):
        metrics.cheapest_threshold([0, 1], probability=[0.2, 0.8], miss=cost, false_alarm=1)


def test_labels_of_all_lengths_are_refused_in_words():
    with pytest.raises(ValueError, match="labels: expected 2 integer class indices"):
        metrics.cheapest_threshold([[0], [0, 1]], probability=[0.2, 0.8], miss=1, false_alarm=1)


def test_a_threshold_wants_probabilities():
    with pytest.raises(ValueError, match=r"in \[0, 1\], got some from 2 to 3; pass predict_proba"):
        metrics.cheapest_threshold([0, 1], probability=[2, 3], miss=1, false_alarm=1)
