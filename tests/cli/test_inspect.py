import pytest
from sample_files import QUICK, houses

from batchensemble import load
from batchensemble.cli.inspect import describe_model


@pytest.mark.parametrize(
    ("name", "task", "target"),
    [
        ("price.be", "regression", "price"),
        ("town.be", "classification", "town"),
        ("sales.be", "forecast", "sales"),
    ],
)
def test_a_file_tells_what_the_model_is_and_how_it_was_made(shell, name, task, target):
    facts, model = describe_model(shell.folder / name), load(name)
    assert (facts["task"], facts["target"]["name"]) == (task, target)
    assert facts["n_parameters"] == model.n_parameters_
    assert facts["bytes"] == (shell.folder / name).stat().st_size
    assert facts["settings"]["epochs"] == 2
    assert facts["training"][0]["losses"] == model.history_[0].losses
    assert facts["origin"]["target"] == target
    assert facts["n_calibrated"] == {"price.be": 24, "town.be": 12, "sales.be": 0}[name]
    said = shell("inspect", name).stdout
    assert all(len(line) <= 80 for line in said.splitlines())
    assert "2 epochs" in said


def test_a_model_that_changed_in_python_claims_nothing_of_what_it_was(shell):
    rows = houses()[["rooms", "area", "price"]].dropna()
    rows.to_csv("numbers.csv", index=False)
    shell("fit", "numbers.csv", "-t", "price", "-o", "numbers.be", *QUICK)
    assert "Calibrated" in shell("inspect", "numbers.be").stdout
    model, X, y = load("numbers.be"), rows[["rooms", "area"]], rows["price"]
    model.update(X, y).save("updated.be")
    said = " ".join(shell("inspect", "updated.be").stdout.split())
    assert "Not scored: it has learned from other rows since" in said
    assert "Calibrated" not in said
    model.calibrate(X, y).save("calibrated.be")
    said = " ".join(shell("inspect", "calibrated.be").stdout.split())
    assert f"Calibrated with {len(rows)} rows after its training." in said
    model.fit(X, y).save("anew.be")
    assert describe_model("anew.be")["origin"] is None


def test_classes_are_written_as_predict_writes_them(shell):
    shell("fit", "houses.csv", "-t", "garden", "-o", "garden.be", *QUICK)
    assert "classes false, true" in " ".join(shell("inspect", "garden.be").output.split())
    shell("predict", "garden.be", "houses.csv", "-o", "out.csv")
    assert {"p_false", "p_true"} <= {*shell.read("out.csv")}
