import os

import numpy as np
import pandas as pd
import pytest

from batchensemble.study.datasets import SERIES, load_series, make_seasonal

HAS_DATA = pytest.mark.skipif(
    not os.environ.get("BATCHENSEMBLE_DATA"), reason="BATCHENSEMBLE_DATA names no folder"
)


def test_one_series_is_always_here_and_the_same_for_the_same_seed(monkeypatch):
    monkeypatch.delenv("BATCHENSEMBLE_DATA", raising=False)
    series = load_series("seasonal")
    assert len(series.values) == len(series.times) == 480
    np.testing.assert_array_equal(series.values, make_seasonal().values)
    assert not np.array_equal(series.values, make_seasonal(seed=1).values)


def test_the_seasonal_series_repeats_after_a_season_and_not_after_half_of_one():
    values = make_seasonal().values
    change = values - np.poly1d(np.polyfit(np.arange(480), values, 1))(np.arange(480))

    def correlation(lag):
        return np.corrcoef(change[lag:], change[:-lag])[0, 1]

    assert correlation(12) > 0.6
    assert correlation(6) < -0.6


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
