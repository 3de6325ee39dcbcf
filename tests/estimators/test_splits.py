import numpy as np
import pytest

from batchensemble.estimators.splits import (
    CALIBRATION_SHARE,
    Order,
    folds_of,
    hold_back,
    hold_out,
    read_order,
)


@pytest.mark.parametrize("n_rows", [50, 101, 1000])
def test_every_row_is_learned_from_or_held_back_and_never_both(n_rows):
    learned, held_back = hold_back(n_rows, 1, seed=3)
    assert len(held_back) == round(CALIBRATION_SHARE * n_rows)
    assert sorted([*learned, *held_back]) == list(range(n_rows))


def test_held_back_rows_follow_the_seed_and_are_scattered():
    first, again, other = (hold_back(500, 1, seed)[1] for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert first.min() < 50
    assert first.max() > 450


def test_too_few_rows_to_hold_back_say_how_many_are_needed():
    with pytest.raises(ValueError, match=r"expected at least 9 rows among the 20% .* got 8 of 40"):
        hold_back(40, 9, seed=0)
    assert len(hold_back(45, 9, seed=0)[1]) == 9
    few = Order(np.repeat([0, 1], [95, 5]))
    with pytest.raises(ValueError, match=r"expected at least 9 rows among the 20% .* got 5 of 100"):
        hold_back(100, 9, 0, few)


def test_a_table_too_small_to_spare_eight_rows_trains_on_all():
    rows, held_out = hold_out(np.arange(50.0), 0.15, seed=0)
    assert held_out is not None
    rows, held_out = hold_out(np.arange(49.0), 0.15, seed=0)
    assert held_out is None
    assert len(rows) == 49


def test_held_out_rows_keep_the_shares_of_the_classes():
    labels = np.repeat([0, 1], [180, 20])
    kept, held_out = hold_out(labels, 0.15, seed=0)
    assert held_out is not None
    assert np.bincount(labels[held_out]).tolist() == [27, 3]
    assert np.bincount(labels[kept]).tolist() == [153, 17]
    assert len(np.intersect1d(kept, held_out)) == 0


def test_a_class_with_one_row_is_no_reason_to_fail():
    labels = np.array([0] * 99 + [1])
    kept, held_out = hold_out(labels, 0.2, seed=0)
    assert held_out is not None
    assert len(kept) + len(held_out) == 100


@pytest.mark.parametrize("n_folds", [2, 3, 5])
@pytest.mark.parametrize("n_rows", [40, 101, 998])
def test_every_row_is_held_out_by_one_fold_and_trains_all_others(n_rows, n_folds):
    folds = folds_of(np.arange(float(n_rows)), n_folds, seed=0)
    assert folds is not None
    assert len(folds) == n_folds
    assert sorted(row for _, held_out in folds for row in held_out) == list(range(n_rows))
    for kept, held_out in folds:
        assert sorted([*kept, *held_out]) == list(range(n_rows))
        assert abs(len(held_out) - n_rows / n_folds) < 1


def test_folds_follow_the_seed_and_are_scattered():
    first, again, other = (folds_of(np.arange(500.0), 5, seed)[0][1] for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert first.min() < 50
    assert first.max() > 450


def test_one_fold_or_fewer_than_eight_rows_a_fold_are_no_folds():
    assert folds_of(np.arange(100.0), 1, seed=0) is None
    assert folds_of(np.arange(39.0), 5, seed=0) is None
    assert folds_of(np.arange(40.0), 5, seed=0) is not None


def test_folds_keep_the_shares_of_the_classes():
    labels = np.repeat([0, 1, 2], [70, 25, 5])
    for _, held_out in folds_of(labels, 5, seed=0):
        assert np.bincount(labels[held_out]).tolist() == [14, 5, 1]


def test_a_class_with_fewer_rows_than_folds_is_no_reason_to_fail():
    labels = np.repeat([0, 1], [97, 3])
    folds = folds_of(labels, 5, seed=0)
    assert sorted(row for _, held_out in folds for row in held_out) == list(range(100))


GROUPS = np.random.default_rng(0).integers(0, 30, 400)


def sides(rows, others):
    return set(GROUPS[rows]), set(GROUPS[others])


@pytest.mark.parametrize("target", [np.arange(400.0), np.arange(400) % 2])
def test_rows_of_a_group_stay_on_one_side_of_every_split(target):
    order = Order(GROUPS)
    splits = [
        hold_back(400, 9, 0, order),
        hold_out(target, 0.15, 0, order),
        *folds_of(target, 5, 0, order),
    ]
    assert len(splits) == 7
    for kept, held_out in splits:
        first, second = sides(kept, held_out)
        assert second
        assert not first & second
        assert sorted([*kept, *held_out]) == list(range(400))
    # Negative control: without groups, almost every group is on both.
    first, second = sides(*hold_out(target, 0.15, 0))
    assert len(first & second) > 20


def test_fewer_groups_than_folds_are_held_out_instead():
    order = Order(np.arange(400) % 4)
    assert folds_of(np.arange(400.0), 5, 0, order) is None
    kept, held_out = hold_out(np.arange(400.0), 0.25, 0, order)
    assert len(set(order.groups[held_out])) == 1
    assert len(kept) == 300


def test_groups_of_unequal_size_are_held_out_by_their_rows():
    groups = np.repeat(np.arange(12), [1000, *[10] * 10, 1])
    kept, held_out = Order(groups).cut(len(groups), 60, seed=0)
    assert 60 <= len(held_out) <= 90
    kept, held_out = Order(np.repeat([0, 1], [300, 200])).cut(500, 50, seed=0)
    assert (len(kept), len(held_out)) == (300, 200)


def test_rows_without_a_number_are_a_group_that_can_be_held_out():
    kept, held_out = Order(np.repeat([np.nan, 1.0], [20, 80])).cut(100, 20, seed=0)
    assert held_out.tolist() == list(range(20))
    assert kept.tolist() == list(range(20, 100))


def test_one_group_alone_is_trained_on():
    kept, held_out = hold_out(np.zeros(100), 0.2, 0, Order(np.array(["a"] * 100)))
    assert held_out is None
    assert len(kept) == 100


def test_of_rows_in_time_the_last_are_held_out_and_there_are_no_folds():
    order = Order(in_time=True)
    assert folds_of(np.arange(400.0), 5, 0, order) is None
    for kept, held_out in (
        hold_back(400, 9, 0, order),
        hold_out(np.arange(400.0), 0.2, 0, order),
    ):
        assert kept.tolist() == list(range(320))
        assert held_out.tolist() == list(range(320, 400))


def test_an_order_that_makes_no_sense_is_refused():
    assert not read_order(None, False, 3).matters
    with pytest.raises(ValueError, match="got both"):
        read_order([1, 2, 3], True, 3)
    with pytest.raises(ValueError, match="at least 2 groups, got one"):
        read_order([1, 1, 1], False, 3)
    with pytest.raises(ValueError, match="one label for each of 3 rows"):
        read_order([1, 2], False, 3)
