import dataclasses

import numpy as np
import pandas as pd
import pytest

from batchensemble.data.table_encoder import TableEncoder
from batchensemble.study.datasets import Table, load_table, make_seasonal
from batchensemble.study.splits import CONTEXT, HORIZON, split_series, split_table

# Tables


def test_training_rows_fill_the_unit_interval_and_test_rows_may_leave_it():
    table = load_table("diabetes")
    splits = [split_table(table, seed, variant="shift") for seed in range(3)]
    for split in splits:
        assert split.x_train.min() == 0
        assert split.x_train.max() == 1
        assert (split.y_train.min(), split.y_train.max()) == (0, 1)
        assert split.is_tail.any()
    assert max(split.x_test.max() for split in splits) > 1


def test_a_split_of_one_seed_is_always_the_same_and_seeds_differ():
    table = load_table("breast_cancer")
    a, b, c = (split_table(table, seed) for seed in (0, 0, 1))
    assert np.array_equal(a.x_test, b.x_test)
    assert not np.array_equal(a.x_test, c.x_test)
    assert abs(len(a.x_test) / 569 - 0.2) < 0.002


def test_the_target_is_scaled_on_the_training_rows_alone():
    y = np.arange(500.0)
    X = np.random.default_rng(0).normal(size=(500, 3))
    splits = [split_table(Table("line", "regression", X, y), seed) for seed in range(10)]
    assert all((split.y_train.min(), split.y_train.max()) == (0, 1) for split in splits)
    # An end of the line falls into the test set of a third of the splits.
    assert any(split.y_test.min() < 0 or split.y_test.max() > 1 for split in splits)


def test_a_target_that_does_not_vary_is_refused():
    table = Table("flat", "regression", np.arange(20.0)[:, None], np.full(20, 3.5))
    with pytest.raises(ValueError, match=r"target of flat is 3\.5 in all 16 training rows"):
        split_table(table, 0)


def test_categories_are_the_tables_not_the_splits():
    X = pd.DataFrame({"a": np.arange(300.0), "b": np.arange(300.0) ** 2, "kind": "usual"})
    X.loc[0, "kind"] = "rare"
    table = Table("rare", "classification", X, np.arange(300) % 2)
    widths = {split_table(table, seed).x_train.shape[1] for seed in range(8)}
    assert widths == {4}


def test_inputs_are_the_tables_even_where_a_split_trains_without_its_gaps_or_hours():
    X = pd.DataFrame({"a": np.arange(40.0), "b": np.arange(40.0) ** 2, "c": np.arange(40.0) / 2})
    X["day"] = pd.date_range("2024-01-01", periods=40)
    X.loc[7, "a"] = np.nan
    X.loc[9, "day"] = pd.Timestamp("2024-02-01 13:00")
    table = Table("gap", "regression", X, np.arange(40.0))
    splits = [split_table(table, seed) for seed in range(8)]
    whole = TableEncoder("minmax").fit(X).get_feature_names_out().tolist()
    assert {x.shape[1] for split in splits for x in (split.x_train, split.x_test)} == {len(whole)}
    gap, hour = whole.index("a_missing"), [j for j, n in enumerate(whole) if "day_" in n][-1]
    seen = {bool(split.x_train[:, gap].any()) for split in splits}
    assert seen == {True, False}
    assert {bool(split.x_train[:, hour].any()) for split in splits} == {True, False}
    assert all(np.unique(split.x_train[:, 1]).size == 32 for split in splits)


# Series


@pytest.fixture(scope="module")
def split():
    return split_series(make_seasonal(100))


def test_training_windows_lie_in_the_first_part_and_test_targets_in_the_second(split):
    length = CONTEXT + HORIZON
    assert (CONTEXT, HORIZON) == (12, 5)
    assert split.train.tolist() == list(range(80 - length + 1))
    assert split.test.tolist() == list(range(80 - CONTEXT, 100 - length + 1))
    first_targets = split.test + CONTEXT
    assert first_targets.min() == 80
    assert first_targets.max() + HORIZON == 100


def test_the_scale_is_learned_from_the_first_part_alone():
    series = make_seasonal(100)
    split = split_series(series)
    assert split.values[:80].min() == 0
    assert split.values[:80].max() == 1
    later = dataclasses.replace(series, values=series.values + 1000 * (np.arange(100) >= 80))
    np.testing.assert_array_equal(split_series(later).values[:80], split.values[:80])


def test_the_truth_of_a_test_window_is_what_follows_its_context(split):
    for row, start in zip(split.y_test, split.test, strict=True):
        np.testing.assert_array_equal(row, split.values[start + 12 : start + 17].astype(float))
