import unicodedata
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from batchensemble.data.frames import read_columns
from batchensemble.data.table_encoder import TableEncoder
from batchensemble.data.vocabulary import read_vocabulary, strange_words

TABLE = read_columns(pd.DataFrame({"colour": ["red", "blue"], "size": [1.0, np.nan]}))


def test_listed_categories_are_kept_in_their_order_as_texts():
    listed = {"colour": ["blue", "red", "green"], "size": [2, 1, None]}
    assert read_vocabulary(listed, TABLE) == {
        "colour": ["blue", "red", "green"],
        "size": ["2", "1", None],
    }
    assert read_vocabulary({}, TABLE) == {}


def test_a_vocabulary_that_does_not_fit_the_table_is_refused():
    with pytest.raises(ValueError, match=r"named in categories .*'color'; did you mean 'colour'"):
        read_vocabulary({"color": ["red"]}, TABLE)
    with pytest.raises(ValueError, match=r"'colour' holds \['blue'\], not in its given"):
        read_vocabulary({"colour": ["red"]}, TABLE)
    for words in ([], ["red", "red", "blue"], [1, "1"]):
        with pytest.raises(ValueError, match="'colour' must be at least one and all different"):
            read_vocabulary({"colour": words}, TABLE)


@pytest.mark.parametrize("max_categories", [None, 1])
@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["true", "false", "unknown"], [True, False, None]),
        (["TRUE", "FALSE", "?"], [True, False, None]),
        (["1.0", "2.50", "?"], [1.0, 2.5, None]),
        (["007", "-3", "?"], [7, -3, None]),
        (["1", "1.0", "nan"], [1, 1, None]),
    ],
)
def test_numbers_and_truths_are_the_words_that_mean_them(texts, values, max_categories):
    encoder = TableEncoder(max_categories=max_categories, bins=4)
    encoder.fit(pd.DataFrame({"c": texts * 5}))
    typed = encoder.transform(pd.DataFrame({"c": pd.Series(values).convert_dtypes()}))
    expected = [texts[0], texts[0] if texts[0] == "1" else texts[1], None]
    np.testing.assert_array_equal(typed, encoder.transform(pd.DataFrame({"c": expected})))


@pytest.mark.parametrize("max_categories", [None, 1])
@pytest.mark.parametrize(
    ("known", "other"),
    [
        (" Private", "Private"),
        ("Private", " Private "),
        ("1.0", "1"),
        ("1", "1.0"),
        ("1.50", "1.5"),
        ("02139", "2139"),
        ("true", "True"),
        ("14:30", "52200"),
        ("9:05:01", "32701"),
        ("NA", None),
        (None, "NA"),
        (None, ""),
    ],
)
def test_a_word_is_known_however_it_is_written(known, other, max_categories):
    encoder = TableEncoder(max_categories=max_categories, bins=4)
    encoder.fit(pd.DataFrame({"c": [known, "a", "b"] * 5}))

    def of(word):
        return encoder.transform(pd.DataFrame({"c": [word, "a"]}))

    np.testing.assert_array_equal(of(other), of(known))
    assert (of("c") != of(known)).any()  # negative control


def test_words_that_are_both_known_stay_apart():
    encoder = TableEncoder().fit(pd.DataFrame({"c": ["1", "1.0", "a"] * 5}))
    one, same, other = encoder.transform(pd.DataFrame({"c": ["1", "1.0", " 1.00 "]}))
    assert (one != same).any()
    assert (other == one).all()


@pytest.mark.parametrize("values", [[True, False], [True, None], ["True", "False"]])
def test_truths_are_refused_where_fit_knew_other_words_for_them(values):
    words = pd.DataFrame({"is_open": ["WAHR", "FALSCH"] * 20})
    encoder = TableEncoder("robust").fit(read_columns(words))
    refused = "'is_open': expected the categories of the training data, got true and false"
    with pytest.raises(ValueError, match=refused):
        encoder.transform(read_columns(pd.DataFrame({"is_open": pd.Series(values, dtype=object)})))


def test_an_accent_of_its_own_is_part_of_its_letter():
    known, other = "Zürich", unicodedata.normalize("NFD", "Zürich")
    assert known != other
    encoder = TableEncoder().fit(pd.DataFrame({"city": [known, "Bern"] * 5}))
    one, same, bern = encoder.transform(pd.DataFrame({"city": [known, other, "Bern"]}))
    assert (one == same).all()
    assert (one != bern).any()  # negative control


@pytest.mark.parametrize(
    ("words", "strange"),
    [
        (["0", "1", None], ["0", "1"]),
        (["YES", "NO"], ["NO", "YES"]),
        (["0", "1", "yes "], []),
        (["0", "0"], []),  # one new word may be all that is there
        ([None, None], []),
    ],
)
def test_columns_of_strange_words_have_several_and_none_of_fit(words, strange):
    encoder = TableEncoder().fit(pd.DataFrame({"c": ["yes", "no"] * 5, "x": np.arange(10.0)}))
    columns = read_columns(pd.DataFrame({"c": pd.Series(words, dtype=object), "x": 0.0}))
    assert strange_words(columns[0], encoder.spellings()[0]) == strange


def test_columns_of_many_words_may_have_others():
    names = pd.DataFrame({"name": [f"name {i}" for i in range(200)]})
    encoder = TableEncoder().fit(names)
    columns = read_columns("new " + names)
    assert strange_words(columns[0], encoder.spellings()[0]) == []


@pytest.mark.parametrize("max_categories", [64, 2])  # with outputs, and as numbers of categories
@pytest.mark.parametrize(
    ("known", "near"),
    [
        ("76561198000000001", "76561198000000002"),
        ("123456789012345678901", "123456789012345678902"),
        ("9007199254740993.0", "9007199254740992"),
    ],
)
def test_codes_longer_than_a_float_are_told_apart(known, near, max_categories):
    encoder = TableEncoder(max_categories=max_categories, bins=4)
    encoder.fit(pd.DataFrame({"c": [known, "a", "b"] * 5}))

    def of(word):
        return encoder.transform(pd.DataFrame({"c": [word, "a"]}))

    np.testing.assert_array_equal(of(near), of("never seen"))
    np.testing.assert_array_equal(of(f" {known.removesuffix('.0')}.0"), of(known))
    assert (of(near) != of(known)).any()


def test_numbers_of_the_same_codes_are_theirs_in_every_type():
    codes = ["12345678901234567", "12345678901234568"]
    encoder = TableEncoder().fit(pd.DataFrame({"c": codes * 5}))
    one, other = encoder.transform(pd.DataFrame({"c": codes}))
    assert (one != other).any()
    for kind in (int, Decimal):
        column = pd.Categorical.from_codes([0, 1], pd.Index([*map(kind, codes)], dtype=object))
        np.testing.assert_array_equal(encoder.transform(pd.DataFrame({"c": column})), [one, other])


def test_words_that_only_look_like_numbers_are_known():
    words = ["5e12345678901234567890", "1e-99999999999999999999", "a"]
    encoder = TableEncoder().fit(pd.DataFrame({"c": words * 5}))
    encoded = encoder.transform(pd.DataFrame({"c": words}))
    assert len(np.unique(encoded, axis=0)) == 3
