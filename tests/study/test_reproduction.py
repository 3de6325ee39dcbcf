import io
import shutil

import pytest
import torch
from rich.console import Console

from batchensemble.study.costs_file import add_costs
from batchensemble.study.plans import Profile
from batchensemble.study.reproduction import Session
from batchensemble.study.spec import Settings, units_of

SHORT = Settings(epochs=2, most_rows=100)
UNITS = units_of("diabetes", "id", ("batch_ensemble", "single"), 2, SHORT)


def session(folder, n_jobs=1, profile=Profile(2, SHORT, 1, "a note")):  # noqa: B008
    console = Console(file=io.StringIO(), width=100)
    return Session(profile, torch.device("cpu"), folder, n_jobs, console)


def printed(session):
    return session.console.file.getvalue()


def test_finished_runs_are_told_with_their_numbers_and_counted(tmp_path):
    first = session(tmp_path)
    first.run(UNITS)
    assert "4 runs, 0 of them done before" in printed(first)
    assert "diabetes id, batch_ensemble: rmse 0." in printed(first)
    assert "4 done, 0 running, 0 left" in printed(first)
    again = session(tmp_path)
    again.run(UNITS)
    assert "4 of them done before" in printed(again)
    assert "rmse" not in printed(again)


def test_it_ends_with_the_main_table_what_was_left_out_and_where_the_report_is(tmp_path):
    first = session(tmp_path)
    first.run(UNITS)
    assert len(first.conclude(["a [dataset]"], with_table=True)) == 4
    *_, last = printed(first).strip().splitlines()
    assert last == f"Report: {tmp_path / 'report.html'}"
    for words in ("Diabetes id", "3,788", "BatchEnsemble", "a note", "Left out: a [dataset]"):
        assert words in printed(first)


def test_nothing_is_run_without_jobs_or_beside_runs_of_other_settings(tmp_path):
    for none in (0, -7):
        with pytest.raises(ValueError, match="expected jobs of at least 1"):
            session(tmp_path, n_jobs=none).run(UNITS)
    session(tmp_path).run(UNITS)
    other = Profile(2, Settings(epochs=3), 1, "other")
    with pytest.raises(ValueError, match=r"expected only runs of .*use another results folder"):
        session(tmp_path, profile=other).check({})


def test_runs_and_costs_of_other_data_are_refused(tmp_path):
    session(tmp_path).run(UNITS)
    session(tmp_path).check({"diabetes": "", "own": "1f"})
    with pytest.raises(ValueError, match=r"the present data of diabetes .*on other data; use"):
        session(tmp_path).check({"diabetes": "1f"})
    row = {"device": "cpu", "entrant": "single", "n_parameters": 9, "predict_seconds": 1.0}
    row |= {"dataset": "own", "train_seconds": 1.0, "peak_bytes": 1, "data": "1f"}
    add_costs(tmp_path / "costs.json", [row], SHORT, {})
    session(tmp_path).check({"own": "1f"})
    with pytest.raises(ValueError, match=r"costs .* the present data of own, got .* of other"):
        session(tmp_path).check({"own": "2e"})
    shutil.rmtree(tmp_path / "runs")
    other = Profile(2, Settings(epochs=3), 1, "other")
    with pytest.raises(ValueError, match=r"expected costs .*'epochs': 3.* got .*'epochs': 2"):
        session(tmp_path, profile=other).check({})
