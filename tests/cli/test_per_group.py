import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import nullcontext, suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sample_files import BY_TOWN as FIT
from sample_files import QUICK, houses

from batchensemble import load
from batchensemble.cli import per_group
from batchensemble.cli.holdout import train
from batchensemble.cli.training_data import read_training_table
from batchensemble.estimators.splits import Order
from batchensemble.training.processes import Team
from batchensemble.training.together import fit_together


def files(folder="models"):
    return {path.name: path.read_bytes() for path in sorted(Path(folder).glob("*.be"))}


def test_a_model_equals_one_that_was_fitted_to_the_rows_of_the_group_alone(towns):
    towns(*FIT)
    pd.read_csv("towns.csv", dtype=str).query("town == 'Ulm'").to_csv("ulm.csv", index=False)
    towns("fit", "ulm.csv", "-t", "price", "-o", "ulm.be", *QUICK)
    for model in ("models", "ulm.be"):
        towns("predict", model, "ulm.csv", "-o", f"{model}.csv")
    pd.testing.assert_frame_equal(towns.read("models.csv"), towns.read("ulm.be.csv"))


def test_without_its_damaged_index_a_folder_is_fitted_again(towns):
    towns(*FIT)
    index = Path("models/index.json")
    intact = json.loads(index.read_text())
    towns("predict", "models", "towns.csv", "-o", "before.csv")
    index.write_text(index.read_text()[:-20])
    for command in (FIT, ("predict", "models", "towns.csv")):
        said = towns(*command, code=1).stderr
        assert "index.json cannot be read; fit --by writes it, once a damaged one" in said
    index.unlink()
    assert "already existed" not in towns(*FIT).output
    assert json.loads(index.read_text()).keys() == intact.keys()
    towns("predict", "models", "towns.csv", "-o", "after.csv")
    assert Path("after.csv").read_text() == Path("before.csv").read_text()


def test_a_run_that_was_killed_goes_on_and_gives_the_same_models(towns, monkeypatch):
    towns(*FIT, "--seed", "3")
    whole = files()
    calls = []

    def killed(part, *more, **how):
        calls.append(len(part.frame))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return train(part, *more, **how)

    other = [*FIT[:7], "again", *FIT[8:], "--seed", "3"]
    monkeypatch.setattr(per_group, "train", killed)
    said = towns(*other, code=130).stderr
    assert "again has models of 1 of 3 groups; run the same command again" in said
    assert "Nothing was written" not in said
    assert len(files("again")) == 1
    assert "1 already existed" in towns(*other).output
    assert len(calls) == 4  # one, the killed one, and the two that were left

    assert set(files("again")) == set(whole)
    for folder in ("models", "again"):
        towns("predict", folder, "towns.csv", "-o", f"{folder}.csv")
    assert Path("models.csv").read_text() == Path("again.csv").read_text()


@pytest.fixture
def fitted_together(monkeypatch):
    """How many groups were fitted together, each time."""
    sizes = []

    def counted(fits):
        sizes.append(len(fits))
        return fit_together(fits)

    monkeypatch.setattr(per_group, "fit_together", counted)
    return sizes


def test_groups_may_be_trained_together_and_are_the_models_of_each_alone(
    shell, monkeypatch, fitted_together
):
    frame = houses(400).dropna(subset="price")
    frame["town"] = np.arange(len(frame)) % 10
    frame.to_csv("towns.csv", index=False)
    shell(*FIT)
    assert fitted_together == [1] * 10
    monkeypatch.setattr(per_group, "MOST_GROUPS", 4)
    shell(*FIT[:7], "together", *FIT[8:], "--together")
    assert fitted_together[10:] == [4, 4, 2]
    monkeypatch.setattr(per_group, "pick_device", lambda device: torch.device("cuda"))
    monkeypatch.setattr(per_group, "fit_together", lambda fits: sizes.append(len(fits)) or [])
    sizes = []
    shell(*FIT[:7], "on a GPU", *FIT[8:])
    shell(*FIT[:7], "apart", *FIT[8:], "--apart")
    assert sizes == [4, 4, 2] + [1] * 10
    index = Path("models/index.json").read_text()
    assert Path("together/index.json").read_text() == index
    for folder in ("models", "together"):
        shell("predict", folder, "towns.csv", "-o", f"{folder}.csv")
    pd.testing.assert_frame_equal(shell.read("models.csv"), shell.read("together.csv"), rtol=1e-4)


def test_parts_hold_groups_of_similar_size_and_not_too_many_rows(monkeypatch):
    rows = {f"g{i}": (i * 7) % 40 + 1 for i in range(40)}
    assert per_group._parts(rows, 1) == [[name] for name in rows]
    parts = per_group._parts(rows, 8)
    assert list(map(len, parts)) == [8] * 5
    assert [rows[name] for part in parts for name in part] == sorted(rows.values())
    monkeypatch.setattr(per_group, "MOST_ROWS", 100)
    sums = [sum(map(rows.get, part)) for part in per_group._parts(rows, 8)]
    assert max(sums) <= 100
    assert sum(sums) == sum(rows.values())


def test_a_folder_never_mixes_models_of_two_targets_or_tasks(towns):
    towns(*FIT)
    before = files()
    refused = towns("fit", "towns.csv", "-t", "area", *FIT[4:], code=1).stderr
    words = "models holds models of the target 'price', not 'area'; choose another folder"
    assert words in " ".join(refused.split())
    rooms = ("fit", "towns.csv", "-t", "rooms", "--by", "town", "-o", "rooms", *QUICK)
    towns(*rooms, "--task", "regression")
    refused = towns(*rooms, "--task", "classification", code=1).stderr
    assert "holds models for 'regression', not 'classification'" in " ".join(refused.split())
    assert files() == before


def test_models_of_other_columns_are_left_behind_even_if_a_group_cannot_be_fitted(towns):
    towns(*FIT)
    frame = pd.read_csv("towns.csv", dtype={"plot": str}).drop(columns="area")
    frame.loc[frame["town"] == "Ulm", "price"] = 3.0
    frame.to_csv("towns.csv", index=False)
    assert "group 'Ulm' could not be fitted" in " ".join(towns(*FIT, code=1).stderr.split())
    said = towns("predict", "models", "towns.csv", "-o", "out.csv", code=1).stderr
    assert "1 group of 'town' not seen in fit: 'Ulm'" in " ".join(said.split())
    frame[frame["town"] != "Ulm"].to_csv("others.csv", index=False)
    towns("predict", "models", "others.csv", "-o", "out.csv")
    assert len(towns.read("out.csv")) == (frame["town"] != "Ulm").sum()


@pytest.mark.slow  # two processes import torch
def test_models_fitted_two_at_a_time_are_those_fitted_one_by_one(towns):
    towns(*FIT)
    other = [*FIT[:7], "again", *FIT[8:]]
    assert "Models: again (3 groups)" in towns(*other, "--jobs", "2").output
    assert Path("again/index.json").read_text() == Path("models/index.json").read_text()
    for name in files():
        one, two = (load(f"{folder}/{name}").model_ for folder in ("models", "again"))
        assert torch.equal(*(model.ensemble.bank.theta for model in (one, two)))
    for folder in ("models", "again"):
        towns("predict", folder, "towns.csv", "-o", f"{folder}.csv")
    assert Path("models.csv").read_text() == Path("again.csv").read_text()
    assert "3 already existed" in towns(*other).output  # whoever fitted them


START = "from batchensemble.cli.app import app; app()"


def workers_of(pid):
    """The processes that joblib started for this one."""
    every = [path for path in Path("/proc").iterdir() if path.name.isdigit()]
    for path in every:
        with suppress(OSError):
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid and b"popen_loky" in (path / "cmdline").read_bytes():
                yield int(path.name)


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no list of processes in /proc")
@pytest.mark.parametrize(
    ("who", "how", "code", "words"),
    [
        ("worker", signal.SIGKILL, 1, "a worker process was killed"),
        ("parent", signal.SIGINT, 130, "run the same command again to fit those that are missing"),
        ("parent", signal.SIGTERM, 143, "run the same command again to fit those that are missing"),
        ("parent", signal.SIGKILL, -signal.SIGKILL, ""),
    ],
)
def test_what_is_finished_stays_when_a_worker_or_the_parent_is_struck(towns, who, how, code, words):
    frame = houses(600)
    frame["town"] = np.arange(len(frame)) // 50  # twelve of them
    frame.to_csv("towns.csv", index=False)
    command = [*FIT, "--jobs", "2"]
    with (
        Path("said.txt").open("w") as said,
        subprocess.Popen(
            [sys.executable, "-c", START, *command],
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
        ) as run,
    ):
        for line in run.stdout:
            if line.strip() == "3: 50 rows":
                break
        workers = [*workers_of(run.pid)]
        os.kill(workers[0] if who == "worker" else run.pid, how)
        run.wait(timeout=100)
    assert run.returncode == code
    end = time.monotonic() + 100
    while any(map(is_running, workers)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(map(is_running, workers))
    assert words in " ".join(Path("said.txt").read_text().split())
    before = json.loads(Path("models/index.json").read_text())["groups"]
    assert 1 <= len(before) < 12
    kept = {name: Path("models", entry["file"]).read_bytes() for name, entry in before.items()}
    assert f"(12 groups; {len(before)} already existed)" in towns(*command).output
    for name, content in kept.items():
        assert Path("models", before[name]["file"]).read_bytes() == content
    other = [*FIT[:7], "again", *FIT[8:]]
    towns(*other)
    assert Path("again/index.json").read_text() == Path("models/index.json").read_text()


def test_other_rows_or_settings_are_fitted_again_and_no_model_of_another_group_is_lost(towns):
    towns(*FIT)
    before = files()
    assert "3 already existed" in towns(*FIT).output
    assert files() == before
    frame = pd.read_csv("towns.csv", dtype={"plot": str})
    frame.loc[frame["town"] == "Bonn", "area"] += 1
    frame[frame["town"] != "Ulm"].to_csv("towns.csv", index=False)
    refused = " ".join(towns(*FIT, code=1).output.split())
    assert "models holds models of 1 group that towns.csv does not have: 'Ulm'" in refused
    assert files() == before
    frame.to_csv("towns.csv", index=False)
    Path("models/mine.be").write_bytes(b"not by fit")
    assert "(3 groups; 2 already existed)" in towns(*FIT).output
    assert [name[:4] for name in files()] == ["Bonn", "Jena", "Ulm-", "mine"]
    assert "(3 groups)" in towns(*FIT, "--seed", "7").output


def test_a_file_in_another_notation_is_fitted_again(towns):
    frame = pd.read_csv("towns.csv", dtype={"plot": str})[["town", "area", "price"]]
    days = pd.date_range("2024-01-01", periods=len(frame))
    for form in ("%d/%m/%Y", "%m/%d/%Y"):
        frame.assign(day=days.strftime(form)).to_csv("towns.csv", index=False)
        assert "(3 groups)" in towns(*FIT).output
    assert "3 already existed" in towns(*FIT).output  # negative control


def test_groups_whose_names_look_alike_in_a_file_name_do_not_share_a_model(towns):
    frame = pd.read_csv("towns.csv", dtype={"plot": str})
    names = {"Bonn": "å 1", "Jena": "ø 1", "Ulm": "z"}
    frame["town"] = frame["town"].map(names)
    frame[frame["town"] != "å 1"].to_csv("towns.csv", index=False)
    towns(*FIT)
    before = json.loads(Path("models/index.json").read_text())["groups"]["ø 1"]
    kept = Path("models", before["file"]).read_bytes()
    frame.to_csv("towns.csv", index=False)
    towns(*FIT)  # the new group comes first
    after = json.loads(Path("models/index.json").read_text())["groups"]
    assert after["ø 1"] == before
    assert len({entry["file"] for entry in after.values()}) == 3
    assert Path("models", before["file"]).read_bytes() == kept


def test_groups_whose_numbers_are_written_otherwise_are_those_of_the_folder(towns):
    frame = pd.read_csv("towns.csv", dtype={"plot": str})
    number = frame["town"].map({"Bonn": 1, "Jena": 2, "Ulm": 3})
    for written in ("{:02d}", "{}", "{}.0"):
        frame.assign(town=number.map(written.format)).to_csv("towns.csv", index=False)
        said = towns(*FIT).output
        index = json.loads(Path("models/index.json").read_text())
        assert [*index["groups"]] == ["01", "02", "03"]
    assert "3 already existed" in said
    both = np.where(number == 3, "1", number.map("{:02d}".format))
    frame.assign(town=both).to_csv("both.csv", index=False)
    for n_fitted in (3, 0):  # 1 is another group than 01 where a file has both
        said = towns("fit", "both.csv", *FIT[2:7], "both", *FIT[8:]).output
        assert f"(3 groups{'' if n_fitted else '; 3 already existed'})" in said


def test_rows_in_another_order_or_other_groups_make_another_model(towns):
    data = read_training_table(Path("towns.csv"), "price", task=None, drop=(), by="town")
    twos = np.arange(len(data.frame)) // 2
    orders = [Order(), Order(in_time=True), Order(twos), Order(twos // 2)]
    seen = {per_group._digest(dataclasses.replace(data, order=order), {}, {}) for order in orders}
    assert len(seen) == 4


def test_a_column_named_target_is_a_column_like_others(towns):
    frame = pd.read_csv("towns.csv", dtype={"plot": str}).rename(columns={"area": "target"})
    frame.to_csv("towns.csv", index=False)
    towns(*FIT)
    frame["target"] += 1
    frame.to_csv("towns.csv", index=False)
    assert "already existed" not in towns(*FIT).output


def test_each_group_knows_which_of_its_targets_are_censored(towns):
    frame = pd.read_csv("towns.csv", dtype={"plot": str}).dropna(subset="price")
    frame["is_open"] = np.arange(len(frame)) % 4 == 0
    frame.to_csv("towns.csv", index=False)
    towns(*FIT, "--censored", "is_open")
    frame.query("town == 'Ulm'").to_csv("ulm.csv", index=False)
    towns("fit", "ulm.csv", "-t", "price", "-o", "ulm.be", "--censored", "is_open", *QUICK)
    for model in ("models", "ulm.be"):
        towns("predict", model, "ulm.csv", "-o", f"{model}.csv")
    pd.testing.assert_frame_equal(towns.read("models.csv"), towns.read("ulm.be.csv"))


def test_a_group_that_cannot_be_fitted_a_gap_and_a_missing_folder_are_one_line_errors(towns):
    frame = pd.read_csv("towns.csv")
    frame.loc[5, "town"] = None
    frame.to_csv("gap.csv", index=False)
    said = towns("fit", "gap.csv", *FIT[2:], code=1).stderr
    assert "gap.csv, line 7: expected a group in the --by column 'town'" in said
    frame.loc[5, "town"] = "Ulm\0"
    frame.to_csv("nul.csv", index=False)
    said = towns("fit", "nul.csv", *FIT[2:], code=1).stderr
    assert "nul.csv, line 7: expected a group in the --by column 'town', got one with NUL" in said
    frame = pd.read_csv("towns.csv").assign(
        kind=lambda f: np.where(f["town"] == "Ulm", "a", f["plot"])
    )
    frame.to_csv("kinds.csv", index=False)
    said = towns("fit", "kinds.csv", "-t", "kind", "--by", "town", "-o", "k", *QUICK, code=1).stderr
    assert "group 'Ulm' could not be fitted" in said
    assert "run the same command again" in said
    assert (
        "needs a folder" in towns("fit", "towns.csv", "-t", "price", "--by", "town", code=2).stderr
    )
    same = ("-t", "town", "--by", "town", "-o", "k")
    assert "--by names the target" in towns("fit", "towns.csv", *same, code=2).stderr
    Path("empty").mkdir()
    assert "cannot be read" in towns("predict", "empty", "new.csv", code=1).stderr
    for damaged in (
        {"format": 1, "by": "town", "groups": {}},
        {"format": 1, "by": "town", "groups": {"Ulm": {"file": "a.be"}}, "columns": []},
        {"format": 1, "by": "town", "groups": {}, "columns": [1]},
    ):
        Path("empty/index.json").write_text(json.dumps(damaged))
        said = towns("predict", "empty", "new.csv", code=1).stderr
        assert "cannot be read" in said or "another version" in said


@pytest.mark.parametrize("n_rows", [1, 3])
def test_a_group_whose_targets_are_all_the_same_has_no_model_that_is_certain(towns, n_rows):
    frame = pd.read_csv("towns.csv")
    alone = frame.head(n_rows).assign(town="Kiel", price=5.0)
    pd.concat([frame, alone]).to_csv("more.csv", index=False)
    said = " ".join(towns("fit", "more.csv", *FIT[2:], code=1).stderr.split())
    rows = "1 row" if n_rows == 1 else "3 rows"
    assert f"group 'Kiel' could not be fitted ({rows}: expected targets that vary, got one" in said
    groups = json.loads(Path(FIT[FIT.index("-o") + 1], "index.json").read_text())["groups"]
    assert groups.keys() == {*frame["town"]}


def test_groups_that_cannot_be_fitted_are_named_and_do_not_keep_the_others_from_it(towns):
    frame = pd.read_csv("towns.csv", dtype=str).assign(kind=lambda f: f["plot"])
    frame.assign(kind=np.where(frame["town"].isin(["Bonn", "Jena"]), "a", frame["kind"])).to_csv(
        "kinds.csv", index=False
    )
    words = ("fit", "kinds.csv", "-t", "kind", "--by", "town", "-o", "k", *QUICK)
    said = " ".join(towns(*words, code=1).stderr.split())
    assert re.search(r"group 'Bonn' could not be fitted \(\d+ rows: .*; nor could 'Jena';", said)
    assert [name[:4] for name in files("k")] == ["Ulm-"]
    frame.to_csv("kinds.csv", index=False)
    assert "(3 groups; 1 already existed)" in towns(*words).output


def test_jobs_and_clusters_are_for_groups_and_groups_for_tables(towns):
    alone = ("fit", "towns.csv", "-t", "price", *QUICK)
    for words in (("--jobs", "2"), ("--ray", "local"), ("--together",), ("--apart",)):
        assert "add --by COLUMN" in towns(*alone, *words, code=2).stderr
    for words in (("--jobs", "0"), ("--jobs", "-5"), ("--jobs", "2", "--ray", "local")):
        assert "expected --jobs of at least 1" in towns(*FIT, *words, code=2).stderr
    series = ("fit", "sales.csv", "-t", "sales", "--time", "month", "--by", "store", "-o", "k")
    said = " ".join(towns(*series, code=2).stderr.replace("│", " ").split())
    assert "one forecaster learns all series together" in said
    assert "--series instead" in said


def test_groups_are_not_for_torchrun(towns, monkeypatch):
    monkeypatch.setattr("batchensemble.training.processes.joined", lambda: nullcontext(Team(0, 2)))
    said = " ".join(towns(*FIT, code=2).stderr.replace("│", " ").split())
    assert "use --jobs or --ray, not torchrun" in said
    assert not Path("models").exists()


def test_the_column_of_the_models_cannot_keep_rows_together_too(towns):
    said = " ".join(towns(*FIT, "--groups", "town", code=2).stderr.replace("│", " ").split())
    assert "--by and --groups name the same column town" in said
    assert not Path("models").exists()


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pd.Timestamp("2020-01-01", tz="UTC"), "--by or --category holds times with a zone"),
        (2.0**62, "'part': expected words, or numbers of at most 15 digits"),
    ],
)
def test_groups_that_cannot_be_told_apart_are_refused_at_fit(towns, column, words):
    frame = pd.read_csv("towns.csv", dtype={"plot": str}).assign(part=column)
    for path in ("typed.parquet", "typed/one.parquet"):
        Path("typed").mkdir(exist_ok=True)
        frame.to_parquet(path)
        where = Path(path).parent if "/" in path else path
        said = towns("fit", where, "-t", "price", "--by", "part", "-o", "k", *QUICK, code=1)
        assert words in said.stderr
    assert not Path("k").exists()


@pytest.mark.parametrize("form", ["csv", "parquet", "xlsx"])
def test_a_day_may_name_a_group_in_files_of_every_type(towns, form):
    frame = pd.read_csv("towns.csv", dtype={"plot": str})
    days = {"Bonn": "2024-01-01", "Jena": "2024-01-02", "Ulm": "2024-01-03"}
    frame["day"] = pd.to_datetime(frame.pop("town").map(days))
    frame.to_csv("days.csv", index=False)
    frame.to_parquet("days.parquet")
    frame.to_excel("days.xlsx", index=False)
    towns("fit", f"days.{form}", "-t", "price", "--by", "day", "-o", "days", *QUICK)
    index = json.loads(Path("days/index.json").read_text())
    assert [*index["groups"]] == [*days.values()]
    for other in ("csv", "parquet", "xlsx"):
        towns("predict", "days", f"days.{other}", "-o", f"{other}-out.csv")
        assert towns.read(f"{other}-out.csv").equals(towns.read("csv-out.csv"))


def test_a_group_may_be_called_like_markup(towns):
    frame = pd.read_csv("towns.csv")
    frame["town"] = np.where(np.arange(len(frame)) % 2, "[/]", "[red]")
    frame.to_csv("towns.csv", index=False)
    said = towns(*FIT).output
    assert "[/]: " in said
    assert "[red]: " in said


def test_groups_that_are_not_calibrated_or_doubtful_are_told(shell):
    random = np.random.default_rng(0)
    x = random.normal(size=360)
    words = np.where(x + random.normal(0, 0.5, 360) > 0, "a", "b")
    groups = ["small"] * 60 + ["big"] * 300
    pd.DataFrame({"g": groups, "x": x, "c": words}).to_csv("t.csv", index=False)
    told = shell("fit", "t.csv", "-t", "c", "--by", "g", "-o", "m", *QUICK).stdout
    assert "Note: not calibrated (see `inspect`): 1 group, 'small'" in told
    again = json.loads(
        shell("fit", "t.csv", "-t", "c", "--by", "g", "-o", "m", *QUICK, "--json").stdout
    )
    assert again["not_calibrated"] == ["small"]
    noise = pd.DataFrame({"g": groups, "x": x, "c": random.choice(["a", "b"], 360)})
    noise.to_csv("n.csv", index=False)
    told = shell("fit", "n.csv", "-t", "c", "--by", "g", "-o", "n", *QUICK).stdout
    assert "Note: with warnings (see `inspect`)" in told


def test_a_damaged_model_of_a_group_is_fitted_again(towns):
    towns(*FIT)
    whole = files()
    damaged = Path("models") / next(iter(whole))
    damaged.write_bytes(damaged.read_bytes()[:-5])
    assert "is damaged" in towns("predict", "models", "towns.csv", code=1).stderr
    assert "2 already existed" in towns(*FIT).output
    assert files().keys() == whole.keys()
    towns("predict", "models", "towns.csv", "-o", "out.csv")


def test_a_kill_between_a_model_and_the_index_does_not_leave_a_model_of_other_rows(
    towns, monkeypatch
):
    words = ("fit", "towns.csv", "-t", "price", *QUICK, "--by", "town", "-o", "models")
    towns(*words)
    before = towns("predict", "models", "towns.csv").stdout
    shutil.copy("towns.csv", "old.csv")
    rows = towns.read("towns.csv", dtype=str)
    rows.assign(price=rows["price"].astype(float) + 1e6).to_csv("towns.csv", index=False)
    replace = os.replace

    def killed(source, target):
        replace(source, target)
        if Path(target).suffix == ".be" and Path(target).parent.name == "models":
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(per_group.os, "replace", killed)
        towns(*words, code=130)
    os.replace("old.csv", "towns.csv")
    towns(*words)
    assert towns("predict", "models", "towns.csv").stdout == before
