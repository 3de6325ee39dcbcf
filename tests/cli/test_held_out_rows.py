import numpy as np
import pytest
from scipy.stats import hypergeom

from batchensemble.cli.held_out_rows import hold_out, hold_out_of_each, too_few
from batchensemble.estimators.splits import Order


def test_rows_that_judge_are_drawn_by_chance_not_by_class():
    y = np.repeat(["Ulm", "Bonn"], [100, 20])
    drawn = [y[hold_out(y, 0.25, seed, is_classes=True)[1]] for seed in range(300)]
    counts = np.array([(rows == "Bonn").sum() for rows in drawn])
    expected = hypergeom(120, 20, 30)  # by class it would be 5 each time
    assert counts.mean() == pytest.approx(expected.mean(), abs=4 * expected.std() / 300**0.5)
    assert counts.std() == pytest.approx(expected.std(), rel=0.2)


def test_a_class_is_learned_from_even_if_all_its_rows_were_drawn_to_judge():
    y = np.repeat(["Ulm", "Bonn", "Kiel"], [80, 38, 2])
    moved = 0
    for seed in range(200):
        kept, judges = hold_out(y, 0.25, seed, is_classes=True)
        assert sorted([*kept, *judges]) == list(range(120))
        assert set(y[kept]) == {"Ulm", "Bonn", "Kiel"}
        moved += len(judges) < 30
    assert moved > 0


def test_of_each_class_a_share_is_held_out_and_enough_to_calibrate_with():
    y = np.repeat(["no", "yes"], [400, 30])
    rows, judges = hold_out_of_each(y, 0.2, 0)
    assert sorted([*rows, *judges]) == list(range(430))
    assert [(y[judges] == label).sum() for label in ("no", "yes")] == [80, 10]


def test_groups_stay_whole_though_a_class_is_only_in_one_of_them():
    groups = np.arange(400) // 10
    y = np.where(np.arange(400) % 2, "hi", "lo").astype(object)
    y[70:75] = "rare"
    n_moved = 0
    for seed in range(30):
        order = Order(groups)
        kept, judges = hold_out(y, 0.2, seed, is_classes=True, order=order)
        assert sorted([*kept, *judges]) == list(range(400))
        assert not set(groups[kept]) & set(groups[judges])
        assert set(y[judges]) <= set(y[kept])
        n_moved += 7 in groups[order.cut(400, 80, seed)[1]]
    assert n_moved > 0
    kept, judges = hold_out(groups.astype(str), 0.2, 0, is_classes=True, order=Order(groups))
    assert (len(kept), len(judges)) == (400, 0)  # each group has a class of its own
    assert "some classes are only among the rows" in too_few(0.2, 400)


@pytest.mark.parametrize(("first_new", "n_judges"), [(330, 69), (379, 20), (380, 0), (397, 0)])
def test_only_the_last_rows_judge_though_a_class_begins_late(first_new, n_judges):
    y = np.where(np.arange(400) % 2, "hi", "lo").astype(object)
    y[first_new::2] = "new"
    kept, judges = hold_out(y, 0.2, 0, is_classes=True, order=Order(in_time=True))
    assert kept.tolist() == list(range(400 - n_judges))
    assert judges.tolist() == list(range(400 - n_judges, 400))
