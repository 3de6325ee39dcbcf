import numpy as np
import pytest

from batchensemble.estimators.splits import CALIBRATION_SHARE, hold_back, hold_out


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
