import pytest
from typer.testing import CliRunner

from batchensemble.cli import app
from batchensemble.study.spec import Settings
from batchensemble.study.summary import PROFILES, Profile

SHORT = Settings(epochs=2, most_rows=100, most_windows=20)


@pytest.fixture
def swift(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BATCHENSEMBLE_DATA", raising=False)
    monkeypatch.setenv("BATCHENSEMBLE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("BATCHENSEMBLE_OFFLINE", "1")
    monkeypatch.setitem(PROFILES, "quick", Profile(2, SHORT, "QUICK"))
    return CliRunner(env={"COLUMNS": "100"})


def test_reproduce_compares_the_methods_and_says_what_it_left_out(swift):
    done = swift.invoke(app, ["reproduce", "--profile", "quick"])
    assert done.exit_code == 0, done.output
    words = "diabetes breast_cancer seasonal batch_ensemble 3,788 21,140 10,790 55,380 QUICK"
    for word in words.split():
        assert word in done.output
    for name in ("adult", "phoneme", "california", "electric", "temperature"):
        assert f"Left out: the dataset '{name}' needs the file" in done.output


def test_only_runs_only_that_dataset_and_nothing_twice(swift, tmp_path):
    arguments = ["reproduce", "--profile", "quick", "--only", "diabetes"]
    done = swift.invoke(app, arguments)
    assert "breast_cancer" not in done.output
    assert "rmse" in done.output
    assert "44 runs, 0 of them done before" in done.output
    files = {path: path.stat().st_mtime_ns for path in tmp_path.glob("results/quick/runs/*/*.json")}
    assert len(files) == 44
    assert (tmp_path / "results/quick/runs.csv").is_file()
    assert (tmp_path / "results/quick/figures/reg_main.png").is_file()
    again = swift.invoke(app, arguments)
    assert "44 of them done before" in again.output
    assert all(path.stat().st_mtime_ns == then for path, then in files.items())


def test_results_of_other_settings_are_refused_in_one_line(swift, monkeypatch):
    arguments = ["reproduce", "--profile", "quick", "--only", "diabetes", "--out", "mine"]
    assert swift.invoke(app, arguments).exit_code == 0
    other = Profile(2, Settings(epochs=3, most_rows=100), "QUICK")
    monkeypatch.setitem(PROFILES, "quick", other)
    done = swift.invoke(app, arguments)
    assert done.exit_code == 2
    assert "another results folder" in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--profile", "quik"], "did you mean"),
        (["--only", "californa"], "did you mean"),
        (["--device", "tpu9"], "expected device"),
    ],
)
def test_a_wrong_word_ends_with_a_hint_and_no_traceback(swift, arguments, words):
    done = swift.invoke(app, ["reproduce", *arguments])
    assert done.exit_code == 2
    assert words in done.output
    assert "Traceback" not in done.output


def test_datasets_lists_what_is_here_and_what_is_not(swift):
    done = swift.invoke(app, ["datasets"])
    assert done.exit_code == 0, done.output
    for words in ("diabetes", "442 x 11", "shipped with scikit-learn", "downloaded from FRED"):
        assert words in done.output
    assert "Not downloaded" not in done.output


def test_datasets_that_cannot_be_downloaded_are_no_failure_of_the_list(swift):
    done = swift.invoke(app, ["datasets", "--download"])
    assert done.exit_code == 0, done.output
    assert done.output.count("Not downloaded: the dataset") == 5
    assert "Traceback" not in done.output


def test_without_arguments_it_shows_help(swift):
    assert "reproduce" in swift.invoke(app, []).output
