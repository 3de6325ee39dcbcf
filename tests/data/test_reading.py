import csv
import gzip
import io
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batchensemble.data.file_options import AS_FOUND, FileOptions
from batchensemble.data.reading import PIPE, open_table

FRAME = pd.DataFrame({"x": [1.5, None, 3.0], "word": ["a", "b", None], "n": [1, 2, 3]})


def whole(path, n_rows=2, options=AS_FOUND):
    with open_table(path, options) as file:
        return pd.concat(list(file.batches(n_rows)))


def written(tmp_path, text, name="f.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([",", ";", "\t", "|"]),
    st.lists(
        st.lists(st.text("ab1 ,;|\t\"'\n", max_size=4), min_size=2, max_size=2),
        min_size=1,
        max_size=6,
    ),
    st.integers(1, 4),
)
def test_every_cell_comes_back_as_the_text_it_was(tmp_path_factory, separator, rows, n_rows):
    path = tmp_path_factory.mktemp("csv") / "f.csv"
    with path.open("w", newline="") as file:
        out = csv.writer(file, delimiter=separator, quoting=csv.QUOTE_ALL)
        out.writerows([["left", "right"], *rows])
    assert whole(path, n_rows).to_numpy().tolist() == rows


def test_rows_are_numbered_by_their_lines_in_the_file(tmp_path):
    text = 'a,b\n1,2\n\n3,"two\nlines"\n   \n5,6\n'
    assert whole(written(tmp_path, text)).index.tolist() == [2, 4, 7]


def test_an_empty_line_in_a_single_column_is_a_gap_between_others(tmp_path):
    read = whole(written(tmp_path, 'a\n1\n\n\n"2\n3"\n\n""\n4\n\n\n'))
    assert read["a"].tolist() == ["1", "", "", "2\n3", "", "", "4"]
    assert read.index.tolist() == [2, 3, 4, 5, 7, 8, 9]


def test_rows_of_typed_files_are_numbered_from_1(tmp_path):
    FRAME.to_parquet(tmp_path / "f.parquet")
    assert whole(tmp_path / "f.parquet").index.tolist() == [1, 2, 3]


@pytest.mark.parametrize("name", ["f.parquet", "f.pq", "f.feather", "f.arrow"])
def test_types_do_not_change_from_batch_to_batch(tmp_path, name):
    path = tmp_path / name
    FRAME.to_parquet(path) if name in ("f.parquet", "f.pq") else FRAME.to_feather(path)
    with open_table(path) as file:
        types = {tuple(batch.dtypes.astype(str)) for batch in file.batches(1)}
        assert file.share_read() == 1
    assert len(types) == 1
    pd.testing.assert_frame_equal(
        whole(path).reset_index(drop=True),
        FRAME.convert_dtypes(dtype_backend="pyarrow"),
        check_dtype=False,
    )


def test_a_compressed_file_and_a_byte_order_mark_are_read_like_plain_text(tmp_path):
    text = "ä;b\n1;2\n"
    plain = whole(written(tmp_path, text))
    assert plain.columns.tolist() == ["ä", "b"]
    (tmp_path / "f.csv.gz").write_bytes(gzip.compress(text.encode()))
    for other in (tmp_path / "f.csv.gz", written(tmp_path, text, "g.csv", "utf-8-sig")):
        pd.testing.assert_frame_equal(whole(other), plain)


def test_a_pipe_is_a_csv_and_stays_open(monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(b"a,b\n1,2\n"))
    monkeypatch.setattr("sys.stdin", stdin)
    assert whole(PIPE).to_numpy().tolist() == [["1", "2"]]
    assert not stdin.closed


@pytest.mark.parametrize("stdin", [None, io.StringIO("a,b\n1,2\n")])
def test_a_file_needs_no_standard_input_and_a_pipe_says_that_it_does(tmp_path, monkeypatch, stdin):
    monkeypatch.setattr("sys.stdin", stdin)
    assert whole(written(tmp_path, "a,b\n1,2\n")).to_numpy().tolist() == [["1", "2"]]
    with pytest.raises(ValueError, match=r"standard input is closed or no file; name a file"):
        whole(PIPE)


def test_columns_without_a_name_are_left_away_and_counted(tmp_path):
    path = written(tmp_path, ",a,b,\n0,1,2,\n1,3,4,\n")
    with open_table(path) as file:
        assert (file.names, file.nameless) == (["a", "b"], 2)
        assert next(file.batches()).to_numpy().tolist() == [["1", "2"], ["3", "4"]]
    FRAME.set_index(np.array([5, 6, 9])).to_parquet(tmp_path / "f.parquet")
    with open_table(tmp_path / "f.parquet") as file:
        assert (file.names, file.nameless) == (["x", "word", "n"], 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty: expected a line of column names"),
        ("\n\n", "begins with an empty line: expected a line of column names"),
        ("a,b,a\n1,2,3\n", "got more than once: 'a'; rename"),
        ("a,b\n1,2\n3\n", "line 3: expected 2 cells as in the first line, got 1"),
        ("a,b\n1,2,3\n", "line 2: expected 2 cells as in the first line, got 3"),
        (
            'a,b\n1,"2\n',
            "line 2: unexpected end of data; perhaps a quote is not closed, or the file is "
            "incomplete",
        ),
    ],
)
def test_what_is_no_table_is_refused_with_the_file_and_the_line(tmp_path, text, words):
    path = written(tmp_path, text)
    with pytest.raises(ValueError, match=words) as caught:
        whole(path)
    assert "f.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_more_cells_than_names_are_fine_where_they_are_empty(tmp_path):
    assert whole(written(tmp_path, "a,b\n1,2,\n")).to_numpy().tolist() == [["1", "2"]]


@pytest.mark.parametrize("name", ["f.csv", "f.csv.gz"])
def test_letters_of_windows_are_read_and_said_to_be(tmp_path, name):
    text = "".join(["town;n\n", *("Ulm;1\n" for _ in range(3000)), "Köln – 5 €;2\n"])
    data = text.encode("cp1252")
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    with open_table(tmp_path / name) as file:
        batches = list(file.batches(1000))
        assert batches[-1]["town"].tolist()[-1] == "Köln – 5 €"
        assert file.notes == [
            f"{tmp_path / name} is not UTF-8: read as windows-1252; if letters look wrong, add "
            "--encoding"
        ]
    with open_table(written(tmp_path, text)) as file:
        assert pd.concat(file.batches())["town"].tolist()[-1] == "Köln – 5 €"
        assert file.notes == []


def test_bytes_that_are_no_text_are_told_with_the_line_and_the_cure(tmp_path):
    path = tmp_path / "f.csv"
    path.write_bytes(b"town\nK\x81ln\n")
    with pytest.raises(
        ValueError, match=r"f\.csv .* UTF-8, got the byte 0x81 in line 2; add --encoding, or save"
    ):
        whole(path)
    with pytest.raises(ValueError, match=r"expected text in ascii, got the byte 0x81"):
        whole(path, options=FileOptions(encoding="ascii"))


@pytest.mark.parametrize("encoding", ["utf-16", "mac_roman", "latin-1", "UTF8", "utf-8-sig"])
def test_an_encoding_may_be_given_and_utf_16_is_seen_by_its_mark(tmp_path, encoding):
    path = written(tmp_path, "ä\tb\né\t2\n", encoding=encoding)
    read = whole(path, options=FileOptions(encoding=encoding))
    assert (read.columns.tolist(), read.to_numpy().tolist()) == (["ä", "b"], [["é", "2"]])
    if encoding == "utf-16":
        pd.testing.assert_frame_equal(whole(path), read)


def test_lines_above_the_names_are_skipped_and_counted(tmp_path):
    path = written(tmp_path, "Sales 2024\nas of 1,5 June\n\na;b\n1;2\n3\n")
    with pytest.raises(ValueError, match=r"if the names are in line 4, 'a;b', add --skip-lines 3"):
        whole(path)
    path = written(tmp_path, "\n\na;b\n1;2\n")
    with pytest.raises(ValueError, match=r"empty line.* line 3, 'a;b', add --skip-lines 2"):
        whole(path)
    read = whole(path, options=FileOptions(skip_lines=2))
    assert (read.columns.tolist(), read.index.tolist()) == (["a", "b"], [4])
    path = written(tmp_path, "title\na;b\n1;2\n3\n")
    with pytest.raises(ValueError, match="line 4: expected 2 cells as in the first line, got 1"):
        whole(path, options=FileOptions(skip_lines=1))


def test_a_separator_that_a_spreadsheet_names_is_used(tmp_path):
    read = whole(written(tmp_path, "sep=|\r\na|b,c\r\n1|2,5\r\n"))
    assert (read.columns.tolist(), read.index.tolist()) == (["a", "b,c"], [3])
    assert whole(written(tmp_path, "sep=\n1\n")).columns.tolist() == ["sep="]


@pytest.mark.parametrize("name", ["f.parquet", "f.feather", "f.csv.gz"])
def test_bytes_of_another_format_are_told(tmp_path, name):
    with pytest.raises(ValueError, match=r"cannot be read: .*cut off or of another format"):
        whole(written(tmp_path, "PAR1 no, not really", name))


def test_a_workbook_that_is_called_a_csv_is_told(tmp_path):
    pd.DataFrame({"a": [1, 2]}).to_excel(tmp_path / "book.xlsx", index=False)
    path = (tmp_path / "book.xlsx").rename(tmp_path / "book.csv")
    with pytest.raises(ValueError, match=r"book\.csv: expected text, got .*; rename it so that it"):
        whole(path)
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
    with pytest.raises(ValueError, match=r"an Excel workbook; save it as \.xlsx or as CSV"):
        whole(path)


def test_an_absent_file_a_folder_and_an_unknown_ending_are_told(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*f\.csv"):
        whole(tmp_path / "f.csv")
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(ValueError, match=r"expected a file, got the folder .*d\.csv"):
        whole(tmp_path / "d.csv")
    with pytest.raises(ValueError, match=r"expected a \.csv.*got .*f\.ods"):
        whole(tmp_path / "f.ods")


def test_how_much_is_read_grows_to_all_of_it(tmp_path):
    path = written(tmp_path, "a,b\n" + "1,2\n" * 50_000)
    with open_table(path) as file:
        shares = [file.share_read() for _ in file.batches(10_000)]
    assert shares == sorted(shares)
    assert 0 < shares[0] < 1
    assert shares[-1] == 1


def test_more_lines_to_skip_than_any_file_has_leave_none(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a\n1\n")
    with (
        pytest.raises(ValueError, match="is empty"),
        open_table(path, FileOptions(skip_lines=10**20)),
    ):
        pass


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_blanks_before_a_quote_are_no_part_of_the_cell(tmp_path, separator):
    rows = [["area", '"kind"'], ["1.5", f'"a{separator} b"'], [" 2", '  "c"'], ["3", "d"]]
    path = written(tmp_path, "".join(f"{a}{separator} {b}\n" for a, b in rows))
    read = whole(path)
    assert list(read) == ["area", "kind"]
    assert read["kind"].tolist() == [f"a{separator} b", "c", "d"]


def test_a_cell_may_be_as_long_as_a_text_is(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("a,b\n" + "x" * 1_000_000 + ",1\n")
    with open_table(path) as file:
        (rows,) = file.batches()
    assert rows["a"].str.len().tolist() == [1_000_000]


def test_a_pattern_that_files_match_is_not_told_to_match_none(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n")
    with pytest.raises(ValueError, match=r"expected one file, got the pattern .*\*\.csv; put its"):
        whole(tmp_path / "*.csv")
    with pytest.raises(FileNotFoundError, match=r"there is no file .*b\*\.csv"):
        whole(tmp_path / "b*.csv")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe_is_refused_as_such(tmp_path):
    os.mkfifo(tmp_path / "rows.csv")
    with pytest.raises(ValueError, match=r"expected a file, got the device or pipe .*rows\.csv"):
        whole(tmp_path / "rows.csv")


def test_a_link_to_nowhere_is_called_one(tmp_path):
    (tmp_path / "d.csv").symlink_to(tmp_path / "nowhere")
    with (
        pytest.raises(FileNotFoundError, match=r"the link .*d\.csv points to no file"),
        open_table(tmp_path / "d.csv"),
    ):
        pass
