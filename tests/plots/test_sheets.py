import pytest

from batchensemble.plots.sheets import MeanSE, brief, near_range, show


def test_only_what_would_hide_the_rest_is_left_out_of_the_range():
    close = [MeanSE(1.0, 0.1), MeanSE(1.2, 0.1), MeanSE(0.9, 0.05)]
    assert near_range(close) is None
    assert near_range([]) is None
    low, high = near_range([*close, MeanSE(168.0, 169.0)])
    assert low < 0.85 < 1.3 < high < 2
    low, high = near_range([MeanSE(-50.0, 1.0), *close])
    assert -1 < low < 0.85
    assert near_range([MeanSE(1.0, 0.1), MeanSE(168.0, 169.0)]) is None  # nothing to compare with
    assert near_range([MeanSE(1.0, 0.0)] * 4) is None
    assert near_range([*close[:2], MeanSE(100.0, 1.0), MeanSE(101.0, 1.0)]) is None  # two camps
    assert near_range([*close, *(MeanSE(100.0 + i, 1.0) for i in range(2))]) is None  # too many


def test_a_cell_is_written_as_people_read_it():
    cells = [None, 1234567, 0.12345, 123456.0, MeanSE(1.0, 0.25), "word"]
    written = ["", "1,234,567", "0.123", "1.2e+05", "1.000 ± 0.250", "word"]
    assert [show(cell) for cell in cells] == written


def test_one_run_has_no_standard_error_but_equal_ones_have_that_of_0():
    assert show(MeanSE.of([0.1239])) == "0.124 (one run)"
    assert show(MeanSE.of([0.1239, 0.1239])) == "0.124 ± 0.000"
    assert MeanSE.of([0.5]) == MeanSE(0.5, 0.0)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (12.3456, "12.35"),
        (-0.00123456, "-0.001235"),
        (123456.7, "123,457"),
        (1e-9, "1e-09"),
        (2e12, "2e+12"),
        (float("nan"), "nan"),
    ],
)
def test_numbers_are_written_with_four_digits_that_count(number, text):
    assert brief(number) == text
