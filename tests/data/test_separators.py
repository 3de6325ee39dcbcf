import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchensemble.data.separators import (
    SEPARATORS,
    find_separator,
    given_separator,
    table_begin,
)


@given(
    st.sampled_from(SEPARATORS),
    st.lists(st.sampled_from(["Preis, netto", "a|b", "x;y", "t", "n"]), min_size=2, max_size=4),
    st.integers(1, 5),
)
def test_the_separator_makes_as_many_cells_of_every_line(separator, names, n_rows):
    names = [f'"{name}"' if separator in name else name for name in names]
    rows = [separator.join([f"{i}", *["0"] * (len(names) - 1)]) for i in range(n_rows)]
    assert find_separator([separator.join(names), *rows]) == separator


@pytest.mark.parametrize(
    ("lines", "separator"),
    [
        (["Preis, netto;Ziel", "0,30;2,30"], ";"),
        (["Größe, m²;Preis, netto, EUR;Art;Ziel", "1,5;2,5;a;3"], ";"),
        (["a,b,c", "1,2,3", "1,2"], ","),  # the last line is incomplete
        (["b,c", "1,2,3", "2,3,4"], ","),  # as R writes row names
        (["a\tb", "1,5\t2,5"], "\t"),
        (["a", "1,5"], ","),
        (["a,b"], ","),
        (["a,b", "", "1,2"], ","),
    ],
)
def test_names_decide_where_lines_do_not_agree(lines, separator):
    assert find_separator(lines) == separator


def test_a_separator_may_be_given_and_a_title_may_stand_above():
    assert given_separator("sep=;\n") == ";"
    assert given_separator("separator") == given_separator("sep=ab") == ""
    assert table_begin(["A title", "a,b", "1,2", "3,4"]) == 1
    assert table_begin(["a,b", "1,2"]) == 0


def test_a_tab_may_be_given_as_the_separator():
    assert given_separator("sep=\t\r\n") == "\t"
    assert given_separator("sep=\n") == given_separator("sep=\t\t\n") == ""
