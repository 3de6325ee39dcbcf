import numpy as np
import pandas as pd
import pytest

from batchensemble.study.datasets.canonical import canonical, checksum, equals, read_csv

KINDS = {"a": "int", "kind": "text", "x": "float", "y": "label"}
FRAME = pd.DataFrame(
    {
        "a": [2, 1, 1, 1],
        "kind": ["p", "q", "?", "?"],
        "x": [0.5, 1 / 3, -0.0, -0.0],
        "y": ["<=50K", ">50K", ">50K", "<=50K"],
    }
)


def test_rows_are_sorted_by_all_columns_the_target_last():
    table = canonical(FRAME, KINDS)
    assert table["a"].tolist() == [1, 1, 1, 2]
    assert table["kind"].tolist() == ["?", "?", "q", "p"]
    assert table["y"].tolist() == ["<=50K", ">50K", ">50K", "<=50K"]
    assert table.index.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("seed", range(5))
def test_shuffled_rows_and_columns_give_the_same_table_and_checksum(seed):
    shuffled = FRAME.sample(frac=1, random_state=seed).sample(frac=1, axis=1, random_state=seed)
    pd.testing.assert_frame_equal(canonical(shuffled, KINDS), canonical(FRAME, KINDS))
    assert checksum(canonical(shuffled, KINDS)) == checksum(canonical(FRAME, KINDS))


def test_how_a_source_writes_a_value_does_not_matter(tmp_path):
    path = tmp_path / "other.csv"
    path.write_bytes(
        b'"a","kind","x","y"\r\n2.0, p ,5e-1,<=50K.\r\n1,"q",0.33333333333333331,>50K\r\n'
        b"1.0,?,0,>50K.\r\n1,?,-0,<=50K\r\n"
    )
    pd.testing.assert_frame_equal(canonical(read_csv(path), KINDS), canonical(FRAME, KINDS))


def test_numbers_keep_twelve_digits():
    table = canonical(pd.DataFrame({"x": [1 + 1e-14, 1 + 1e-9, 0.1 + 0.2]}), {"x": "float"})
    assert table["x"].tolist() == [0.3, 1.0, 1 + 1e-9]
    assert not np.signbit(canonical(FRAME, KINDS)["x"]).any()


@pytest.mark.parametrize(
    "other",
    [
        FRAME.assign(a=[2, 1, 1, 3]),
        FRAME.assign(x=[0.5, 1 / 3 + 1e-9, 0.0, 0.0]),
        FRAME.assign(kind=["p", "q", "?", "r"]),
    ],
)
def test_a_changed_cell_changes_the_checksum(other):
    table, expected = canonical(other, KINDS), checksum(canonical(FRAME, KINDS))
    assert checksum(table) != expected
    with pytest.raises(ValueError, match="some values differ"):
        equals(expected, 4)(table)
    with pytest.raises(ValueError, match="expected 5 rows, got 4"):
        equals(expected, 5)(table)


def test_the_checksum_knows_the_names_and_where_a_cell_ends():
    sums = {
        checksum(frame)
        for frame in (
            pd.DataFrame({"a": ["x", "yz"]}),
            pd.DataFrame({"a": ["xy", "z"]}),
            pd.DataFrame({"a": ['x", "yz']}),
            pd.DataFrame({"b": ["x", "yz"]}),
        )
    }
    assert len(sums) == 4


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (FRAME.drop(columns="x"), "expected the columns a, kind, x, y, got a, kind, y"),
        (FRAME.assign(x=["1", "2", "?", "3"]), r"numbers in the column 'x'.*\?"),
        (FRAME.assign(x=["1", "2", "", "3"]), "numbers in the column 'x'"),
        (FRAME.assign(x=["1", "2", "nan", "3"]), "finite number in every row of the column 'x'"),
        (FRAME.assign(a=[1, 2, 2.5, 3]), "whole numbers in the column 'a'"),
    ],
)
def test_what_does_not_fit_the_columns_is_refused_with_the_column(frame, words):
    with pytest.raises(ValueError, match=words):
        canonical(frame, KINDS)
