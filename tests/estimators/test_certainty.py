import numpy as np
import pandas as pd
import pytest

from batchensemble import Forecaster
from batchensemble.estimators.certainty import are_certain

DAYS = pd.date_range("2023-01-02", periods=101)
T = np.arange(100)
RANDOM = np.random.default_rng(0)


def series(name, y):
    return pd.DataFrame({"unique_id": name, "ds": DAYS[: len(y)], "y": y})


def wave(size):
    noise = 0.3 * RANDOM.normal(size=100)
    return 10 * size * (3 + np.sin(2 * np.pi * T / 7) + noise)


WAVES = pd.concat([series(f"s{k}", wave(k)) for k in (1, 2, 3)], ignore_index=True)
PRICE = series("price", np.where(T < 88, 20.0, 21.0))
OPENED = series("opened", np.where(T < 88, 0.0, 60.0))  # a shop that was closed


def fitted(df, **words):
    return Forecaster(horizon=4, epochs=1, random_state=0).fit(df, **words)


@pytest.mark.parametrize("adapt", [True, False])
@pytest.mark.parametrize("other", [PRICE, OPENED], ids=["price", "opened"])
def test_a_constant_series_that_steps_does_not_widen_the_bounds_of_others(adapt, other):
    both = pd.concat([WAVES, other], ignore_index=True)
    widths = []
    for df in (WAVES, both):
        model = fitted(df, calibrate=True, adapt=adapt)
        found = model.predict(level=[95])
        found = found[found["unique_id"].str.startswith("s")]
        widths.append((found["BatchEnsemble-hi-95"] - found["BatchEnsemble-lo-95"]).mean())
    assert widths[1] < 1.5 * widths[0]  # 5,000 times before


def test_a_step_of_a_series_that_was_constant_does_not_explode_its_bounds():
    model = fitted(pd.concat([WAVES, series("price", np.full(100, 20.0))]), calibrate=True)
    new = {"price": 21.0, "s1": 30.0, "s2": 60.0, "s3": 90.0}
    days = pd.date_range(DAYS[100], periods=12)
    model.update(pd.concat([pd.DataFrame({"unique_id": n, "ds": days, "y": new[n]}) for n in new]))
    found = model.predict(level=[95])
    assert (found["BatchEnsemble-hi-95"] - found["BatchEnsemble-lo-95"]).max() < 200


def test_a_backtest_goes_on_beside_a_series_that_steps():
    both = pd.concat([WAVES, PRICE], ignore_index=True)
    model = fitted(both[both["ds"] < DAYS[70]], calibrate=True)
    found = model.cross_validation(both, n_windows=8, h=4, step_size=2, refit="never", level=[95])
    found = found[found["unique_id"] != "price"]
    assert (found["BatchEnsemble-hi-95"] - found["BatchEnsemble-lo-95"]).max() < 200


def test_a_series_that_never_changed_cannot_calibrate():
    words = "were not constant before, got 0 of 19: the others have no spread to calibrate"
    with pytest.raises(ValueError, match=words):
        fitted(series("x", np.full(100, 7.0)), calibrate=True)


def test_what_the_last_values_are_decides_and_how_sure_a_forecast_is():
    panel = fitted(pd.concat([WAVES[:100], PRICE], ignore_index=True)).panel_
    start = int(panel.starts[panel.ids.tolist().index("price")])
    rows = start + np.array([80, 88, 89, 95, 99])
    mean, sure = np.full((5, 2), 20.0), np.full((5, 2), 1e-9)
    assert are_certain(panel, rows, 10, mean, sure).tolist() == [True, True, False, False, True]
    assert are_certain(panel, rows, 200, mean, sure).tolist() == [True, True, False, False, False]
    unsure = are_certain(panel, rows, 10, mean, sure + np.array([0.0, 0.1]))
    assert unsure.tolist() == [True, True, False, False, False]  # it had never changed, or had
    other = int(panel.starts[panel.ids.tolist().index("s1")])
    assert not are_certain(panel, np.array([other + 9]), 4, mean[:1], sure[:1]).any()


def test_closed_shops_do_not_narrow_the_bounds_of_others():
    closed = [series(f"z{k}", np.zeros(100)) for k in range(6)]
    widths = []
    for df in (WAVES, pd.concat([WAVES, *closed], ignore_index=True)):
        found = fitted(df, calibrate=True).predict(level=[80])
        found = found[found["unique_id"].str.startswith("s")]
        widths.append((found["BatchEnsemble-hi-80"] - found["BatchEnsemble-lo-80"]).mean())
    assert widths[1] == pytest.approx(widths[0], rel=0.3)  # a third of it before


@pytest.mark.parametrize("value", [0.0, 50.0])
def test_constant_series_do_not_narrow_paths_of_others(value):
    constant = [series(f"z{k}", np.full(100, value)) for k in range(6)]
    widths = []
    for df in (WAVES, pd.concat([WAVES, *constant], ignore_index=True)):
        model = Forecaster(horizon=4, epochs=5, random_state=0).fit(df)
        found = model.predict(level=[80])
        found = found[found["unique_id"].str.startswith("s")]
        widths.append((found["BatchEnsemble-hi-80"] - found["BatchEnsemble-lo-80"]).mean())
    assert widths[1] == pytest.approx(widths[0], rel=0.2)
