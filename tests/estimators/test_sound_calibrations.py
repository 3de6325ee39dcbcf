from dataclasses import replace

import numpy as np
import pytest

from batchensemble import GaussianPredictive
from batchensemble.conformal import IntervalCalibration, SetCalibration
from batchensemble.estimators.sound_calibrations import check_intervals, check_sets


def intervals():
    random = np.random.default_rng(0)
    dist = GaussianPredictive(random.normal(size=(12, 2)), np.exp(random.normal(size=(12, 2))))
    return IntervalCalibration.of(random.normal(size=12), dist)


def sets():
    probabilities = np.tile([0.7, 0.3], (12, 1))
    return SetCalibration(1.5, np.arange(12) % 2, probabilities, probabilities)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"variances": lambda c: -c.variances}, "variances of at least 0"),
        ({"lower": lambda c: c.upper, "upper": lambda c: c.lower}, "lower end is below"),
        ({"means": lambda c: c.means[:5]}, "means"),
        ({"cutoffs": lambda c: np.arange(3)}, "times of the calibration"),
        ({"two_sided": lambda c: 1}, "whether intervals have two sides"),
    ],
)
def test_intervals_that_no_calibration_made_are_refused(change, words):
    sound = intervals()
    check_intervals(sound, n_steps=1)
    with pytest.raises(ValueError, match=words):
        check_intervals(replace(sound, **{n: made(sound) for n, made in change.items()}), n_steps=1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"temperature": 0.0}, "a temperature above 0"),
        ({"labels": np.full(12, 2)}, "labels"),
        ({"labels": np.zeros(12)}, "labels"),
        ({"probabilities": np.full((12, 2), 0.9)}, "probabilities"),
        ({"per_class": 1}, "whether sets are by class"),
        ({"per_class": True, "labels": np.zeros(12, int)}, "rows of every class"),
    ],
)
def test_sets_that_no_calibration_made_are_refused(change, words):
    check_sets(sets(), n_classes=2)
    with pytest.raises(ValueError, match=words):
        check_sets(replace(sets(), **change), n_classes=2)
