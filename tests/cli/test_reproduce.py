from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from batchensemble.cli.app import app
from batchensemble.study.datasets import TABLES
from batchensemble.study.plans import PROFILES, Profile
from batchensemble.study.spec import Settings

MINE = """
import numpy as np
from batchensemble.study.datasets import TABLES, Table
from batchensemble.training.methods import METHODS, Members

class Pair:
    n_networks = 2

    def network(self, make, generator):
        return make(generator)

    def members(self, bank, generator):
        return Members(bank.folded(), 2)

def wave():
    x = np.linspace(-3, 3, 90)
    return Table("wave", "regression", x[:, None], np.sin(x))

METHODS["pair"] = lambda n_members, n_passes: Pair()
TABLES["wave"] = wave
"""


@pytest.mark.usefixtures("undrawn")
def test_reproduce_compares_the_methods_and_says_what_it_left_out(swift):
    done = swift.invoke(app, ["reproduce", "--profile", "quick", "--only", "main"])
    assert done.exit_code == 0, done.output
    words = "diabetes breast_cancer seasonal batch_ensemble 3,788 21,140 10,790 55,380 QUICK"
    for word in words.split():
        assert word in done.output
    for name in ("adult", "phoneme", "california", "electric", "temperature"):
        assert f"Left out: the dataset '{name}' needs the file" in done.output


def test_only_runs_only_that_part_and_dataset_and_nothing_twice(swift, tmp_path, request):
    arguments = ["reproduce", "--profile", "quick", "--only", "diabetes"]
    arguments += [word for part in ("main", "matched", "as_written") for word in ("--only", part)]
    done = swift.invoke(app, arguments)
    assert "breast_cancer" not in done.output
    assert "rmse" in done.output
    assert "48 runs, 0 of them done before" in done.output
    files = {path: path.stat().st_mtime_ns for path in tmp_path.glob("results/quick/runs/*/*.json")}
    assert len(files) == 48
    assert (tmp_path / "results/quick/runs.csv").is_file()
    assert (tmp_path / "results/quick/figures/reg_main.png").is_file()
    request.getfixturevalue("undrawn")
    again = swift.invoke(app, arguments)
    assert "48 of them done before" in again.output
    assert all(path.stat().st_mtime_ns == then for path, then in files.items())


@pytest.mark.usefixtures("undrawn")
def test_results_of_other_settings_are_refused_in_one_line(swift, monkeypatch):
    arguments = ["reproduce", "--profile", "quick", "--only", "diabetes", "--out", "mine"]
    arguments += ["--only", "main"]
    assert swift.invoke(app, arguments).exit_code == 0
    other = Profile(2, Settings(epochs=3, most_rows=100), 1, "QUICK")
    monkeypatch.setitem(PROFILES, "quick", other)
    done = swift.invoke(app, arguments)
    assert done.exit_code == 1
    assert "another results folder" in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--profile", "quik"], "did you mean"),
        (["--only", "californa"], "did you mean"),
        (["--device", "tpu9"], "expected device"),
        (["--method", "batchensemble"], "did you mean 'batch_ensemble'"),
        (["--table", "none.csv", "--target", "price"], "there is no file"),
        (["--table", "cut.csv", "--target", "price"], "the line may be incomplete"),
        (["--table", "houses.csv", "--target", "prize"], "did you mean 'price'"),
        (["--plugin", "none.py"], "a plugin is a Python file"),
        (["--only", "california"], "there is no dataset to run"),
        (["--only", "diabetes", "-o", "older"], "they were made by another version"),
    ],
)
def test_what_is_wrong_ends_with_a_line_that_says_what_to_do(
    swift, registries, tmp_path, arguments, words
):
    table = "rooms,price\n" + "3,100.5\n4,120.25\n" * 20
    (tmp_path / "houses.csv").write_text(table)
    (tmp_path / "cut.csv").write_text(table + "5")
    older = tmp_path / "older/runs/diabetes-id/batch_ensemble-seed0.json"
    older.parent.mkdir(parents=True)
    older.write_text('{"format": 1}')
    done = swift.invoke(app, ["reproduce", "--profile", "quick", *arguments])
    assert done.exit_code == 1, done.output
    said = " ".join(done.output.replace("│", " ").split())
    assert words in said
    assert "Traceback" not in said


def test_a_command_that_is_not_understood_is_another_code_than_data_that_cannot_be_used(swift):
    done = swift.invoke(app, ["reproduce", "--table", "houses.csv"])
    assert done.exit_code == 2
    assert "expected a --target for each --table" in " ".join(done.output.split())
    assert swift.invoke(app, ["reproduce", "--table"]).exit_code == 2
    assert swift.invoke(app, ["reproduce", "--seeds", "0"]).exit_code == 2


def test_a_report_of_what_is_no_folder_of_results_is_refused(swift, tmp_path):
    done = swift.invoke(app, ["report", str(tmp_path)])
    assert done.exit_code == 1
    assert "expected results in" in " ".join(done.output.replace("│", " ").split())


def test_a_report_replaces_no_file_of_another_kind(swift, tmp_path):
    (tmp_path / "keep.csv").write_text("a,b\n")
    done = swift.invoke(app, ["report", str(tmp_path), "-o", str(tmp_path / "keep.csv")])
    assert done.exit_code == 1
    assert "the report would replace" in " ".join(done.output.replace("│", " ").split())
    assert (tmp_path / "keep.csv").read_text() == "a,b\n"


def test_a_dataset_and_a_method_of_ones_own_take_part_in_all_processes(swift, registries, tmp_path):
    random = np.random.default_rng(0)
    rooms = random.uniform(1, 9, size=80)
    frame = pd.DataFrame({"rooms": rooms, "price": 30 * rooms + random.normal(size=80)})
    frame.to_csv(tmp_path / "houses.csv", index=False)
    (tmp_path / "mine.py").write_text(MINE)
    done = swift.invoke(
        app,
        [
            *("reproduce", "--profile", "quick", "--jobs", "2", "--plugin", "mine.py"),
            *("--table", "houses.csv", "--target", "price", "--only", "houses", "--only", "wave"),
            *("--method", "batch_ensemble", "--method", "pair"),
        ],
    )
    assert done.exit_code == 0, done.output
    runs = pd.read_csv(tmp_path / "results/quick/runs.csv")
    for dataset in ("houses", "wave"):
        own = runs[(runs.dataset == dataset) & (runs.metric == "nll")]
        assert {*own.method} >= {"batch_ensemble", "pair"}
        assert np.isfinite(own.value).all()
    assert "Left out: houses under shift, which needs two numeric features" in done.output
    page = (tmp_path / "results/quick/report.html").read_text()
    assert "Houses" in page
    assert "pair" in page


@pytest.mark.usefixtures("undrawn")
def test_another_target_or_profile_in_the_same_folder_is_refused_before_anything_is_run(
    swift, registries, tmp_path
):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(60, 3)), columns=["a", "b", "c"])
    frame.to_csv(tmp_path / "abc.csv", index=False)
    words = ["reproduce", "--profile", "quick", "--table", "abc.csv", "--method", "single"]
    assert swift.invoke(app, [*words, "--target", "a"]).exit_code == 0
    TABLES.pop("abc")
    done = swift.invoke(app, [*words, "--target", "b"])
    assert done.exit_code == 1
    assert "use another results folder" in " ".join(done.output.replace("│", " ").split())
    full = ["reproduce", "--only", "diabetes", "--method", "single", "-o", "results/quick"]
    done = swift.invoke(app, full)
    assert done.exit_code == 1
    assert "expected only runs of" in " ".join(done.output.replace("│", " ").split())


def test_costs_alone_are_a_table_and_are_not_kept_for_other_data(swift, tmp_path, monkeypatch):
    from batchensemble.study import meters

    monkeypatch.setattr(meters, "LEAST_SECONDS", {"cpu": 0.001})
    random = np.random.default_rng(0)
    words = ["reproduce", "--profile", "quick", "--table", "own.csv", "--target", "y"]
    for n_columns in (2, 5):
        frame = pd.DataFrame(random.normal(size=(60, n_columns))).add_prefix("x")
        frame.assign(y=frame["x0"]).to_csv("own.csv", index=False)
        done = swift.invoke(app, [*words, "--only", "costs", "--only", "own"])
        TABLES.pop("own")
        if n_columns == 2:
            assert done.exit_code == 0, done.output
            assert "No figures, no report: they need runs" in done.output
            cost = pd.read_csv(tmp_path / "results/quick/tables/cost.csv")
            assert len(cost) == 5
            assert (cost["parameters"] > 0).all()
    assert done.exit_code == 1
    assert "got some of other data" in " ".join(done.output.replace("│", " ").split())


@pytest.mark.slow
def test_one_command_makes_the_main_study_ablations_costs_and_all_outputs(swift, tmp_path):
    done = swift.invoke(app, ["reproduce", "--profile", "quick", "--only", "diabetes"])
    assert done.exit_code == 0, done.output
    folder = tmp_path / "results/quick"
    methods = {*pd.read_csv(folder / "runs.csv").method}
    assert methods >= {"single", "deep_ensemble budget=batch_ensemble", "single bounded=False"}
    assert methods >= {"batch_ensemble adapters=r", "batch_ensemble n_members=32"}
    for name in ("main", "matched", "as_written", "cost", "ablation-adapters", "ablation-init"):
        assert (folder / f"tables/{name}.csv").is_file()
    for name in ("reg_main.png", "adapter_reg.pdf", "members_reg.png", "grube.svg"):
        assert (folder / f"figures/{name}").is_file()
    assert (folder / "report.html").is_file()


def test_one_ablation_runs_alone_and_a_wrong_word_is_answered_with_the_known_ones(swift):
    words = ["reproduce", "--profile", "quick", "--only", "diabetes", "--only"]
    done = swift.invoke(app, [*words, "first_values", "--only", "bounds"])
    assert done.exit_code == 0, done.output
    assert "8 runs, 0 of them done before" in done.output
    assert Path("results/quick/figures/first_values_reg.png").is_file()
    done = swift.invoke(app, [*words, "adapter"])
    assert done.exit_code == 1
    assert "did you mean 'adapters'" in " ".join(done.output.replace("│", " ").split())


@pytest.mark.usefixtures("undrawn")
def test_seeds_are_as_many_as_asked_for(swift):
    words = ["reproduce", "--profile", "quick", "--only", "diabetes", "--only", "main"]
    done = swift.invoke(app, [*words, "--method", "single", "--seeds", "3"])
    assert done.exit_code == 0, done.output
    assert "3 seeds, 2 epochs" in done.output
    assert "6 runs, 0 of them done before" in done.output


def test_an_interruption_keeps_what_is_done_and_says_so(swift, monkeypatch):
    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("batchensemble.study.reproduction.run_units", stop)
    done = swift.invoke(app, ["reproduce", "--profile", "quick", "--only", "diabetes"])
    assert done.exit_code == 130
    assert "Finished runs are kept" in done.output
