"""Columns that never change inside a series."""

import numpy as np
import pandas as pd
import pytest
from fixtures import TINY_FORECASTER, TINY_RECURRENT, long_frame, onnx_answers, onnx_session

from batchensemble import Forecaster, load
from batchensemble.export import onnx_inputs, to_onnx

DAY = 24


def waves(n_series=10, n=8 * DAY, seed=0):
    """A wave that is upside down in every other series; three values do not tell which."""
    random = np.random.default_rng(seed)
    parts = []
    for i in range(n_series):
        times, kind = np.arange(n), "ab"[i % 2]
        wave = 1.5 * np.sin(2 * np.pi * times / DAY) * (1 if kind == "a" else -1)
        y = 10 + wave + 0.3 * random.normal(size=n)
        parts.append(pd.DataFrame({"unique_id": f"s{i}", "ds": times, "y": y, "kind": kind}))
    return pd.concat(parts, ignore_index=True)


def shops(**settings):
    sizes = {"s0": 1.0, "s1": 5.0, "s2": 9.0}
    df = long_frame()
    df = df.assign(size=df["unique_id"].map(sizes), kind=np.where(df.unique_id == "s1", "a", "b"))
    static = {"static_columns": ["size", "kind"]}
    return df, Forecaster(**TINY_FORECASTER | static | settings)


def rmse(static):
    df = waves()
    df = df if static else df.drop(columns="kind")
    settings = {"context": 3, "horizon": 3, "season": DAY, "epochs": 15, "lr": 0.01, "n_members": 3}
    model = Forecaster(
        **settings, hidden=(32,), n_paths=50, random_state=0, static_columns=static, alias="ours"
    ).fit(df[df.ds < 7 * DAY])
    past = model.cross_validation(df, n_windows=20, refit="never")
    return np.sqrt(np.square(past["y"] - past["ours"]).mean())


@pytest.mark.slow
def test_a_correction_that_depends_on_the_kind_of_series_is_learned_and_not_without_it():
    assert rmse(["kind"]) < 0.9 * rmse([])


@pytest.mark.parametrize("kind", [TINY_FORECASTER, TINY_RECURRENT], ids=["direct", "recurrent"])
def test_a_series_that_fit_has_not_seen_is_forecast_with_its_own_columns(kind):
    df, model = shops(**kind)
    model.fit(df)
    new = df[df.unique_id == "s0"].assign(unique_id="new", size=2.0)
    other = new.assign(size=20.0, kind="never seen")
    first, second = (model.predict_dist(df=each).mean for each in (new, other))
    assert np.isfinite(first).all()
    assert not np.allclose(first, second)


def test_they_need_no_future_and_survive_a_file_an_update_and_a_graph(tmp_path):
    df, model = shops()
    first, last = df[df.ds < "2019-10-01"], df[df.ds >= "2019-10-01"]
    model.fit(first).save(tmp_path / "model.be")
    loaded = load(tmp_path / "model.be")
    ours, theirs = (each.update(last).predict() for each in (model, loaded))
    assert np.allclose(ours["BatchEnsemble"], theirs["BatchEnsemble"])
    to_onnx(model, tmp_path / "model.onnx")
    answers = onnx_answers(onnx_session(tmp_path / "model.onnx"), onnx_inputs(model))
    assert np.allclose(answers["mean"], model.predict_dist().mean, atol=1e-4)


def test_a_gap_is_no_change_and_a_change_is_refused_in_one_line():
    df, model = shops(epochs=1)
    gappy = df.copy()
    gappy.loc[[3, 59], "size"] = np.nan
    gappy.loc[100, "kind"] = None
    whole, partly = (model.fit(each).predict_dist().mean for each in (df, gappy))
    assert np.allclose(whole, partly)
    df.loc[70, "kind"] = "c"
    with pytest.raises(ValueError, match=r"'s1'.*static column 'kind'.*got a and c") as error:
        model.fit(df)
    assert "\n" not in str(error.value)


def test_a_column_that_changes_between_fit_and_update_is_refused():
    df, model = shops()
    old = df.groupby("unique_id").cumcount(ascending=False) >= 3
    model.fit(df[old])
    with pytest.raises(ValueError, match=r"s1.*static column 'size' to be the same at all times"):
        model.update(df[~old].assign(size=lambda new: new["size"] + (new.unique_id == "s1")))
    model.update(df[~old])
