import errno
import os
import subprocess
import sys
import threading

import pytest

from batchensemble.modelfile.files import check_writable, locked, make_folder, replacing


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


def test_a_path_that_no_system_has_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match="omit the"):
        check_writable(tmp_path / "a\0b")


def test_a_file_in_the_place_of_a_folder_is_refused_with_its_name(tmp_path):
    make_folder(tmp_path / "new" / "deep")
    make_folder(tmp_path / "new" / "deep")
    (tmp_path / "file").touch()
    for place in ("file", "file/deep"):
        with pytest.raises(
            OSError, match=rf"a folder to write into, got .*{place}.*choose another"
        ):
            make_folder(tmp_path / place)


def test_a_folder_without_the_right_to_write_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anywhere
    with pytest.raises(PermissionError, match="no write permission; choose another folder"):
        make_folder(tmp_path)


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


def test_new_files_of_other_threads_keep_their_rights_meanwhile(tmp_path, monkeypatch):
    """umask belongs to the process: to ask for it means to change it for a moment."""

    def asked(mask):
        raise AssertionError("umask was changed")

    monkeypatch.setattr(os, "umask", asked)
    with replacing(tmp_path / "file") as file:
        file.write(b"all")


WRITER = """
import sys
from pathlib import Path
from batchensemble.modelfile.files import make_folder, replacing

with replacing(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    sys.stdin.read()
"""


def writer(path):
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"writing\n"
    return process


def test_what_a_killed_run_has_left_is_removed_by_the_next(tmp_path):
    path = tmp_path / "file"
    killed, alive = writer(path), writer(path)
    assert len(os.listdir(tmp_path)) == 2
    killed.kill()
    killed.communicate()
    with replacing(path) as file:
        file.write(b"new")
        assert len(os.listdir(tmp_path)) == 2  # this one, and that of the other live writer
    assert path.read_bytes() == b"new"
    alive.communicate()
    assert os.listdir(tmp_path) == ["file"]
    assert path.read_bytes() == b"half"


def test_other_hidden_files_are_left_alone(tmp_path):
    others = {".file", ".file.txt", ".other.0123.part", "file.0123.part", ".file.notes.part"}
    others |= {f".file.txt.{16 * '0'}.part"}
    for name in others:
        (tmp_path / name).touch()
    with replacing(tmp_path / "file") as file:
        file.write(b"new")
    assert {*os.listdir(tmp_path)} == others | {"file"}


def test_a_place_that_takes_no_new_file_is_named_and_not_the_unfinished_file(tmp_path, monkeypatch):
    def refused(self, *_):
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr("pathlib.Path.open", refused)
    path = tmp_path / "x.be"
    with pytest.raises(PermissionError, match=f"Permission denied: {path} was not written") as told:
        replacing(path).__enter__()
    assert ".part" not in str(told.value)


def test_a_full_disk_names_the_file(tmp_path):
    def written():
        with replacing(tmp_path / "model.be"):
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match=r"No space left on device: .*model\.be was not written"):
        written()
    assert os.listdir(tmp_path) == []


def test_many_writers_of_one_file_leave_one_of_theirs_whole(tmp_path):
    path, failures = tmp_path / "file", []

    def write(letter):
        try:
            for _ in range(30):
                with replacing(path) as file:
                    file.write(letter * 10_000)
                content = path.read_bytes()
                assert len(content) == 10_000
                assert len(set(content)) == 1
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(letter,)) for letter in (b"a", b"b", b"c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_is_not_taken_for_stale_while_it_is_begun(tmp_path):
    path, stop = tmp_path / "file", threading.Event()

    def clear():
        while not stop.is_set():
            replacing(path)._remove_stale()

    clearing = [threading.Thread(target=clear) for _ in range(2)]
    for thread in clearing:
        thread.start()
    try:
        for number in range(300):
            with replacing(path) as file:
                file.write(b"%d" % number)
            assert path.read_bytes() == b"%d" % number
    finally:
        stop.set()
        for thread in clearing:
            thread.join()


def test_who_holds_a_folder_is_waited_for(tmp_path):
    pytest.importorskip("fcntl")
    order = []

    def other():
        with locked(tmp_path):
            order.append("other")

    waiting = threading.Thread(target=other)
    with locked(tmp_path):
        waiting.start()
        waiting.join(0.2)
        order.append("first")
    waiting.join(10)
    assert order == ["first", "other"]


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path, is_there):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "file", tmp_path / "link"
    if is_there:
        target.write_bytes(b"old")
    link.symlink_to(target)
    with replacing(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert os.listdir(tmp_path / "folder") == ["file"]
