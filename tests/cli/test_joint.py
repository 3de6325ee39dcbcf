import json
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from sample_files import QUICK, Shell, houses

from batchensemble import JointRegressor, load
from batchensemble.cli.joint import print_targets
from batchensemble.estimators.spread import Spread
from batchensemble.predictive import Transform


def homes(n, seed):
    """Houses with a second target, whose noise is that of the price."""
    frame = houses(n, seed)
    frame["days"] = (frame.price.fillna(100) / 10 - 5 * frame.rooms).round(1)
    frame.loc[20, "days"] = np.nan
    return frame


def told(folder, *words, code=0):
    """The output of a command, in one line."""
    return " ".join(Shell(folder)(*words, code=code).output.replace("│", " ").split())


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    folder = tmp_path_factory.mktemp("both")
    homes(150, 0).to_csv(folder / "homes.csv", index=False)
    homes(40, 1).to_csv(folder / "test.csv", index=False)
    words = "fit", folder / "homes.csv", "-t", "price", "-t", "days", "-o", folder / "m.be"
    return folder, told(folder, *words, *QUICK)


def test_several_targets_make_one_model_that_is_scored_target_by_target(both):
    folder, said = both
    assert "left out 3 rows without price, days" in said
    assert "regression of price, days (several targets)" in said
    assert said.count("RMSE of the mean") == 2
    assert said.count("Calibrated: ") == 2
    assert "energy score" in said
    model = load(folder / "m.be")
    assert isinstance(model, JointRegressor)
    assert model.target_names_ == ["price", "days"]
    assert not {"price", "days"} & {*model.feature_names_in_}


def test_predictions_have_the_targets_name_before_each_column(both):
    folder, _ = both
    Shell(folder)("predict", folder / "m.be", folder / "test.csv", "-o", folder / "out.csv")
    out, test = pd.read_csv(folder / "out.csv"), homes(40, 1)
    names = ["mean", "std", "lower", "upper", "aleatoric", "epistemic"]
    assert list(out) == [f"{target}_{name}" for target in ("price", "days") for name in names]
    model = load(folder / "m.be")
    X = test[model.feature_names_in_].assign(
        sold=pd.to_datetime(test.sold), garden=test.garden == "true"
    )
    assert np.allclose(out[["price_mean", "days_mean"]], model.predict(X))
    bounds = model.predict_interval(X)[:, 1]
    assert np.allclose(out[["days_lower", "days_upper"]], bounds)


def test_each_target_is_evaluated_and_all_at_once(both):
    folder, _ = both
    words = ("evaluate", folder / "m.be", folder / "test.csv")
    said = told(folder, *words)
    assert said.count("RMSE of the mean") == 2
    assert "of independent" in said
    found = json.loads(Shell(folder)(*words, "--json").stdout)
    assert {*found["targets"]} == {"price", "days"}
    assert found["targets"]["days"]["n_rows"] == 39
    assert 0 < found["energy_score"] < 3
    assert found["energy_score"] != found["energy_score_independent"]


def test_inspect_tells_of_all_targets_and_how_they_go_together(both):
    folder, _ = both
    said = told(folder, "inspect", folder / "m.be")
    assert "price: kind" in said
    assert "days: kind" in said
    assert "price and days" in said
    facts = json.loads(Shell(folder)("inspect", folder / "m.be", "--json").stdout)
    assert len(facts["training"]) == 2
    assert facts["origins"]["days"]["target"] == "days"


def test_what_needs_one_target_is_refused_in_a_line(both):
    folder, _ = both
    shell, model = partial(told, folder), folder / "m.be"
    table, out = folder / "test.csv", folder / "x.be"
    two = ("-t", "price", "-t", "days", "-o", out)
    assert "omit it" in shell("evaluate", model, table, "-t", "price", code=1)
    assert "export each" in shell("export", model, folder / "m.onnx", code=1)
    assert "answers for one" in shell("serve", model, code=1)
    assert "did you mean 'days'" in shell("fit", table, "-t", "price", "-t", "dais", code=1)
    assert "different --target" in shell("fit", table, "-t", "days", "-t", "days", code=1)
    for words in (("--by", "town"), ("--time", "sold"), ("--task", "classification")):
        assert "several --target" in shell("fit", table, *two, *words, code=2)
    assert "expected numbers" in shell("fit", table, "-t", "price", "-t", "town", code=1)
    assert not out.exists()


def test_the_report_has_a_section_for_each_target_and_the_energy_score(both):
    folder, _ = both
    said = told(folder, "evaluate", folder / "m.be", folder / "test.csv", "-o", folder / "r.html")
    assert "Report: " in said
    page = (folder / "r.html").read_text(encoding="utf-8")
    for number, name in enumerate(("price", "days"), 1):
        assert f'<section id="target-{number}">' in page
        assert f"<h2>{name}</h2>" in page
    sections = page.split('<section id="target-')[1:]
    assert len(sections) == 2
    assert all("RMSE of the mean" in section for section in sections)
    assert "All targets at once: energy score" in page


def test_the_kind_of_each_target_is_said_and_whether_a_logarithm_may_help():
    console = Console(record=True, width=200)
    spread, transform = Spread(skewed=True), Transform.straight(0.0)
    found = {"transform_": transform, "spread_": spread}
    price = SimpleNamespace(target_kind_="positive", target=None, target_bounds=None, **found)
    days = SimpleNamespace(target_kind_="count", target="count", transform_=transform)
    origin = {"judged_on": "--holdout is 0", "scores": {}, "warnings": [], "calibrated": ""}
    origin |= {"target": "", "task": "regression"}
    models = {"price": price, "days": days}
    print_targets(console, dict.fromkeys(models, origin), {}, models)
    said = console.export_text()
    assert "Target: positive: never below 0; recognised, --target-kind overrides it" in said
    assert "--target-scaling log" in said
    assert "Target: count: never below 0\n" in said
