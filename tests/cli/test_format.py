import json
import math
from pathlib import Path

import numpy as np
import pytest

from batchensemble.cli.format import as_json, counted, named, percent, plain, size


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


def test_shares_and_counts_are_written_for_people():
    assert percent(0.9).replace("\N{NO-BREAK SPACE}", " ") == "90 %"
    assert percent(0.9746).replace("\N{NO-BREAK SPACE}", " ") == "97.5 %"
    assert [counted(1, "row"), counted(2000, "row")] == ["1 row", "2,000 rows"]


def test_settings_are_written_as_plain_text():
    told = {"a": True, "b": [128, 64], "c": 0.001, "d": None, "e": [], "f": 2000, "g": "rsb"}
    assert plain(told) == "a yes, b 128, 64, c 0.001, d -, e -, f 2,000, g rsb"
    assert [size(96_400), size(2_340_000)] == ["96 kB", "2.3 MB"]


def test_of_many_names_the_first_are_named_and_the_others_counted():
    assert named(["a", 2]) == "'a', 2"
    assert named([*range(1005)]) == "0, 1, 2, 3, 4 and 1,000 more"
