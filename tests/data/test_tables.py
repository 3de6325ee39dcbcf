import gzip
import time

import numpy as np
import pandas as pd
import pytest

from batchensemble.data.frames import read_columns
from batchensemble.data.table_encoder import TableEncoder
from batchensemble.data.tables import read_file, read_target, recognise_task, target_values
from batchensemble.study.datasets import read_table
from batchensemble.study.splits import split_table

RANDOM = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "size": RANDOM.normal(size=60),
        "town": RANDOM.choice(["Bonn", "Ulm"], size=60),
        "price": RANDOM.normal(size=60),
        "stars": RANDOM.integers(1, 6, size=60),
        "sold": RANDOM.random(60) > 0.5,
        "id": np.arange(60),
    }
)


@pytest.fixture(params=["houses.csv", "houses.csv.gz", "houses.parquet"])
def path(request, tmp_path):
    file = tmp_path / request.param
    FRAME.to_parquet(file) if file.suffix == ".parquet" else FRAME.to_csv(file, index=False)
    return file


@pytest.mark.parametrize(
    ("target", "task", "dtype"),
    [
        ("price", "regression", np.float64),
        ("town", "classification", object),
        ("stars", "classification", np.int64),
        ("sold", "classification", np.bool_),
        ("id", "regression", np.float64),
    ],
)
def test_a_file_and_a_target_are_enough(path, target, task, dtype):
    table = read_table(path, target)
    assert (table.name, table.task, table.y.dtype) == ("houses", task, dtype)
    assert table.X.columns.tolist() == [name for name in FRAME if name != target]
    assert table.y.tolist() == FRAME[target].tolist()
    assert split_table(table, seed=0).x_train.shape[0] == 48


def test_the_task_may_be_chosen(path):
    assert read_table(path, "stars", task="regression").y.dtype == np.float64
    assert read_table(path, "id", "classification").y.dtype == np.int64
    with pytest.raises(ValueError, match="did you mean 'regression'"):
        read_table(path, "stars", task="regresion")
    with pytest.raises(ValueError, match="expected numbers in the target 'town'"):
        read_table(path, "town", task="regression")


def test_whole_floats_are_labels_only_if_there_are_few(tmp_path):
    path = tmp_path / "a.b.csv"
    pd.DataFrame({"x": range(60), "few": np.arange(60) % 3 * 1.0}).to_csv(path, index=False)
    table = read_table(path, "few")
    assert (table.name, table.task, table.y.dtype) == ("a.b", "classification", np.int64)
    pd.DataFrame({"x": range(4), "few": [1, 2, 3, 4]}).to_csv(path, index=False)
    assert read_table(path, "few").task == "regression"


def test_a_gap_in_a_feature_stays_a_gap(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("y,x\n1.5,2\n2.5,\n3.5,4\n")
    assert read_table(path, "y").X["x"].isna().tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("x,price\n1,2\n3,4\n", "the target column of f.csv .*'x', 'price'.* did you mean 'price'"),
        ("", "is empty: expected a line of column names"),
        ("x,prices\n", "to have rows and columns"),
        ("prices\n1\n2\n", "a column besides the target"),
        ("x,prices\n1,2\n3,\n5,6\n", "every row of .*, got 1 gaps, the first in row 2"),
        ("prices,a,b\n1,2,3\n4,5,6\n7,8", "line 4: expected 3 cells as in the first line, got 2"),
        ('x,prices\n1,2\n"3,4', "line 3: unexpected end of data.*incomplete"),
        ("x,prices\n1,2\n1,2,3\n", "line 3: expected 2 cells as in the first line, got 3"),
    ],
)
def test_a_bad_file_is_refused_in_one_line_with_the_reason(tmp_path, content, words):
    path = tmp_path / "f.csv"
    path.write_text(content)
    with pytest.raises(ValueError, match=words) as caught:
        read_table(path, "prices")
    assert "\n" not in str(caught.value)


def test_a_cut_off_compressed_file_is_refused(tmp_path):
    whole = FRAME.to_csv(index=False).encode()
    (tmp_path / "f.csv.gz").write_bytes(gzip.compress(whole)[:-200])
    FRAME.to_parquet(tmp_path / "f.parquet")
    short = (tmp_path / "f.parquet").read_bytes()[:-50]
    (tmp_path / "f.parquet").write_bytes(short)
    for name in ("f.csv.gz", "f.parquet"):
        with pytest.raises(ValueError, match=r"cannot be read: .*cut off or of another format"):
            read_table(tmp_path / name, "price")


def test_an_absent_file_or_an_unknown_ending_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*f\.csv"):
        read_table(tmp_path / "f.csv", "y")
    with pytest.raises(
        ValueError, match=r"expected a \.csv, \.csv\.gz, \.tsv, \.txt, \.xlsx, \.parquet or"
    ):
        read_table(tmp_path / "f.ods", "y")


def test_a_target_that_does_not_vary_is_refused(tmp_path):
    path = tmp_path / "flat.csv"
    path.write_text("a,y\n1,2\n2,2\n3,2\n")
    with pytest.raises(ValueError, match=r"expected 'y' to vary in .*, got one value in all rows"):
        read_table(path, "y")


def seconds(*tasks, n=7):
    """Of each, the least of the processor in some runs, in turns: others may be busy beside it."""
    best = [float("inf")] * len(tasks)
    for _ in range(n):
        for i, task in enumerate(tasks):
            started = time.process_time()
            task()
            best[i] = min(best[i], time.process_time() - started)
    return best


def test_numbers_with_decimals_are_no_classes():
    assert read_target(pd.Series([1.0, 2.0], name="y"), "classification", "f.csv").dtype == np.int64
    with pytest.raises(
        ValueError, match=r"'y' of f.csv, got numbers such as 0\.5; predict them as"
    ):
        read_target(pd.Series([1.0, 0.5], name="y"), "classification", "f.csv")


def test_wide_tables_take_little_longer_as_frames_and_files_than_as_arrays(tmp_path):
    x = np.random.default_rng(0).normal(size=(100, 3000))
    frame = pd.DataFrame(x, columns=[f"c{j}" for j in range(3000)])
    path = tmp_path / "wide.csv"
    frame.to_csv(path, index=False)
    encoder = TableEncoder("robust").fit(x)
    of_array, of_frame = seconds(lambda: encoder.transform(x), lambda: encoder.transform(frame))
    assert of_frame < 2 * of_array
    learned, whole, csv = seconds(
        lambda: TableEncoder("robust").fit_transform(x),
        lambda: TableEncoder("robust").fit_transform(read_file(path).frame),
        lambda: pd.read_csv(path),
        n=3,
    )
    assert whole < 2.5 * csv + 1.5 * learned  # about twice and once; machines are noisy


def test_the_fast_way_to_read_numbers_reads_no_others(tmp_path):
    columns = {
        "plain": ["1", " -2.5 ", "+3e-4", "0.5"],
        "code": ["1", "007", "3", "4"],
        "signed code": ["1", "-01", "3", "4"],
        "gap": ["1", "", "3", "4"],
        "word gap": ["1", "nan", "3", "4"],
        "underscore": ["1", "1_000", "3", "4"],
    }
    path = tmp_path / "f.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    table = read_file(path)
    expected = ["number", "category", "category", "number", "number"]
    assert list(table.kinds.values())[:5] == expected
    assert table.kinds["underscore"] == "category"
    assert table.frame["plain"].tolist() == [1, -2.5, 3e-4, 0.5]
    assert table.frame["gap"].isna().tolist() == [False, True, False, False]


def test_frames_of_mixed_types_are_read_column_by_column_or_at_once_alike():
    frame = pd.DataFrame(
        {
            "a": [1.5, np.nan],
            "b": [1, 2],
            "c": [True, False],
            "d": np.array([1, 2], np.float32),
            "e": ["x", None],
            "f": pd.array([1, None], dtype="Int64"),
            "g": np.array([3, 2**63], np.uint64),
        }
    )
    together = read_columns(frame)
    for column in together:
        (alone,) = read_columns(frame[[column.name]].astype(object))
        assert (column.name, column.kind) == (alone.name, alone.kind)
        np.testing.assert_array_equal(column.values, alone.values)
    frame.loc[0, "a"] = 7.0  # the columns are copies
    assert together[0].values[0] == 1.5


COUNTED = RANDOM.poisson(1.2, 2000)


@pytest.mark.parametrize(
    ("numbers", "task"),
    [
        (COUNTED, "regression"),
        (RANDOM.negative_binomial(1, 0.4, 2000), "regression"),
        (1 + np.minimum(COUNTED, 5), "regression"),
        (RANDOM.integers(0, 10, 2000), "classification"),  # digits
        (RANDOM.choice(6, 2000, p=[0.9, 0.02, 0.05, 0.003, 0.02, 0.007]), "classification"),
        (RANDOM.choice(3, 2000, p=[0.6, 0.35, 0.05]), "classification"),
        (3 + np.minimum(COUNTED, 5), "classification"),  # marks
        (RANDOM.choice([1, 2, 3, 4, 5], 2000, p=[0.05, 0.05, 0.1, 0.3, 0.5]), "classification"),
    ],
)
def test_counts_are_a_regression_and_numbers_of_classes_are_not(numbers, task):
    found, why = recognise_task(pd.Series(numbers, name="n"))
    assert found == task
    assert ("looks like counts" in why) == (task == "regression" and len(np.unique(numbers)) <= 20)


def test_classes_that_a_float_cannot_tell_apart_are_refused():
    labels = pd.Series([20_000_000_000_000_003, 20_000_000_000_000_004], name="id")
    with pytest.raises(ValueError, match="column 'id': expected words, or numbers of at most 15"):
        target_values(labels, is_classes=True)
    assert target_values(labels // 1000, is_classes=True).tolist() == (labels // 1000).tolist()
    assert target_values(labels, is_classes=False).dtype == "float64"
