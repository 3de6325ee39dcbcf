import os

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import train_test_split

from batchensemble.study.datasets import load_table, make_shift


def diabetes(seed=0, **kwargs):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    return X, y, make_shift(X, y, task="regression", seed=seed, **kwargs)


@pytest.mark.parametrize("seed", range(5))
def test_tail_rows_are_only_in_the_test_set_and_every_row_is_somewhere(seed):
    X, _, shift = diabetes(seed)
    assert np.array_equal(np.sort(np.concatenate([shift.train, shift.test])), np.arange(len(X)))
    outside = np.zeros(len(X), dtype=bool)
    for name, (low, high) in zip(shift.features, shift.quantiles, strict=True):
        outside |= ((X[name] < low) | (X[name] > high)).to_numpy()
    assert not outside[shift.train].any()
    assert np.array_equal(outside[shift.test], shift.is_tail)
    assert 0.15 < len(shift.test) / len(X) < 0.25


def test_values_on_the_quantile_are_not_tails():
    # Most of the first column is its own lower quantile, as capital gains are zero.
    random = np.random.default_rng(0)
    X = np.column_stack([np.maximum(0, random.normal(size=1000) - 1), random.normal(size=1000)])
    shift = make_shift(X, 5 * X[:, 0] + X[:, 1], task="regression", seed=0)
    zero = X[shift.test, 0] == 0
    beyond = np.abs(X[shift.test, 1]) > 1.5
    assert not shift.is_tail[zero & ~beyond].any()


def test_the_most_influential_numbers_are_chosen_and_categories_never():
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(1000, 4)), columns=list("abcd"))
    X["kind"] = np.where(random.random(1000) > 0.5, "x", "y")
    y = 3 * X["b"] - 2 * X["d"] + 0.1 * X["a"] + 100 * (X["kind"] == "x")
    shift = make_shift(X, y, task="regression", seed=0)
    assert set(shift.features) == {"b", "d"}
    labels = make_shift(X, y > 50, task="classification", seed=0)
    assert len(labels.features) == 2


def test_quantiles_are_those_of_the_base_training_rows_and_the_base_split_leaves_room():
    X, _, shift = diabetes(3)
    p_tail = 1 - 0.95**2
    base_train, base_test = train_test_split(
        np.arange(len(X)), test_size=(0.2 - p_tail) / (1 - p_tail), random_state=3
    )
    for name, quantiles in zip(shift.features, shift.quantiles, strict=True):
        expected = np.quantile(X[name].to_numpy()[base_train], [0.025, 0.975])
        assert quantiles == pytest.approx(tuple(expected))
    assert set(base_test) <= set(shift.test)
    assert set(shift.test) - set(base_test) == set(shift.test[shift.is_tail]) - set(base_test)


def test_a_number_is_not_mistaken_for_a_category_of_that_name():
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(1000, 3)), columns=["color_red", "b", "d"])
    X["color"] = np.where(random.random(1000) > 0.5, "red", "blue")
    y = 3 * X["b"] - 2 * X["d"] + 100 * (X["color"] == "red")
    shift = make_shift(X, y, task="regression", seed=0)
    assert set(shift.features) == {"b", "d"}


def test_the_same_seed_gives_the_same_split():
    a, b, c = (diabetes(seed)[2] for seed in (1, 1, 2))
    assert np.array_equal(a.test, b.test)
    assert not np.array_equal(a.test, c.test)


def test_classification_chooses_by_the_logistic_model():
    X, y = load_breast_cancer(return_X_y=True)
    shift = make_shift(X, y, task="classification", seed=0)
    assert len(set(shift.features)) == 2


def test_what_cannot_be_split_is_refused_with_words():
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match="take a smaller q or fewer features"):
        make_shift(X, y, task="regression", seed=0, q=0.2)
    with pytest.raises(ValueError, match="at least 2 numeric columns, got 1"):
        make_shift(X[:, :1], y, task="regression", seed=0)
    with pytest.raises(ValueError, match="expected 442 targets"):
        make_shift(X, y[:-1], task="regression", seed=0)
    with pytest.raises(ValueError, match="task to be one of"):
        make_shift(X, y, task="ranking", seed=0)


@pytest.mark.skipif(
    not os.environ.get("BATCHENSEMBLE_DATA"), reason="BATCHENSEMBLE_DATA names no folder"
)
@pytest.mark.parametrize("seed", range(5))
def test_on_california_rooms_and_bedrooms_are_chosen(seed):
    table = load_table("california")
    shift = make_shift(table.X, table.y, task="regression", seed=seed)
    assert set(shift.features) == {"AveBedrms", "AveRooms"}
