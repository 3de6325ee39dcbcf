"""Forecasts that know public holidays."""

import numpy as np
import pandas as pd
import pytest
from fixtures import TINY_FORECASTER, TINY_RECURRENT, long_frame, onnx_answers, onnx_session
from sample_files import QUICK, Shell

from batchensemble import Forecaster, load
from batchensemble.export import onnx_inputs, to_onnx

holidays = pytest.importorskip("holidays")

MAY = "2023-05-10"


@pytest.fixture(scope="module")
def df():
    """Two shops that sell half as much on a holiday, and more on the day before."""
    days = pd.date_range("2022-06-01", "2023-05-23", freq="D")
    off = pd.DatetimeIndex(list(holidays.NO(years=[2022, 2023])))
    random, parts = np.random.default_rng(0), []
    for shop, level in (("a", 100), ("b", 300)):
        week = 0.1 * np.sin(2 * np.pi * days.day_of_week / 7)
        around = 0.3 * (days + pd.Timedelta(days=1)).isin(off) - 0.5 * days.isin(off)
        y = level * (1 + week + around + 0.03 * random.normal(size=len(days)))
        parts.append(pd.DataFrame({"unique_id": shop, "ds": days, "y": y}))
    return pd.concat(parts, ignore_index=True)


def fitted(df, country="NO", **settings):
    tiny = TINY_FORECASTER | {"horizon": 14, "epochs": 1, "alias": "ours", "holidays": country}
    return Forecaster(**tiny | settings).fit(df[df.ds < MAY])


def worst(model, df):
    """Of the days around 17 and 18 May, as a share of the truth; the future needs no frame."""
    both = model.predict().merge(df)
    near = both[both["ds"].between("2023-05-16", "2023-05-19")]
    return np.abs(near["ours"] / near["y"] - 1).max()


def test_a_holiday_ahead_is_forecast_and_not_without_its_country(df):
    assert worst(fitted(df), df) < 0.25
    assert worst(fitted(df, None), df) > 0.5


def test_holidays_survive_a_file_an_update_a_backtest_and_a_graph(df, tmp_path):
    model = fitted(df)
    model.save(tmp_path / "model.be")
    loaded = load(tmp_path / "model.be")
    assert np.allclose(loaded.predict()["ours"], model.predict()["ours"])
    past = loaded.cross_validation(df, refit="never")
    assert np.allclose(past["ours"], model.predict()["ours"], rtol=1e-3)
    to_onnx(model, tmp_path / "model.onnx")
    answers = onnx_answers(onnx_session(tmp_path / "model.onnx"), onnx_inputs(model))
    assert np.allclose(answers["mean"], model.predict_dist().mean, rtol=1e-6)
    new = df[df.ds >= MAY]
    assert loaded.update(new).predict(3)["ds"].max() == df["ds"].max() + pd.Timedelta(days=3)


def test_one_series_is_continued_by_an_array_and_columns_may_stand_beside_holidays(df):
    one = df[(df.unique_id == "a") & (df.ds < MAY)].drop(columns="unique_id").set_index("ds")["y"]
    model = Forecaster(**TINY_FORECASTER, holidays="NO").fit(one)
    assert len(model.update([100.0, 90.0]).predict()) == 4
    priced = df.assign(price=np.arange(len(df)) % 5)
    model = Forecaster(**TINY_FORECASTER, holidays="NO", future_columns=["price"]).fit(
        priced[priced.ds < MAY]
    )
    ahead = priced[priced.ds >= MAY].drop(columns="y")
    assert np.isfinite(model.predict(X_df=ahead)["BatchEnsemble"]).all()


def test_the_recurrent_network_reads_them(df):
    model = fitted(df, **TINY_RECURRENT | {"epochs": 1, "horizon": 14})
    assert np.isfinite(model.predict()["ours"]).all()


def test_months_have_no_holidays():
    with pytest.raises(ValueError, match="got the frequency 'MS'; omit holidays"):
        Forecaster(**TINY_FORECASTER, holidays="NO").fit(long_frame())


def test_the_command_line_takes_a_country(df, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shell = Shell(tmp_path)
    df[df.ds < MAY].to_csv("sales.csv", index=False)
    df.to_csv("longer.csv", index=False)
    words = ("-t", "y", "--time", "ds", "--series", "unique_id", "--horizon", 7)
    shell("fit", "sales.csv", *words, "--holidays", "NO", *QUICK)
    shell("predict", "sales.be", "-o", "next.csv")
    assert len(shell.read("next.csv")) == 14
    shell("predict", "sales.be", "longer.csv", "-o", "later.csv")
    assert shell.read("later.csv")["ds"].min() == "2023-05-24"
    assert "windows" in shell("evaluate", "sales.be", "longer.csv").stdout
    refused = shell("fit", "sales.csv", *words, "--holidays", "Norway", *QUICK, code=1)
    assert "expected the code of a country for holidays, got 'Norway'; write 'NO'" in refused.stderr
    refused = shell("fit", "sales.csv", *words, "--holidays", "XX", *QUICK, code=1)
    assert "expected the country of holidays to be one of" in refused.stderr
