from dataclasses import replace

import pytest

from batchensemble import load
from batchensemble.cli.comparison import evaluate_file
from batchensemble.cli.model_facts import about
from batchensemble.conformal import assured_coverage


@pytest.mark.parametrize("name", ["price.be", "town.be"])
def test_the_coverage_that_a_calibration_assures_is_told(shell, name):
    path, model = shell.folder / name, load(name)
    found = evaluate_file(model, shell.folder / "test.csv", target=None, coverage=0.8)
    n = model.calibration_.fewest
    assured = f"at least {100 * assured_coverage(n, 0.8):.1f}".removesuffix(".0")
    said = about(model, path, found)["Calibrated with"]
    assert said.startswith(f"{len(model.calibration_)} rows")
    assert assured in said
    high = replace(found, coverage=0.99)  # which so few rows cannot assure
    assert "at least" not in about(model, path, high)["Calibrated with"]
    none = replace(found, n_calibrated=0)
    assert about(model, path, none)["Calibrated with"] == "no rows: not calibrated"
