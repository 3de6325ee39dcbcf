import pytest

from batchensemble.words import one_of


def test_a_known_word_passes_and_an_unknown_one_is_answered_with_the_closest():
    assert one_of("id", ("id", "shift"), "variant") == "id"
    with pytest.raises(ValueError, match="one of 'id', 'shift', got 'shfit'; did you mean 'shift'"):
        one_of("shfit", ("id", "shift"), "variant")


@pytest.mark.parametrize("word", [None, 3, ["id"], "zzz"])
def test_what_is_no_word_at_all_is_refused_without_a_guess(word):
    with pytest.raises(ValueError, match=r"got .*[^?]$"):
        one_of(word, ("id", "shift"), "variant")
