import dataclasses
import hashlib
from pathlib import Path

import pandas as pd
import pytest

from batchensemble.study.datasets import DatasetMissing
from batchensemble.study.datasets.canonical import canonical, checksum, equals
from batchensemble.study.datasets.origins import Web
from batchensemble.study.datasets.sources import Public, cache_folder, find, load

FRAME = pd.DataFrame({"a": range(400), "y": [i**0.5 for i in range(400)]})
BODY = FRAME.to_csv(index=False).encode()
TABLE = canonical(FRAME, {"a": "int", "y": "float"})


def toy(origin):
    return Public(
        "toy",
        "regression",
        {"a": "int", "y": "float"},
        "toy.csv",
        hashlib.sha256(BODY).hexdigest(),
        equals(checksum(TABLE), 400),
        origin,
    )


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


def test_a_download_is_kept_and_the_second_load_needs_no_server(server, cache):
    server.body = FRAME.sample(frac=1, random_state=0).to_csv(index=False).encode()
    dataset = toy(Web("Toyland", server.url))
    pd.testing.assert_frame_equal(load(dataset), TABLE)
    assert files(cache) == ["toy.csv"]
    server.close()
    pd.testing.assert_frame_equal(load(dataset), TABLE)
    assert server.hits == 1


def truncated(server):
    server.promise_more = 100


def wrong(server):
    server.body = BODY.replace(b"\n100,10.0\n", b"\n100,10.5\n")


def page(server):
    server.body = b"<!DOCTYPE html>\n<p>Be back soon</p>\n"


def absent(server):
    server.status = 404


def silent(server):
    server.pause = 0.5


def trickling(server):
    server.pause = 0.05


def huge(server):
    server.body = BODY + b"0" * 200_000


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (truncated, f"cut off after {len(BODY):,} of {len(BODY) + 100:,} bytes"),
        (wrong, "some values differ"),
        (page, "expected the columns a, y, got <!DOCTYPE html>"),
        (absent, "the server answered 404 Not Found"),
        (silent, "no answer in time"),
        (trickling, "no answer in time"),
        (huge, "larger than 100,000 bytes"),
    ],
)
def test_a_download_that_fails_leaves_nothing_behind_and_says_all_in_one_line(
    server, cache, fault, words
):
    server.body = BODY
    fault(server)
    origin = Web("Toyland", server.url, timeout=0.3, longest=0.2, limit=100_000)
    with pytest.raises(DatasetMissing) as caught:
        load(toy(origin))
    line = str(caught.value)
    for word in ("'toy'", "toy.csv", "BATCHENSEMBLE_DATA", "Toyland", server.url, words):
        assert word in line
    assert "\n" not in line
    assert isinstance(caught.value, FileNotFoundError)
    assert files(cache) == []


def test_nobody_listening_is_no_connection(server, cache):
    server.close()
    with pytest.raises(DatasetMissing, match="no connection"):
        load(toy(Web("Toyland", server.url)))
    assert files(cache) == []


def test_an_interrupted_download_leaves_nothing_behind_and_may_be_tried_again(server, cache):
    class Interrupted(Web):
        def fetch(self, path):
            path.write_bytes(BODY[:1000])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load(toy(Interrupted("Toyland", server.url)))
    assert files(cache) == []
    server.body = BODY
    assert len(load(toy(Web("Toyland", server.url)))) == 400


def test_a_failed_download_is_tried_once_in_a_process_unless_asked_again(server):
    server.status = 503
    dataset = toy(Web("Toyland", server.url))
    for _ in range(3):
        with pytest.raises(DatasetMissing, match="503"):
            load(dataset)
    assert server.hits == 1
    server.body, server.status = BODY, 200
    assert len(load(dataset, again=True)) == 400
    assert server.hits == 2


def test_a_damaged_copy_in_the_cache_is_replaced(server, cache):
    server.body = BODY
    cache.mkdir()
    (cache / "toy.csv").write_bytes(BODY[:-500])
    dataset = toy(Web("Toyland", server.url))
    assert find(dataset) is None
    pd.testing.assert_frame_equal(load(dataset), TABLE)
    assert (cache / "toy.csv").read_bytes() == BODY


def test_the_folder_comes_before_the_cache_and_the_cache_before_the_origin(
    server, cache, monkeypatch, tmp_path
):
    server.body = BODY
    dataset = toy(Web("Toyland", server.url))
    cache.mkdir()
    (cache / "toy.csv").write_bytes(BODY)
    monkeypatch.setenv("BATCHENSEMBLE_DATA", str(tmp_path))
    assert find(dataset)[0] == f"cache {cache}"
    (tmp_path / "toy.csv").write_bytes(BODY)
    assert find(dataset)[0] == f"folder {tmp_path}"
    load(dataset)
    (cache / "toy.csv").unlink()
    load(dataset)
    assert server.hits == 0
    assert files(cache) == []


def test_a_damaged_file_in_the_folder_is_an_error_and_no_reason_to_download(
    server, monkeypatch, tmp_path
):
    monkeypatch.setenv("BATCHENSEMBLE_DATA", str(tmp_path))
    (tmp_path / "toy.csv").write_bytes(BODY[:-1])
    with pytest.raises(ValueError, match=r"toy.csv to have the sha256 .*replace it"):
        load(toy(Web("Toyland", server.url)))
    assert server.hits == 0


def test_nothing_is_downloaded_when_that_is_forbidden(server, monkeypatch):
    dataset = toy(Web("Toyland", server.url))
    with pytest.raises(DatasetMissing, match=r"or let it be downloaded from Toyland \(http\S+$"):
        load(dataset, download=False)
    monkeypatch.setenv("BATCHENSEMBLE_OFFLINE", "1")
    with pytest.raises(DatasetMissing, match="which BATCHENSEMBLE_OFFLINE forbids"):
        load(dataset)
    assert server.hits == 0
    server.body = BODY
    monkeypatch.setenv("BATCHENSEMBLE_OFFLINE", "0")
    load(dataset)
    assert server.hits == 1


@pytest.mark.parametrize("verbose", [False, True])
def test_a_line_tells_of_a_download_only_if_asked_for(server, capsys, verbose):
    server.body = BODY
    load(toy(Web("Toyland", server.url)), verbose=verbose)
    assert ("toy: downloading from Toyland" in capsys.readouterr().err) == verbose


def test_a_cache_that_cannot_be_written_is_said(server, cache):
    cache.write_text("a file, not a folder")
    server.body = BODY
    with pytest.raises(DatasetMissing, match="File exists"):
        load(toy(Web("Toyland", server.url)))


def test_the_cache_is_where_the_variables_say(monkeypatch, tmp_path):
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("BATCHENSEMBLE_CACHE")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "batchensemble"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "batchensemble"
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache_folder() == tmp_path / "local" / "batchensemble" / "Cache"


def test_the_origins_own_names_of_columns_are_understood(server):
    server.body = BODY.replace(b"a,y\n", b"index,y\n")
    dataset = dataclasses.replace(toy(Web("Toyland", server.url)), aliases={"index": "a"})
    pd.testing.assert_frame_equal(load(dataset), TABLE)
