import gzip

import numpy as np
import pandas as pd
import pytest

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
        ValueError, match=r"expected a \.csv, \.csv\.gz, \.tsv, \.parquet or \.feather file"
    ):
        read_table(tmp_path / "f.xlsx", "y")


def test_a_target_that_does_not_vary_is_refused(tmp_path):
    path = tmp_path / "flat.csv"
    path.write_text("a,y\n1,2\n2,2\n3,2\n")
    with pytest.raises(ValueError, match=r"expected 'y' to vary in .*, got one value in all rows"):
        read_table(path, "y")
