import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import (
    MinMaxScaler,
    OneHotEncoder,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from batchensemble.data.encodings import SATURATION, Numbers, Words

SCALERS = {
    "minmax": MinMaxScaler(),
    "standard": StandardScaler(),
    "robust": RobustScaler(unit_variance=True),
    "quantile": QuantileTransformer(
        n_quantiles=10, output_distribution="normal", subsample=10_000, random_state=0
    ),
}
# Few different values, so that there are ties, and gaps. None closer than 1e-7 to another: there
# scikit-learn's quantiles take both for the same, whatever the numbers' size.
NUMBERS = st.one_of(
    st.integers(-3, 3).map(float),
    st.integers(-(2**20), 2**20).map(lambda n: n / 2**20),
    st.just(np.nan),
)
WORDS = st.sampled_from(["a", "b", "c", "d", None])


def tables(elements, dtype):
    return st.integers(10, 40).flatmap(lambda n: arrays(dtype, (n, 3), elements=elements))


@pytest.mark.parametrize("scaling", SCALERS)
@given(seen=tables(NUMBERS, float), new=tables(NUMBERS, float))
@settings(max_examples=40, deadline=None)
def test_numbers_are_filled_flagged_and_scaled_as_by_scikit_learn(scaling, seen, new):
    seen[0] = 0.5  # no column is empty
    scaled = np.array([0, 2])
    imputer = SimpleImputer(strategy="median", add_indicator=True).fit(seen)
    scaler = SCALERS[scaling].fit(imputer.transform(seen)[:, scaled])
    ours = Numbers.learn(seen, scaled, scaling, 0)
    for table in (seen, new):
        expected = imputer.transform(table)
        numbers = scaler.transform(expected[:, scaled])
        if scaling == "robust":
            numbers = numbers / np.hypot(1, numbers / SATURATION)
        expected[:, scaled] = numbers
        np.testing.assert_allclose(ours.apply(table), expected, rtol=1e-9, atol=1e-9)


def test_numbers_go_through_quantiles_however_small_their_differences_are():
    table = np.random.default_rng(0).uniform(size=(400, 1))
    usual = Numbers.learn(table, np.array([0]), "quantile", 0).apply(table)
    for scale, shift in ((1e-12, 0.0), (1e-6, 1.0)):
        other = shift + scale * table
        through = Numbers.learn(other, np.array([0]), "quantile", 0).apply(other)
        np.testing.assert_allclose(through, usual, atol=1e-6)
    assert len(np.unique(usual)) > 390


def test_a_bound_that_float32_rounds_stays_at_its_end():
    x = np.clip(np.random.default_rng(0).uniform(size=(400, 1)), 0.3, 0.7)  # many at each bound
    through = Numbers.learn(x, np.array([0]), "quantile", 0)
    for bound in (0.3, 0.7):
        exact, rounded = (through.apply(np.array([[b]])) for b in (bound, np.float32(bound)))
        assert abs(exact) > 5
        assert exact == rounded


def test_numbers_that_are_not_to_be_scaled_stay():
    table = np.array([[1.0, 5.0], [0.0, 7.0]])
    ours = Numbers.learn(table, np.array([], int), "standard", 0)
    np.testing.assert_array_equal(ours.apply(table), table)


def test_no_numbers_are_no_numbers():
    ours = Numbers.learn(np.zeros((4, 0)), np.array([], int), "standard", 0)
    assert ours.apply(np.zeros((7, 0))).shape == (7, 0)


@pytest.mark.parametrize("most", [None, 2, 3])
@given(seen=tables(WORDS, object), new=tables(WORDS | st.just("never seen"), object))
@settings(max_examples=40, deadline=None)
def test_words_are_one_hot_as_by_scikit_learn(most, seen, new):
    theirs = OneHotEncoder(
        max_categories=most, handle_unknown="infrequent_if_exist", sparse_output=False
    ).fit(seen)
    ours = Words.learn(seen, None, most)
    for table in (seen, new):
        np.testing.assert_array_equal(ours.apply(table), theirs.transform(table))
    names = [name for outputs in ours.names(["x0", "x1", "x2"]) for name in outputs]
    assert names == theirs.get_feature_names_out().tolist()
    assert sum(ours.widths) == len(names)


def test_given_words_keep_their_order_and_unknown_ones_are_zeros():
    seen = np.array([["b"], ["a"]], dtype=object)
    ours = Words.learn(seen, [["b", None, "a"]], None)
    new = np.array([["a"], ["b"], [None], ["z"]], dtype=object)
    assert ours.apply(new).tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert ours.names(["x"]) == [["x_b", "x_None", "x_a"]]


def test_no_words_are_no_outputs():
    ours = Words.learn(np.empty((4, 0), dtype=object), None, None)
    assert ours.apply(np.empty((3, 0), dtype=object)).shape == (3, 0)
