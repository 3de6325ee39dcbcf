import datetime as dt

import numpy as np
import pandas as pd
import pytest
from fixtures import onnx_answers, onnx_session
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from batchensemble.data.frames import read_columns
from batchensemble.data.table_encoder import SCALINGS, TableEncoder
from batchensemble.export.columns import encoded
from batchensemble.export.graph import Graph
from batchensemble.export.inputs import column_values
from batchensemble.export.interface import GAP, Slot, column_slots


def encoded_by_onnx(encoder, X):
    slots = column_slots(encoder, outputs={"encoded"})
    graph = Graph(reserved={"encoded", *(slot.name for slot in slots)})
    out = Slot("encoded", ("rows", encoder.n_features_out_), "")
    graph.output(out, encoded([graph.input(slot) for slot in slots], encoder))
    session = onnx_session(graph.model("", {}).SerializeToString())
    inputs = column_values(encoder, read_columns(X), outputs={"encoded"})
    return onnx_answers(session, inputs)["encoded"]


def check(encoder, X):
    expected = encoder.transform(X)
    ours = encoded_by_onnx(encoder, X)
    assert ours.dtype == np.float32
    assert ours.shape == expected.shape
    assert np.allclose(ours, expected, rtol=1e-6, atol=1e-6), np.abs(ours - expected).max()
    return ours


def mixed(n=200, seed=0):
    random = np.random.default_rng(seed)
    moments = pd.Timestamp("1968-02-25") + pd.to_timedelta(random.integers(0, 2**31, n), unit="s")
    frame = pd.DataFrame(
        {
            "large": 1e9 + random.normal(size=n),
            "with gaps": np.where(random.random(n) < 0.2, np.nan, random.exponential(size=n)),
            "flag": random.integers(0, 2, n),
            "constant": 3.5,
            "word": random.choice(["red", "blue", "", None, "grün"], n),
            "moment": moments,
            "day": moments.normalize(),
            "truth": random.random(n) < 0.5,
            "maybe": pd.array(random.choice([True, False, None], n), dtype="boolean"),
            "nothing": [None] * n,
            "no word": pd.Categorical([None] * n),
            "ties": random.integers(0, 4, n),
        }
    )
    frame.loc[::9, "moment"] = pd.NaT
    return frame


BINS = pytest.mark.parametrize("bins", [None, 5])


@BINS
@pytest.mark.parametrize("scaling", SCALINGS)
def test_a_table_is_encoded_as_by_the_encoder(scaling, bins):
    encoder = TableEncoder(scaling, bins=bins).fit(mixed())
    check(encoder, mixed())
    check(encoder, mixed(seed=1))
    check(encoder, mixed().head(1))


@BINS
@pytest.mark.parametrize("scaling", SCALINGS)
def test_values_that_fit_has_not_seen_are_encoded_as_by_the_encoder(scaling, bins):
    encoder = TableEncoder(scaling, max_categories=3, bins=bins).fit(mixed())
    assert bool(encoder.coded_) == (bins is not None)
    odd = mixed().head(8).astype({"word": object, "nothing": object})
    odd["large"] = [np.nan, 0.0, 1e300, -1e300, 5e-324, 1e9, -1e9, 2e9]
    odd["ties"] = [-1.0, 0.0, 1e-160, 1 + 1e-9, 1.5, 3.0, 3.1, np.nan]
    odd["flag"] = [0.0, 1.0, 2.0, -1.0, np.nan, 0.5, 1e9, 1.0]
    odd["word"] = ["unknown", None, "", "red", "RED", " red", "grün", "x" * 500]
    edges = ["1800-01-01", "2200-12-31T23:59:59.999999", "NaT", "2000-02-29", *["2024-06"] * 4]
    odd["moment"] = np.array(edges, "datetime64[us]")
    odd["nothing"] = ["a", 1, None, True, 2.5, "b", "c", "d"]
    check(encoder, odd)


def test_the_control_another_encoder_is_noticed():
    one, other = TableEncoder("robust").fit(mixed()), TableEncoder("robust").fit(mixed(seed=1))
    assert not np.allclose(encoded_by_onnx(one, mixed()), other.transform(mixed()), atol=1e-3)


def test_a_new_year_is_found_in_every_year_of_the_calendar():
    first = np.arange("0001-01-01", "9999-01-02", dtype="datetime64[Y]").astype("datetime64[us]")
    hours = np.timedelta64(12, "h"), np.timedelta64(59 * 24 + 13, "h")
    moments = np.concatenate(
        [first, first[1:] - np.timedelta64(1, "us"), first[1:] - hours[0], first + hours[1]]
    )
    # Pandas would hold them in nanoseconds, of which there are not enough.
    check(TableEncoder().fit(moments[:, None]), moments[:, None])


@BINS
@pytest.mark.parametrize("scaling", SCALINGS)
def test_numbers_at_both_ends_of_float64_are_encoded_as_by_the_encoder(scaling, bins):
    X = np.array([[5e-324, 1.7e308], [0.0, -1.7e308], [2e-323, 1e300], [1e-323, np.nan]])
    encoder = TableEncoder(scaling, bins=bins).fit(X)
    check(encoder, X)
    check(encoder, X[:, ::-1])


def test_given_categories_keep_their_order_and_numbers_are_words():
    X = pd.DataFrame({"size": [10, 20, np.nan, 10], "kind": ["a", "b", "b", "c"]})
    encoder = TableEncoder(categories={"size": [20, 10, None], "kind": ["c", "b", "a"]}).fit(X)
    ours = check(encoder, X)
    assert ours[:, :3].argmax(1).tolist() == [1, 0, 2, 1]


def test_a_column_whose_words_are_all_rare_has_one_output():
    X = pd.DataFrame({"word": ["a", "b", None]})
    check(TableEncoder(max_categories=1).fit(X), X)


def test_a_column_whose_words_are_all_too_rare_for_a_number_is_zero():
    X = pd.DataFrame({"word": ["a", "b", None], "x": range(3)})
    encoder = TableEncoder(max_categories=1, bins=2).fit(X)
    assert encoder.codes_.words == ((),)
    assert (check(encoder, X)[:, -1] == 0).all()


@BINS
def test_the_word_for_a_gap_may_not_be_a_category(bins):
    encoder = TableEncoder(max_categories=1, bins=bins).fit([[GAP], ["a"]] * 3)
    with pytest.raises(ValueError, match=f"the word {GAP!r} stands for a gap"):
        encoded_by_onnx(encoder, [["a"]])


numbers = st.one_of(
    st.none(), st.floats(allow_nan=False, allow_infinity=False), st.integers(-3, 3).map(float)
)
words = st.one_of(st.none(), st.sampled_from(["a", "b", "c", ""]), st.text(max_size=3))
moments = st.one_of(st.none(), st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30)))
KINDS = {"number": numbers, "word": words, "date": moments, "truth": st.sampled_from([True, False])}


@st.composite
def tables(draw):
    """Rows to fit and rows to encode, of the same columns."""
    kinds = draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=4))
    rows = st.tuples(*(KINDS[kind] for kind in kinds))
    fit, new = draw(st.lists(rows, min_size=2, max_size=12)), draw(st.lists(rows, min_size=1))
    return fit, fit + new


@given(tables(), st.sampled_from(SCALINGS), st.integers(1, 4), st.sampled_from([None, 1, 3, 16]))
@settings(max_examples=150, deadline=None)
def test_any_table_is_encoded_as_by_the_encoder(tables, scaling, most, bins):
    fit, new = ([list(row) for row in rows] for rows in tables)
    encoder = TableEncoder(scaling, max_categories=most, bins=bins).fit(fit)
    try:
        encoder.transform(new)
    except ValueError:
        assume(False)  # refused: what fit took for empty numbers turns out to be of another kind
    check(encoder, new)
