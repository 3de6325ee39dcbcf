import io
import shutil

import pytest
import torch
from rich.console import Console

from batchensemble.plots.sheets import show
from batchensemble.study import reproduction
from batchensemble.study.costs_file import add_costs
from batchensemble.study.plans import Profile
from batchensemble.study.reproduction import Session
from batchensemble.study.results import Place, Study, read_results
from batchensemble.study.sheets import main_sheet, place_sheet
from batchensemble.study.spec import Run, Settings, units_of
from batchensemble.study.store import Result, Store
from batchensemble.training.methods import METHODS

SHORT = Settings(epochs=2, most_rows=100)
UNITS = units_of("diabetes", "id", ("batch_ensemble", "single"), 2, SHORT)


def session(
    folder,
    n_jobs=1,
    profile=Profile(2, SHORT, 1, "a note"),  # noqa: B008
    **looks,
):
    console = Console(file=io.StringIO(), **{"width": 100, **looks})
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


def stored(folder, n_seeds, methods=("batch_ensemble", "single"), variant="id"):
    """Results of so many seeds, a number each."""
    store = Store(folder / "runs")
    for method in methods:
        for seed in range(n_seeds):
            run = Run("diabetes", variant, method, seed, SHORT)
            numbers = {"rmse": 0.25 * seed, "nll": 1e12 * seed - 0.5}
            sizes = {"n_rows": 9, "n_features": 2, "n_inputs": 2, "n_train": 8, "n_test": [1]}
            about = {"n_parameters": 10**8, "task": "regression", **sizes}
            store.write(Result(run, numbers, about=about))


def concluded(monkeypatch, folder, **looks):
    """What is printed at the end; files are written elsewhere."""
    monkeypatch.setattr(reproduction, "write_outputs", lambda path, n: (read_results(path), []))
    last = session(folder, **looks)
    last.conclude([], with_table=True)
    return printed(last)


def test_the_closing_table_says_how_many_seeds_it_is_over(tmp_path, monkeypatch):
    stored(tmp_path, 7)  # the command asks for 2
    assert "standard error of 7 seeds" in concluded(monkeypatch, tmp_path)
    stored(tmp_path, 3, variant="shift")
    assert "standard error of 3 to 7 seeds" in concluded(monkeypatch, tmp_path)


def test_the_closing_table_says_as_many_seeds_as_the_tables_in_files(tmp_path, monkeypatch):
    stored(tmp_path, 1)
    stored(tmp_path, 4, ["single"])
    sheet = place_sheet(Study(read_results(tmp_path), paired=True), Place("diabetes", "id"))
    assert sheet.note == "Mean ± standard error of 4 seeds."
    assert "standard error of 4 seeds" in concluded(monkeypatch, tmp_path)


@pytest.mark.parametrize("width", [20, 40, 80, 500])
@pytest.mark.parametrize("is_terminal", [False, True])
@pytest.mark.parametrize("n_seeds", [1, 3])
def test_no_number_is_cut_however_narrow_the_output_is(
    tmp_path, monkeypatch, width, is_terminal, n_seeds
):
    methods = [*METHODS, "a_method_of_ones_own", "another_[bold]"]
    stored(tmp_path, n_seeds, methods)
    looks = {"width": width, "force_terminal": is_terminal, "color_system": None}
    text = concluded(monkeypatch, tmp_path, **looks)
    assert "…" not in text
    sheet = main_sheet(read_results(tmp_path))
    for _, _, metric, *cells in sheet.rows:
        for cell in cells:
            assert text.count(show(cell).replace(" ± ", "±")) >= cells.count(cell), metric
    for name in sheet.columns[3:]:
        assert text.count(name) == 1


def test_a_terminal_has_the_methods_in_turns_that_fit_and_a_file_has_them_in_a_line(
    tmp_path, monkeypatch
):
    stored(tmp_path, 3, METHODS)
    names = ["BatchEnsemble", "Deep ensemble", "MC dropout", "Single"]
    looks = {"width": 80, "color_system": None}
    folded = concluded(monkeypatch, tmp_path, force_terminal=True, **looks).splitlines()
    assert max(map(len, folded)) <= 80
    assert not any(names[0] in line and names[3] in line for line in folded)
    line = concluded(monkeypatch, tmp_path, force_terminal=False, **looks).splitlines()
    assert any(all(name in one for name in names) for one in line)


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
