"""The origins of the study's datasets, imitated: what they send becomes the canonical table."""

import dataclasses
import gzip
import os
import socket
from pathlib import Path
from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import fetch_california_housing

from batchensemble.study.datasets import SERIES, TABLES, DatasetMissing, load_series, load_table
from batchensemble.study.datasets.origins import Fetcher, Web

HAS_DATA = pytest.mark.skipif(
    not os.environ.get("BATCHENSEMBLE_DATA"), reason="BATCHENSEMBLE_DATA names no folder"
)
DATA = Path(os.environ.get("BATCHENSEMBLE_DATA", "."))


@pytest.fixture
def online(monkeypatch):
    monkeypatch.delenv("BATCHENSEMBLE_OFFLINE", raising=False)


def move(monkeypatch, name, origin):
    """Load a dataset from another origin, and from nowhere else."""
    monkeypatch.delenv("BATCHENSEMBLE_DATA", raising=False)
    everything = TABLES if name in TABLES else SERIES
    monkeypatch.setitem(everything, name, dataclasses.replace(everything[name], origin=origin))


def fake(frame, seen=None):
    def call(home):
        if seen is not None:
            seen.append((Path(home), socket.getdefaulttimeout()))
        return SimpleNamespace(frame=frame)

    return Fetcher("a fetcher", call, timeout=7.0)


def assert_same(one, other):
    pd.testing.assert_frame_equal(one.X, other.X)
    np.testing.assert_array_equal(one.y, other.y)
    assert (one.name, one.task) == (other.name, other.task)


@HAS_DATA
def test_adult_of_openml_is_adult_of_the_folder(monkeypatch, online, cache):
    expected = load_table("adult")
    frame = pd.read_csv(DATA / "adult.csv.gz", na_values="?", keep_default_na=False)
    frame = frame.rename(columns={"income": "class"}).sample(frac=1, random_state=0)
    frame["class"] = frame["class"].astype("category")
    frame["age"] = frame["age"].astype(float)
    assert frame.isna().any(axis=1).sum() == 3620
    move(monkeypatch, "adult", fake(frame))
    assert_same(load_table("adult"), expected)
    assert [path.name for path in cache.iterdir()] == ["adult.csv.gz"]
    assert_same(load_table("adult", download=False), expected)
    assert {"<=50K", ">50K"} == set(expected.y)


@HAS_DATA
def test_phoneme_of_openml_is_phoneme_of_the_folder(monkeypatch, online):
    expected = load_table("phoneme")
    frame = pd.read_csv(DATA / "phoneme.csv").sample(frac=1, random_state=0)
    frame["Class"] = frame["Class"].astype(str).astype("category")
    move(monkeypatch, "phoneme", fake(frame))
    assert_same(load_table("phoneme"), expected)
    assert set(expected.y) == {1, 2}


@HAS_DATA
def test_california_of_scikit_learn_is_california_of_the_folder(monkeypatch, online):
    def call(home):
        with gzip.open(DATA / "cal_housing.data.gz") as file:
            raw = np.loadtxt(file, delimiter=",")
        # What the fetcher keeps of a download, under the name it looks for.
        joblib.dump(raw[:, [8, 7, 2, 3, 4, 5, 6, 1, 0]], Path(home) / "cal_housing_py3.pkz")
        return fetch_california_housing(data_home=home, as_frame=True, download_if_missing=False)

    expected = load_table("california")
    move(monkeypatch, "california", Fetcher("a fetcher", call))
    assert_same(load_table("california"), expected)


@HAS_DATA
def test_temperature_of_the_git_host_is_temperature_of_the_folder(monkeypatch, server):
    monkeypatch.setenv("BATCHENSEMBLE_DATA", str(DATA))
    expected = load_series("temperature")
    lines = (DATA / "daily-min-temperatures.csv").read_text().splitlines()
    quoted = ['"Date","Temp"', *(f'"{line.replace(",", chr(34) + ",")}' for line in lines[1:])]
    server.body = "\r\n".join(quoted).encode()
    move(monkeypatch, "temperature", Web("a host", server.url))
    series = load_series("temperature")
    np.testing.assert_array_equal(series.values, expected.values)
    assert series.times.equals(expected.times)


def electric(**changes):
    months = pd.date_range("1985-01-01", "2018-01-01", freq="MS")
    values = 88.85 + 20 * np.sin(np.arange(397) / 6)
    frame = pd.DataFrame({"observation_date": months.strftime("%Y-%m-%d"), "IPG2211A2N": values})
    return frame.assign(**changes)


def test_electric_may_be_revised_by_its_origin(monkeypatch, server):
    for revision in (0.0, 2.5):
        frame = electric()
        frame["IPG2211A2N"] += revision
        server.body = frame.to_csv(index=False).encode()
        move(monkeypatch, "electric", Web(f"FRED {revision}", server.url))
        (Path(os.environ["BATCHENSEMBLE_CACHE"]) / "Electric_Production.csv").unlink(True)
        series = load_series("electric")
        np.testing.assert_allclose(series.values, frame["IPG2211A2N"], rtol=1e-11)
        assert series.times[-1] == pd.Timestamp("2018-01-01")


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (electric().drop(index=200), "expected the 397 months 1985-01 to 2018-01, got 396 dates"),
        (electric(IPG2211A2N=88.85 + np.arange(397)), "got 88.8 to 484.9"),
        (electric(IPG2211A2N=98.0), "a mean near 88.85, got .* with the mean 98.00"),
        (electric(IPG2211A2N=[*[88.0] * 396, "."]), "numbers in the column 'IPG2211A2N'"),
    ],
)
def test_electric_of_other_months_or_another_scale_is_refused(monkeypatch, server, frame, words):
    server.body = frame.to_csv(index=False).encode()
    move(monkeypatch, "electric", Web("FRED", server.url))
    with pytest.raises(DatasetMissing, match=words):
        load_series("electric")


def test_a_fetcher_gets_a_folder_that_goes_away_and_a_timeout(monkeypatch, online, cache):
    seen = []
    move(monkeypatch, "phoneme", fake(pd.DataFrame({"V1": [1.0]}), seen))
    with pytest.raises(DatasetMissing, match=r"expected the columns V1, .*, got V1"):
        load_table("phoneme")
    ((home, timeout),) = seen
    assert cache in home.parents
    assert not home.exists()
    assert timeout == 7.0
    assert socket.getdefaulttimeout() is None
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize("name", ["adult", "phoneme", "california", "electric", "temperature"])
def test_without_a_network_every_origin_is_given_up_quickly_and_in_words(name, monkeypatch, online):
    tries = []

    def refuse(address, *args, **kwargs):
        tries.append(address)
        raise ConnectionRefusedError("nobody there")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.delenv("BATCHENSEMBLE_DATA", raising=False)
    load = load_table if name in TABLES else load_series
    for _ in range(2):
        with pytest.raises(DatasetMissing, match=r"no connection \(nobody there\)"):
            load(name)
    assert 1 <= len(tries) <= 2


def test_openml_is_asked_for_the_papers_versions(monkeypatch):
    asked = []
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **kwargs: asked.append(kwargs))
    for name in ("adult", "phoneme"):
        TABLES[name].origin.call("home")
    assert [kwargs["data_id"] for kwargs in asked] == [1590, 1489]
