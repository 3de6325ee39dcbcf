"""One file: written whole or not at all, and read only if every byte is the one written."""

import io
import json
import os
import pickle
import stat
import zipfile
from pathlib import Path

import numpy as np
import pytest
from fixtures import damaged, resigned
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save as bytes_of

from batchensemble.modelfile.files import replacing
from batchensemble.modelfile.persistence import (
    FORMAT,
    LONG_HEADER,
    ModelFileError,
    describe,
    read_model,
    unusable,
    write_model,
)
from batchensemble.modelfile.version import VERSION

CONTENTS = {"about": {"estimator": "None", "words": 'ü "sha256":"0" \\'}, "learned": {"n": 1}}
ARRAYS = {"theta": np.arange(40, dtype=np.float32).reshape(2, 20), "empty": np.zeros((0, 3))}


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("model") / "m.be"
    write_model(path, CONTENTS, ARRAYS)
    return path.read_bytes()


def crafted(text, arrays=ARRAYS, digest=True) -> bytes:
    """A file with this description, made by someone who knows the format: the digest is right."""
    head = '{"sha256":"' + "0" * 64 + '"'
    data = bytes_of(arrays, {"batchensemble": head + text})
    return resigned(data) if digest else data


def refused(folder, data: bytes) -> str:
    """The message, of the one type of error that there is; it names the file."""
    path = folder / "some.be"
    path.write_bytes(data)
    with pytest.raises(ModelFileError) as caught:
        read_model(path)
    assert str(path) in str(caught.value)
    assert "; " in str(caught.value)  # and then, what to do
    return str(caught.value)


def test_what_was_written_is_read_and_the_same_is_written_again(tmp_path, whole):
    for path in (tmp_path / "m.be", str(tmp_path / "n.be")):
        write_model(path, CONTENTS, ARRAYS)
        contents, arrays = read_model(path)
        expected = {"format": FORMAT, "library": VERSION} | CONTENTS
        assert contents == expected
        assert arrays.keys() == ARRAYS.keys()
        for name, array in arrays.items():
            assert np.array_equal(array, ARRAYS[name])
            assert array.dtype == ARRAYS[name].dtype
        assert Path(path).read_bytes() == whole


def test_a_file_is_described_without_its_arrays(tmp_path):
    write_model(tmp_path / "m.be", CONTENTS, ARRAYS)
    size = (tmp_path / "m.be").stat().st_size
    file = {"format": FORMAT, "library": VERSION, "bytes": size}
    assert describe(tmp_path / "m.be") == CONTENTS["about"] | file


# ------------------------------------------------------------------------------------------- damage


@pytest.mark.parametrize("kind", ["flip", "truncation", "insertion", "zeroed block"])
def test_damage_of_every_kind_is_noticed(tmp_path, whole, kind):
    random = np.random.default_rng(0)
    for _ in range(25):
        refused(tmp_path, damaged(whole, kind, random))


def test_a_changed_byte_is_noticed_wherever_it_is(tmp_path, whole):
    path = tmp_path / "m.be"
    for at in range(len(whole)):
        for byte in {9, whole[at] ^ 1} - {whole[at]}:  # a blank might pass for another
            path.write_bytes(whole[:at] + bytes([byte]) + whole[at + 1 :])
            with pytest.raises(ModelFileError):
                read_model(path)


def test_without_the_digest_a_changed_number_would_pass(tmp_path, whole):
    changed = bytearray(whole)
    changed[-1] ^= 1
    assert "not those that were written" in refused(tmp_path, bytes(changed))
    path = tmp_path / "signed.be"
    path.write_bytes(resigned(bytes(changed)))  # the negative control
    assert not all(np.array_equal(a, ARRAYS[name]) for name, a in read_model(path)[1].items())


@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=200))
def test_no_bytes_are_read_by_mistake(tmp_path_factory, data):
    refused(tmp_path_factory.getbasetemp(), data)


# ----------------------------------------------------------------------------------- other people's


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("../../outside", "text")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "but an empty file"),
        (b"PK", "begins with b'PK'"),
        (zipped(), "begins with b'PK"),
        (b"a,b,c\n1,2,3\n" * 20, "begins with b'a,b,c"),
        (pickle.dumps(list(range(100))), "only files written by `batchensemble fit` or model.save"),
        (bytes_of(ARRAYS), "whose header begins with"),
        (bytes_of(ARRAYS, {"format": "pt"}), "whose header begins with"),
        ((10**15).to_bytes(8, "little") + b"{}", "check the path"),
        ((100).to_bytes(8, "little") + b"[" * 100, "check the path"),
        ((2).to_bytes(8, "little") + b"[]", "check the path"),
    ],
    ids=["empty", "short", "zip", "text", "pickle", "bare", "torch", "huge", "deep", "list"],
)
def test_files_of_others_are_told_apart(tmp_path, data, words):
    assert words in refused(tmp_path, data)


def test_a_newer_format_asks_for_an_update(tmp_path):
    data = crafted(f',"format":{FORMAT + 1},"library":"9.9.0"}}', digest=False)
    message = refused(tmp_path, data)
    assert f"got format {FORMAT + 1}, written by batchensemble 9.9.0; update" in message


@pytest.mark.parametrize(
    "text",
    [
        ',"format":1}',
        ',"format":true,"library":"x"}',
        ',"format":0,"library":"x"}',
        ',"format":1,"library":"x","n":NaN}',
        ',"format":1,"library":"x","n":' + "9" * 5000 + "}",
        ',"format":1,"library":"x","n":' + "[" * 100_000 + "]" * 100_000 + "}",
        "}",
        "",
    ],
)
def test_descriptions_that_we_would_not_write_are_refused(tmp_path, text):
    refused(tmp_path, crafted(text))


def test_a_file_without_a_description_is_not_described(tmp_path):
    path = tmp_path / "m.be"
    path.write_bytes(crafted(',"format":1,"library":"x"}'))
    with pytest.raises(ModelFileError, match="no description"):
        describe(path)


def test_arrays_whose_sizes_do_not_fit_the_file_are_refused(tmp_path, whole):
    n = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + n])
    for shape, offsets in (([2**40, 2**40], [0, 160]), ([2, 20], [0, 2**60]), ([2, 20], [8, 168])):
        header["theta"] |= {"shape": shape, "data_offsets": offsets}
        text = json.dumps(header, separators=(",", ":")).encode()
        data = len(text).to_bytes(8, "little") + text + whole[8 + n :]
        assert "damaged" in refused(tmp_path, resigned(data))


def test_a_file_that_is_longer_than_written_is_refused_before_it_is_read(tmp_path, whole):
    path = tmp_path / "m.be"
    path.write_bytes(whole)
    os.truncate(path, 2**40)  # of holes, which take no place
    with pytest.raises(ModelFileError, match=f"1,099,511,627,776 bytes, and {len(whole):,} were"):
        read_model(path)


def test_a_file_that_says_it_is_larger_than_the_memory_is_refused(tmp_path, whole):
    n, path = int.from_bytes(whole[:8], "little"), tmp_path / "m.be"
    header = json.loads(whole[8 : 8 + n])
    header["theta"] |= {"shape": [2**42], "data_offsets": [0, 2**43]}
    text = json.dumps(header, separators=(",", ":")).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text)
    os.truncate(path, 8 + len(text) + 2**43)
    with pytest.raises(ModelFileError, match="do not fit into memory"):
        read_model(path)


# ------------------------------------------------------------------------------------------ writing


def test_what_is_no_place_for_a_file_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"expected a folder for .*nowhere.* make it first"):
        write_model(tmp_path / "nowhere" / "m.be", CONTENTS, ARRAYS)
    with pytest.raises(IsADirectoryError, match="got the folder"):
        write_model(tmp_path, CONTENTS, ARRAYS)
    with pytest.raises(ModelFileError, match=r"got 'a\\x00b'; omit the \\0 in it"):
        read_model("a\0b")
    with pytest.raises(FileNotFoundError, match=r"there is no model file .*m\.be; check the path"):
        read_model(tmp_path / "m.be")
    with pytest.raises(ModelFileError, match=r"got the folder .*; name a model inside it"):
        read_model(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, broken):
    path = tmp_path / "m.be"
    path.write_bytes(b"old")

    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, broken, fail)
    with pytest.raises(OSError, match="full"):
        write_model(path, CONTENTS, ARRAYS)
    assert [each.name for each in tmp_path.iterdir()] == ["m.be"]
    assert path.read_bytes() == b"old"


def test_an_interrupted_write_leaves_nothing(tmp_path):
    def interrupted():
        with replacing(tmp_path / "m.be") as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_a_file_has_the_rights_of_any_new_file(tmp_path):
    write_model(tmp_path / "m.be", CONTENTS, ARRAYS)
    (tmp_path / "other").touch()
    rights = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("m.be", "other")]
    assert rights[0] == rights[1]


def test_a_description_too_long_to_be_read_again_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr("batchensemble.modelfile.persistence.LONGEST_HEADER", 100)
    with pytest.raises(ValueError, match="expected at most 100 bytes beside the arrays"):
        write_model(tmp_path / "m.be", CONTENTS, ARRAYS)
    assert list(tmp_path.iterdir()) == []


def test_a_file_whose_place_is_taken_while_it_is_read_is_read_whole(tmp_path, monkeypatch):
    old, new = tmp_path / "m.be", tmp_path / "longer.be"
    write_model(old, CONTENTS, ARRAYS)
    write_model(new, CONTENTS, {"theta": np.zeros(1000)})
    original = Path.open

    def opened(path, *words):
        file = original(path, *words)
        os.replace(new, old)
        return file

    monkeypatch.setattr(Path, "open", opened)
    _, arrays = read_model(old)
    assert np.array_equal(arrays["theta"], ARRAYS["theta"])


def test_a_long_header_is_read_if_its_digest_is_right_and_refused_if_not(tmp_path):
    contents = {"about": {"estimator": "None", "words": "w" * LONG_HEADER}, "learned": {}}
    write_model(tmp_path / "m.be", contents, ARRAYS)
    data = (tmp_path / "m.be").read_bytes()
    assert read_model(tmp_path / "m.be")[0]["about"] == contents["about"]
    assert "not those that were written" in refused(tmp_path, data.replace(b"www", b"wvw", 1))


@pytest.mark.parametrize("library", ["0.2.0", "0.2.0\nall is well", None])
def test_a_file_of_which_no_model_can_be_built_is_told_in_one_line(library):
    error = RuntimeError("\nnumbers overflow\r\nException raised from check at Storage.cpp:9\n#1")
    text = str(unusable("m.be", library, error))
    assert len(text.splitlines()) == 1
    assert "(RuntimeError: numbers overflow); it was written" in text
    assert "all is well" not in text
    assert "(KeyError: ); it was" in str(unusable("m.be", library, KeyError()))


def test_a_file_of_another_format_is_told_in_one_line(tmp_path):
    write_model(tmp_path / "m.be", CONTENTS | {"format": 9, "library": "9\n9"}, ARRAYS)
    with pytest.raises(ModelFileError, match="update batchensemble") as caught:
        read_model(tmp_path / "m.be")
    assert len(str(caught.value).splitlines()) == 1
