"""Values through JSON and arrays, and back: the same, or an error that names the place."""

import json
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from batchensemble.modelfile.codec import DEEPEST, Codec, Form, NotKept


@dataclass(frozen=True)
class Pair:
    left: object
    right: object = 5


class Named(NamedTuple):
    name: str
    size: int


class Learner:
    def __init__(self, word):
        self.word = word

    def fit(self):
        self.seen_ = np.arange(3)
        return self


CODEC = Codec(classes=(Pair, Named, Learner))


def through(value, codec=CODEC):
    """As a file would carry it."""
    arrays = {}
    tree = json.loads(json.dumps(codec.encode(value, "it", arrays), allow_nan=False))
    return codec.decode(tree, {name: np.array(array) for name, array in arrays.items()})


def same(a, b):
    """Of the same types all the way down; NaN is itself."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        if a.dtype == object:
            return all(map(same, a.ravel(), b.ravel()))
        return np.array_equal(a, b, equal_nan=a.dtype.kind in "fmM")
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return same(list(a.items()), list(b.items()))
    if isinstance(a, (Pair, Learner)):
        return same(vars(a), vars(b))
    return a == b or (a != a and b != b)


NUMPY = hnp.arrays(
    st.one_of(
        hnp.boolean_dtypes(),
        hnp.integer_dtypes(),
        hnp.unsigned_integer_dtypes(),
        hnp.floating_dtypes(sizes=(16, 32, 64)),
        hnp.datetime64_dtypes(),
        hnp.timedelta64_dtypes(),
        hnp.unicode_string_dtypes(max_len=5),
        hnp.byte_string_dtypes(max_len=5),
    ),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(max_size=20)
)
SHORT = st.integers(-(2**63), 2**64 - 1)
KEYS = st.one_of(st.none(), st.booleans(), SHORT, st.text(), st.tuples(SHORT))


def containers(inner):
    return st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(KEYS, inner, max_size=3),
        st.builds(Pair, inner, inner),
        st.builds(Named, st.text(), st.integers()),
        st.lists(SCALARS, max_size=4).map(as_objects),
    )


def as_objects(items):
    array = np.empty(len(items), object)
    array[:] = items
    return array


@settings(max_examples=300, deadline=None)
@given(st.recursive(st.one_of(SCALARS, NUMPY), containers, max_leaves=8))
def test_every_plain_value_comes_back_the_same_and_of_the_same_types(value):
    assert same(through(normal(value)), normal(value))


def normal(value):
    """Arrays in this machine's byte order, the only one that is kept."""
    if isinstance(value, np.ndarray):
        return value.astype(value.dtype.newbyteorder("="))
    if type(value) in (list, tuple):
        return type(value)(map(normal, value))
    if type(value) is dict:
        return {key: normal(each) for key, each in value.items()}
    return Pair(*map(normal, vars(value).values())) if isinstance(value, Pair) else value


def test_the_comparison_of_these_tests_tells_values_apart():
    for a, b in [
        (1, True),
        (1, 1.0),
        ((1,), [1]),
        (np.float32(1), 1.0),
        ("1", 1),
        ({1: 2}, {1: 3}),
    ]:
        assert not same(a, b)
    assert not same(np.zeros(2), np.zeros((2, 1)))
    assert same(math.nan, math.nan)


@pytest.mark.parametrize(
    "value",
    [
        math.inf,
        -math.inf,
        math.nan,
        -0.0,
        2**200,
        "\ud800 lone, \0 and ünï",
        np.float64(0.1),
        np.int64(3),
        np.str_("word"),
        np.datetime64("2024-02-29T12", "h"),
        np.datetime64("NaT", "us"),
        np.bool_(True),
        np.array(["a", None, 3, 2.5, True], dtype=object),
        np.array([[1, "x"], [(2,), [3]]], dtype=object),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        {"a": 1, 1: "a", None: [], (1, "b"): {}},
        {True: 1},
        Pair(left={"x": np.arange(2)}, right=Named("n", 3)),
        Learner("w").fit(),
    ],
)
def test_values_of_many_kinds_come_back(value):
    assert same(through(value), value)
    assert math.copysign(1, through(-0.0)) == -1


def test_an_array_of_another_byte_order_comes_back_with_its_values():
    assert through(np.arange(3, dtype=">i4")).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (Pair(1, object()), r"it\.right to be .* got object"),
        ([1, {"a": {1, 2}}], r"it\[1\]\[0\]\[1\] to be .* got set"),
        (Learner(print), r"it\.word to be .* got builtin_function_or_method"),
        (np.zeros(2, complex), "arrays of complex128 cannot be stored"),
        (np.zeros(2, "longdouble"), "arrays of .* cannot be stored"),
        (np.ma.masked_array([1]), "it to be .* got MaskedArray"),
        (type("Pair", (), {})(), "it to be .* got Pair"),  # of that name, and another class
        (np.zeros(3, "U40000000"), "an array of texts must be at most"),
        ({2**64: "seed"}, r"it to be .* got dict .* key of a dictionary"),
        ({((1,), 2): "seed"}, r"it to be .* got dict .* key of a dictionary"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_place(value, place):
    with pytest.raises(NotKept, match=place):
        through(value)


def test_a_value_within_itself_is_refused():
    loop = []
    loop.append(loop)
    with pytest.raises(NotKept, match=rf"nested too deeply \(limit {DEEPEST}\)"):
        through(loop)


@pytest.mark.parametrize(
    "tree",
    [
        {"os.system": "true"},
        {"builtins.eval": ["1"]},
        {"Pair": {"left": 1, "unknown": 2}},
        {"Pair": [1, 2]},
        {"Learner": {"fit": "not a method"}},
        {"Learner": {"__class__": 1}},
        {"tuple": 3},
        {"tuple": [], "list": []},
        {},
        {"array": "not there"},
        {"array": ["unhashable"]},
        {"dict": [[[], 1]]},
        {"float": "1e5"},
        {"bytes": "zz"},
        {"ndarray": ["objects", "<U1000000000", [1], ["a"]]},
        {"ndarray": ["objects", "|O", [10**12], ["a"]]},
        {"ndarray": ["objects", "|V8", [1], ["a"]]},
        {"ndarray": ["moments", "|O", {"array": "a"}]},
        {"ndarray": ["moments", "<M8[parsec]", {"array": "a"}]},
        {"ndarray": ["objects", "(1,", [1], ["a"]]},
        {"dict": [[i * (2**61 - 1), 0] for i in range(100)]},
        {"scalar": "x"},
    ],
    ids=str,
)
def test_a_tree_that_we_would_not_write_does_nothing_but_fail(tree):
    with pytest.raises((ValueError, TypeError, LookupError, SyntaxError)):
        CODEC.decode(tree, {"a": np.arange(1)})


def test_trees_deeper_than_we_write_them_are_refused():
    tree = []
    for _ in range(DEEPEST + 1):
        tree = [tree]
    with pytest.raises(ValueError, match=rf"nested too deeply \(limit {DEEPEST}\)"):
        CODEC.decode(tree, {})


def test_another_form_is_one_line():
    codec = Codec([Form("complex", complex, lambda z: [z.real, z.imag], lambda z: complex(*z))])
    assert through({"z": 1 + 2j}, codec) == {"z": 1 + 2j}
