import numpy as np
import pandas as pd
import pytest

from batchensemble.data.linear_effects import learn_effects, linear_effects, own_effects
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
    other = random.permutation(promo)[:, None].astype("f4")
    assert left < 0.8 * linear_effects(panel, other, panel.values.astype("f4"))[1]
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


@pytest.mark.parametrize("noise", [0.01, 0.1, 1.0])
def test_an_effect_that_is_large_beside_most_changes_is_no_outlier(noise):
    random, hour = np.random.default_rng(0), np.arange(24 * 40) % 24
    sun = np.clip(np.sin((hour - 7) / 10 * np.pi), 0, None) * ((hour > 7) & (hour < 17))
    sun = sun * np.repeat(random.uniform(100, 600, 40), 24)
    _, effect = learned(sun, 2 * sun + random.normal(0, noise, len(sun)))
    assert np.diff(effect([0, 300]))[0] == pytest.approx(600, rel=0.01)


@pytest.mark.parametrize("odd", [1e3, 1e6, 1e12])
def test_an_odd_value_of_the_series_does_not_spoil_an_effect(odd):
    random = np.random.default_rng(0)
    x = random.normal(size=200)
    y = 3 * x + random.normal(0, 1, 200)
    y[[50, 120]] = odd, -odd
    _, effect = learned(x, y)
    assert np.diff(effect([0, 1]))[0] == pytest.approx(3, rel=0.5)


def test_an_effect_grows_twice_as_far_as_any_number_of_fit_was_from_the_mean():
    random = np.random.default_rng(0)
    x = random.uniform(0, 10, 400)
    _, effect = learned(x, 5 * x + random.normal(0, 5, 400))
    far = effect([5, 10, 14.9, 20, 30])
    np.testing.assert_allclose(far[:3] - far[0], [0, 25, 49.5], rtol=0.05)
    assert far[3] == pytest.approx(far[4])


def test_one_odd_cell_does_not_spoil_the_effect_of_a_column():
    random = np.random.default_rng(0)
    x = random.normal(50, 5, 300)
    y = -2 * x + random.normal(0, 1, 300)
    x[100] = 9999
    encoder, effect = learned(x, y)
    assert encoder.scaling == "robust"
    assert np.diff(effect([45, 55]))[0] == pytest.approx(-20, rel=0.1)


def shops(lift, rates, noise=0.05, n=300, seed=0):
    """Sales of shops of all sizes, scaled by what their days differ by, and promotions."""
    random, k = np.random.default_rng(seed), len(rates)
    promo = (random.random((k, n)) < np.array(rates)[:, None]).astype(float)
    size = np.exp(random.normal(4, 1, (k, 1)))
    y = size * (1 + lift * promo + noise * random.normal(size=(k, n)))
    frame = pd.DataFrame({"unique_id": np.repeat(np.arange(k), n), "y": y.ravel()})
    frame["ds"] = np.tile(pd.date_range("2024-01-01", periods=n), k)
    scale = np.abs(np.diff(y)).mean(axis=1)
    return read_panel(frame), promo.ravel(), (y / scale[:, None]).ravel(), size[:, 0] / scale


def test_shops_with_rare_promotions_sell_as_many_more_as_those_with_many():
    panel, promo, values, unit = shops(0.8, [0.03, 0.4] * 6)
    common, _ = linear_effects(panel, promo[:, None], values)
    _, own = own_effects(panel, promo[:, None], values, common)
    own = own[:, 0]
    np.testing.assert_allclose(own, 0.8 * unit, rtol=0.1)
    assert common < 0.3 * (0.8 * unit).max()  # the control: one number for all is far too little


def test_where_series_rise_alike_all_have_the_common_effect():
    differ = []
    for seed in range(20):
        panel, promo, values, _ = shops(0.3, [0.2] * 10, noise=1.0, seed=seed)
        common, _ = linear_effects(panel, promo[:, None], values)
        _, own = own_effects(panel, promo[:, None], values, common)
        differ.append(np.abs(own - common).max())
    assert differ.count(0.0) >= 18  # what chance alone does is left out


def test_one_series_and_one_without_changes_have_the_common_effect():
    for rates in ([0.2], [0.2, 0.0]):
        panel, promo, values, _ = shops(0.8, rates)
        mean, own = own_effects(panel, promo[:, None], values, np.array([0.5]))
        assert mean == [0.5]
        assert (own == 0.5).all()


@pytest.mark.parametrize("value", [0.0, 50.0])
def test_a_series_that_never_changes_says_nothing_about_effects(value):
    panel, promo, values, _ = shops(0.8, [0.03, 0.4, 0.2, 0.0, 0.2])
    values = np.where(np.repeat(np.arange(5) == 4, 300), value, values)
    common, _ = linear_effects(panel, promo[:, None], values)
    _, own = own_effects(panel, promo[:, None], values, common)
    own = own[:, 0]
    assert own[:3].min() < own[3] < own[:3].max()  # the mean of the others
    assert own[3] == own[4]


def test_one_columns_effects_may_differ_while_anothers_are_common():
    random, n, k = np.random.default_rng(0), 210, 10
    promo, holiday = (random.random((k, n)) < 0.3) * 1.0, np.tile(np.arange(n) % 15 == 10, (k, 1))
    lifts = np.array([100.0] * 9 + [-50.0])
    y = 200 + lifts[:, None] * promo + 50 * holiday + random.normal(0, 5, (k, n))
    frame = pd.DataFrame({"unique_id": np.repeat(np.arange(k), n), "y": y.ravel()})
    frame["ds"] = np.tile(pd.date_range("2024-01-01", periods=n), k)
    panel, columns = read_panel(frame), np.column_stack([promo.ravel(), holiday.ravel()])
    common, _ = linear_effects(panel, columns, y.ravel())
    _, own = own_effects(panel, columns, y.ravel(), common)
    np.testing.assert_allclose(own[:, 0], lifts, atol=3)
    np.testing.assert_allclose(own[:, 1], 50, atol=3)
    assert np.ptp(own[:, 1]) == 0  # no shop differs at holidays


def test_a_column_that_acts_alike_is_not_spoilt_by_one_that_does_not():
    random, n, k = np.random.default_rng(0), 200, 20
    rare = np.arange(k)[:, None] % 2
    promo = (random.random((k, n)) < np.where(rare, 0.03, 0.3)) * 1.0
    price = 10 - promo * np.where(rare, 2, 0.5) + random.normal(0, 0.3, (k, n))
    y = 100 * (1 + promo) + random.normal(0, 4, (k, n))
    y /= np.abs(np.diff(y)).mean(axis=1)[:, None]  # in units that know of promotions
    frame = pd.DataFrame({"unique_id": np.repeat(np.arange(k), n), "y": y.ravel()})
    frame["ds"] = np.tile(pd.date_range("2024-01-01", periods=n), k)
    panel, columns = read_panel(frame), np.column_stack([promo.ravel(), price.ravel()])
    common, _ = linear_effects(panel, columns, y.ravel())
    known, own = own_effects(panel, columns, y.ravel(), common)
    assert np.abs(own[:, 1]).max() < 0.05
    assert abs(known[1]) < 0.05
    assert abs(common[1]) > 0.3  # the control: what all have in common is wrong


def test_words_have_the_effects_that_numbers_have():
    panel, promo, values, unit = shops(0.8, [0.03, 0.4] * 6)
    words = np.column_stack([1 - promo, promo])
    common, _ = linear_effects(panel, words, values)
    _, own = own_effects(panel, words, values, common)
    np.testing.assert_allclose(own[:, 1] - own[:, 0], 0.8 * unit, rtol=0.1)


@pytest.mark.parametrize("small", [1.0, 1e-2, 1e-5])
def test_a_column_that_hardly_changes_in_one_series_decides_nothing_there(small):
    random, n, k = np.random.default_rng(0), 200, 8
    promo = (random.random((k, n)) < 0.3) * 1.0
    price = random.normal(size=(k, n)) * np.where(np.arange(k) == 3, small, 1.0)[:, None]
    lifts = np.linspace(1, 3, k)[:, None]
    y = lifts * promo + 0.5 * price + 0.1 * random.normal(size=(k, n))
    frame = pd.DataFrame({"unique_id": np.repeat(np.arange(k), n), "y": y.ravel()})
    frame["ds"] = np.tile(pd.date_range("2024-01-01", periods=n), k)
    panel, columns = read_panel(frame), np.column_stack([promo.ravel(), price.ravel()])
    common, _ = linear_effects(panel, columns, y.ravel())
    _, own = own_effects(panel, columns, y.ravel(), common)
    np.testing.assert_allclose(own[:, 0], lifts[:, 0], atol=0.1)
    np.testing.assert_allclose(own[:, 1], 0.5, atol=0.05)
