import pytest
from typer.testing import CliRunner

from batchensemble.cli import app
from batchensemble.study.summary import PROFILES, Profile


@pytest.fixture
def swift(monkeypatch):
    monkeypatch.delenv("BATCHENSEMBLE_DATA", raising=False)
    monkeypatch.setitem(PROFILES, "quick", Profile(2, 2, 100, 20, "QUICK"))
    return CliRunner(env={"COLUMNS": "100"})


def test_reproduce_compares_the_methods_and_says_what_it_left_out(swift):
    done = swift.invoke(app, ["reproduce", "--profile", "quick"])
    assert done.exit_code == 0, done.output
    for word in (
        "diabetes",
        "breast_cancer",
        "batch_ensemble",
        "3,788",
        "21,140",
        "seasonal",
        "10,790",
        "55,380",
        "QUICK",
    ):
        assert word in done.output
    for name in ("adult", "phoneme", "california", "electric", "temperature"):
        assert f"Left out: the dataset '{name}' needs the file" in done.output


def test_only_runs_only_that_dataset(swift):
    done = swift.invoke(app, ["reproduce", "--profile", "quick", "--only", "diabetes"])
    assert "breast_cancer" not in done.output
    assert "rmse" in done.output


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


def test_without_arguments_it_shows_help(swift):
    assert "reproduce" in swift.invoke(app, []).output
