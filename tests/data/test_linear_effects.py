import numpy as np
import pandas as pd
import pytest

from batchensemble.data.linear_effects import learn_effects, linear_effects
from batchensemble.data.panels import read_panel


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.5])
def test_missing_values_do_not_change_how_much_a_series_rises_with_a_column(share):
    random = np.random.default_rng(0)
    promo = (random.random(300) < 0.3) * 1.0
    y = 3 * promo + random.normal(0, 0.1, 300)
    y[1:][random.random(299) < share] = np.nan
    panel = read_panel(pd.Series(y), marks_gaps=True)
    effect, left = linear_effects(panel, promo[:, None].astype("f4"), panel.values.astype("f4"))
    assert effect == pytest.approx(3, abs=0.1)
    n_known = (~np.isnan(y)).sum() - 1
    assert left == pytest.approx(2 * 0.1**2 * n_known, rel=0.3)
    other, _ = linear_effects(read_panel(panel.values), promo[:, None], panel.values)
    assert (other > 2.9) == (share == 0)  # the control learns from what stands in their place


def test_a_series_begins_anew():
    ids, y = ["a"] * 5 + ["b"] * 5, [0.0, 2, 0, 2, 0, 1000, 1002, 1000, 1002, 1000]
    days = pd.date_range("2024-01-01", periods=5).tolist() * 2
    panel = read_panel(pd.DataFrame({"unique_id": ids, "ds": days, "y": y}))
    column = np.array([0.0, 1, 0, 1, 0, 7, 8, 7, 8, 7])[:, None]
    assert linear_effects(panel, column, panel.values)[0] == pytest.approx(2, rel=0.01)


def learned(x, y):
    days = pd.date_range("2024-01-01", periods=len(x))
    panel = read_panel(pd.DataFrame({"ds": days, "y": y, "x": x}), columns=["x"])
    encoder, effects = learn_effects(panel, panel.columns, panel.values.astype("f4"))
    return encoder, lambda x: encoder.transform(np.array(x, float)[:, None]) @ effects


def test_a_column_with_a_long_tail_has_the_effect_that_it_has():
    random = np.random.default_rng(0)
    x = np.exp(random.normal(0, 1.2, 300))
    _, effect = learned(x, 5 * x + random.normal(0, 1, 300))
    some = np.quantile(x, [0.01, 0.5, 0.9, 1.0])
    np.testing.assert_allclose(np.diff(effect(some)), np.diff(5 * some), rtol=0.05)
    far = x.mean() + np.array([2.0, 3.0]) * np.abs(x - x.mean()).max()
    assert effect(far)[0] == pytest.approx(effect(far)[1])  # as far as twice the farthest


def test_one_odd_cell_does_not_spoil_the_effect_of_a_column():
    random = np.random.default_rng(0)
    x = random.normal(50, 5, 300)
    y = -2 * x + random.normal(0, 1, 300)
    x[100] = 9999
    encoder, effect = learned(x, y)
    assert encoder.scaling == "robust"
    assert np.diff(effect([45, 55]))[0] == pytest.approx(-20, rel=0.1)
