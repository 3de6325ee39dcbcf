import subprocess
import sys

from batchensemble.plots.looks import LOOKS, NAMES, dataset_name, look
from batchensemble.training.methods import METHODS


def test_every_method_has_a_look_of_its_own():
    assert list(LOOKS) == list(METHODS)
    for i in range(3):
        assert len({own[i] for own in LOOKS.values()}) == len(METHODS)


def test_a_method_of_ones_own_always_looks_the_same_and_like_none_of_the_papers():
    assert look("mine") == look("mine")
    assert look("mine").label == "mine"
    papers = {own.colour for own in LOOKS.values()}
    assert not papers & {look(name).colour for name in ("mine", "yours", "ours", "theirs")}


def test_a_look_depends_on_the_method_alone_not_on_those_asked_for_before():
    before = look("mine")
    for i in range(9):
        look(f"other {i}")
    assert look("mine") == before
    code = "from batchensemble.plots.looks import look; print(*look('mine'))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.split() == list(before)


def test_every_metric_and_dataset_has_a_name():
    assert all(NAMES.values())
    assert dataset_name("breast_cancer") == "Breast_cancer"
