import dataclasses

import numpy as np
import pandas as pd
import pytest

from batchensemble.study.additions import Additions, fingerprint
from batchensemble.study.datasets import TABLES, load_table
from batchensemble.training.methods import METHODS

pytestmark = pytest.mark.usefixtures("registries")


@pytest.fixture
def houses(tmp_path):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(60, 2)), columns=["rooms", "price"])
    frame["kind"] = ["flat", "hut"] * 30
    path = tmp_path / "houses.csv"
    frame.to_csv(path, index=False)
    return path


def test_a_file_and_its_target_make_a_dataset(houses):
    assert Additions(tables=((houses, "price"),)).register() == ["houses"]
    table = load_table("houses")
    assert table.task == "regression"
    assert list(table.X) == ["rooms", "kind"]


def test_registering_twice_is_the_same_as_once(houses):
    additions = Additions(tables=((houses, "price"),))
    assert additions.register() == additions.register() == ["houses"]


def test_a_plugin_adds_datasets_and_methods_and_is_read_once_in_a_process(tmp_path):
    plugin = tmp_path / "mine.py"
    plugin.write_text(
        "from batchensemble.training.methods import METHODS\n"
        "from batchensemble.training.methods.deep_ensemble import DeepEnsemble\n"
        "assert 'trio' not in METHODS\n"
        "METHODS['trio'] = lambda n_members, n_passes: DeepEnsemble(3)\n"
    )
    additions = Additions(plugins=(plugin,))
    additions.register()
    additions.register()
    assert METHODS["trio"](10, 100).n_networks == 3


@pytest.mark.parametrize("name", ["diabetes.csv", "electric.csv"])
def test_a_file_may_not_take_the_name_of_a_dataset(houses, name):
    other = houses.rename(houses.with_name(name))
    with pytest.raises(ValueError, match=f"there is a dataset '{name[:-4]}' already"):
        Additions(tables=((other, "price"),)).register()


def test_two_files_of_one_name_are_refused(houses, tmp_path):
    other = tmp_path / "b" / "houses.csv"
    other.parent.mkdir()
    other.write_bytes(houses.read_bytes())
    with pytest.raises(ValueError, match=r"give the file houses\.csv another name"):
        Additions(tables=((houses, "price"), (other, "price"))).register()


def test_what_is_wrong_with_a_file_is_said_before_anything_is_run(houses, tmp_path):
    with pytest.raises(ValueError, match=r"target column of houses.csv .* did you mean 'price'"):
        Additions(tables=((houses, "prize"),)).register()
    with pytest.raises(ValueError, match=r"there is no file .*none\.py; a plugin is a Python file"):
        Additions(plugins=(tmp_path / "none.py",)).register()
    broken = tmp_path / "broken.py"
    broken.write_text("1 / 0\n")
    with pytest.raises(ValueError, match=r"broken.py fails: ZeroDivisionError"):
        Additions(plugins=(broken,)).register()


def test_data_that_a_user_brings_are_known_by_their_content_and_target(houses):
    Additions(tables=((houses, "price"),)).register()
    first = fingerprint("houses")
    assert first == fingerprint("houses") != ""
    text = houses.read_text()
    houses.write_text(text.replace("flat", "tent", 1))
    assert fingerprint("houses") != first
    houses.write_text(text)
    TABLES.pop("houses")
    Additions(tables=((houses, "rooms"),)).register()
    assert fingerprint("houses") != first


def test_a_public_dataset_of_a_plugin_needs_no_checksum_in_a_run():
    TABLES["mine"] = dataclasses.replace(TABLES["phoneme"], name="mine")
    assert fingerprint("mine") == ""


def test_the_studys_own_data_need_no_checksum_in_a_run():
    assert {fingerprint(name) for name in ("diabetes", "seasonal", "ackley_regression")} == {""}


def test_a_plugin_that_leaves_python_is_an_error_that_names_it(tmp_path):
    plugin = tmp_path / "leaves.py"
    plugin.write_text("import sys; sys.exit(3)")
    with pytest.raises(ValueError, match=r"leaves\.py fails: SystemExit: 3"):
        Additions(plugins=(plugin,)).register()
