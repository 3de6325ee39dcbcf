from sample_files import houses

from batchensemble import load
from batchensemble.cli.columns import table_kinds


def test_the_kinds_of_a_model_are_those_of_its_file(shell):
    assert table_kinds(load("price.be")) == {
        "rooms": "number",
        "area": "number",
        "town": "category",
        "plot": "category",
        "sold": "date",
        "garden": "boolean",
    }
    assert houses()["plot"].str.startswith("0").any()  # codes, not numbers


def test_letters_in_doubt_are_told_whatever_is_done_with_a_file(shell):
    rows = shell.read("test.csv", dtype=str).fillna("")
    rows.loc[0, "town"] = "Łódź"
    rows.to_csv("odd.csv", index=False, encoding="cp1250")
    for command in ("predict", "evaluate"):
        said = " ".join(shell(command, "price.be", "odd.csv").stderr.split())
        assert "odd.csv is not UTF-8: read as windows-1252; if letters look wrong" in said
        said = shell(command, "price.be", "odd.csv", "--encoding", "cp1250").stderr
        assert "UTF-8" not in said
