import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from batchensemble.modelfile.version import VERSION
from batchensemble.study.origin import PACKAGE, code_origin, git_tree

ROOT = Path(__file__).parents[2]
GIT = shutil.which("git")


def git(*words, at=ROOT):
    done = subprocess.run([GIT, *words], cwd=at, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.skipif(GIT is None, reason="git is not installed")
def test_the_id_of_a_folder_is_the_one_that_git_gives_it(tmp_path):
    (tmp_path / "a" / "__pycache__").mkdir(parents=True)
    (tmp_path / "a.b").write_text("sorted before the folder a")
    (tmp_path / "a" / "ä.txt").write_bytes(b"\0\xff")
    (tmp_path / "a" / "empty").write_text("")
    git("init", "-q", at=tmp_path)
    git("add", ".", at=tmp_path)
    expected = git("write-tree", at=tmp_path)
    shutil.rmtree(tmp_path / ".git")
    (tmp_path / "a" / "__pycache__" / "x.pyc").write_text("left out")
    assert git_tree(tmp_path).hex() == expected
    (tmp_path / "a.b").write_text("another")
    assert git_tree(tmp_path).hex() != expected


def test_the_version_and_the_code_are_known_without_git_and_the_commit_can_be_told(tmp_path):
    copy = tmp_path / "src" / "batchensemble"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    words = "from batchensemble.study.origin import code_origin; print(*code_origin().values())"
    asked = [sys.executable, "-c", words]
    environment = {"PYTHONPATH": str(tmp_path / "src"), "PATH": "", "BATCHENSEMBLE_COMMIT": "abc"}
    done = subprocess.run(asked, env=environment, capture_output=True, text=True, check=True)
    version, commit, tree = done.stdout.split()
    assert commit == "abc"
    assert tree == code_origin()["tree"]
    assert version == VERSION
    del environment["BATCHENSEMBLE_COMMIT"]
    done = subprocess.run(asked, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split()[-2] == "unknown"


@pytest.mark.skipif(GIT is None or not (ROOT / ".git").exists(), reason="no repository")
def test_in_a_repository_the_commit_is_its_head_and_changes_are_told():
    commit, *changes = code_origin()["commit"].split(maxsplit=1)
    assert commit == git("rev-parse", "HEAD")
    assert bool(changes) == bool(git("status", "--porcelain", "--", "src/batchensemble"))
    if not changes:
        assert code_origin()["tree"] == git("rev-parse", "HEAD:src/batchensemble")
