"""The summaries are the metrics by name, and say of which distribution."""

import numpy as np
import pytest

from batchensemble import metrics
from batchensemble.predictive import CategoricalPredictive, GaussianPredictive

RNG = np.random.default_rng(0)
GAUSSIAN = GaussianPredictive(3 * RNG.normal(size=(200, 4)), RNG.exponential(size=(200, 4)) + 0.01)
Y = GAUSSIAN.sample(1, 1)[:, 0]
CLASSES = CategoricalPredictive(RNG.dirichlet(np.ones(3), size=(200, 4)))
LABELS = CLASSES.sample(1, 2)[:, 0]


def test_regression_is_judged_by_the_matched_gaussian_but_crps_and_coverage_by_the_mixture():
    row = metrics.summarise_regression(Y, GAUSSIAN)
    matched = GAUSSIAN.moment_matched()
    mean, std = matched.mean, matched.std
    low, high = GAUSSIAN.interval(0.9).T
    assert row == pytest.approx(
        {
            "rmse": metrics.rmse(Y, mean=GAUSSIAN.mean),
            "nll": -matched.log_prob(Y).mean(),
            "rmsce": metrics.pit_coverage_curve(matched.cdf(Y)).rmsce(),
            "miscalibration_area": metrics.miscalibration_area(Y, mean=mean, std=std),
            "crps": GAUSSIAN.crps(Y).mean(),
            "coverage_90": metrics.interval_coverage(Y, lower=low, upper=high),
            "total": GAUSSIAN.total.mean(),
            "aleatoric": GAUSSIAN.aleatoric.mean(),
            "epistemic": GAUSSIAN.epistemic.mean(),
        }
    )
    mixture = metrics.mixture_nll(Y, means=GAUSSIAN.means, variances=GAUSSIAN.variances)
    assert row["nll"] > mixture + 0.05  # negative control: the two are told apart
    assert all(type(value) is float for value in row.values())


def test_classification_is_judged_by_the_mean_probabilities():
    row = metrics.summarise_classification(LABELS, CLASSES)
    assert row == pytest.approx(
        {
            "accuracy": np.mean(CLASSES.mode == LABELS),
            "nll": -CLASSES.log_prob(LABELS).mean(),
            "brier": metrics.brier(LABELS, probabilities=CLASSES.mean),
            "ece": metrics.ece(LABELS, probabilities=CLASSES.mean),
            "total": CLASSES.total.mean(),
            "aleatoric": CLASSES.aleatoric.mean(),
            "epistemic": CLASSES.epistemic.mean(),
        }
    )
    assert all(type(value) is float for value in row.values())


def test_every_public_name_of_the_metrics_exists_and_says_what_it_is():
    for name in metrics.__all__:
        value = getattr(metrics, name)
        if callable(value):
            assert value.__doc__, name
