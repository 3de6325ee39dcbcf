import math

import numpy as np
import pandas as pd
import pytest
import torch
from fixtures import (
    TINY_RECURRENT,
    forget_members,
    long_frame,
    onnx_answers,
    onnx_session,
    scrambled,
)

from batchensemble import Forecaster
from batchensemble.export import onnx_inputs, to_onnx
from batchensemble.training.methods import METHODS


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.onnx"


def fitted(method="batch_ensemble", df=None, **settings):
    df = long_frame() if df is None else df
    return scrambled(Forecaster(method, **TINY_RECURRENT | settings).fit(df))


def answers(model, path, inputs):
    to_onnx(model, path)
    return onnx_answers(onnx_session(path), inputs)


def agree(ours, dist):
    expected = {
        "paths": dist.paths,
        "mean": dist.mean,
        "std": dist.std,
        "members_mean": dist.paths.mean(2),
    }
    close = 2e-5 * dist.std.mean()
    return all(
        ours[name].shape == values.shape and np.abs(ours[name] - values).max() < close
        for name, values in expected.items()
    )


def check(model, path, *, df=None, **ask):
    ours = answers(model, path, onnx_inputs(model, df, **ask))
    assert agree(ours, model.predict_dist(df=df, **ask))


@pytest.mark.parametrize("method", METHODS)
def test_an_exported_forecaster_draws_the_paths_of_the_forecaster(method, path):
    check(fitted(method), path)


@pytest.mark.parametrize("method", METHODS)
def test_with_noise_of_ones_own_it_is_the_networks_simulation(method, path):
    model = fitted(method, preset="paper", calendar=True)
    inputs = onnx_inputs(model)
    inputs["noise"] = np.random.default_rng(5).normal(size=inputs["noise"].shape).astype("float32")
    location, scale = inputs["location"][:, None], inputs["scale"][:, None]
    n_series, n_times, _ = inputs["covariates"].shape
    values = np.zeros((n_series, n_times, 1), np.float32)
    values[:, : model.model_.reach, 0] = (inputs["values"] - location) / scale
    x = torch.tensor(np.concatenate([values, inputs["covariates"]], 2))
    with torch.inference_mode():
        members = model.model_.ensemble.members
        paths = members.network.simulate(x, torch.tensor(inputs["noise"]), members.masks)
    expected = paths.transpose(1, 2).numpy() * scale[:, None, None] + location[:, None, None]
    ours = answers(model, path, inputs)["paths"]
    assert np.allclose((ours - expected) / scale[:, None, None], 0, atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_the_control_another_noise_or_a_changed_weight_is_noticed(method, path):
    model = fitted(method)
    ours = answers(model, path, onnx_inputs(model))
    assert agree(ours, model.predict_dist())
    assert not agree(answers(model, path, onnx_inputs(model, seed=1)), model.predict_dist())
    model.model_.ensemble.bank.theta[0, 0] += 0.1
    forget_members(model)
    assert not agree(ours, model.predict_dist())


@pytest.mark.parametrize(
    "settings",
    [
        {"preset": "paper"},
        {"preset": "paper", "scaling": "standard", "n_layers": 2},
        {"method": "deep_ensemble", "n_layers": 2},
        {"gates": "c"},
        {"adapters": "rb"},
        {"adapters": ""},
        {"context": 1, "seasonal_lag": False},
        {"context": 1, "calendar": False, "seasonal_lag": False},
        {"seasonal_lag": True, "season": 3},
        {"log_variance_bounds": (-math.inf, math.inf)},
        {"hidden": ()},
        {"scaling": "difference"},
        {"method": "mc_dropout", "dropout": 0.0},
    ],
    ids=str,
)
def test_every_shape_of_network_is_exported(settings, path):
    check(fitted(**settings), path)


def test_a_horizon_may_be_shorter_or_longer_than_at_fit_in_the_same_file(path):
    model = fitted()
    for h in (1, 3, 30):
        check(model, path, h=h)


@pytest.mark.parametrize("method", METHODS)
def test_columns_known_ahead_and_those_known_so_far_are_read(method, path):
    random = np.random.default_rng(0)
    n = len(long_frame())
    df = long_frame(price=random.normal(size=n), state=random.choice(["a", "b", None], n))
    model = fitted(method, df, future_columns=["price"], past_columns=["state"])
    ahead = pd.date_range("2020-01-01", periods=6, freq="MS")
    X_df = pd.DataFrame({"unique_id": np.repeat(["s0", "s1", "s2"], 6), "ds": [*ahead] * 3})
    check(model, path, h=6, X_df=X_df.assign(price=random.normal(size=18)))


def test_a_series_that_fit_has_not_seen_is_scaled_by_its_own_history(path):
    new = long_frame(2, ids=["new", "s1"])
    new.loc[new.unique_id == "new", "y"] = 1e5 + 300 * new.y
    check(fitted(), path, df=new)


def test_one_array_without_dates_is_a_series(path):
    y = long_frame(1)["y"].to_numpy()
    check(fitted(df=y), path)
    check(fitted(df=y, season=12), path)


def test_the_graph_is_as_large_for_a_long_horizon_as_for_a_short_one(tmp_path):
    sizes = []
    for horizon in (2, 20):
        to_onnx(fitted(horizon=horizon, context=12), tmp_path / "model.onnx")
        sizes.append((tmp_path / "model.onnx").stat().st_size)
    assert abs(sizes[0] - sizes[1]) < 10  # the number itself, in the metadata
