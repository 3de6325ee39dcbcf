import numpy as np
import pandas as pd
import pytest
import torch
from fixtures import regression_table

from batchensemble import Regressor
from batchensemble.estimators.stored import plain_lists, stored


@pytest.mark.parametrize("words", ["abc", 1, None])
def test_categories_that_are_no_list_are_refused_by_name(words):
    x, y = regression_table()
    with pytest.raises(ValueError, match=r"expected categories=\{'x0': \[\.\.\.\]\}"):
        Regressor(categories={"x0": words}).fit(x, y)


def test_a_set_of_categories_has_one_order_whatever_its_hashes():
    words = [*"abcdefgh"]
    assert plain_lists({"x": {*words}, "y": frozenset(words)}) == {"x": words, "y": words}


def test_categories_of_any_library_are_kept_as_plain_lists():
    array = np.array(["a"])
    plain = plain_lists({"x": pd.Index(["a", "b"]), "y": array, "z": ("a",)})
    assert plain == {"x": ["a", "b"], "y": array, "z": ("a",)}
    assert plain_lists(None) is None


def test_parameters_and_what_was_learned_become_json_and_arrays():
    parameters = {"random_state": np.random.RandomState(0), "lr": 0.1}
    contents, arrays = stored(parameters, {"scale_": np.arange(3.0), "name_": "y"})
    assert contents["parameters"] == {"random_state": None, "lr": 0.1}  # a generator is not kept
    assert contents["learned"]["name_"] == "y"
    (kept,) = arrays.values()
    assert kept.tolist() == [0, 1, 2]


def test_a_device_is_kept_by_its_name():
    model = Regressor(device=torch.device("cpu"), epochs=1).fit(np.eye(20), np.arange(20.0))
    contents, _ = model.stored()
    assert contents["parameters"]["device"] == "cpu"
