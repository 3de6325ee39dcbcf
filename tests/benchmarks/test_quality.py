"""The quality benchmark: its splits, its scores, its file of rows, and every method."""

import gzip
import json
from multiprocessing import dummy

import loader
import measure
import numpy as np
import pandas as pd
import pytest
import summary
import torch
from methods import METHODS
from scipy import stats
from sklearn.metrics import log_loss, mean_pinball_loss
from tasks import LEVELS, Normal, Task
from torchmetrics.functional.classification import multiclass_calibration_error

SLOW = {"tabm", "deep_ensemble", "single", "ours_best"}
TODAY = [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in METHODS]


@pytest.fixture
def mixed():
    """A table of numbers and words with gaps, and a target that both explain."""
    rng = np.random.default_rng(0)
    n = 160
    X = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "same": np.ones(n),
            "town": rng.choice(["Aa", "Bee", "Cele"], n).astype(object),
        }
    )
    y = 3 * X["size"] + (X["town"] == "Bee") * 4 + rng.normal(size=n) / 4
    X.loc[::9, "size"] = np.nan
    X.loc[::11, "town"] = np.nan
    return X, y.to_numpy()


@pytest.fixture
def tables(tmp_path, monkeypatch):
    folder = tmp_path / "quality"
    folder.mkdir()
    rng = np.random.default_rng(1)
    for name in ("airfoil", "pima", "uci_yacht"):
        frame = pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "target"])
        if name == "pima":
            frame["target"] = np.where(frame["a"] > 0, "yes", "no")
        frame.to_csv(folder / f"{name}.csv.gz", index=False)
    with gzip.open(folder / "uci_splits.json.gz", "wt") as file:
        json.dump({"yacht": [[3, 1], [5, 2]]}, file)
    monkeypatch.setenv("BATCHENSEMBLE_DATA", str(tmp_path))
    loader.load.cache_clear()
    loader._uci_splits.cache_clear()
    yield
    loader.load.cache_clear()
    loader._uci_splits.cache_clear()


@pytest.mark.usefixtures("tables")
def test_the_test_rows_are_the_documented_ones_and_training_takes_all_others():
    train, test = loader.split("airfoil", 2, 600)
    np.testing.assert_array_equal(test, np.random.default_rng(1002).permutation(600)[:60])
    np.testing.assert_array_equal(np.sort(np.r_[train, test]), np.arange(600))
    train, test = loader.split("uci_yacht", 1, 80)
    assert list(test) == [5, 2]
    assert len(train) == 78
    assert loader.n_splits("uci_yacht") == 2
    assert loader.load("pima").n_classes == 2


def test_the_crps_is_twice_the_mean_pinball_loss_and_the_rest_matches_other_packages():
    rng = np.random.default_rng(0)
    y, mean, std = rng.normal(size=300), rng.normal(size=300), rng.uniform(0.5, 2, 300)
    normal = stats.norm(mean, std)
    scores = measure.number_scores(y, Normal(mean, std))
    losses = [mean_pinball_loss(y, normal.ppf(level), alpha=level) for level in LEVELS]
    assert scores["crps"] == pytest.approx(2 * np.mean(losses))
    assert scores["nll"] == pytest.approx(-normal.logpdf(y).mean())
    inside = (normal.ppf(0.05) <= y) & (y <= normal.ppf(0.95))
    assert scores["coverage"] == pytest.approx(inside.mean())
    assert scores["width"] == pytest.approx(2 * 1.6448536 * std.mean())


def test_the_scores_of_classes_match_other_packages():
    rng = np.random.default_rng(0)
    probabilities, y = rng.dirichlet(np.ones(4), 500), rng.integers(0, 4, 500)
    scores = measure.class_scores(y, probabilities)
    assert scores["log_loss"] == pytest.approx(log_loss(y, probabilities))
    assert scores["accuracy"] == np.mean(probabilities.argmax(1) == y)
    error = multiclass_calibration_error(
        torch.tensor(probabilities), torch.tensor(y), num_classes=4, n_bins=15
    )
    assert scores["ece"] == pytest.approx(float(error), rel=1e-5)


@pytest.mark.usefixtures("tables")
def test_a_run_that_was_killed_goes_on_where_it_stopped(tmp_path, monkeypatch, capsys):
    out = tmp_path / "rows.csv"
    monkeypatch.setattr(measure, "get_context", lambda kind: dummy)  # threads start faster
    options = ["", "--out", str(out), "--tables", "airfoil", "pima", "--methods", "linear"]
    monkeypatch.setattr("sys.argv", [*options, "--splits", "0"])
    measure.main()
    first = out.read_text()
    with out.open("a") as file:
        file.write("airfoil,1,lin")
    monkeypatch.setattr("sys.argv", [*options, "--splits", "0-1"])
    measure.main()
    assert "2 rows in" in capsys.readouterr().out
    assert out.read_text().startswith(first)
    rows = pd.read_csv(out)
    assert sorted(zip(rows["table"], rows["split"], strict=True)) == [
        ("airfoil", 0),
        ("airfoil", 1),
        ("pima", 0),
        ("pima", 1),
    ]


@pytest.mark.usefixtures("tables")
def test_a_fit_that_fails_is_reported_and_leaves_no_row(tmp_path, monkeypatch, capsys):
    out = tmp_path / "rows.csv"
    options = ["", "--out", str(out), "--tables", "pol", "airfoil", "--methods", "linear"]
    monkeypatch.setattr("sys.argv", [*options, "--splits", "0"])
    with pytest.raises(SystemExit, match="1 of 2 fits failed"):
        measure.main()
    assert "pol 0 linear failed: FileNotFoundError" in capsys.readouterr().out
    assert list(pd.read_csv(out)["table"]) == ["airfoil"]


def test_an_unknown_method_is_answered_with_the_known_ones():
    with pytest.raises(SystemExit, match=r"unknown method 'tabn'; choose from catboost, .*tabm"):
        list(measure.wanted(["airfoil"], ["tabn"], "0", "cpu"))


@pytest.mark.parametrize("name", TODAY)
@pytest.mark.parametrize("classes", [0, 2])
@pytest.mark.filterwarnings("ignore:.*feature has just two bin edges")
def test_every_method_learns_from_numbers_words_and_gaps(mixed, name, classes):
    method = METHODS[name]
    if classes and not method.classes:
        pytest.skip(f"{name} does not predict classes here")
    pytest.importorskip(method.module)
    X, y = mixed
    y = (y > np.median(y)).astype(np.int64) if classes else y
    X.loc[159, "town"] = "not in the training rows"
    answer = method.fit(Task(X[:120], y[:120], classes, 0))(X[120:])
    if classes:
        assert measure.class_scores(y[120:], answer)["log_loss"] < 0.6
    else:
        scores = measure.number_scores(y[120:], answer)
        assert scores["rmse"] < 0.8 * y.std()
        assert scores["coverage"] > 0.7


def rows_of(scores):
    """Rows of a file: a score for each method and table."""
    return pd.DataFrame(
        [
            {"table": table, "split": 0, "method": method, "crps": value, "device": "cpu"}
            for method, values in scores.items()
            for table, value in zip("abcd", values, strict=True)
        ]
    )


def test_ratios_are_geometric_means_with_an_interval_around_them():
    rows = rows_of({"ours_default": [1, 2, 3, 8], "tabm": [2, 2, 6, 4]})
    means = summary.compared(rows, "crps", "ours_default")
    middle, low, high = summary.ratio(means, "ours_default", "tabm")
    assert middle == pytest.approx(stats.gmean([0.5, 1, 0.5, 2]))
    assert low < middle < high
    same = summary.ratio(means, "tabm", "tabm")
    assert same == (1, 1, 1)


def test_only_tables_that_all_methods_have_are_compared():
    rows = rows_of(
        {"ours_default": [1, 2, 3, 8], "tabm": [2, 2, 6, np.nan], "linear": [4, 1, 9, 9]}
    )
    means = summary.compared(rows, "crps", "ours_default")
    assert means.index.tolist() == ["a", "b", "c"]
    assert means.rank(axis=1).mean().round(3).to_dict() == {
        "ours_default": 1.5,
        "linear": 2.333,
        "tabm": 2.167,
    }
