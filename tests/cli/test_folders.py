import json
import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sample_files import BY_TOWN, houses

from batchensemble.cli import folders
from batchensemble.cli.folders import predict_folder
from batchensemble.data.file_options import AS_FOUND
from batchensemble.data.table_files import has_rows

HOW = {"device": "cpu", "coverage": 0.9, "keep": [], "options": AS_FOUND}


@pytest.fixture
def new(shell):
    """Three files to predict, one of them in a folder of its own."""
    folder = shell.folder / "new"
    (folder / "more").mkdir(parents=True)
    for i, name in enumerate(("a.csv", "b.csv", "more/a.csv")):
        houses(20 + i, seed=i).drop(columns="price").to_csv(folder / name, index=False)
    return folder


def files_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.csv"))


def test_every_file_is_predicted_into_one_of_its_name_as_it_would_be_alone(shell, new):
    said = shell("predict", "price.be", "new/**/*.csv", "-o", "out").stderr
    assert "63 rows of 3 files: out" in said
    assert files_in(shell.folder / "out") == ["a.csv", "b.csv", "more/a.csv"]
    alone = shell("predict", "price.be", "new/b.csv").stdout
    assert (shell.folder / "out" / "b.csv").read_text() == alone


@pytest.mark.parametrize("time", [2e9, 1e9])
def test_what_is_done_is_not_done_again_unless_its_rows_are_others(shell, new, time):
    shell("predict", "price.be", "new", "-o", "out")
    assert files_in(shell.folder / "out") == ["a.csv", "b.csv"]
    (shell.folder / "out" / "a.csv").unlink()
    said = shell("predict", "price.be", "new", "-o", "out").stderr
    assert "20 rows of 1 file (1 done before)" in said
    houses(15, seed=7).to_csv(new / "b.csv", index=False)
    os.utime(new / "b.csv", (time, time))  # that of a copy may be older than the predictions
    said = shell("predict", "price.be", "new", "-o", "out").stderr
    assert "15 rows of 1 file (1 done before)" in said
    assert (
        "0 rows of 0 files (2 done before)"
        in shell("predict", "price.be", "new", "-o", "out").stderr
    )


@pytest.mark.parametrize("out", ["new/out", "new/more/../out", "link/out", "elsewhere"])
def test_predictions_are_never_input_wherever_they_lie(shell, new, out):
    Path("link").symlink_to(new)
    Path("elsewhere").mkdir()
    (new / "other").symlink_to(Path("elsewhere").resolve())
    words = ("predict", "price.be", "new/**/*.csv", "-o", out, "--keep", "all")
    for said in ("63 rows of 3 files", "0 rows of 0 files (3 done before)"):
        assert said in shell(*words).stderr
    assert files_in(shell.folder / out) == ["a.csv", "b.csv", "more/a.csv"]


def test_a_folder_in_that_of_predictions_may_be_predicted(shell, new):
    for said in ("41 rows of 2 files", "0 rows of 0 files (2 done before)"):
        assert said in shell("predict", "price.be", "new/*.csv", "-o", ".").stderr
    said = shell("predict", "price.be", "mo*/*.csv", "-o", "more", code=1).stderr
    assert "there is no file mo*/*.csv" in " ".join(said.split())
    shell("predict", "price.be", "new", "-o", "more")
    said = shell("predict", "price.be", "mo*/*.csv", "-o", "more", code=1).stderr
    assert "are in the output folder more; name other files" in " ".join(said.split())


def test_parts_without_rows_have_no_predictions_and_stop_nobody(shell, new):
    (new / "0.csv").write_text((new / "a.csv").read_text().partition("\n")[0] + "\n")
    assert has_rows(new / "a.csv", AS_FOUND)
    assert not has_rows(new / "0.csv", AS_FOUND)
    for done in ("41 rows of 3", "0 rows of 1 file (2 done before)"):
        assert done in shell("predict", "price.be", "new", "-o", "out").stderr
        assert files_in(shell.folder / "out") == ["a.csv", "b.csv"]
    for name in ("a.csv", "b.csv"):
        (new / name).write_text((new / "0.csv").read_text())
    said = shell("predict", "price.be", "new", "-o", "other", code=1).stderr
    assert "expected rows to predict, got none in 3 files" in " ".join(said.split())


def test_folders_that_come_and_go_change_no_place_of_predictions(shell, new):
    for month, n in (("2024-01", 14), ("2024-02", 16)):
        Path("in", month).mkdir(parents=True)
        houses(n, seed=n).to_csv(f"in/{month}/part.csv", index=False)
        shell("predict", "price.be", "in/*/part.csv", "-o", "out")
    parts = sorted(str(path) for path in Path("out").rglob("*.csv"))
    assert parts == ["out/2024-01/part.csv", "out/2024-02/part.csv"]
    assert sum(len(shell.read(part)) for part in parts) == 30
    Path("in/2024-01/part.csv").unlink()
    before = Path("out/2024-01/part.csv").read_bytes()
    shell("predict", "price.be", "in/*/part.csv", "-o", "out")
    assert Path("out/2024-01/part.csv").read_bytes() == before
    assert not Path("out/part.csv").exists()


def test_a_file_that_has_lost_its_rows_has_no_predictions_any_more(shell):
    Path("in").mkdir()
    for name in ("a", "b"):
        houses(15).to_csv(f"in/{name}.csv", index=False)
    shell("predict", "price.be", "in", "-o", "out")
    houses(15)[:0].to_csv("in/a.csv", index=False)
    shell("predict", "price.be", "in", "-o", "out")
    assert [path.name for path in Path("out").glob("*.csv")] == ["b.csv"]


def test_a_run_that_was_stopped_goes_on_and_no_row_is_lost_or_there_twice(shell, new, monkeypatch):
    predict, done = folders.predict_file, []

    def stopped(*given, **more):
        if done:
            raise KeyboardInterrupt
        done.append(given)
        return predict(*given, **more)

    monkeypatch.setattr(folders, "predict_file", stopped)
    where = shell.folder / "price.be", new, shell.folder / "out"
    with pytest.raises(KeyboardInterrupt, match="has predictions of 1 of 2 files; run the same"):
        predict_folder(*where, **HOW)
    monkeypatch.setattr(folders, "predict_file", predict)
    assert predict_folder(*where, **HOW) == {
        "folder": str(shell.folder / "out"),
        "n_rows": 21,
        "n_files": 1,
        "n_before": 1,
    }
    sizes = [len(pd.read_csv(shell.folder / "out" / name)) for name in ("a.csv", "b.csv")]
    assert sizes == [20, 21]


def test_a_duplicate_start_leaves_every_file_whole_and_once(shell, new, monkeypatch):
    predict, begun = folders.predict_file, []
    where = shell.folder / "price.be", new, shell.folder / "out"

    def beside_another(*given, **more):
        begun.append(given)
        if len(begun) == 1:
            predict_folder(*where, **HOW)
        return predict(*given, **more)

    predict_folder(*where[:2], shell.folder / "alone", **HOW)
    monkeypatch.setattr(folders, "predict_file", beside_another)
    assert predict_folder(*where, **HOW)["n_rows"] == 41
    assert len(begun) == 4
    for name in ("a.csv", "b.csv"):
        both = [(shell.folder / folder / name).read_bytes() for folder in ("out", "alone")]
        assert both[0] == both[1]
    assert files_in(shell.folder / "out") == ["a.csv", "b.csv"]


def test_a_folder_is_predicted_by_the_models_of_its_groups(towns, new):
    towns(*BY_TOWN)
    for path in new.glob("*.csv"):
        frame = pd.read_csv(path, dtype={"plot": str})
        frame.assign(town=frame["town"].fillna("Ulm")).to_csv(path, index=False)
    for said in ("41 rows of 2 files", "0 rows of 0 files (2 done before)"):
        assert said in towns("predict", "models", "new", "-o", "out").stderr
    assert Path("out/b.csv").read_text() == towns("predict", "models", "new/b.csv").stdout
    towns(*BY_TOWN, "--seed", "7")
    said = towns("predict", "models", "new", "-o", "out", code=1).stderr
    assert "out holds predictions of another model" in said
    said = towns("predict", "new", "new", "-o", "out", code=1).stderr
    assert "expected models by group in new" in said


def test_predictions_of_another_model_or_coverage_are_not_mixed_in(shell, new):
    shell("predict", "price.be", "new", "-o", "out")
    for words in (("town.be",), ("price.be", "--coverage", 0.5), ("price.be", "--keep", "town")):
        said = shell("predict", words[0], "new", "-o", "out", *words[1:], code=1).stderr
        assert "out holds predictions of another model or with other options" in said


@pytest.mark.parametrize(
    "words", [("price.be", "--keep", "none"), ("sales.be",), ("price.be", "--decimal", ",")]
)
def test_a_command_that_predicts_nothing_leaves_the_folder_to_the_next(shell, new, words):
    if "--decimal" in words:
        (new / "a.csv").write_text("rooms\n3\n")
    shell("predict", words[0], "new", "-o", "out", *words[1:], code=1)
    assert not any(Path("out").rglob("*.*"))
    assert "21 rows" in shell("predict", "price.be", "new/b.csv*", "-o", "out").stderr


def test_files_that_somebody_else_made_are_not_taken_for_predictions(shell, new):
    notes = shell.folder / "out" / "a.csv"
    notes.parent.mkdir()
    notes.write_text("my own notes")
    said = shell("predict", "price.be", "new", "-o", "out", code=1).stderr
    assert "and was not written by predict" in " ".join(said.split())
    assert notes.read_text() == "my own notes"


@pytest.mark.parametrize("is_empty", [False, True])
@pytest.mark.parametrize("is_of_same_time", [False, True])
def test_nor_are_they_in_a_folder_that_has_predictions(shell, new, is_empty, is_of_same_time):
    shell("predict", "price.be", "new", "-o", "out")
    houses(15)[: 0 if is_empty else 9].to_csv(new / "c.csv", index=False)
    Path("out/c.csv").write_text("my own notes")
    if is_of_same_time:
        os.utime("out/c.csv", ns=(0, (new / "c.csv").stat().st_mtime_ns))
    (new / "b.csv").touch()  # to be predicted again
    before = {path: path.stat().st_mtime_ns for path in Path("out").iterdir()}
    said = " ".join(shell("predict", "price.be", "new", "-o", "out", code=1).stderr.split())
    assert "out/c.csv exists, and was not written by predict" in said
    assert Path("out/c.csv").read_text() == "my own notes"
    assert {path: path.stat().st_mtime_ns for path in Path("out").iterdir()} == before
    Path("out/c.csv").unlink()
    assert "(1 done before)" in shell("predict", "price.be", "new", "-o", "out").stderr


@pytest.mark.parametrize("content", ["", "rooms\n3\n"])
def test_what_was_not_made_after_all_is_not_taken_for_predictions(shell, new, content):
    header = (new / "a.csv").read_text().partition("\n")[0] + "\n"
    (new / "c.csv").write_text(content or header)
    shell("predict", "price.be", "new", "-o", "out", code=1 if content else 0)
    Path("out/c.csv").write_text("my own notes")
    said = shell("predict", "price.be", "new", "-o", "out", code=1).stderr
    assert "and was not written by predict" in " ".join(said.split())
    assert Path("out/c.csv").read_text() == "my own notes"


def test_a_run_that_was_killed_knows_its_files_again(shell, new, monkeypatch):
    monkeypatch.setattr(folders, "_keep_record", lambda *_: None)  # nothing is done any more
    (new / "b.csv").write_text("rooms\n3\n")
    shell("predict", "price.be", "new", "-o", "out", code=1)
    houses(15).to_csv(new / "b.csv", index=False)
    said = shell("predict", "price.be", "new", "-o", "out").stderr
    assert "15 rows of 1 file (1 done before)" in said


def test_a_folder_of_a_version_that_did_not_note_its_files_goes_on(shell, new):
    shell("predict", "price.be", "new/**/*.csv", "-o", "out")
    record = json.loads(Path("out/.predictions.json").read_text())
    places = {name: f"../new/{name}" for name in ("a.csv", "b.csv", "more/a.csv")}
    assert record.pop("made") == places
    Path("out/.predictions.json").write_text(json.dumps(record, indent=1, sort_keys=True))
    houses(15).to_csv(new / "b.csv", index=False)
    os.utime(new / "b.csv", (2e9, 2e9))
    said = shell("predict", "price.be", "new", "-o", "out").stderr
    assert "15 rows of 1 file (1 done before)" in said
    said = shell("predict", "price.be", "new/**/*.csv", "-o", "out").stderr
    assert "0 rows of 0 files (3 done before)" in said
    for damaged in ("{", "[1]", '{"made": [1]}'):
        Path("out/.predictions.json").write_text(damaged)
        said = shell("predict", "price.be", "new", "-o", "out", code=1).stderr
        assert "out holds predictions of another model" in said


def test_predictions_of_one_folder_are_not_those_of_another(shell, new):
    shell("predict", "price.be", "new", "-o", "out")
    before = Path("out/a.csv").read_text()
    other = shutil.copytree(new, "other")  # files of the same names and times
    said = " ".join(shell("predict", "price.be", other, "-o", "out", code=1).stderr.split())
    assert "out/a.csv has the predictions of new/a.csv; choose another folder, or delete it" in said
    assert Path("out/a.csv").read_text() == before
    Path("moved").mkdir()
    for folder in ("new", "out"):
        shutil.move(folder, Path("moved") / folder)
    assert "(2 done before)" in shell("predict", "price.be", "moved/new", "-o", "moved/out").stderr


def test_a_bad_file_is_named_and_those_before_it_stay(shell, new):
    (new / "b.csv").write_text("rooms\n3\n")
    said = shell("predict", "price.be", "new", "-o", "out", code=1).stderr
    assert "b.csv: missing columns that the model learned from" in said
    assert files_in(shell.folder / "out") == ["a.csv"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("price.be", "new"), "many files are predicted into a folder: add -o FOLDER"),
        (("price.be", "new", "-o", "price.be"), "many files are predicted into a folder"),
        (("price.be", "new", "-o", "out.csv"), "into a folder, got the file out.csv: add"),
        (("price.be", "new", "-o", "new"), "would overwrite the input"),
        (("price.be", "none/*.csv", "-o", "out"), "there is no file none/*.csv"),
        (
            ("sales.be", "new", "-o", "out"),
            "a folder is for tables, and this model is a forecaster",
        ),
    ],
)
def test_what_cannot_be_done_says_why(shell, new, words, message):
    assert message in " ".join(shell("predict", *words, code=1).stderr.split())
    assert not Path("out").exists()


def test_a_cluster_is_for_many_files(shell, new):
    said = shell("predict", "price.be", "new/a.csv", "--ray", "local", code=2).stderr
    assert "--ray is for a folder or a pattern" in said


def test_json_says_how_many(shell, new):
    said = json.loads(shell("predict", "price.be", "new", "-o", "out", "--json").stdout)
    assert (said["n_rows"], said["n_files"], said["n_before"]) == (41, 2, 0)


def test_spreadsheets_become_texts(shell, new):
    pytest.importorskip("openpyxl")
    houses(14, seed=3).to_excel(new / "c.xlsx", index=False)
    shell("predict", "price.be", "new/*.xlsx", "-o", "out")
    assert np.isfinite(pd.read_csv(shell.folder / "out" / "c.csv")["mean"]).all()


def test_predictions_that_others_take_away_meanwhile_are_missed_in_one_line(
    shell, new, monkeypatch
):
    keep = folders._keep_record

    def taken(out, *rest):
        (out / "a.csv").unlink()
        keep(out, *rest)

    monkeypatch.setattr(folders, "_keep_record", taken)
    said = shell("predict", "price.be", "new", "-o", "out", code=1).stderr
    assert "the predictions of 1 file were removed during the run" in said
    assert "bug" not in said
