import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchensemble.data.cells import fast_numbers, tells_no_number, trimmed


@given(st.lists(st.floats(-1e300, 1e300), max_size=9))
def test_plain_numbers_come_back_to_the_last_bit(numbers):
    read, has_point = fast_numbers(np.array([repr(x) for x in numbers], dtype=object))
    assert read.tolist() == numbers
    assert has_point == any("." in repr(x) for x in numbers)


@pytest.mark.parametrize(
    "cell", ["", None, "x", "nan", "inf", "1e999", "1_0", "007", "-01", "1,5", "$1"]
)
def test_a_column_with_any_other_cell_is_left_to_others(cell):
    assert fast_numbers(np.array(["1.5", cell], dtype=object))[0] is None


def test_gaps_are_found_among_trimmed_cells():
    texts, is_gap = trimmed(np.array([" a", "", None, "NA ", "0"], dtype=object))
    assert texts.tolist() == ["a", "", "", "NA", "0"]
    assert is_gap.tolist() == [False, True, True, True, False]


def test_marks_stand_for_nothing_and_words_do_not():
    assert [word for word in ("?", "-", "--", r"\N", "x", "0", "-1") if tells_no_number(word)] == [
        *("?", "-", "--", r"\N")
    ]
