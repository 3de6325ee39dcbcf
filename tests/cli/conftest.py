"""A folder as a new user has it, and models that were fitted there by the command line."""

import pytest
from sample_files import QUICK, Shell, houses, sales
from typer.testing import CliRunner


@pytest.fixture(scope="session")
def fitted(tmp_path_factory):
    """The folder after three fits."""
    folder = tmp_path_factory.mktemp("fitted")
    shell = Shell(folder)
    houses().to_csv(folder / "houses.csv", index=False)
    sales().query("month < '2022-01-01'").to_csv(folder / "sales.csv", index=False)
    table, series = folder / "houses.csv", folder / "sales.csv"
    shell("fit", table, "-t", "price", "-o", folder / "price.be", *QUICK)
    shell("fit", table, "-t", "town", "-o", folder / "town.be", *QUICK)
    words = ("--time", "month", "--series", "store", "--horizon", "4")
    shell("fit", series, "-t", "sales", *words, "-o", folder / "sales.be", *QUICK)
    return folder


@pytest.fixture
def shell(fitted, tmp_path, monkeypatch):
    """Commands in a folder of one's own, with the fitted models and their files at hand."""
    monkeypatch.chdir(tmp_path)
    for file in fitted.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    houses(30, seed=1).drop(columns="price").to_csv(tmp_path / "new.csv", index=False)
    houses(40, seed=2).to_csv(tmp_path / "test.csv", index=False)
    return Shell(tmp_path)


@pytest.fixture
def towns(shell):
    """Rows that all have a town, for `BY_TOWN`."""
    frame = houses().assign(town=lambda f: f["town"].fillna("Ulm"))
    frame.to_csv("towns.csv", index=False)
    return shell


@pytest.fixture
def swift(monkeypatch, tmp_path):
    """The study's commands in an empty folder, with little to train."""
    from batchensemble.study.plans import PROFILES, Profile
    from batchensemble.study.spec import Settings

    short = Settings(epochs=2, most_rows=100, most_windows=20)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BATCHENSEMBLE_DATA", raising=False)
    monkeypatch.setenv("BATCHENSEMBLE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("BATCHENSEMBLE_OFFLINE", "1")
    monkeypatch.setitem(PROFILES, "quick", Profile(2, short, 1, "QUICK"))
    # To start processes takes longer than what they would do; a test with --jobs has some.
    monkeypatch.setattr("batchensemble.study.reproduction.cpu_count", lambda: 1)
    return CliRunner(env={"COLUMNS": "100"})


@pytest.fixture
def undrawn(monkeypatch):
    """A study draws nothing, as without matplotlib: that takes longer than its runs."""
    monkeypatch.setattr("batchensemble.study.outputs.find_spec", lambda name: None)
