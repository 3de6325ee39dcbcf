import contextlib
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batchensemble.data.file_options import AS_FOUND, FileOptions
from batchensemble.data.notation import BY_DECIMAL, COMMA, POINT, Notation
from batchensemble.data.reading import open_table
from batchensemble.data.telling import BatchEnsembleWarning
from batchensemble.data.text import read_as

KINDS = {"a": "number", "b": "category"}
SALES = [("1.234", "0,5"), ("2.345", "7"), ("3.456", "8")]


@pytest.fixture
def csv(tmp_path):
    def make(rows, *, separator=";", names=("a", "b")):
        path = tmp_path / "f.csv"
        path.write_text("".join(f"{separator.join(row)}\n" for row in [names, *rows]))
        return path

    return make


def read(path, n_rows, known=None, options=AS_FOUND, kinds=None, usual=None):
    with open_table(path, options) as file:
        kinds = kinds or dict.fromkeys(file.names, "number")
        return pd.concat(
            [read_as(rows, kinds, file, known, usual) for rows in file.batches(n_rows)]
        )


@pytest.mark.parametrize("n_rows", [1, 2, 3])
@pytest.mark.filterwarnings("ignore:.*is written differently")
def test_decimal_commas_of_one_batch_hold_for_those_that_follow(csv, n_rows):
    whole = read(csv(SALES), n_rows)
    assert whole["a"].tolist() == [1234, 2345, 3456]
    assert whole["b"].tolist() == [0.5, 7, 8]


@pytest.mark.filterwarnings("ignore:.*is written differently")
def test_one_file_is_never_read_in_two_ways(csv):
    path = csv(SALES[::-1])
    assert read(path, 3)["a"].tolist() == [3456, 2345, 1234]
    with pytest.raises(ValueError, match=r"got '3\.456' in line 2, column 'a'.* commas; add"):
        read(path, 1)
    for options, known in ((FileOptions(decimal=","), {}), (AS_FOUND, {"a": COMMA})):
        assert read(path, 1, known, options)["a"].tolist() == [3456, 2345, 1234]


def test_points_that_cannot_part_thousands_are_no_contradiction(csv):
    whole = read(csv([("1.5", "7"), (" 0.125", "8"), ("12", "0,5")]), 1)
    assert whole["a"].tolist() == [1.5, 0.125, 12]


def test_commas_that_part_thousands_by_the_model_are_no_decimal_commas(csv):
    whole = read(csv([("1.234", "1,234.5")]), 1, {"b": POINT})
    assert whole["a"].tolist() == [1.234]


def test_an_option_for_dates_leaves_numbers_as_they_are(csv):
    path = csv([("01/02/2026", "0,5")])
    kinds = {"a": "date", "b": "number"}
    whole = read(path, 1, options=FileOptions(dayfirst=True), kinds=kinds)
    assert (str(whole["a"][2].date()), whole["b"][2]) == ("2026-02-01", 0.5)


@pytest.mark.parametrize(
    ("cells", "separator", "numbers"),
    [
        (["$3,475.24", "$950.00"], "\t", [3475.24, 950]),
        (["3.475,24 €", "0,50 €"], ";", [3475.24, 0.5]),
        (["3.475,24 €", "0,50 €"], "\t", [3475.24, 0.5]),
        (["CHF 1’234.50", "CHF 7.00"], ";", [1234.5, 7]),
        (["1\u202f234,50", "950,00"], ";", [1234.5, 950]),
        (["1,234.50", "950.00"], ";", [1234.5, 950]),
        (["1.234,50", "950,00"], "\t", [1234.5, 950]),
        (["$12", "$7"], ",", [12, 7]),
        (['"$1,234"', '"$2,345"'], ",", [1234, 2345]),
    ],
)
def test_signs_and_thousands_that_fit_did_not_see_are_read_as_fit_would(
    csv, cells, separator, numbers
):
    path = csv([(cell, "7") for cell in cells], separator=separator)
    with pytest.warns(
        BatchEnsembleWarning, match=r"f\.csv is written differently from .*: read a \("
    ) as told:
        whole = read(path, 1)
    assert len(told) == 1
    assert whole["a"].tolist() == numbers
    assert whole["b"].tolist() == [7, 7]


@pytest.mark.parametrize(
    ("rows", "separator"),
    [
        ([("$12", "7"), ("€7", "7")], ","),  # two units
        ([("12 %", "7")], ","),  # 12, or 0.12
        ([("$1,234", "7")], "\t"),  # 1234, or 1.234
        ([("1.234 €", "7")], ","),
        ([("12 €", "7"), ("1.234 €", "7")], ","),
        ([("1,234 €", "7")], ";"),
        ([("0.50", "7"), ("3.475,24", "7")], "\t"),
        ([("1.234", "7"), ("3.475,24 €", "7")], "\t"),
        ([("1.234", "7"), ("3.475,24 €", "7")], ";"),
    ],
)
@pytest.mark.parametrize("n_rows", [1, 2])
@pytest.mark.filterwarnings("ignore::batchensemble.BatchEnsembleWarning")
def test_what_may_be_read_in_two_ways_is_refused(csv, rows, separator, n_rows):
    with pytest.raises(ValueError, match="expected"):
        read(csv(rows, separator=separator), n_rows)


@pytest.mark.filterwarnings("ignore::batchensemble.BatchEnsembleWarning")
def test_commas_that_a_batch_shows_to_part_thousands_are_no_decimal_commas(csv):
    path = csv([("$1,234.50", "1.234"), ("$2.50", "2.345")])
    for n_rows in (1, 2):
        whole = read(path, n_rows)
        assert whole["a"].tolist() == [1234.5, 2.5]
        assert whole["b"].tolist() == [1.234, 2.345]


@pytest.mark.parametrize("separator", [";", "\t"])
@pytest.mark.parametrize("n_rows", [1, 2])
@pytest.mark.filterwarnings("ignore::batchensemble.BatchEnsembleWarning")
def test_columns_that_each_show_their_decimal_mark_need_not_have_the_same(csv, separator, n_rows):
    whole = read(csv([("785,71 €", "0.19"), ("1.234 €", "0.5")], separator=separator), n_rows)
    assert whole["a"].tolist() == [785.71, 1234]
    assert whole["b"].tolist() == [0.19, 0.5]


@pytest.mark.filterwarnings("ignore::batchensemble.BatchEnsembleWarning")
def test_an_option_or_the_model_says_the_decimal_mark_of_numbers_with_a_new_sign(csv):
    path = csv([("1.234 €", "7")], separator="\t")
    for options, known in ((FileOptions(decimal=","), {}), (AS_FOUND, {"a": COMMA})):
        assert read(path, 1, known, options)["a"].tolist() == [1234]
    with pytest.raises(ValueError, match=r"got '1\.234 €' in line 2, .*; add --decimal \. or"):
        read(path, 1)


@pytest.mark.filterwarnings("ignore::batchensemble.BatchEnsembleWarning")
def test_named_months_that_fit_did_not_see_are_dates(csv):
    path = csv([("04 Feb 2024", "7"), ("", "8"), ("31 Dec 2023", "9")])
    whole = read(path, 2, kinds={"a": "date", "b": "number"})
    assert [str(day)[:10] for day in whole["a"]] == ["2024-02-04", "NaT", "2023-12-31"]


def test_points_as_at_fit_beside_decimal_commas_are_refused_unless_an_option_says_how(csv):
    path = csv([("2.401", "12,50"), ("3.500", "0,5")])
    with pytest.raises(ValueError, match=r"got '2\.401' in line 2, .* decimal commas; add"):
        read(path, 2, {"a": POINT})
    whole = read(path, 2, {"a": POINT}, FileOptions(decimal=","))
    assert whole["a"].tolist() == [2401, 3500]


def test_decimal_points_that_are_certain_decide_about_commas_in_other_columns(csv):
    path = csv([("5,079", "1,250.50"), ("950", "2,300.00")])
    with pytest.warns(BatchEnsembleWarning, match="'5,079' as 5079"):
        assert read(path, 1, {"b": POINT})["a"].tolist() == [5079, 950]


def test_points_and_commas_are_weighed_over_all_columns_of_a_file(csv):
    with pytest.warns(BatchEnsembleWarning, match="'1,234' as 1234"):
        whole = read(csv([("1,234", "12.5"), ("950", "13.25")]), 2)
    assert whole.to_numpy().tolist() == [[1234, 12.5], [950, 13.25]]


def test_a_file_that_shows_no_mark_is_written_as_that_of_fit(csv):
    one = csv([("1.234", "12")])
    with pytest.warns(BatchEnsembleWarning, match=r"'1\.234' as 1234\); otherwise add"):
        assert read(one, 1, {"b": COMMA})["a"].tolist() == [1234]
    assert read(one, 1, {"b": POINT})["a"].tolist() == [1.234]


@pytest.mark.parametrize("sign", ["€", "%"])
def test_a_mark_that_fit_has_not_seen_is_decided_by_the_file_or_asked_for(csv, sign):
    known = {"a": Notation("", " '", sign)}
    with pytest.warns(BatchEnsembleWarning, match=f"'1 234 {sign}' as 1234"):
        assert read(csv([(f"1 234 {sign}", "0,5")]), 1, known)["a"].tolist() == [1234]
    path = csv([(f"1.234 {sign}", "0,5")])
    with pytest.warns(BatchEnsembleWarning, match=f"'1.234 {sign}' as 1234"):
        assert read(path, 1, known)["a"].tolist() == [1234]
    unclear = csv([(f"1.234 {sign}", "7")])
    with pytest.raises(ValueError, match=r"--decimal \. or --decimal ,"):
        read(unclear, 1, known)
    with pytest.raises(ValueError, match=f"a number as in fit, such as 12,5 {sign}"):
        read(csv([("1.234 $", "0,5")]), 1, known)


KM = ["237", "159.784", "128.510", "955", "12.030"]


@pytest.mark.parametrize("separator", [";", "\t"])
def test_points_beside_bare_numbers_part_thousands_as_at_fit(csv, separator):
    path = csv([(km, f"{i + 2}.000") for i, km in enumerate(KM)], separator=separator)
    with pytest.warns(BatchEnsembleWarning, match=r"'159\.784' as 159784.*; otherwise add"):
        whole = read(path, 5)
    assert whole["a"].tolist() == [237, 159784, 128510, 955, 12030]
    assert whole["b"].tolist() == [2000, 3000, 4000, 5000, 6000]
    assert read(path, 5, {"b": POINT})["a"][3] == 159.784  # negative control: fit knew points


@pytest.mark.parametrize("separator", [";", "\t"])
def test_points_beside_bare_numbers_are_asked_about_where_they_may_be_decimal(csv, separator):
    path = csv([("999", "7"), ("1.249", "8")], separator=separator)
    with pytest.raises(ValueError, match=r"got '1\.249' in line 3, column 'a'.*add --decimal"):
        read(path, 2)
    whole = read(path, 2, options=FileOptions(decimal=","))
    assert whole["a"].tolist() == [999, 1249]


def test_points_that_may_all_be_decimal_are_taken_so_and_told_between_semicolons(csv):
    rows = [("12.345", "7"), ("23.456", "8")]
    with pytest.warns(BatchEnsembleWarning, match=r"'12\.345' as 12\.345\); otherwise"):
        assert read(csv(rows), 2)["a"].tolist() == [12.345, 23.456]
    assert read(csv(rows, separator="\t"), 2)["a"].tolist() == [12.345, 23.456]
    assert read(csv(rows, separator=","), 2)["a"].tolist() == [12.345, 23.456]


@pytest.mark.parametrize("separator", [";", "\t", ","])
@pytest.mark.filterwarnings("ignore:.*is written differently")
def test_points_part_thousands_where_other_columns_of_fit_had_decimal_commas(csv, separator):
    rows = [("7.685", '"1.048,04"'), ("950", '"48,04"')]
    whole = read(csv(rows, separator=separator), 2, {"b": COMMA})
    assert whole["a"].tolist() == [7685, 950]
    assert whole["b"].tolist() == [1048.04, 48.04]
    other = read(csv([("7.685", "48"), ("950", "1")], separator=","), 2, {"b": COMMA})
    assert other["a"].tolist() == [7.685, 950]  # of a program


@pytest.mark.parametrize(
    "row", [("76705", "9.079"), ('"76,705"', "9.079"), ("7", '"76,705 €"'), ("7", '"9,079"')]
)
@pytest.mark.filterwarnings("ignore:.*is written differently")
def test_decimal_commas_of_fit_are_not_looked_for_in_files_that_show_none(csv, row):
    known = {"b": Notation(",", ".' ", "€" if "€" in row[1] else "")}
    with pytest.raises(ValueError, match=r"column 'b', .*file of fit had decimal commas; add"):
        read(csv([row], separator=","), 1, known)
    certain = csv([row, ("7", '"0,5 €"' if "€" in row[1] else '"0,5"')], separator=",")
    if "76,705" not in row[0]:  # which is none of those with a comma before decimals
        assert read(certain, 2, known)["b"][3] == 0.5
    assert read(csv([("7", "12")], separator=","), 1, {"b": COMMA})["b"][2] == 12
    whole = read(csv([("7", "950"), ("7", "1.250")], separator=","), 2, {"b": COMMA})
    assert whole["b"].tolist() == [950, 1250]


@pytest.mark.parametrize("n_rows", [1, 2])
def test_certain_commas_of_a_column_decide_about_points_in_others(csv, n_rows):
    path = csv([("3.475,24 €", "1.234"), ("0,50 €", "2.345")], separator="\t")
    with pytest.warns(BatchEnsembleWarning, match=r"b \('1\.234' as 1234\)$"):
        assert read(path, n_rows)["b"].tolist() == [1234, 2345]
    with pytest.raises(ValueError, match=r"got '1\.234' in line 2.* have decimal commas; add"):
        read(path, n_rows, usual={"b": np.array([0.5, 9.0])})


@pytest.mark.parametrize("separator", [";", "\t", ","])
@pytest.mark.parametrize("known", [None, {"a": COMMA}, {"a": POINT}, {"b": COMMA}])
@pytest.mark.parametrize("n_rows", [1, 2])
@pytest.mark.filterwarnings("ignore:.*is written differently")
def test_numbers_are_as_large_as_at_fit_where_their_mark_is_open(csv, separator, known, n_rows):
    large, small = np.linspace(500, 90_000, 9), np.linspace(-20, 20, 9)
    for cells, numbers in (
        (("21.784", "3.450"), {"large": [21784, 3450], "small": [21.784, 3.45]}),
        (('"21,784"', '"3,450"'), {"large": [21784, 3450], "small": [21.784, 3.45]}),
    ):
        path = csv([(cell, "7") for cell in cells], separator=separator)
        for usual, name in ((large, "large"), (small, "small")):
            whole = read(path, n_rows, known, usual={"a": usual})
            assert whole["a"].tolist() == numbers[name]
    wide = np.geomspace(1, 90_000, 9)  # negative control: both would be usual
    if separator == "\t" and known is None:
        with pytest.raises(ValueError, match="can be read in one way"):
            read(path, n_rows, known, usual={"a": wide})


def test_how_a_mark_was_read_in_one_batch_holds_for_those_that_follow(csv):
    path = csv([("21.784", "7"), ("1.007", "8")], separator="\t")  # as large as in either reading
    with pytest.warns(BatchEnsembleWarning, match="'21.784' as 21784"):
        whole = read(path, 1, usual={"a": np.array([5_000.0, 90_000])})
    assert whole["a"].tolist() == [21784, 1007]


def test_the_size_of_one_column_decides_for_others_of_which_it_says_nothing(csv):
    path = csv([("21.784", "1.722")], separator="\t")
    usual = {"a": np.array([5_000.0, 90_000]), "b": np.geomspace(1, 90_000, 9)}
    with pytest.warns(BatchEnsembleWarning, match=r"b \('1\.722' as 1722\)"):
        assert read(path, 1, usual=usual)["b"].tolist() == [1722]
    with pytest.raises(ValueError, match=r"got '21\.784' .* columns have the other mark; add"):
        read(csv([("21.784", "1,722")]), 1)


# The marks of decimals and thousands: in the USA, Germany, France and Switzerland, and of programs.
COUNTRIES = (".,", ",.", ",\u202f", ".’", ".", ",")


def written(numbers, marks, n_decimals):
    decimal, thousands = marks[0], marks[1:]
    texts = (f"{x:,.{n_decimals}f}".replace(",", "T").replace(".", decimal) for x in numbers)
    return [text.replace("T", thousands) for text in texts]


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 10**6),
    st.lists(st.sampled_from([(900, 0), (9_000, 0), (90_000, 0), (20, 3), (9_000, 2)]), min_size=2),
    *[st.sampled_from(COUNTRIES)] * 2,
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from([1, 3, 40]),
)
def test_numbers_of_another_country_are_the_same_or_asked_about(
    tmp_path_factory, seed, columns, at_fit, now, separator, n_rows
):
    random = np.random.default_rng(seed)
    numbers = {
        f"c{i}": random.uniform(0.05 * most, most, n_rows).round(n)
        for i, (most, n) in enumerate(columns)
    }
    usual = {f"c{i}": np.linspace(0.05 * most, most, 9) for i, (most, _) in enumerate(columns)}
    known = {name: BY_DECIMAL[at_fit[0]] for name in numbers if at_fit[1:] or at_fit == ","}
    texts = [written(x, now, n) for x, (_, n) in zip(numbers.values(), columns, strict=True)]
    path = tmp_path_factory.mktemp("csv") / "f.csv"
    rows = zip(*texts, strict=True)
    pd.DataFrame(rows, columns=[*numbers]).to_csv(path, sep=separator, index=False)
    with warnings.catch_warnings(), contextlib.suppress(ValueError):
        warnings.simplefilter("ignore", BatchEnsembleWarning)
        whole = read(path, 7, known, usual=usual)
        expected = np.column_stack([*numbers.values()])
        np.testing.assert_allclose(whole.to_numpy(), expected, atol=1e-9)


def test_commas_that_only_semicolons_say_to_be_decimal_are_told(csv):
    wide = {"a": np.geomspace(9, 60_000, 200)}  # either reading is usual
    with pytest.warns(BatchEnsembleWarning, match=r"written differently .*'42,336' as 42.336"):
        open_commas = read(csv([("42,336", "u"), ("12,500", "u")]), 2, {}, usual=wide, kinds=KINDS)
    assert open_commas["a"].tolist() == [42.336, 12.5]
    certain = read(csv([("42,5", "u"), ("12,25", "u")]), 2, {}, usual=wide, kinds=KINDS)
    assert certain["a"].tolist() == [42.5, 12.25]  # a warning would be an error
