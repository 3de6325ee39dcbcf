import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets

from batchensemble.study.datasets import SERIES, load_series, load_table, make_seasonal

HAS_DATA = pytest.mark.skipif(
    not os.environ.get("BATCHENSEMBLE_DATA"), reason="BATCHENSEMBLE_DATA names no folder"
)
SHAPES = {
    "adult": (48842, 14),
    "breast_cancer": (569, 30),
    "phoneme": (5404, 5),
    "california": (20640, 8),
    "diabetes": (442, 10),
}


# Tables


@pytest.mark.parametrize("name", ["breast_cancer", "diabetes"])
def test_two_tables_are_always_here(name, monkeypatch):
    monkeypatch.delenv("BATCHENSEMBLE_DATA", raising=False)
    table = load_table(name)
    assert table.X.shape == SHAPES[name]
    assert len(table.y) == SHAPES[name][0]
    assert "target" not in table.X


@pytest.mark.parametrize("name", ["breast_cancer", "diabetes"])
def test_the_shipped_tables_are_those_of_scikit_learn_in_canonical_order(name):
    table, shipped = load_table(name), getattr(sklearn.datasets, f"load_{name}")()
    rows = np.lexsort([shipped.target, *shipped.data.T[::-1]])
    np.testing.assert_allclose(table.X, shipped.data[rows], rtol=1e-11)
    np.testing.assert_array_equal(table.y, shipped.target[rows])
    assert table.X.columns.tolist() == list(shipped.feature_names)


@HAS_DATA
@pytest.mark.parametrize("name", SHAPES)
def test_every_table_has_the_published_shape_and_no_gaps(name):
    table = load_table(name)
    assert table.X.shape == SHAPES[name]
    assert table.task == ("regression" if table.y.dtype.kind == "f" else "classification")
    assert not table.X.isna().to_numpy().any()


@HAS_DATA
@pytest.mark.parametrize("name", SHAPES)
def test_rows_are_sorted_by_all_columns_the_target_last(name):
    table = load_table(name)
    rows = list(zip(*(table.X[name] for name in table.X), table.y, strict=True))
    assert rows == sorted(rows)


@HAS_DATA
def test_a_damaged_file_is_refused_by_its_checksum(monkeypatch, tmp_path):
    source = Path(os.environ["BATCHENSEMBLE_DATA"]) / "phoneme.csv"
    copy = tmp_path / "phoneme.csv"
    shutil.copy(source, copy)
    copy.chmod(0o644)
    copy.write_bytes(copy.read_bytes()[:-100])
    monkeypatch.setenv("BATCHENSEMBLE_DATA", str(tmp_path))
    with pytest.raises(ValueError, match=r"phoneme.csv to have the sha256 .* got .*replace it"):
        load_table("phoneme")


def test_a_missing_folder_or_file_is_said_with_what_to_do(monkeypatch, tmp_path):
    monkeypatch.delenv("BATCHENSEMBLE_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="name that folder in the environment variable"):
        load_table("adult")
    monkeypatch.setenv("BATCHENSEMBLE_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"needs the file .*adult.csv.gz"):
        load_table("adult")
    with pytest.raises(ValueError, match="did you mean 'adult'"):
        load_table("adults")


@HAS_DATA
def test_adult_has_108_inputs_in_every_split():
    from batchensemble.study.splits import split_table

    split = split_table(load_table("adult"), seed=3)
    assert split.x_train.shape[1] == split.x_test.shape[1] == 108
    assert np.isfinite(split.x_test).all()


# Series


def test_one_series_is_always_here_and_the_same_for_the_same_seed(monkeypatch):
    monkeypatch.delenv("BATCHENSEMBLE_DATA", raising=False)
    series = load_series("seasonal")
    assert len(series.values) == len(series.times) == 480
    np.testing.assert_array_equal(series.values, make_seasonal().values)
    assert not np.array_equal(series.values, make_seasonal(seed=1).values)


@HAS_DATA
@pytest.mark.parametrize(
    ("name", "rows", "mean", "first"),
    [("electric", 397, 88.8472, 72.5052), ("temperature", 3650, 11.1778, 20.7)],
)
def test_the_studys_series_have_the_published_facts(name, rows, mean, first):
    series = load_series(name)
    assert len(series.values) == rows
    assert series.values[0] == first
    assert series.values.mean() == pytest.approx(mean, abs=1e-4)
    assert series.times.is_monotonic_increasing


def test_a_series_is_a_long_frame():
    frame = load_series("seasonal").frame
    assert frame.columns.tolist() == ["unique_id", "ds", "y"]
    assert pd.infer_freq(frame["ds"]) == "MS"


def test_a_missing_file_is_named_with_the_folder_it_may_be_put_in(monkeypatch):
    monkeypatch.delenv("BATCHENSEMBLE_DATA", raising=False)
    for name in SERIES:
        if name != "seasonal":
            with pytest.raises(FileNotFoundError, match=f"'{name}' needs the file .*folder"):
                load_series(name)


def test_an_unknown_series_is_answered_with_the_known_ones():
    with pytest.raises(ValueError, match=r"electrik.*did you mean 'electric'"):
        load_series("electrik")
