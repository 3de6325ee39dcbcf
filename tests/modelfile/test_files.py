import os

import pytest

from batchensemble.modelfile.files import replacing


def test_a_file_appears_when_it_is_complete(tmp_path):
    path = tmp_path / "file"
    with replacing(path) as file:
        file.write(b"all")
        assert not path.exists()
    assert path.read_bytes() == b"all"
    assert os.listdir(tmp_path) == ["file"]


def test_a_folder_in_the_place_of_the_file_and_none_for_it_are_refused(tmp_path):
    with pytest.raises(
        IsADirectoryError, match=r"a file to write, got the folder .*; add a file name"
    ):
        replacing(tmp_path).__enter__()
    with pytest.raises(FileNotFoundError, match=r"expected a folder for .*; make it first"):
        replacing(tmp_path / "none" / "file").__enter__()


def test_a_device_is_refused_and_stays_what_it_is(tmp_path):
    device = tmp_path / "device"
    os.mkfifo(device)
    with pytest.raises(OSError, match="expected a file to write, got the device"):
        replacing(device).__enter__()
    assert device.is_fifo()
    assert os.listdir(tmp_path) == ["device"]


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def half():
        with replacing(path) as file:
            file.write(b"half")
            raise RuntimeError("half")

    with pytest.raises(RuntimeError, match="half"):
        half()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_has_the_rights_of_any_new_file(tmp_path):
    with replacing(tmp_path / "ours") as file:
        file.write(b"")
    (tmp_path / "theirs").touch()
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "theirs").stat().st_mode
