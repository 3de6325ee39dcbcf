import warnings

import numpy as np
import pandas as pd
import pytest
from fixtures import (
    TINY_FORECASTER,
    forget_members,
    long_frame,
    onnx_answers,
    onnx_session,
    scrambled,
)

from batchensemble import Forecaster
from batchensemble.export import onnx_inputs, to_onnx
from batchensemble.training.methods import METHODS

TINY = TINY_FORECASTER | {"epochs": 1, "n_paths": 24}


def fitted(method="batch_ensemble", df=None, **settings):
    df = long_frame() if df is None else df
    return scrambled(Forecaster(method, **TINY | settings).fit(df))


def with_gaps():
    """Windows of 72 values: one begins in a gap, one has gaps inside, one has one near its end."""
    df = long_frame(3, n=120)
    for series, places in ((0, [120 - 72]), (1, [80, 81, 95]), (2, [117, 118])):
        df.loc[[120 * series + place for place in places], "y"] = np.nan
    return df


def agrees(ours, dist, close=1e-5):
    """Within so much of the paths' standard deviation, and two roundings of float32 values."""
    rounding = 2 * np.spacing(np.abs(dist.paths).max(), dtype=np.float32)
    expected = {
        "paths": dist.paths,
        "mean": dist.mean,
        "std": dist.std,
        "members_mean": dist.paths.mean(2),
    }
    return all(
        ours[name].shape == values.shape
        and np.abs(ours[name] - values).max() < close * dist.std.mean() + rounding
        for name, values in expected.items()
    )


def answers(model, tmp_path, df=None, **ask):
    to_onnx(model, tmp_path / "model.onnx")
    return onnx_answers(onnx_session(tmp_path / "model.onnx"), onnx_inputs(model, df, **ask))


def check(model, tmp_path, df=None, **ask):
    assert agrees(answers(model, tmp_path, df, **ask), model.predict_dist(df=df, **ask))


@pytest.mark.filterwarnings("ignore:.*values are missing")
@pytest.mark.parametrize("method", METHODS)
def test_an_exported_forecaster_draws_the_paths_of_the_forecaster_around_gaps(method, tmp_path):
    model = fitted(method, with_gaps(), context=72)
    check(model, tmp_path)
    inputs = onnx_inputs(model)
    assert np.isfinite(inputs["values"]).all()
    assert (inputs["observed"] == 0).sum(1).tolist() == [1, 3, 2]


@pytest.mark.parametrize("method", ["deep_ensemble", "mc_dropout"])
def test_beyond_the_horizon_it_goes_on_from_what_was_drawn(method, tmp_path):
    model = fitted(method)
    check(model, tmp_path, h=1)
    # A path reads its own draws, and so its own rounding errors.
    assert agrees(answers(model, tmp_path, h=11), model.predict_dist(11), close=1e-4)


def test_the_control_another_mask_noise_or_weight_is_noticed(tmp_path):
    model = fitted()
    to_onnx(model, tmp_path / "model.onnx")
    session, inputs = onnx_session(tmp_path / "model.onnx"), onnx_inputs(model)
    assert agrees(onnx_answers(session, inputs), model.predict_dist())
    observed = inputs["observed"].copy()
    observed[:, -3] = 0
    assert not agrees(onnx_answers(session, inputs | {"observed": observed}), model.predict_dist())
    assert not agrees(onnx_answers(session, onnx_inputs(model, seed=1)), model.predict_dist())
    model.model_.ensemble.bank.theta[0, 0] += 0.1
    forget_members(model)
    assert not agrees(onnx_answers(session, inputs), model.predict_dist())


@pytest.mark.parametrize("method", METHODS)
def test_columns_known_ahead_and_those_known_so_far_are_read(method, tmp_path):
    random = np.random.default_rng(0)
    n = len(long_frame())
    df = long_frame(price=random.normal(size=n), state=random.choice(["a", "b", None], n))
    model = fitted(method, df, future_columns=["price"], past_columns=["state"])
    ahead = pd.date_range("2020-01-01", periods=4, freq="MS")
    X_df = pd.DataFrame({"unique_id": np.repeat(["s0", "s1", "s2"], 4), "ds": [*ahead] * 3})
    check(model, tmp_path, X_df=X_df.assign(price=random.normal(size=12)))


@pytest.mark.parametrize(
    "settings",
    [
        {"scaling": "standard", "adapters": "rb"},
        {"scaling": "window", "hidden": ()},
        {"scaling": "minmax", "hidden": (8, 8)},
        {"context": 160, "calendar": False},  # few smoothers, and no logarithms
        {"context": 3, "horizon": 5},
        {"method": "mc_dropout", "dropout": 0.0},
    ],
    ids=str,
)
def test_every_shape_of_network_is_exported(settings, tmp_path):
    df = long_frame(2, n=170) if settings.get("context") == 160 else None
    check(fitted(df=df, **settings), tmp_path)


def test_series_far_from_zero_below_it_or_too_short_agree_and_none_falls_below_zero(tmp_path):
    df = long_frame(4, n=60)
    number = df.groupby("unique_id").ngroup()
    changed = [df.y - 50, 1e5 + df.y, 0.1 * df.y, np.maximum(df.y - 30, 0)]
    df["y"] = np.select([number == i for i in range(4)], changed)
    df = df[(number != 2) | (df.ds >= "2017-09-01")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fitted(df=df)
    ours = answers(model, tmp_path)
    dist = model.predict_dist()
    one_by_one = np.abs(ours["paths"] - dist.paths).max((1, 2, 3)) / dist.std.mean(1)
    assert (one_by_one < 1e-5).all(), one_by_one
    assert dist.paths[3].min() == ours["paths"][3].min() == 0


def test_a_series_that_fit_has_not_seen_is_forecast(tmp_path):
    new = long_frame(2, ids=["new", "s1"])
    new.loc[new.unique_id == "new", "y"] = 1e5 + 300 * new.y
    check(fitted(), tmp_path, df=new)


def test_a_forecaster_that_draws_from_history_is_refused_in_one_line(tmp_path):
    model = fitted()
    encoder = model.model_.encoder
    object.__setattr__(model.model_, "encoder", encoder.drawing(history=True))
    with pytest.raises(
        ValueError, match=r"intermittent series from their history.*save"
    ) as refused:
        to_onnx(model, tmp_path / "model.onnx")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "model.onnx").exists()
