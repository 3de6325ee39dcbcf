import pytest

from batchensemble.plots.sheets import MeanSE, Sheet, brief, fold, near_range, show


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
    written = ["", "1,234,567", "0.123", "123,456", "1.000 ± 0.250", "word"]
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


def wide(n_columns, rows=3):
    names = ("dataset", "method", *(f"metric {i}" for i in range(n_columns)))
    cells = tuple(("Adult", f"m{r}", *[MeanSE(0.5, 0.1)] * n_columns) for r in range(rows))
    return Sheet("main", "Main", names, cells, "a note")


def test_a_table_that_fits_the_page_is_left_as_it_is():
    assert fold(wide(5)) == [wide(5)]
    assert fold(Sheet("none", "", ("a", "b", "c"), ())) == [Sheet("none", "", ("a", "b", "c"), ())]


def test_a_table_too_wide_for_the_page_is_folded_and_loses_no_cell():
    own = wide(20)
    parts = fold(own)
    assert len(parts) > 1
    assert [c for part in parts for c in part.columns[2:]] == list(own.columns[2:])
    for part in parts:
        assert part.columns[:2] == own.columns[:2]
        assert [row[:2] for row in part.rows] == [row[:2] for row in own.rows]
    assert len({part.name for part in parts}) == len(parts)
    assert [part.note for part in parts] == [""] * (len(parts) - 1) + ["a note"]


def test_the_number_of_a_line_stands_in_every_part_of_a_table():
    texts = tuple("x" * 50 for _ in range(6))
    sheet = Sheet("doubtful", "", ("line", *"abcdef"), ((7, *texts), (9, *texts)))
    parts = fold(sheet)
    assert len(parts) > 1
    for part in parts:
        assert part.columns[0] == "line"
        assert [row[0] for row in part.rows] == [7, 9]
    assert [c for part in parts for c in part.columns[1:]] == list("abcdef")


def test_rows_that_have_other_columns_become_a_table_of_their_own():
    cell = MeanSE(0.123, 0.001)
    names = ("dataset", *(f"number {i}" for i in range(6)), *(f"class {i}" for i in range(6)))
    rows = (("Diabetes", *[cell] * 6, *[None] * 6), ("Adult", *[None] * 6, *[cell] * 6))
    first, second = fold(Sheet("both", "Both", names, rows))
    assert first.columns == names[:7]
    assert second.columns == (names[0], *names[7:])
    assert None not in (*first.rows[0], *second.rows[0])
