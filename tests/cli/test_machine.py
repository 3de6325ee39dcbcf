import json
import math
from pathlib import Path

import numpy as np
import pytest

from batchensemble.cli.machine import as_json


def test_what_is_no_finite_number_is_null_and_all_else_is_itself():
    value = {
        "a": [1, 2.5, math.nan, math.inf, None, True],
        "b": np.array([1.5, -np.inf]),
        "c": np.int64(3),
        "d": Path("x"),
        "e": ("ä", {"f": np.float64("nan")}),
    }
    assert json.loads(as_json(value)) == {
        "a": [1, 2.5, None, None, None, True],
        "b": [1.5, None],
        "c": 3,
        "d": "x",
        "e": ["ä", {"f": None}],
    }
    assert "\n" not in as_json(value)


def test_what_has_no_place_in_json_is_refused_rather_than_guessed():
    with pytest.raises(TypeError, match="expected plain values for JSON, got set"):
        as_json({"a": {1}})
