import pytest

from batchensemble.data.file_options import FileOptions


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"decimal": ";"}, "expected --decimal to be one of '.', ',', got ';'"),
        ({"thousands": "_"}, "expected --thousands to be one of"),
        ({"decimal": ",", "thousands": ","}, "different marks for --decimal and --thousands"),
        ({"encoding": "base64"}, "an encoding such as utf-8, cp1252 or mac_roman, got 'base64'"),
        ({"encoding": "windows"}, "an encoding such as utf-8, cp1252 or mac_roman, got 'windows'"),
    ],
)
def test_options_that_mean_nothing_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        FileOptions(**given)


def test_a_mark_between_thousands_tells_the_decimal_mark_if_it_can():
    assert FileOptions(thousands=".").decimal_mark == ","
    assert FileOptions(thousands=",").decimal_mark == "."
    assert FileOptions(thousands="'").decimal_mark is None
    assert FileOptions(thousands="'", decimal=",").decimal_mark == ","


def test_options_for_other_files_are_refused():
    FileOptions(skip_lines=1, sheet="A").check("f.xlsx", is_text=False, is_excel=True)
    with pytest.raises(ValueError, match=r"--sheet does not apply to f\.csv; omit it"):
        FileOptions(sheet="A").check("f.csv", is_text=True, is_excel=False)
    with pytest.raises(ValueError, match=r"--encoding does not apply to f\.xlsx; omit it"):
        FileOptions(encoding="cp1252").check("f.xlsx", is_text=False, is_excel=True)
    with pytest.raises(ValueError, match=r"--skip-lines does not apply to f\.parquet; omit it"):
        FileOptions(skip_lines=1).check("f.parquet", is_text=False, is_excel=False)
