import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from batchensemble.data.doubts import doubts_about, doubts_about_new
from batchensemble.data.frames import read_columns
from batchensemble.data.table_encoder import TableEncoder
from batchensemble.data.tables import recognise_task

N = 400


@pytest.fixture
def table():
    """Columns that tell something about a target, but not all."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(N, 3)), columns=["a", "b", "c"])
    frame["town"] = random.choice(["Ulm", "Bonn", "Jena"], N)
    noise = random.normal(size=N)
    return frame, (2 * frame["a"] + frame["b"] + noise).to_numpy()


def doubts(frame, y, *, is_classes=False, bins=16, **how):
    columns = read_columns(frame)
    encoder = TableEncoder("robust", bins=bins, **how).fit(columns)
    told = encoder.with_dates(columns), np.asarray(y), encoder
    return list(doubts_about(*told, is_classes=is_classes))


def test_an_ordinary_table_is_beyond_doubt(table):
    frame, y = table
    assert doubts(frame, y) == []
    assert doubts(frame, np.where(y > 0, "yes", "no"), is_classes=True) == []


@pytest.mark.parametrize("load", [load_breast_cancer, load_diabetes, load_iris])
def test_known_tables_are_beyond_doubt(load):
    X, y = load(return_X_y=True, as_frame=True)
    assert doubts(X, y, is_classes=load is not load_diabetes) == []


@pytest.mark.slow
def test_real_tables_are_beyond_doubt():
    folder = os.environ.get("BATCHENSEMBLE_DATA")
    if not folder:
        pytest.skip("needs BATCHENSEMBLE_DATA, the folder of the real tables")
    for path in sorted((Path(folder) / "quality").glob("*.csv.gz")):
        table = pd.read_csv(path)
        if "target" in table:
            y = table.pop("target")
            is_classes = recognise_task(y)[0] == "classification"
            assert doubts(table, y, is_classes=is_classes, max_categories=32) == [], path


@pytest.mark.parametrize(
    "leak",
    [
        lambda y, random: y,
        lambda y, random: -3 * y + 7,
        lambda y, random: np.exp(y),
        lambda y, random: (100 * y).round(),
        lambda y, random: y + random.normal(0, 0.01, len(y)),
        lambda y, random: np.where(random.random(len(y)) < 0.001, 0, y),
    ],
)
def test_a_column_that_is_the_target_in_other_words_is_told(table, leak):
    frame, y = table
    frame = frame.assign(copied=leak(y, np.random.default_rng(1)))
    (doubt,) = doubts(frame, y)
    assert doubt.startswith("column 'copied' almost determines the target by itself")
    assert len(doubts(frame[:60], y[:60])) == 1
    assert doubts(frame[["copied"]], y) == []  # the only column: nothing to compare it with


def test_a_strong_column_is_no_leak(table):
    frame, y = table
    random = np.random.default_rng(1)
    strong = y + random.normal(0, 0.2 * y.std(), N)
    assert np.corrcoef(strong, y)[0, 1] > 0.97
    assert doubts(frame.assign(strong=strong), y) == []


@pytest.mark.parametrize(
    "coded",
    [
        lambda y: np.where(y == "high", 7, np.where(y == "low", 3, 5)),
        lambda y: np.char.upper(y.astype(str)),
        lambda y: (y == "high").astype(float) + np.linspace(0, 0.5, len(y)),
    ],
)
def test_classes_under_other_names_are_told(table, coded):
    frame, y = table
    three = np.where(y > 1, "high", np.where(y < -1, "low", "middle")).astype(object)
    target = three if coded(three).dtype.kind != "f" else np.where(y > 1, "high", "low")
    (doubt,) = doubts(frame.assign(group=coded(target)), target, is_classes=True)
    assert "'group' almost determines the target" in doubt


def test_a_leak_of_a_rare_class_is_told(table):
    frame, y = table
    rare = np.where(y > np.sort(y)[-13], "yes", "no")
    flag = np.where(rare == "yes", np.random.default_rng(2).uniform(5, 6, N), frame["c"])
    (doubt,) = doubts(frame.assign(flag=flag), rare, is_classes=True)
    assert "'flag' almost determines" in doubt


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("ref", [f"r{i}" for i in range(N)], "like an ID"),
        ("customer_id", np.random.default_rng(0).permutation(N) + 500, "like an ID"),
        ("Id", np.arange(N) + 1, "like an ID"),
        ("rate", [f"{i % 60}.5 %" for i in range(N)], "numbers written as text, such as '0.5 %'"),
        ("note", [f"a nice old flat {i} near" for i in range(N)], "is free text"),
        ("cost", [f"1,{i:03d}.50" for i in range(N)], "numbers written as text, such as '1,000.50"),
        ("zip", np.arange(N) % 40 + 10_000, "its name suggests codes"),
        ("day", [f"0{1 + i % 9}/0{1 + i % 7}/2024" for i in range(N)], "convert it with pd.to_dat"),
    ],
)
def test_columns_that_are_not_what_they_seem_are_told(table, name, values, words):
    frame, y = table
    (doubt,) = doubts(frame.assign(**{name: values}), y)
    assert f"column '{name}'" in doubt
    assert words in doubt


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("people", np.random.default_rng(0).permutation(10 * N)[:N]),  # different, but no ID
        ("group_id", np.arange(N) % 20),
        ("paid", np.arange(N) % 20),
        ("zip", [f"1{i % 40:04d}" for i in range(N)]),
        ("day", pd.date_range("2020-01-01", periods=N).strftime("%Y-%m-%d")),
    ],
)
def test_columns_like_them_are_not(table, name, values):
    frame, y = table
    assert doubts(frame.assign(**{name: values}), y) == []


def test_classes_with_few_rows_are_told_with_their_counts(table):
    frame, _ = table
    y = np.repeat(["a", "b", "c"], [N - 12, 9, 3])
    (doubt,) = doubts(frame, y, is_classes=True)
    assert doubt.startswith("classes with fewer than 10 rows: b (9), c (3); these are too few")


def test_merged_categories_are_told(table):
    frame, y = table
    many = frame.assign(code=[f"c{i % 100}" for i in range(N)])
    (doubt,) = doubts(many, y, bins=None, max_categories=32)
    assert "the 69 rarest of the 100 categories of column 'code' are merged into one" in doubt
    assert doubts(many, y, max_categories=32) == []  # each has a number of its own
    rare = frame.assign(code=[f"c{i // 2 if i < 200 else i % 40}" for i in range(N)])
    (doubt,) = doubts(rare, y, max_categories=32)
    assert "60 of the 100 categories of column 'code' are in one or two rows each" in doubt
    assert "30% of the rows" in doubt


@pytest.mark.parametrize("word", ["NA", "None", ""])
def test_gaps_that_are_taken_for_a_word_are_told(word):
    known = TableEncoder().fit(pd.DataFrame({"c": [word, "a"] * 5, "x": np.arange(10.0)}))
    both = TableEncoder().fit(pd.DataFrame({"c": [word, "a", None] * 4, "x": np.arange(12.0)}))
    new = read_columns(pd.DataFrame({"c": pd.Series([None, "a"], dtype=object), "x": 0.0}))
    (told,) = doubts_about_new(new, known)
    assert told.startswith(f"column 'c': missing values are taken for the category {word!r} of")
    assert list(doubts_about_new(new.take(slice(1, None)), known)) == []
    assert list(doubts_about_new(new, both)) == []  # which knew them
