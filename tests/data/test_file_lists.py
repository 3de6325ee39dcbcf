import pytest

from batchensemble.data.file_lists import is_among, list_files


def test_an_empty_text_is_not_this_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.csv").write_text("x,y\n1,2\n")
    assert [path.name for path in list_files(".")] == ["c.csv"]
    with pytest.raises(ValueError, match='expected a file, a folder or a pattern, got ""; use'):
        list_files("")


def test_hidden_files_and_other_formats_are_not_listed(tmp_path):
    for name in (".a.parquet", "_SUCCESS", "_jan.csv", "b.parquet", "c.csv", "readme.md"):
        (tmp_path / name).write_text("")
    assert [path.name for path in list_files(tmp_path)] == ["_jan.csv", "b.parquet", "c.csv"]


def test_a_file_is_among_those_of_a_folder_or_a_pattern_and_of_nothing_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    for name in ("in/a.csv", "in/b.csv", "c.csv"):
        (tmp_path / name).write_text("x,y\n1,2\n")
    a, c = tmp_path / "in" / "a.csv", tmp_path / "c.csv"
    for where in ("in", "in/*.csv", str(tmp_path / "in")):
        assert is_among(a, where)
        assert not is_among(c, where)
    for where in ("", "in/a.csv", "gone", "gone/*.csv"):
        assert not is_among(a, where)


def test_folders_in_a_folder_are_listed_by_a_pattern_and_an_error_says_so(tmp_path):
    (tmp_path / "2024").mkdir()
    (tmp_path / "2024" / "a.csv").write_text("x,y\n1,2\n")
    with pytest.raises(ValueError, match=r"got none; check the path, or write '.*/\*\*/\*\.csv'"):
        list_files(tmp_path)
    (tmp_path / "b.csv").write_text("x,y\n1,2\n")
    assert [path.name for path in list_files(tmp_path)] == ["b.csv"]
    assert [path.name for path in list_files(f"{tmp_path}/**/*.csv")] == ["a.csv", "b.csv"]
