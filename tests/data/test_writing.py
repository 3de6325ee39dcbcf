import datetime as dt
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from batchensemble.data.reading import PIPE, open_table
from batchensemble.data.writing import TableWriter, check_place, check_written, csv_text

NAMES = ["f.csv", "f.csv.gz", "f.tsv", "f.parquet", "f.feather"]
PARTS = [
    pd.DataFrame({"x": [0.1, np.nan], "label": ["a", "b, c"], "n": [1, 2]}),
    pd.DataFrame({"x": [1e-300], "label": ["d"], "n": [3]}),
]


def read_back(path):
    with open_table(path) as file:
        return pd.concat(list(file.batches()), ignore_index=True)


@pytest.mark.parametrize("name", NAMES)
def test_batches_come_back_as_one_table_bit_for_bit(tmp_path, name):
    with TableWriter(tmp_path / name) as writer:
        for part in PARTS:
            writer.write(part)
    table = read_back(tmp_path / name)
    assert table["label"].tolist() == ["a", "b, c", "d"]
    assert pd.to_numeric(table["n"]).tolist() == [1, 2, 3]
    numbers = pd.to_numeric(table["x"].replace("", None)).astype(float)
    assert numbers.tolist()[::2] == [0.1, 1e-300]
    assert np.isnan(numbers[1])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("failure", [KeyboardInterrupt, ValueError])
def test_a_failure_in_the_middle_leaves_what_was_there_and_nothing_else(tmp_path, name, failure):
    path = tmp_path / name
    path.write_bytes(b"before")

    def fail_halfway():
        with TableWriter(path) as writer:
            writer.write(PARTS[0])
            assert path.read_bytes() == b"before"
            raise failure

    with pytest.raises(failure):
        fail_halfway()
    assert path.read_bytes() == b"before"
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_a_pipe_gets_a_csv(capsys):
    with TableWriter(PIPE) as writer:
        for part in PARTS:
            writer.write(part)
    assert capsys.readouterr().out == 'x,label,n\n0.1,a,1\n,"b, c",2\n1e-300,d,3\n'


@pytest.mark.parametrize("name", ["f.parquet", "f.feather"])
@pytest.mark.parametrize(
    "first", [["a", 1], [1, "a"], [dt.date(2024, 1, 2), 3], [True, 2], ["a"], []]
)
def test_a_column_of_several_types_is_written_as_texts(tmp_path, name, first):
    cells = [*first, None, 2.5, "b"]
    n = len(first) + 1  # the first batch does not know what will follow
    with TableWriter(tmp_path / name) as writer:
        for part in (cells[:n], cells[n:]):
            writer.write(pd.DataFrame({"mixed": pd.Series(part, dtype=object)}))
    written = read_back(tmp_path / name)["mixed"]
    assert [None if pd.isna(one) else one for one in written] == [
        None if cell is None else str(cell) for cell in cells
    ]


def test_numbers_stay_numbers_and_a_later_word_among_them_is_an_error_that_names_it(tmp_path):
    path = tmp_path / "f.parquet"
    with TableWriter(path) as writer:
        writer.write(pd.DataFrame({"n": pd.Series([1, 2.5, None], dtype=object)}))
    assert read_back(path)["n"].tolist()[:2] == [1.0, 2.5]
    with pytest.raises(
        ValueError, match=r"f\.parquet: .* another type .* column n .*write a \.csv"
    ):
        write_parts(path, [[1, 2], ["a", 3]])
    assert read_back(path)["n"].tolist()[:2] == [1.0, 2.5]


def write_parts(path, parts):
    with TableWriter(path) as writer:
        for part in parts:
            writer.write(pd.DataFrame({"n": pd.Series(part, dtype=object)}))


@pytest.mark.parametrize("name", NAMES)
def test_a_column_may_have_any_name(tmp_path, name):
    frame = pd.DataFrame({"self": [True, False], "frame": [False, False]})
    with TableWriter(tmp_path / name) as writer:
        writer.write(frame)
    assert read_back(tmp_path / name).astype(str).map(str.lower)["self"].tolist() == [
        "true",
        "false",
    ]


def test_a_closed_standard_output_is_told_before_the_first_batch(monkeypatch):
    monkeypatch.setattr("sys.stdout", None)
    with pytest.raises(ValueError, match="standard output is closed; write to a file instead"):
        TableWriter(PIPE).__enter__()


def test_the_same_table_is_the_same_compressed_file(tmp_path):
    for name in ("a.csv.gz", "b.csv.gz"):
        with TableWriter(tmp_path / name) as writer:
            writer.write(PARTS[0])
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


def test_a_place_that_cannot_be_written_is_refused_before_any_work(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"expected a folder for .*none/f\.csv, got none at"
    ):
        check_place(tmp_path / "none" / "f.csv")
    with pytest.raises(IsADirectoryError, match="a file to write, got the folder"):
        check_place(tmp_path)
    os.mkfifo(tmp_path / "device")
    with pytest.raises(OSError, match="got the device"):
        check_place(tmp_path / "device")
    source = tmp_path / "f.csv"
    source.write_text("a\n1\n")
    with pytest.raises(
        ValueError, match=r"the output would overwrite the input .*f\.csv; choose another"
    ):
        check_place(tmp_path / "." / "f.csv", beside=[source])
    check_place(tmp_path / "g.csv", beside=[source])


@pytest.mark.parametrize("name", ["out.json", "out", "/dev/null", "out.txt", "out.xlsx"])
def test_an_ending_that_cannot_be_written_is_answered_with_those_that_can(name):
    endings = r"expected a \.csv, \.csv\.gz, \.tsv, \.parquet or \.feather file to write, got "
    with pytest.raises(ValueError, match=rf"^{endings}{name}; choose one of these endings$"):
        check_written(Path(name))


def test_a_folder_without_the_right_to_write_is_refused_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, right: (path, right) != (tmp_path, os.W_OK))
    with pytest.raises(PermissionError, match="expected a folder that may be written"):
        check_place(tmp_path / "f.csv")


@pytest.mark.parametrize("name", ["f.parquet", "f.feather"])
def test_what_needs_pyarrow_says_how_to_get_it_and_leaves_nothing(tmp_path, monkeypatch, name):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'batchensemble\[parquet\]'"):
        TableWriter(tmp_path / name).__enter__()
    assert not [*tmp_path.iterdir()]


def test_a_spreadsheet_is_not_written(tmp_path):
    with pytest.raises(ValueError, match=r"expected a \.csv, .* or \.feather file to write"):
        TableWriter(tmp_path / "f.xlsx")


def test_a_terminal_gets_six_digits_and_a_pipe_all(capsys, monkeypatch):
    frame = pd.DataFrame({"x": [1 / 3, 123456.789], "n": [1, 1234567890]})
    with TableWriter(PIPE) as writer:
        writer.write(frame)
    assert capsys.readouterr().out.splitlines()[1] == "0.3333333333333333,1"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    with TableWriter(PIPE) as writer:
        writer.write(frame)
    assert capsys.readouterr().out.splitlines()[1:] == ["0.333333,1", "123457,1234567890"]


@pytest.mark.parametrize("name", ["f.csv", "f.csv.gz", "f.tsv"])
def test_a_carriage_return_in_a_text_ends_no_line(tmp_path, name):
    first = pd.DataFrame({"note": ["one\rtwo", "plain"], "n": [1.5, np.nan]})
    with TableWriter(tmp_path / name) as writer:
        writer.write(first)
        writer.write(first[1:])
    table = read_back(tmp_path / name)
    assert table["note"].tolist() == ["one\rtwo", "plain", "plain"]
    assert float(table["n"][0]) == 1.5
    assert pd.read_csv(tmp_path / name, sep=None, engine="python").shape == (3, 2)


def test_a_carriage_return_in_a_name_ends_no_line(tmp_path):
    with TableWriter(tmp_path / "f.csv") as writer:
        writer.write(pd.DataFrame({"p_up\rper": [0.5], "n": [1]}))
    assert pd.read_csv(tmp_path / "f.csv").columns.tolist() == ["p_up\rper", "n"]
    assert csv_text(pd.DataFrame({"a": ["x"], "n": [1]})) == "a,n\nx,1\n"  # others as ever
