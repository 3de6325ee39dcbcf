import numpy as np
import pandas as pd

from batchensemble.data.row_sample import MOST_CLASSES, Drawn, draw_sample


def test_every_row_is_as_likely_to_be_drawn_as_any_other():
    frame = pd.DataFrame({"a": np.arange(1000.0)})
    batches = [frame[:400], frame[400:450], frame[450:]]
    drawn = np.zeros(1000)
    for seed in range(200):
        sample = Drawn(100, np.random.default_rng(seed))
        for batch in batches:
            sample.add(batch)
        rows = sample.rows()
        assert len(rows) == 100
        drawn[rows.index] += 1
    tenths = drawn.reshape(10, -1).sum(axis=1)  # 2000 expected, standard deviation about 42
    assert abs(tenths - 2000).max() < 4 * 42
    assert drawn.max() < 45  # 20 expected, standard deviation about 4.2
    assert drawn.min() > 3


def test_a_number_that_hardly_repeats_has_no_classes_to_keep():
    n = 5 * MOST_CLASSES
    frame = pd.DataFrame({"a": np.zeros(n), "y": np.arange(n, dtype=float)})
    sample = draw_sample([(frame, 0)], ["a", "y"], "y", 100, 0)
    assert 100 <= len(sample.frame) <= 103
    assert {0, n - 1} <= {*sample.frame.index}


def test_no_rows_give_no_sample():
    empty = pd.DataFrame({"a": np.zeros(0), "y": np.zeros(0)})
    assert draw_sample([(empty, 3)], ["a", "y"], "y", 100, 0).n_rows == 0
