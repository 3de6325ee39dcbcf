import numpy as np
import pandas as pd
import pytest

from batchensemble.words import MOST, closest, one_of, true_or_false


def test_a_known_word_passes_and_an_unknown_one_is_answered_with_the_closest():
    assert one_of("id", ("id", "shift"), "variant") == "id"
    with pytest.raises(ValueError, match="one of 'id', 'shift', got 'shfit'; did you mean 'shift'"):
        one_of("shfit", ("id", "shift"), "variant")


@pytest.mark.parametrize("word", [None, 3, ["id"], "zzz"])
def test_what_is_no_word_at_all_is_refused_without_a_guess(word):
    with pytest.raises(ValueError, match=r"got .*[^?]$"):
        one_of(word, ("id", "shift"), "variant")


def test_of_many_known_words_some_are_listed_and_all_are_compared():
    names = [f"column {i}" for i in range(MOST + 5)]
    words = (
        rf"'column {MOST - 1}', \.\.\. \({MOST + 5} in all\), got 'colum 24'; did .* 'column 24'"
    )
    with pytest.raises(ValueError, match=words):
        one_of("colum 24", names, "the target")


def test_capitals_do_not_keep_words_apart():
    assert closest("price", ["PRICE", "area"]) == "PRICE"
    assert closest("price", ["town"]) is None


@pytest.mark.parametrize("value", [None, 1, 0.0, "yes", [], [True], np.array([True]), pd.NA])
def test_only_true_and_false_are_answers_of_yes_or_no(value):
    assert true_or_false(np.True_, "calibrate") is True
    with pytest.raises(ValueError, match="expected calibrate to be True or False, got"):
        true_or_false(value, "calibrate")
