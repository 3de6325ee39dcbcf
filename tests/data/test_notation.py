import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchensemble.data.notation import COMMA, POINT, Notation, Survey, parse, shows_point


def grouped(number, thousands, decimal):
    english = f"{number:,.2f}"
    return english.replace(",", "T").replace(".", decimal).replace("T", thousands)


@given(
    st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=9),
    st.sampled_from([",.", ".,", " ,", "\u202f,", "'.", "’.", " ."]),
    st.sampled_from(["", "$", "US$", "R$", "€", "CHF", "%"]),
)
def test_numbers_with_cents_are_read_whatever_the_country(numbers, marks, sign):
    thousands, decimal = marks
    texts = [f"{grouped(x, thousands, decimal)} {sign}".strip() for x in numbers]
    words = np.array(texts, dtype=object)
    notation = Survey.of(words).decide(None, separator="\t")
    assert isinstance(notation, Notation)
    assert (notation.decimal, notation.sign) == (decimal, sign)
    np.testing.assert_array_equal(parse(words, notation), [float(f"{x:.2f}") for x in numbers])


def test_pandas_reads_the_same_numbers(tmp_path):
    words = ["1.234,50", "-7,25", "1.234.567", "12", "0,001"]
    (tmp_path / "f.csv").write_text("x\n" + "\n".join(words))
    expected = pd.read_csv(tmp_path / "f.csv", sep=";", decimal=",", thousands=".")["x"]
    assert parse(np.array(words, dtype=object), COMMA).tolist() == expected.tolist()


@pytest.mark.parametrize(
    "word",
    [
        *("1,23,456", "12,34.5", "1.234.56", "1,234,", "(5", "5)", "--5", "$5$", "1_000", "5 kg"),
        *("", "x", "0.123.456", "1 23", "9" * 70, "+(5)", "1,2,3", "."),
    ],
)
def test_what_is_no_number_is_missing(word):
    words = np.array([word], dtype=object)
    assert np.isnan(parse(words, POINT)).all()
    assert Survey.of(words).others == [word]


def test_a_number_without_its_sign_is_one_unless_it_may_be_a_share():
    words = np.array(["12", "$12", "€12"], dtype=object)
    np.testing.assert_array_equal(parse(words, Notation(sign="$")), [12, 12, np.nan])
    words = np.array(["0.12", "12 %"], dtype=object)
    np.testing.assert_array_equal(parse(words, Notation(sign="%")), [np.nan, 12])


def test_the_notation_of_a_file_is_checked():
    parts = {"decimal": ",", "thousands": ".", "sign": "€", "date": "%d.%m.%Y"}
    assert Notation.of(parts) == Notation(",", ".", "€", "%d.%m.%Y")
    for wrong in ({"decimal": "x"}, {"thousands": "]"}, {"date": "%s%s"}):
        with pytest.raises(ValueError, match="expected a known way to write a column"):
            Notation.of(parts | wrong)


def test_a_notation_has_an_example_that_it_reads():
    assert COMMA.example() == "1.234,5"
    assert POINT.example() == "1,234.5"
    assert Notation(",", ".", "€").example() == "1.234,5 €"
    assert Notation(date="%d/%m/%Y").example() == "31/01/2026"
    for notation in (COMMA, POINT, Notation(), Notation(",", " ", "%")):
        assert parse(np.array([notation.example()], dtype=object), notation).tolist() == [1234.5]


@given(st.lists(st.from_regex(r"[+-]?[0-9]{0,5}(\.[0-9]{0,5}){0,2}", fullmatch=True), max_size=3))
def test_points_that_cannot_part_thousands_are_seen_as_a_survey_sees_them(words):
    assert shows_point(words) == ("." in Survey.of(words).decimals)
