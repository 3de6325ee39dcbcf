import numpy as np
import pytest
from scipy.stats import hypergeom

from batchensemble.cli.held_out_rows import hold_out, hold_out_of_each


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
