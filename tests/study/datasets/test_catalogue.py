import dataclasses
import os
import shutil
from pathlib import Path

import pytest
from rich.console import Console

from batchensemble.study.datasets import (
    SERIES,
    TABLES,
    Table,
    list_datasets,
    load_table,
    read_table,
)
from batchensemble.study.datasets.catalogue import print_datasets
from batchensemble.study.datasets.origins import Web

HAS_DATA = pytest.mark.skipif(
    not os.environ.get("BATCHENSEMBLE_DATA"), reason="BATCHENSEMBLE_DATA names no folder"
)
DATA = Path(os.environ.get("BATCHENSEMBLE_DATA", "."))
PUBLIC = ("adult", "phoneme", "california", "electric", "temperature")


def by_name():
    return {entry.name: entry for entry in list_datasets()}


def test_every_dataset_is_listed_and_nothing_is_downloaded_for_it(monkeypatch, server):
    for name in PUBLIC:
        everything = TABLES if name in TABLES else SERIES
        entry = dataclasses.replace(everything[name], origin=Web("a host", server.url))
        monkeypatch.setitem(everything, name, entry)
    entries = by_name()
    assert set(entries) == {*TABLES, *SERIES}
    assert entries["diabetes"].shape == (442, 11)
    assert entries["breast_cancer"].where == "shipped with scikit-learn"
    assert entries["seasonal"].where == entries["ackley_regression"].where == "generated"
    for name in PUBLIC:
        assert entries[name].shape is None
        assert entries[name].where == "not here; can be downloaded from a host"
    assert server.hits == 0


@HAS_DATA
def test_the_folder_and_a_damaged_file_in_it_are_told_apart(monkeypatch, tmp_path):
    shutil.copy(DATA / "phoneme.csv", tmp_path)
    (tmp_path / "daily-min-temperatures.csv").write_text("Date,Temp\n")
    monkeypatch.setenv("BATCHENSEMBLE_DATA", str(tmp_path))
    entries = by_name()
    assert entries["phoneme"].shape == (5404, 6)
    assert entries["phoneme"].where == f"folder {tmp_path}"
    assert entries["temperature"].where.startswith("damaged: expected ")
    assert entries["adult"].shape is None


def test_downloading_fetches_what_is_missing_and_says_what_could_not_be(monkeypatch, server):
    server.status = 404
    for name in PUBLIC:
        everything = TABLES if name in TABLES else SERIES
        entry = dataclasses.replace(everything[name], origin=Web(f"host of {name}", server.url))
        monkeypatch.setitem(everything, name, entry)
    console = Console(record=True, width=120, file=open(os.devnull, "w"))  # noqa: SIM115
    print_datasets(console, download=True)
    console.file.close()
    text = console.export_text()
    assert server.hits == 5
    for name in PUBLIC:
        assert f"Not downloaded: the dataset '{name}' needs the file" in text
        assert f"the download from host of {name}" in text


def test_a_table_of_ones_own_is_added_by_a_function(monkeypatch, tmp_path):
    monkeypatch.delenv("BATCHENSEMBLE_DATA", raising=False)
    (tmp_path / "mine.csv").write_text("x,y\n1,0.5\n2,1.5\n3,2.5\n")
    monkeypatch.setitem(TABLES, "mine", lambda: read_table(tmp_path / "mine.csv", "y"))
    assert isinstance(load_table("mine"), Table)
    assert by_name()["mine"].shape == (3, 2)
    (tmp_path / "mine.csv").unlink()
    assert by_name()["mine"].where.startswith("cannot be made: there is no file")
