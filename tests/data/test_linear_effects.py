import numpy as np
import pandas as pd
import pytest

from batchensemble.data.linear_effects import linear_effects
from batchensemble.data.panels import read_panel


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.5])
def test_missing_values_do_not_change_how_much_a_series_rises_with_a_column(share):
    random = np.random.default_rng(0)
    promo = (random.random(300) < 0.3) * 1.0
    y = 3 * promo + random.normal(0, 0.1, 300)
    y[1:][random.random(299) < share] = np.nan
    panel = read_panel(pd.Series(y), marks_gaps=True)
    (effect,) = linear_effects(panel, promo[:, None].astype("f4"), panel.values.astype("f4"))
    assert effect == pytest.approx(3, abs=0.1)
    (other,) = linear_effects(read_panel(panel.values), promo[:, None], panel.values)
    assert (other > 2.9) == (share == 0)  # the control learns from what stands in their place


def test_a_series_begins_anew():
    ids, y = ["a"] * 5 + ["b"] * 5, [0.0, 2, 0, 2, 0, 1000, 1002, 1000, 1002, 1000]
    days = pd.date_range("2024-01-01", periods=5).tolist() * 2
    panel = read_panel(pd.DataFrame({"unique_id": ids, "ds": days, "y": y}))
    column = np.array([0.0, 1, 0, 1, 0, 7, 8, 7, 8, 7])[:, None]
    assert linear_effects(panel, column, panel.values) == pytest.approx(2, rel=0.01)
