import numpy as np
import pytest

from batchensemble.data.notation import COMMA, POINT, Notation
from batchensemble.data.refusals import CORRECT, advice, expected


def words(*cells):
    return np.array(cells, dtype=object)


@pytest.mark.parametrize(
    ("cells", "kind", "notation"),
    [
        (("$12",), "number", Notation(sign="€")),
        (("$1,234.5", "3"), "number", None),
        (("12 %",), "number", None),
        (("12 %",), "number", COMMA),
        (("many", "1,5"), "number", None),
        (("12,5", "3.5"), "number", None),
        (("19/06/2024", "06/19/2024"), "date", None),
        (("19 June",), "date", None),
        (("2",), "boolean", None),
    ],
)
def test_an_option_that_would_not_help_is_not_named(cells, kind, notation):
    assert "--" not in advice(cells[0], words(*cells), kind, notation)


@pytest.mark.parametrize(
    ("cells", "notation", "marks"),
    [(("1,5", "2"), None, ","), (("1.5", "1,234.5"), COMMA, "."), (("1,234",), POINT, ".,")],
)
def test_the_decimal_marks_that_help_are_named(cells, notation, marks):
    told = advice(cells[0], words(*cells), "number", notation)
    named = " or ".join(f"--decimal {mark}" for mark in marks)
    assert told == f"add {named} if all numbers are written so, {CORRECT}"


def test_a_number_with_a_sign_is_expected_with_it():
    assert expected("number", Notation(",", ".", "€")) == "a number as in fit, such as 12,5 €"


def test_a_number_too_large_for_any_notation_is_not_blamed_on_its_mark():
    assert advice("1e400", words("1.5", "1e400"), "number", COMMA) == CORRECT
