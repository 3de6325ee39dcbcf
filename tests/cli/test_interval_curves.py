from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sample_files import QUICK, sales

from batchensemble import load
from batchensemble.cli.comparison import evaluate_file


def judged(model, coverage=0.9):
    return evaluate_file(load(model), Path("test.csv"), target=None, coverage=coverage)


def test_the_curve_of_a_forecast_is_that_of_its_paths(shell):
    sales().query("month >= '2022-01-01'").to_csv("test.csv", index=False)
    found = judged("sales.be")
    curve = dict(zip(found.calibration.at, found.calibration.values, strict=True))
    for level in (0.8, 0.95):
        assert curve[level] == pytest.approx(found.scores[f"coverage_{level * 100:.0f}"], abs=1e-9)


@pytest.mark.parametrize("name", ["price.be", "sales.be"])
def test_the_curve_of_a_calibrated_model_is_that_of_its_intervals(shell, name):
    if name == "sales.be":
        late = sales().query("month >= '2022-01-01'")
        late.to_csv("test.csv", index=False)
        sales().query("month < '2022-01-01'").to_csv("sales.csv", index=False)
        words = ("-t", "sales", "--time", "month", "--series", "store", "--horizon", 4)
        shell("fit", "sales.csv", *words, "--calibrate", *QUICK)
    found = judged(name)
    curve = dict(zip(found.calibration.at, found.calibration.values, strict=True))
    assert max(curve) < 1 - 1 / (found.n_calibrated + 1)  # as far as the calibration reaches
    for level in (0.5, 0.8, 0.9):
        again = judged(name, coverage=level)
        assert curve[level] == pytest.approx(again.scores["coverage"])
    gaps = np.array(list(curve)) - np.array(list(curve.values()))
    assert found.scores["rmsce"] == pytest.approx(np.sqrt(np.mean(gaps**2)))
    if name == "sales.be":
        assert found.scores["coverage_80"] == curve[0.8]


@pytest.mark.parametrize("calibrated", [[], ["--calibrate"]])
def test_the_curve_of_counts_is_that_of_rounded_intervals(shell, calibrated):
    random = np.random.default_rng(0)
    x = random.normal(size=300)
    counts = pd.DataFrame({"x": x, "n": random.poisson(np.exp(0.3 + 0.5 * x))})
    counts[:200].to_csv("counts.csv", index=False)
    counts[200:].to_csv("test.csv", index=False)
    shell("fit", "counts.csv", "-t", "n", "--target-kind", "count", *calibrated, *QUICK)
    curve = judged("counts.be").calibration
    for level in (0.5, 0.8):
        share = curve.values[int(np.argmin(np.abs(np.array(curve.at) - level)))]
        held = judged("counts.be", coverage=level).scores["coverage"]
        assert share == pytest.approx(held, abs=0.011)  # one row may be in the middle of two counts
