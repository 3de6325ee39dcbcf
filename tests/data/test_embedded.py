import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from batchensemble.data.embedded import BINNED_ROWS, FARTHEST, Bins, Codes

WORDS = st.sampled_from(["a", "b", "c", "d", None])


def tables(elements, dtype):
    return st.integers(10, 40).flatmap(lambda n: arrays(dtype, (n, 3), elements=elements))


@pytest.mark.parametrize("most", [1, 3, 16])
@given(seen=tables(st.integers(-300, 300).map(lambda n: n / 100), float))
@settings(max_examples=40, deadline=None)
def test_positions_are_those_of_interpolation_between_edges(most, seen):
    bins = Bins.learn(seen, [0, 2], most, 0)
    new = np.vstack([seen, np.linspace(-9, 9, 40)[:, None].repeat(3, 1)])
    positions = bins.apply(new)
    assert positions.dtype == np.float32
    assert positions.shape == (len(new), len(bins.edges))
    for i, (column, edges) in enumerate(zip(bins.columns, bins.edges, strict=True)):
        assert (np.diff(edges) > 0).all()
        assert 1 <= len(edges) - 1 <= most
        assert np.isin(edges, seen[:, column]).all()
        assert (edges[0], edges[-1]) == (seen[:, column].min(), seen[:, column].max())
        for some in (bins, replace(bins, reach=0)):
            expected = [slow_position(value, edges, some.reach) for value in new[:, column]]
            np.testing.assert_allclose(some.apply(new)[:, i], expected, atol=1e-6)
    assert bins.n_bins == max((len(edges) - 1 for edges in bins.edges), default=0)


def slow_position(value, edges, reach):
    """How many bins are below, and how far it is into its own, or beyond the outermost."""
    if value < edges[0]:
        return max((value - edges[0]) / (edges[1] - edges[0]), -reach)
    if value > edges[-1]:
        return len(edges) - 1 + min((value - edges[-1]) / (edges[-1] - edges[-2]), reach)
    position = 0.0
    for low, high in itertools.pairwise(edges):
        position += min(max((value - low) / (high - low), 0.0), 1.0)
    return position


@given(seen=tables(st.integers(-300, 300).map(lambda n: n / 100), float))
@settings(max_examples=40, deadline=None)
def test_bins_beyond_are_the_length_of_what_positions_lie_outside(seen):
    bins = Bins.learn(seen, [0, 2], 5, 0)
    assert not bins.bins_beyond(bins.apply(seen)).any()
    new = np.random.default_rng(0).uniform(-9, 9, (30, 3))
    positions = bins.apply(new)
    for place, far in zip(positions.tolist(), bins.bins_beyond(positions), strict=True):
        lasts = [len(edges) - 1 for edges in bins.edges]
        outside = [max(-p, p - last, 0.0) for p, last in zip(place, lasts, strict=True)]
        assert far == pytest.approx(math.hypot(*outside), abs=1e-6)
        assert far <= bins.reach * math.sqrt(len(bins.edges))


def test_bins_hold_about_as_many_rows_each():
    numbers = np.random.default_rng(0).lognormal(sigma=2, size=(8000, 1))
    bins = Bins.learn(numbers, [0], 8, 0)
    counts = np.histogram(numbers, bins.edges[0])[0]
    assert bins.n_bins == 8
    assert counts.min() > 990
    assert counts.max() < 1010
    even = np.histogram(numbers, np.linspace(numbers.min(), numbers.max(), 9))[0]
    assert even.max() > 7000  # negative control: bins of equal width


def test_few_values_are_edges_themselves_and_a_constant_column_has_no_position():
    numbers = np.column_stack([[3.0, 1, 7, 1], np.full(4, 5.0), [0.0, 0, 2, 2]])
    bins = Bins.learn(numbers, [0, 1, 2], 16, 0)
    assert bins.columns.tolist() == [0, 2]
    assert [edges.tolist() for edges in bins.edges] == [[1, 3, 7], [0, 2]]
    assert bins.apply(numbers).tolist() == [[1, 0], [0, 0], [2, 1], [0, 1]]
    none = Bins.learn(numbers, [1], 16, 0)
    assert none.n_bins == 0
    assert none.apply(numbers).shape == (4, 0)


def test_a_value_that_most_rows_have_takes_one_edge_and_not_several():
    numbers = np.concatenate([np.zeros(900), np.arange(1, 101.0)])[:, None]
    (edges,) = Bins.learn(numbers, [0], 10, 0).edges
    assert (np.diff(edges) > 0).all()
    assert (edges[0], edges[-1]) == (0, 100)
    assert len(edges) < 11


def test_numbers_outside_the_edges_are_as_many_ranges_away_as_the_farthest():
    seen = np.array([[0.0, 5.0, 1.0], [2.0, 5.0, 5.0], [1.0, 5.0, 2.0]])
    bins = Bins.learn(seen, [0, 1, 2], 8, 0)
    rows = np.array([[0, 5, 1], [2, 99, 5], [3, 5, 3], [-1, 5, 13], [1, 5, -3]], float)
    none = np.zeros(3, bool)
    assert bins.beyond(rows, none).tolist() == [0, 0, 0.5, 2, 1]
    assert bins.beyond(rows, np.array([False, True, False])).tolist() == [4, 98, 4, 4, 4]
    tiny = Bins.learn(1e-300 * seen, [0], 8, 0)
    assert tiny.beyond(np.array([[1e308, 0.0, 0.0]]), none).tolist() == [FARTHEST]


def test_of_very_many_rows_a_part_is_enough_and_the_seed_says_which():
    numbers = np.random.default_rng(1).normal(size=(BINNED_ROWS + 5000, 1))
    first, again, other = (Bins.learn(numbers, [0], 8, seed).edges[0] for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert np.allclose(first[1:-1], other[1:-1], atol=0.05)


def test_a_word_has_the_same_number_wherever_it_comes_and_rare_and_unknown_ones_have_none():
    seen = np.array([["b"] * 3 + ["a"] * 4 + [None] * 3 + ["rare"] * 2], dtype=object).T
    codes = Codes.learn(seen)
    assert codes.words == ((None, "a", "b"),)
    assert codes.counts == (4,)
    new = np.array([["a"], ["b"], [None], ["rare"], ["never seen"]], dtype=object)
    assert codes.apply(new).tolist() == [[2], [3], [1], [0], [0]]
    assert codes.apply(new).dtype == np.float32


def test_a_gap_that_is_rare_has_no_number_either():
    seen = np.array([["a"] * 3 + [None] * 2], dtype=object).T
    assert Codes.learn(seen).apply(np.array([[None], ["a"]], dtype=object)).tolist() == [[0], [1]]


@given(seen=tables(WORDS, object), new=tables(WORDS | st.just("never seen"), object))
@settings(max_examples=40, deadline=None)
def test_codes_are_whole_numbers_below_their_count_and_one_to_one(seen, new):
    codes = Codes.learn(seen)
    for table in (seen, new):
        numbers = codes.apply(table)
        for j, count in enumerate(codes.counts):
            often = {word for word in seen[:, j] if (seen[:, j] == word).sum() >= 3}
            assert count == len(often) + 1
            by_word = dict(zip(table[:, j], numbers[:, j], strict=True))
            assert all((by_word[word] > 0) == (word in often) for word in by_word)
            own = [number for number in by_word.values() if number]
            assert len(set(own)) == len(own)
            assert all(number == int(number) < count for number in own)


def test_no_words_have_no_codes():
    codes = Codes.learn(np.empty((4, 0), dtype=object))
    assert codes.counts == ()
    assert codes.apply(np.empty((3, 0), dtype=object)).shape == (3, 0)


@pytest.mark.parametrize("n_values", range(2, 9))
def test_bins_are_as_many_as_between_values_and_never_more_than_asked_for(n_values):
    numbers = np.tile(np.arange(float(n_values)), 5)[:, None]
    assert Bins.learn(numbers, [0], 4, 0).n_bins == min(n_values - 1, 4)
