from dataclasses import replace

import numpy as np
import pytest

from batchensemble.conformal import IntervalCalibration, SetCalibration, intervals, sets
from batchensemble.predictive import GaussianPredictive


def of_numbers(n=200):
    random = np.random.default_rng(0)
    dist = GaussianPredictive(random.normal(size=(n, 3)), random.gamma(2, size=(n, 3)))
    return IntervalCalibration.of(random.normal(size=n), dist), lambda made, c: made.reaches(c)[0]


def of_classes(n=200, *, per_class=False):
    random = np.random.default_rng(0)
    p = random.dirichlet([1, 1], n)
    made = SetCalibration(1.0, random.integers(0, 2, n), p, p, per_class)
    return made, lambda made, c: made._limits(c, None)


@pytest.mark.parametrize("kind", [of_numbers, of_classes])
def test_rows_are_ranked_once_for_a_coverage_and_anew_for_another_and_for_other_rows(
    kind, monkeypatch
):
    ranked, (calibration, ask) = [], kind()

    def count(module, name):
        plain = getattr(module, name)

        def counted(scores, coverage):
            ranked.append(coverage)
            return plain(scores, coverage)

        monkeypatch.setattr(module, name, counted)

    count(intervals, "stepwise_quantiles")
    count(sets, "conformal_quantile")
    first = [ask(calibration, coverage) for coverage in (0.8, 0.8, 0.9, 0.9, 0.8)]
    assert ranked == [0.8, 0.9, 0.8]
    assert first[0] == first[1] == first[4] < first[2]
    fewer = kind(100)[0]
    other = replace(calibration, **vars(fewer))
    assert ask(other, 0.8) == ask(fewer, 0.8) != first[0]


@pytest.mark.parametrize("coverage", [0.0, 1.0, np.nan, [0.9], "0.9"])
def test_a_coverage_that_is_none_is_refused_also_after_one_that_is(coverage):
    for calibration, ask in (of_numbers(), of_classes(), of_classes(per_class=True)):
        ask(calibration, 0.9)
        with pytest.raises(ValueError, match="coverage: expected one share strictly between"):
            ask(calibration, coverage)
