import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sample_files import BY_TOWN as FIT
from sample_files import QUICK, houses

from batchensemble.cli import predictions


def test_each_row_is_predicted_by_the_model_of_its_group_in_the_order_of_the_file(towns):
    assert "Models: models (3 groups)" in towns(*FIT).output
    new = houses(30, seed=1).assign(town=lambda f: f["town"].fillna("Ulm"))
    new.to_csv("new.csv", index=False)
    towns("predict", "models", "new.csv", "-o", "out.csv", "--keep", "id,town")
    out = towns.read("out.csv")
    assert out["id"].tolist() == new["id"].tolist()
    index = json.loads(Path("models/index.json").read_text())
    for town, entry in index["groups"].items():
        new[new["town"] == town].to_csv("one.csv", index=False)
        towns("predict", f"models/{entry['file']}", "one.csv", "-o", "alone.csv")
        alone = towns.read("alone.csv")
        own = out[out["town"] == town].drop(columns=["id", "town"]).reset_index(drop=True)
        pd.testing.assert_frame_equal(own, alone)
    rows = pd.read_csv("towns.csv").dropna(subset="price")
    assert {t: e["n_rows"] for t, e in index["groups"].items()} == dict(
        rows["town"].value_counts().sort_index()
    )


def test_groups_not_seen_at_fit_are_named_and_counted(towns):
    towns(*FIT)
    new = houses(30, seed=1)
    new["town"] = [f"town {i:02d}" for i in range(29)] + ["Ulm"]
    new.to_csv("new.csv", index=False)
    said = towns("predict", "models", "new.csv", "-o", "out.csv", code=1).stderr
    assert "29 groups of 'town' not seen in fit: 'town 00', 'town 01'" in said
    assert "and 24 more" in said
    assert not Path("out.csv").exists()


def test_classes_that_a_group_does_not_know_are_empty(towns):
    frame = pd.read_csv("towns.csv")
    frame["kind"] = np.where(frame["rooms"] > 4, "large", "small")
    frame.loc[(frame["town"] == "Ulm") & (frame["kind"] == "small"), "kind"] = "tiny"
    frame.to_csv("towns.csv", index=False)
    words = ("--by", "town", "-o", "kinds", "--drop", "rooms", *QUICK)
    towns("fit", "towns.csv", "-t", "kind", *words)
    towns("predict", "kinds", "towns.csv", "-o", "out.csv", "--keep", "town")
    out = towns.read("out.csv")
    shares = out[["p_large", "p_small", "p_tiny"]]
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert shares["p_tiny"].isna().equals(out["town"] != "Ulm")


@pytest.mark.parametrize("first", ["big", "small"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_groups_without_a_calibration_have_no_sets_and_the_same_columns(
    shell, first, ending, monkeypatch
):
    monkeypatch.setattr(
        predictions.predict_file,
        "__kwdefaults__",
        {**predictions.predict_file.__kwdefaults__, "batch": 50},
    )
    rng = np.random.default_rng(0)

    def rows(group, n):
        x = rng.normal(size=n)
        return pd.DataFrame({"shop": group, "x": x, "hit": x + rng.normal(size=n) > 0})

    pd.concat([rows("small", 30), rows("big", 400)]).to_csv("old.csv", index=False)
    new = pd.concat([rows("big", 60), rows("small", 60)]).sort_values(
        "shop", ascending=first == "big"
    )
    new.to_csv("new.csv", index=False)
    shell("fit", "old.csv", "-t", "hit", "--by", "shop", "-o", "models", *QUICK)
    shell("predict", "models", "new.csv", "-o", f"out.{ending}", "--keep", "shop")
    out = pd.read_csv("out.csv") if ending == "csv" else pd.read_parquet("out.parquet")
    assert list(out)[1:6] == ["prediction", "confidence", "set", "p_false", "p_true"]
    assert out["set"].isna().tolist() == (new["shop"] == "small").tolist()
    assert out.drop(columns="set").notna().all(axis=None)
    np.testing.assert_allclose(out["p_false"] + out["p_true"], 1)


def test_groups_of_other_types_than_texts_are_found_again(towns):
    frame = pd.read_csv("towns.csv", dtype={"plot": str}).dropna(subset="price")
    third = np.arange(len(frame)) % 3
    columns = {"hours": pd.to_timedelta(third, unit="h"), "part": third + 0.5, "half": third > 1}
    for name, column in columns.items():
        frame.assign(**{name: column}).to_parquet("typed.parquet")
        towns("fit", "typed.parquet", "-t", "price", "--by", name, "-o", name, *QUICK)
        towns("predict", name, "typed.parquet", "-o", f"{name}.csv")
        assert len(towns.read(f"{name}.csv")) == len(frame)


WRITTEN = ("{}", "{}.0", "{:03d}", "{:.2f}")


def shops(written):
    """Rows of three shops, whose numbers are written in some way."""
    frame = houses(90).dropna(subset="price").drop(columns="town")
    return frame.assign(shop=[written.format(i % 3 + 1) for i in range(len(frame))])


@pytest.mark.parametrize("first", WRITTEN[:3])
def test_a_group_is_found_however_its_number_is_written(shell, first):
    shops(first).to_csv("first.csv", index=False)
    fit = ("-t", "price", "--by", "shop", "-o", "models", *QUICK)
    shell("fit", "first.csv", *fit)
    shell("predict", "models", "first.csv", "-o", "expected.csv")
    for i, written in enumerate(WRITTEN):
        shops(written).to_csv(f"{i}.csv", index=False)
    typed = shops(first).astype({"shop": float})
    typed.to_parquet("typed.parquet")
    typed.to_excel("typed.xlsx", index=False)
    for path in ("0.csv", "1.csv", "2.csv", "3.csv", "typed.parquet", "typed.xlsx"):
        shell("predict", "models", path, "-o", "out.csv")
        pd.testing.assert_frame_equal(shell.read("out.csv"), shell.read("expected.csv"))


HOLD = """
import fcntl, sys, time
file = open(sys.argv[1], "wb")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(60)
"""


def test_two_runs_do_not_write_to_one_folder(towns):
    pytest.importorskip("fcntl")
    Path("models").mkdir()
    other = subprocess.Popen([sys.executable, "-c", HOLD, "models/.lock"], stdout=subprocess.PIPE)
    try:
        other.stdout.readline()
        assert "another fit is writing to models" in towns(*FIT, code=1).stderr
    finally:
        other.kill()
        other.communicate()
    assert "Models" in towns(*FIT).output


@pytest.mark.parametrize("hours", [0, 7])
def test_groups_that_are_dates_of_a_csv_are_found_in_typed_files(towns, hours):
    frame = pd.read_csv("towns.csv", dtype={"plot": str}).dropna(subset="price")
    shift = pd.to_timedelta(hours * (np.arange(len(frame)) % 2), unit="h")
    frame.assign(day=pd.Timestamp("2024-05-06") + shift).to_csv("days.csv", index=False)
    towns("fit", "days.csv", "-t", "price", "--by", "day", "-o", "days", *QUICK)
    towns("predict", "days", "days.csv", "-o", "expected.csv")
    typed = pd.read_csv("days.csv", dtype={"plot": str}, parse_dates=["day"])
    typed.to_parquet("days.parquet")
    typed.to_excel("days.xlsx", index=False)
    for path in ("days.parquet", "days.xlsx"):
        towns("predict", "days", path, "-o", "out.csv")
        pd.testing.assert_frame_equal(towns.read("out.csv"), towns.read("expected.csv"))
    typed.assign(day=pd.Timestamp("2024-05-07")).to_parquet("other.parquet")
    said = towns("predict", "days", "other.parquet", "-o", "out.csv", code=1).stderr
    assert "1 group of 'day' not seen in fit: '2024-05-07'" in said


def test_a_file_has_one_reading_whichever_group_comes_first(shell):
    random = np.random.default_rng(0)
    small, large = random.integers(10, 99, 120), random.integers(10_000, 99_999, 120)
    frame = pd.DataFrame({"shop": ["A"] * 60 + ["B"] * 60, "b": random.integers(0, 50, 120)})
    frame["area"] = np.where((frame["shop"] == "A") | (frame["b"] < 25), large, small)
    frame["sold"] = (frame["area"] / 10_000 + random.normal(size=120)).round(3)
    frame.to_csv("shops.csv", index=False)
    shell("fit", "shops.csv", "-t", "sold", "--by", "shop", "-o", "models", *QUICK)
    new = frame[frame["area"] > 10_000].drop(columns="sold")
    new["area"] = [f"{area / 1000:.3f}" for area in new["area"]]
    answers = []
    for first in ("A", "B"):
        rows = new.sort_values("shop", ascending=first == "A", kind="stable")
        rows.to_csv("new.csv", index=False)
        shell("predict", "models", "new.csv", "-o", "out.csv")
        answers.append(shell.read("out.csv").set_axis(rows.index).sort_index())
    pd.testing.assert_frame_equal(*answers)
