import json
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from sample_files import QUICK, houses, sales

from batchensemble import BatchEnsembleWarning, Regressor, load
from batchensemble.cli import fit
from batchensemble.estimators.presets import PRESETS, SERIES_PRESETS
from batchensemble.estimators.target_kinds import KINDS
from batchensemble.training.methods import METHODS


def plain_words(text):
    return " ".join(text.split())


def test_the_same_words_give_the_same_model(shell):
    answers = []
    for name in ("a.be", "b.be"):
        shell("fit", "houses.csv", "-t", "price", "-o", name, *QUICK)
        answers.append(shell("predict", name, "new.csv").stdout)
    assert answers[0] == answers[1]
    shell("fit", "houses.csv", "-t", "price", "-o", "c.be", *QUICK, "--seed", "1")
    assert shell("predict", "c.be", "new.csv").stdout != answers[0]


def test_gaps_next_to_what_is_held_back_are_filled(shell):
    sales(40).drop([34, 35, 75]).to_csv("gappy.csv", index=False)
    words = ("-t", "sales", "--time", "month", "--series", "store", "--horizon", 4)
    for more in ((), ("--calibrate",)):
        shell("fit", "gappy.csv", *words, "--fill", "ffill", *more, *QUICK)
        assert "2021-05-01" in shell("predict", "gappy.be").stdout


def test_too_few_past_forecasts_are_said_to_be(shell):
    sales(24).query("store == 'north'").to_csv("short.csv", index=False)
    words = ("-t", "sales", "--time", "month", "--horizon", 2, "--calibrate", "--holdout", 0.45)
    said = plain_words(shell("fit", "short.csv", *words, *QUICK).stdout)
    assert "Calibrated, but with too few later forecasts to say what that changed" in said
    assert "nan" not in said
    sales(40).query("store == 'north'").to_csv("test.csv", index=False)
    scores = json.loads(shell("evaluate", "short.be", "test.csv", "--json").stdout)["scores"]
    assert "coverage_80" in scores
    assert "coverage_95" not in scores


def test_the_words_of_choices_are_those_of_the_library():
    assert list(get_args(fit.Method)) == list(METHODS)
    assert get_args(fit.TargetKind) == KINDS
    assert set(get_args(fit.Preset)) == PRESETS.keys() | SERIES_PRESETS.keys()


def test_a_preset_of_series_is_refused_for_tables(shell):
    said = shell("fit", "houses.csv", "-t", "price", "--preset", "recurrent", code=2).stderr
    assert "--preset recurrent is for series" in plain_words(said)


def european(number):
    return f"{number:,.2f} €".translate(str.maketrans(",.", ".,"))


def test_a_file_from_germany_is_learned_predicted_and_judged_as_it_was_read(shell):
    random = np.random.default_rng(0)
    area, day = random.uniform(30, 180, 150), pd.Timestamp("2024-01-01")
    plain = pd.DataFrame(
        {
            "Fläche": area.round(2),
            "verkauft": day + pd.to_timedelta(random.integers(0, 60, 150), "D"),
            "Preis": (1000 * area).round(2),
        }
    )
    written = plain.assign(
        Fläche=plain["Fläche"].map(european),
        verkauft=plain["verkauft"].dt.strftime("%d/%m/%Y"),
        Preis=plain["Preis"].map(european),
    )
    plain.to_csv("plain.csv", index=False)
    written.to_csv("de.csv", index=False, sep=";", encoding="cp1252")
    is_early = plain["verkauft"].dt.day <= 12  # alone, these could be read in two ways
    written[is_early].to_csv("new.csv", index=False, sep=";")
    plain[is_early].to_csv("new_plain.csv", index=False)
    for name in ("plain", "de"):
        said = plain_words(shell("fit", f"{name}.csv", "-t", "Preis", *QUICK).stdout)
        assert ("read as windows-1252" in said) == (name == "de")
    answers = [shell("predict", "plain.be", "new_plain.csv").stdout]
    answers += [shell("predict", "de.be", "new.csv").stdout]
    assert answers[0] == answers[1]
    scores = [
        json.loads(shell("evaluate", model, file, "--json").stdout)["scores"]
        for model, file in (("plain.be", "plain.csv"), ("de.be", "de.csv"))
    ]
    assert scores[0] == scores[1]
    told = plain_words(shell("inspect", "de.be").stdout)
    assert "written Fläche like 1.234,5 €, verkauft like 31/01/2026, Preis like 1.234,5 €" in told


def test_how_a_file_is_to_be_read_can_be_said(shell):
    rows = [f"0{1 + i % 9}/0{1 + i % 7}/2024\t{i % 5 + 1},{100 + i}\t{i}" for i in range(80)]
    Path("odd.csv").write_text("\n".join(["a title", "", "day\tsize\ty", *rows]), "utf-16")
    words = ("fit", "odd.csv", "-t", "y", "--skip-lines", 2, *QUICK)
    said = plain_words(shell(*words).stdout)
    assert "add --dayfirst or --no-dayfirst" in said
    assert "'1,100' may be 1100 or 1.1; add --decimal . or --decimal ," in said
    options = ("--encoding", "utf-16", "--dayfirst", "--decimal", ",")
    said = plain_words(shell(*words, *options).stdout)
    assert "date day number size" in said
    assert "read day ('01/01/2024' as 2024-01-01)" in said
    assert (
        "expected --decimal to be one of '.', ','" in shell(*words, "--decimal", "x", code=1).stderr
    )


def test_codes_are_read_as_words_if_asked_for(shell):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"zip": random.integers(10000, 10009, 150), "x": random.normal(size=150)})
    frame.assign(y=random.normal(size=150)).to_csv("codes.csv", index=False)
    said = plain_words(shell("fit", "codes.csv", "-t", "y", *QUICK).stdout)
    assert "Warning: column 'zip' is read as numbers, but its name suggests codes" in said
    asked = shell("fit", "codes.csv", "-t", "y", "--category", "zip", *QUICK, "--json").stdout
    origin = json.loads(asked)
    assert origin["columns"] == {"zip": "category", "x": "number"}
    assert not any("codes" in warning for warning in origin["warnings"])
    assert (
        "the --category column of"
        in shell("fit", "codes.csv", "-t", "y", "--category", "zp", code=1).stderr
    )


def test_warnings_are_one_line_each_and_kept_with_the_model(shell):
    frame = houses().dropna(subset="price").assign(copied=lambda f: 2 * f["price"])
    frame.to_csv("leak.csv", index=False)
    said = plain_words(shell("fit", "leak.csv", "-t", "price", *QUICK).stdout)
    assert said.count("Warning: column 'copied' almost determines the target by itself") == 1
    kept = json.loads(shell("inspect", "leak.be", "--json").stdout)["origin"]["warnings"]
    assert kept[0].startswith("column 'copied' almost")


def test_a_column_that_is_read_as_words_is_told_once(shell):
    frame = (
        houses(60)
        .dropna(subset="price")
        .assign(
            day=lambda f: [f"0{1 + i % 9}/0{1 + i % 7}/2024" for i in range(len(f))],
            cost=lambda f: [f"{'€$'[i % 2]}{i % 26}.5" for i in range(len(f))],
        )
    )
    frame.to_csv("open.csv", index=False)
    done = shell("fit", "open.csv", "-t", "price", *QUICK)
    said = plain_words(done.stdout)
    assert said.count("add --dayfirst or --no-dayfirst") == 1
    assert said.count("'cost' is read as words") == 1
    assert "Warning: column 'day'" not in said
    assert "Warning: column 'cost'" not in said


def test_the_kind_of_a_target_is_said_and_can_be_chosen(shell):
    random = np.random.default_rng(0)
    x = random.normal(size=120)
    frame = pd.DataFrame({"x": x, "visits": random.poisson(np.exp(2 + 0.8 * x))})
    frame.to_csv("shop.csv", index=False)
    said = plain_words(shell("fit", "shop.csv", "-t", "visits", *QUICK).stdout)
    assert "Target: count: never below 0; recognised, --target-kind overrides it" in said
    shown = plain_words(shell("inspect", "shop.be").stdout)
    assert "count: never below 0" in shown
    shell("predict", "shop.be", "shop.csv", "-o", "answers.csv")
    assert shell.read("answers.csv").lower.min() >= 0
    found = json.loads(shell("fit", "shop.csv", "-t", "visits", "--json", *QUICK).stdout)
    assert found["target_kind"] == "count"
    said = plain_words(
        shell("fit", "shop.csv", "-t", "visits", "--target-kind", "real", *QUICK).stdout
    )
    assert "Target: real: any number Scores" in said
    for words in (("--task", "classification"), ("--time", "x")):
        refused = shell("fit", "shop.csv", "-t", "visits", "--target-kind", "real", *words, code=2)
        assert "--target-kind is for a regression" in plain_words(refused.stderr)


def test_the_ends_of_a_bounded_target_can_be_given(shell):
    random = np.random.default_rng(0)
    x = random.normal(size=120)
    score = np.clip(10 * x + 3 * random.normal(size=120), -20, 20)
    pd.DataFrame({"x": x, "score": score}).to_csv("tests.csv", index=False)
    words = ("fit", "tests.csv", "-t", "score", *QUICK)
    asked = plain_words(shell(*words, "--target-kind", "bounded", code=1).stderr)
    assert "The targets go from -20 to 20; add --target-bounds LOW HIGH" in asked
    said = plain_words(shell(*words, "--target-bounds", "-20", "20").stdout)
    assert "(--target-bounds was given)" in said
    assert "Target: bounded: from -20 to 20 Scores" in said  # and not recognised
    answers = pd.DataFrame({"x": np.linspace(-9, 9, 50)})
    answers.to_csv("far.csv", index=False)
    shell("predict", "tests.be", "far.csv", "-o", "answers.csv")
    found = shell.read("answers.csv")
    assert found[["mean", "lower", "upper"]].abs().to_numpy().max() <= 20
    refused = plain_words(shell(*words, "--target-bounds", "0", "9", code=1).stderr)
    assert "add other --target-bounds, or --target-kind real" in refused


def test_intermittent_series_are_said_to_be(shell):
    random, days = np.random.default_rng(0), pd.date_range("2024-01-01", periods=80)
    rare = np.where(random.random(80) < 0.2, random.integers(1, 9, 80), 0)
    items = {"rare": rare, "common": random.integers(3, 9, 80)}
    parts = [pd.DataFrame({"item": k, "day": days, "sold": v}) for k, v in items.items()]
    pd.concat(parts).to_csv("items.csv", index=False)
    words = ("-t", "sold", "--time", "day", "--series", "item", "--horizon", 7)
    said = plain_words(shell("fit", "items.csv", *words, *QUICK).stdout)
    assert "Note: 1 of 2 series are intermittent" in said
    pd.concat(parts[1:]).to_csv("items.csv", index=False)
    said = plain_words(shell("fit", "items.csv", *words, *QUICK).stdout)
    assert "intermittent" not in said


def test_rows_of_a_group_or_the_last_rows_are_held_out_together(shell):
    shell("fit", "houses.csv", "-t", "price", "--groups", "town", "--holdout", 0.3, *QUICK)
    found = json.loads(shell("inspect", "houses.be", "--json").stdout)["origin"]
    assert found["judged_on"].endswith("held-out rows of other groups")
    sizes = houses().dropna(subset=["price"]).town.value_counts()
    assert {found["n_judged"], found["n_judged"] - 1} & {*sizes}  # a town, and a row without one
    for word in ("--in-time", "--time-split"):
        shell("fit", "houses.csv", "-t", "price", word, "sold", *QUICK)
        found = json.loads(shell("inspect", "houses.be", "--json").stdout)["origin"]
        assert (found["judged_on"], found["n_judged"]) == ("the 24 last rows", 24)
    for words, said in (
        (("--groups", "twon"), "did you mean 'town'"),
        (("--in-time", "town"), "expected dates or numbers without gaps in the --in-time column"),
    ):
        refused = shell("fit", "houses.csv", "-t", "price", *words, code=1)
        assert said in plain_words(refused.stderr)
    shell("fit", "houses.csv", "-t", "price", "--groups", "town", "--in-time", "sold", code=2)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_groups_named_by_long_numbers_are_told_apart(shell, form):
    found = {}
    ids = 2**60 + pd.Series(np.arange(len(houses())) // 4)
    for word, column in (("long", ids), ("word", "k" + ids.astype(str))):
        frame = houses().assign(id=column)
        frame.to_csv("h.csv", index=False)
        frame.to_parquet("h.parquet", index=False)
        shell("fit", f"h.{form}", "-t", "price", "--groups", "id", "-o", "h.be", *QUICK)
        origin = json.loads(shell("inspect", "h.be", "--json").stdout)["origin"]
        found[word] = origin["judged_on"], origin["n_judged"]
    assert found["long"] == found["word"]


@pytest.mark.parametrize("words", [("--category", "id"), ("--by", "id")])
def test_long_numbers_name_the_same_in_every_format(shell, words):
    frame = houses().assign(id=2**60 + np.arange(len(houses())) % 2)
    frame.to_csv("h.csv", index=False)
    frame.to_parquet("h.parquet", index=False)
    shell("fit", "h.parquet", "-t", "price", *words, "-o", "h.be", *QUICK)
    for form in ("csv", "parquet"):
        shell("predict", "h.be", f"h.{form}", "-o", f"{form}.csv")
    assert Path("csv.csv").read_text() == Path("parquet.csv").read_text()


def test_the_column_of_groups_is_learned_from_only_if_it_is_asked_for(shell):
    words = ("fit", "houses.csv", "-t", "price", "--groups", "town", "--json", *QUICK)
    for more, is_learned in (((), False), (("--category", "town"), True)):
        shell(*words, *more)
        origin = json.loads(shell("inspect", "houses.be", "--json").stdout)["origin"]
        assert ("town" in origin["columns"]) == is_learned
        assert ("held out together" in origin["left_out"].get("town", "")) != is_learned


def test_a_file_without_a_target_in_any_row_does_not_end_a_large_fit(shell, monkeypatch):
    from batchensemble.data import table_files

    monkeypatch.setattr(table_files, "SAMPLE_ROWS", 60)
    frame = houses(300)[["rooms", "area", "price"]].dropna()
    (shell.folder / "some").mkdir()
    frame.to_parquet("some/a.parquet", index=False)
    frame[:3].assign(price=np.nan).to_parquet("some/b.parquet", index=False)
    said = plain_words(shell("fit", "some", "-t", "price", *QUICK).stdout)
    assert "left out 3 rows without price" in said


@pytest.mark.parametrize("name", ["parts.parquet", "folder"])
def test_a_column_that_is_dropped_may_hold_anything(shell, name):
    frame = houses().dropna(subset="price")[["area", "price"]]
    frame["parts"] = [[1, 2]] * len(frame)
    frame["far"] = np.inf
    Path("folder").mkdir()
    frame.to_parquet("parts.parquet", index=False)
    for part, rows in (("a", frame[:60]), ("b", frame[60:])):
        rows.to_parquet(f"folder/{part}.parquet", index=False)
    Path("folder/~$b.xlsx").write_bytes(b"a lock of an open spreadsheet")
    assert "column 'parts'" in shell("fit", name, "-t", "price", code=1).stderr
    words = ("fit", name, "-t", "price", "--drop", "parts", "--drop", "far", *QUICK)
    said = plain_words(shell(*words).stdout)
    assert "Learns from 1 column: number area" in said
    assert "Left out: parts, far (dropped with --drop)" in said
    said = shell("fit", name, "-t", "price", "--drop", "part", code=1).stderr
    assert "did you mean 'parts'?" in said


def test_a_column_that_the_first_file_lacks_is_not_ignored_without_a_word(shell):
    Path("months").mkdir()
    frame = houses().dropna(subset="price")[["area", "rooms", "price"]]
    frame[:30].drop(columns="rooms").to_csv("months/2024-01.csv", index=False)
    for month, rows in (("02", frame[30:60]), ("03", frame[60:])):
        rows.to_csv(f"months/2024-{month}.csv", index=False)
    said = plain_words(shell("fit", "months", "-t", "price", code=1).stderr)
    assert "2024-01.csv: expected the columns of months/2024-02.csv" in said
    assert "'rooms'" in said
    said = plain_words(shell("fit", "months", "-t", "price", "--drop", "rooms", *QUICK).stdout)
    assert "Learns from 1 column: number area" in said
    shell("predict", "months.be", "months", "-o", "out")
    assert len(list(Path("out").glob("*.csv"))) == 3


def test_times_with_and_without_a_zone_in_one_folder_are_refused(shell):
    Path("mixed").mkdir()
    frame = houses().dropna(subset="price")[["area", "price"]]
    when = pd.Series(pd.date_range("2024-01-01", periods=len(frame), freq="h"), frame.index)
    frame["when"] = when
    frame[:40].to_parquet("mixed/p0.parquet")
    frame[40:].assign(when=when[40:].dt.tz_localize("UTC")).to_parquet("mixed/p1.parquet")
    said = plain_words(shell("fit", "mixed", "-t", "price", code=1).stderr)
    assert "mixed/p1.parquet, row 1, column 'when': expected a time without a zone" in said
    assert "as in mixed/p0.parquet" in said


def test_codes_are_the_same_words_where_a_gap_makes_them_numbers_with_points(shell):
    random = np.random.default_rng(0)
    codes = random.choice([10115, 50667, 80331], 90)
    table = pd.DataFrame({"plz": codes, "y": (codes == 10115) * 9.0 + random.normal(size=90)})
    table.to_csv("whole.csv", index=False)
    table["plz"].where(table.index > 0).to_frame().to_csv("gap.csv", index=False)
    shell("fit", "whole.csv", "-t", "y", "--category", "plz", *QUICK)
    for name in ("whole", "gap"):
        shell("predict", "whole.be", f"{name}.csv", "-o", f"{name}_out.csv")
    whole, gap = (pd.read_csv(f"{name}_out.csv")["mean"] for name in ("whole", "gap"))
    np.testing.assert_array_equal(whole[1:], gap[1:])


def test_dates_that_the_user_wants_as_words_are_words(shell):
    random = np.random.default_rng(1)
    days = random.choice(["13/02/2024", "25/06/2024"], 80)
    table = pd.DataFrame({"x": random.normal(size=80), "d": days, "y": random.normal(size=80)})
    table.to_csv(shell.folder / "b.csv", index=False)
    shell("fit", "b.csv", "-t", "y", "--category", "d", *QUICK)
    kinds = {
        one["name"]: one["kind"]
        for one in json.loads(shell("inspect", "b.be", "--json").stdout)["columns"]
    }
    assert kinds == {"x": "number", "d": "category"}
    table.replace("13/02/2024", "soon").to_csv(shell.folder / "new.csv", index=False)
    shell("predict", "b.be", "b.csv", "-o", "seen.csv")
    shell("predict", "b.be", "new.csv", "-o", "unseen.csv")


def test_a_folder_of_files_is_one_table_and_may_be_too_large_for_memory(shell, monkeypatch):
    from batchensemble.data import row_sample, table_files
    from batchensemble.estimators import from_files

    (shell.folder / "parts").mkdir()
    for i in range(3):
        houses(300, seed=i).to_csv(shell.folder / "parts" / f"{i}.csv", index=False)
    words = ("parts/*.csv", "-t", "price", "--json", *QUICK)
    whole = json.loads(shell("fit", *words).stdout)
    monkeypatch.setattr(table_files, "SAMPLE_ROWS", 400)
    monkeypatch.setattr(row_sample, "MOST_CLASSES", 10)
    monkeypatch.setattr(from_files, "SHARD_ROWS", 200)
    sampled = json.loads(shell("fit", *words).stdout)
    for said in (whole, sampled):
        assert said["n_rows"] == 900
        assert said["model"] == "parts.be"
        assert said["scores"]["rmse"] < said["scores"]["rmse_of_mean"]
    assert whole["n_judged"] == 179  # of those with a price
    assert 150 < sampled["n_judged"] < 200
    assert "held-out rows" in sampled["judged_on"]
    assert len(shell("predict", "parts.be", "new.csv").stdout.splitlines()) == 31
    several = shell("fit", "parts", "-t", "price", "-t", "rooms", code=1).stderr
    assert "and several targets, --groups" in several
    said = shell("fit", "parts", "-t", "price", "--in-time", "sold", code=1).stderr
    assert "--by are for tables of up to" in said


def test_a_large_table_is_learned_wherever_its_target_stands(shell, monkeypatch):
    from batchensemble.data import table_files

    monkeypatch.setattr(table_files, "SAMPLE_ROWS", 100)
    frame = houses(300)[["rooms", "area", "price"]].dropna()
    for name, columns in (("last", frame.columns), ("first", frame.columns[::-1])):
        (shell.folder / name).mkdir()
        frame[columns].to_csv(shell.folder / name / "a.csv", index=False)
        shell("fit", name, "-t", "price", "--holdout", 0, *QUICK)
        model = load(f"{name}.be")
        assert sorted(model.feature_names_in_) == ["area", "rooms"]
        assert frame["price"].min() < model.predict(frame[model.feature_names_in_]).mean() < 1000


def test_a_checkpoint_is_for_tables_and_is_gone_in_the_end(shell):
    shell("fit", "houses.csv", "-t", "price", "--checkpoint", "run.ckpt", *QUICK)
    assert not (shell.folder / "run.ckpt").exists()
    words = ("-t", "sales", "--time", "month", "--series", "store", "--checkpoint", "run.ckpt")
    assert "--checkpoint is for tables" in shell("fit", "sales.csv", *words, code=2).stderr
    same = ("-t", "price", "--checkpoint", "houses.be")
    assert "would overwrite the model" in shell("fit", "houses.csv", *same, code=2).stderr


@pytest.mark.parametrize("option", ["--drop", "--category"])
def test_columns_that_a_forecast_does_not_read_are_not_dropped_in_silence(shell, option):
    words = ("--time", "month", "--series", "store", option, "holidays")
    refused = shell("fit", "sales.csv", "-t", "sales", *words, "-o", "no.be", code=2).stderr
    assert "--drop and --category are for tables" in " ".join(refused.split())
    assert not (shell.folder / "no.be").exists()


def test_a_folder_is_learned_with_the_notes_and_durations_of_its_files(shell):
    random = np.random.default_rng(0)
    rows = pd.DataFrame({"wait": random.integers(1, 90, 200), "n": random.normal(size=200)})
    rows["y"] = 3.0 * rows["wait"] + rows["n"]
    spans = rows.assign(wait=pd.to_timedelta(rows["wait"], unit="min"))
    for name, frame in (("plain", rows), ("spans", spans)):
        (shell.folder / name).mkdir()
        for part in (0, 1):
            frame[part::2].to_parquet(f"{name}/{part}.parquet")
        frame.to_parquet(f"{name}.parquet")
        frame.to_csv(f"{name}.csv", index=False)
        shell("fit", name, "-t", "y", *QUICK)
    refused = shell("predict", "plain.be", "spans.parquet", code=1).stderr
    assert "column 'wait': expected numbers as in fit, got durations" in refused
    with pytest.raises(ValueError, match="expected numbers as in fit, got durations"):
        load("plain.be").predict(spans[["wait", "n"]])
    shell("predict", "spans.be", "spans.parquet", "-o", "typed.csv")
    said = shell("predict", "spans.be", "spans.csv", "-o", "texts.csv").stderr
    assert "seconds" not in said
    assert shell.read("typed.csv").equals(shell.read("texts.csv"))
    told = " ".join(shell("predict", "spans.be", "plain.csv", "-o", "out.csv").stderr.split())
    assert "fit had durations, so these numbers are taken as seconds" in told


def test_sheets_that_are_not_read_are_named_for_folders_and_predictions_too(shell):
    pytest.importorskip("openpyxl")
    (shell.folder / "books").mkdir()
    frame = houses(60)[["area", "rooms", "price"]].dropna()
    for year in (2023, 2024):
        with pd.ExcelWriter(f"books/{year}.xlsx") as book:
            for sheet in ("jan", "feb"):
                frame.to_excel(book, sheet_name=sheet, index=False)
    note = "read the sheet 'jan'; for another (feb), add --sheet"
    told = " ".join(shell("fit", "books", "-t", "price", *QUICK).stdout.split())
    assert told.count(note) == 2
    with pytest.warns(BatchEnsembleWarning, match=r"2023.xlsx: read the sheet 'jan'"):
        Regressor(epochs=1, preset="fast").fit("books/2023.xlsx", "price")
    said = shell("predict", "books.be", "books/2023.xlsx", "-o", "out.csv").stderr
    assert " ".join(said.split()).count(note) == 1
