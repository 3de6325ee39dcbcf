"""Models through files: the same answers, nothing but the model, and no harm from bad files."""

import json
import os
import pickle
import subprocess
import sys
import time
from dataclasses import replace
from functools import cache
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from fixtures import (
    TINY_FORECASTER,
    TINY_RECURRENT,
    damaged,
    long_frame,
    regression_table,
    resigned,
)
from safetensors.numpy import load as arrays_of
from safetensors.numpy import save as bytes_of
from sklearn.exceptions import NotFittedError

import batchensemble
from batchensemble import Classifier, Forecaster, Regressor
from batchensemble.modelfile.persistence import ModelFileError, describe
from batchensemble.modelfile.version import VERSION
from batchensemble.training.methods import METHODS
from batchensemble.training.methods.mc_dropout import MCDropout

QUICK = {"epochs": 3, "hidden": (8,), "n_members": 3, "n_passes": 7, "random_state": 0}
EVERY_METHOD = pytest.mark.parametrize("method", sorted(METHODS))


def again(model, folder, **settings):
    model.save(folder / "model.be")
    return batchensemble.load(folder / "model.be", **settings)


def mixed(n_rows=60, seed=0, library=pd):
    random = np.random.default_rng(seed)
    number = random.normal(size=n_rows)
    number[::7] = np.nan
    town = random.choice(["Bergen", "Oslo", "Århus"], n_rows).astype(object)
    town[::9] = None
    return library.DataFrame(
        {
            "number": number,
            "flag": random.random(n_rows) > 0.5,
            "town": town.tolist(),
            "day": np.datetime64("2024-01-01", "us") + random.integers(0, 10**14, n_rows),
        }
    )


def assert_restored(model, twin, folder):
    """Beside its answers: settings, what was learned, and the same file once more."""
    assert type(twin) is type(model)
    assert twin.get_params() == model.get_params()
    assert torch.equal(twin.model_.ensemble.bank.theta, model.model_.ensemble.bank.theta)
    assert vars(twin).keys() == vars(model).keys()
    assert repr(twin.history_) == repr(model.history_)
    first = (folder / "model.be").read_bytes()
    twin.save(folder / "again.be")
    assert (folder / "again.be").read_bytes() == first


# ------------------------------------------------------------------------------------------- tables


@EVERY_METHOD
@pytest.mark.parametrize("scaling", ["robust", "quantile"])
def test_a_regressor_answers_the_same_to_the_last_bit(method, scaling, tmp_path):
    x, y = mixed(), pd.Series(np.arange(60.0), name="price")
    model = Regressor(method, scaling=scaling, **QUICK).fit(x, y)
    twin = again(model, tmp_path)
    for name in ("means", "variances"):
        expected = getattr(model.predict_dist(mixed(30, 1)), name)
        assert np.array_equal(getattr(twin.predict_dist(mixed(30, 1)), name), expected)
    assert twin.target_name_ == "price"
    assert twin.feature_names_in_.tolist() == list(x)
    assert_restored(model, twin, tmp_path)
    with pytest.raises(ValueError, match="feature names"):
        twin.predict(x.rename(columns={"town": "city"}))


LABELS = [["no", "yes", "perhaps"], [3, 1, 7], [True, False]]


@EVERY_METHOD
def test_what_a_calibration_taught_is_kept(method, tmp_path):
    x, y, new = mixed(150), np.arange(150.0), mixed(30, 1)
    model = Regressor(method, **QUICK).fit(x, y, calibrate=True)
    twin = again(model, tmp_path)
    assert_restored(model, twin, tmp_path)
    assert np.array_equal(twin.predict_interval(new, 0.8), model.predict_interval(new, 0.8))
    assert twin.calibration_report().equals(model.calibration_report())
    assert twin.abstain_threshold(1e3) == model.abstain_threshold(1e3)
    if method != "single":
        assert np.array_equal(twin.shift_score(new), model.shift_score(new))
    model = Classifier(method, **QUICK).fit(x, y > 70, calibrate=True)
    twin = again(model, tmp_path)
    assert_restored(model, twin, tmp_path)
    assert np.array_equal(twin.predict_proba(new), model.predict_proba(new))
    assert np.array_equal(twin.predict_set(new), model.predict_set(new))
    assert twin.calibration_report().equals(model.calibration_report())


@EVERY_METHOD
@pytest.mark.parametrize("labels", LABELS, ids=str)
def test_a_classifier_answers_the_same_with_labels_of_the_same_type(method, labels, tmp_path):
    y = np.array(labels)[np.arange(60) % len(labels)]
    model = Classifier(method, **QUICK).fit(mixed(), y)
    twin = again(model, tmp_path)
    assert np.array_equal(twin.predict_proba(mixed(30, 1)), model.predict_proba(mixed(30, 1)))
    found, expected = twin.predict(mixed(30, 1)), model.predict(mixed(30, 1))
    assert np.array_equal(found, expected)
    assert found.dtype == expected.dtype
    assert twin.classes_.dtype == model.classes_.dtype
    assert_restored(model, twin, tmp_path)


@pytest.mark.parametrize(
    "settings",
    [
        {"hidden": [4, 5], "adapters": ["", "r", "rsb"], "init": "orthogonal"},
        {"hidden": (), "dropout": 0.0, "log_variance_bounds": (-np.inf, np.inf)},
        {"lr": np.float64(0.01), "epochs": np.int64(2), "clip_norm": float("inf")},
        {"categories": {"town": ("Oslo", "Bergen", "Århus", None)}},
        {"method": "deep_ensemble", "one_by_one": True, "validation_fraction": 0.0},
        {"preset": "paper", "target_scaling": "standard", "beta": 0.5},
    ],
    ids=str,
)
def test_settings_of_every_kind_are_kept(settings, tmp_path):
    model = Regressor(**{**QUICK, **settings}).fit(mixed(), np.arange(60.0))
    twin = again(model, tmp_path)
    assert np.array_equal(twin.predict(mixed(9, 1)), model.predict(mixed(9, 1)))
    assert_restored(model, twin, tmp_path)


@pytest.mark.parametrize("make", [pd.Index, pd.Series, pl.Series, pd.array])
def test_categories_in_other_libraries_arrays_are_kept_as_lists(make, tmp_path):
    words = ["Oslo", "Bergen", "Århus"]
    x = mixed().fillna({"town": "Oslo"})
    model = Regressor(categories={"town": make(words)}, **QUICK).fit(x, np.arange(60.0))
    twin = again(model, tmp_path)
    assert twin.categories == {"town": words}
    assert np.array_equal(twin.predict(x), model.predict(x))


def test_settings_changed_after_a_fit_do_not_change_the_networks(tmp_path):
    x, y = regression_table()
    model = Regressor(**QUICK).fit(x, y)
    expected = model.predict(x)
    model.set_params(hidden=(99,), adapters="s", init="ones", method="single", n_members=50)
    twin = again(model, tmp_path)
    assert twin.hidden == (99,)
    assert np.array_equal(twin.predict(x), expected)


def test_polars_frames_and_targets_are_welcome(tmp_path):
    model = Regressor(**QUICK).fit(mixed(library=pl), pl.Series("price", np.arange(60.0)))
    twin = again(model, tmp_path)
    assert twin.target_name_ == "price"
    assert np.array_equal(twin.predict(mixed(9, 1, pl)), model.predict(mixed(9, 1, pl)))


@pytest.mark.parametrize(
    "y", [np.arange(20.0), pd.Series(np.arange(20.0)), pd.Series(range(20), name=3)]
)
def test_a_target_without_a_name_has_none(y):
    assert Regressor(**QUICK).fit(np.arange(40.0).reshape(20, 2), y).target_name_ is None


def test_a_generator_of_random_numbers_is_kept_as_none(tmp_path):
    x, y = regression_table()
    model = Regressor(**{**QUICK, "random_state": np.random.RandomState(3)}).fit(x, y)
    twin = again(model, tmp_path)
    assert twin.random_state is None
    assert isinstance(model.random_state, np.random.RandomState)
    assert np.array_equal(twin.predict(x), model.predict(x))


def test_a_loaded_model_can_be_fitted_again_pickled_and_saved_by_joblib(tmp_path):
    x, y = regression_table()
    model = Regressor("mc_dropout", **QUICK).fit(x, y)
    expected = model.predict(x)
    twin = again(model, tmp_path)
    assert np.array_equal(pickle.loads(pickle.dumps(twin)).predict(x), expected)
    joblib.dump(twin, tmp_path / "joblib")
    assert np.array_equal(joblib.load(tmp_path / "joblib").predict(x), expected)
    assert np.array_equal(twin.fit(x, y).predict(x), expected)


# ------------------------------------------------------------------------------------------- series


def columned(**changes):
    frame = long_frame(2).assign(**changes)
    random = np.random.default_rng(0)
    return frame.assign(
        promo=random.random(len(frame)) > 0.5,
        wind=random.normal(size=len(frame)),
        sky=random.choice(["clear", "grey"], len(frame)),
    )


def zoned(zone):
    frame = long_frame(2, freq="h")
    return frame.assign(ds=frame["ds"].dt.tz_localize("UTC").dt.tz_convert(zone))


EXOGENOUS = {"future_columns": ["promo"], "past_columns": ("wind", "sky")}
SERIES = {
    "several": (long_frame, {}),
    "days": (lambda: long_frame(freq="D"), {"scaling": "standard"}),
    "columns": (columned, EXOGENOUS),
    "zone": (lambda: zoned("Europe/Berlin"), {}),
    "polars": (lambda: pl.from_pandas(long_frame()), {}),
    "polars with columns": (lambda: pl.from_pandas(columned()), EXOGENOUS),
    "polars with a zone": (lambda: pl.from_pandas(zoned("Asia/Tokyo")), {}),
    "numbers": (
        lambda: long_frame().assign(ds=lambda f: f.groupby("unique_id").cumcount() * 5),
        {},
    ),
    "an array": (lambda: np.sin(np.arange(60.0)), {"season": 6, "scaling": "minmax"}),
    "whole ids": (lambda: long_frame(ids=[7, -1, 2**40]), {}),
    "dates as ids": (lambda: long_frame(2, ids=pd.to_datetime(["2024-01-01", "2025-01-01"])), {}),
    "a frequency by hand": (
        lambda: long_frame(2, freq=pd.DateOffset(months=2)),
        {"freq": pd.DateOffset(months=2)},
    ),
    "periods": (lambda: long_frame().assign(ds=lambda f: f["ds"].dt.to_period("M")), {}),
}


def ahead(data):
    """The columns that are known for the next year."""
    frame = pl.DataFrame(data).to_pandas() if isinstance(data, pl.DataFrame) else data
    last = frame.groupby("unique_id")["ds"].max()
    rows = [
        {"unique_id": i, "ds": time, "promo": bool(k % 2)}
        for i, end in last.items()
        for k, time in enumerate(pd.date_range(end, periods=13, freq="MS")[1:])
    ]
    return pl.DataFrame(rows) if isinstance(data, pl.DataFrame) else pd.DataFrame(rows)


def equal(a, b):
    if isinstance(a, pl.DataFrame):
        return a.schema == b.schema and a.equals(b)
    pd.testing.assert_frame_equal(a, b, check_exact=True)
    return True


@pytest.mark.parametrize("name", SERIES)
def test_a_forecaster_answers_the_same_to_the_last_bit(name, tmp_path):
    make, settings = SERIES[name]
    data = make()
    model = Forecaster(**TINY_FORECASTER, **settings).fit(data)
    twin = again(model, tmp_path)
    known = {"X_df": ahead(data)} if model.future_columns else {}
    assert equal(twin.predict(level=[80], **known), model.predict(level=[80], **known))
    assert equal(twin.simulate(5, 7, **known), model.simulate(5, 7, **known))
    assert_restored(model, twin, tmp_path)


@EVERY_METHOD
def test_forecasters_of_every_method_answer_the_same(method, tmp_path):
    model = Forecaster(method, n_layers=2, **TINY_RECURRENT).fit(long_frame())
    twin = again(model, tmp_path)
    assert equal(twin.uncertainty(), model.uncertainty())
    assert np.array_equal(twin.predict_dist().paths, model.predict_dist().paths)
    assert_restored(model, twin, tmp_path)


@cache
def forecaster():
    return Forecaster(**TINY_FORECASTER, context=8).fit(long_frame(n=90))


def test_a_loaded_forecaster_is_updated_and_validated_as_the_fitted_one(tmp_path):
    data = long_frame(n=100)
    old = data.groupby("unique_id").head(90)
    new = data.groupby("unique_id").tail(10)
    model = Forecaster(**TINY_FORECASTER, context=8).fit(old)
    twin = again(model, tmp_path)
    for each in (model, twin):
        with pytest.raises(ValueError, match="right after its end"):
            each.update(new.groupby("unique_id").tail(5))
        with pytest.raises(ValueError, match="has learned from"):
            each.cross_validation(old, refit="never")
    validated = [each.cross_validation(data, n_windows=2, refit="never") for each in (model, twin)]
    assert equal(*validated)
    assert equal(model.update(new).predict(), twin.update(new).predict())
    assert equal(again(twin, tmp_path).predict(), model.predict())


def test_a_calibrated_forecaster_answers_and_goes_on_the_same(tmp_path):
    data = long_frame()
    model = Forecaster(**TINY_FORECASTER | {"n_paths": 50}).fit(data, calibrate=True)
    twin = again(model, tmp_path)
    assert equal(twin.predict(level=[80]), model.predict(level=[80]))
    assert twin.calibration_report().equals(model.calibration_report())


@pytest.mark.parametrize("settings", [{"season": 40}, {"context": 6, "horizon": 5}])
def test_a_calibrated_forecaster_follows_updates_through_files_as_without_them(settings, tmp_path):
    data = long_frame(1, 400, freq="h")
    start = {"calendar": False, "n_paths": 50}
    model = Forecaster(**TINY_FORECASTER | start | settings).fit(data[:300], calibrate=True)
    twin = again(model, tmp_path)
    for row in range(300, 310):
        model.update(data[row : row + 1])
        twin = again(twin.update(data[row : row + 1]), tmp_path)
    assert np.array_equal(twin.calibration_.y, model.calibration_.y)
    assert np.allclose(twin.predict(level=[80]).iloc[:, 2:], model.predict(level=[80]).iloc[:, 2:])


def test_a_file_keeps_the_end_of_long_series_and_its_size_does_not_grow_with_them(tmp_path):
    sizes = []
    for n in (90, 900):
        model = Forecaster(**TINY_FORECASTER, context=8).fit(long_frame(n=n, freq="D"))
        twin = again(model, tmp_path)
        sizes.append((tmp_path / "model.be").stat().st_size)
        assert twin.panel_.lengths.tolist() == [24] * 3  # three contexts
        assert equal(twin.predict(), model.predict())
    assert abs(sizes[1] - sizes[0]) < 100


def test_a_plot_shows_the_same_past_or_says_that_the_file_has_less(tmp_path):
    model = forecaster()
    twin = again(model, tmp_path)
    lines = [
        [line.get_xydata() for ax in each.plot().axes for line in ax.lines]
        for each in (model, twin)
    ]
    assert all(map(np.array_equal, *lines))
    assert len(twin.plot(history=24).axes) == 3
    words = r"series 's0': expected history of at most 24 steps, .* got 25; pass history=24"
    for ask in ({"history": 25}, {"series": "s0", "history": 25}):
        with pytest.raises(ValueError, match=words):
            twin.plot(**ask)
    with pytest.raises(ValueError, match="at most 24 steps"):
        twin.plot(h=20)
    assert len(model.plot(h=20, history=1000).axes) == 3
    short = Forecaster(**TINY_FORECASTER, context=2).fit(long_frame(1, n=12))
    assert again(short, tmp_path).plot(history=1000)  # nothing was left out


def test_rows_that_were_left_out_once_are_not_forgotten_to_be_missing(tmp_path):
    twin = again(again(forecaster(), tmp_path), tmp_path)
    assert twin._observed.forgotten == dict.fromkeys(["s0", "s1", "s2"], 66)
    with pytest.raises(ValueError, match="at most 24 steps"):
        twin.plot(history=30)


# -------------------------------------------------------------------------------- what is refused


def test_a_model_that_was_not_fitted_is_not_saved(tmp_path):
    for model in (Regressor(), Classifier(), Forecaster()):
        with pytest.raises(NotFittedError, match="not fitted"):
            model.save(tmp_path / "m.be")
    assert list(tmp_path.iterdir()) == []


def test_what_no_file_can_keep_is_named_and_nothing_is_written(tmp_path):
    x, y = regression_table(40)
    model = Regressor(**QUICK).fit(x, y)
    model.callback_ = {"f": print}
    with pytest.raises(TypeError, match=r"expected callback_\[0\]\[1\] to be of plain values"):
        model.save(tmp_path / "m.be")

    class Mine(Regressor):
        pass

    with pytest.raises(TypeError, match="a file cannot keep the code of the subclass Mine"):
        Mine(**QUICK).fit(x, y).save(tmp_path / "m.be")
    assert list(tmp_path.iterdir()) == []


@cache
def small():
    return Regressor(**QUICK).fit(*regression_table(40))


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("model") / "m.be"
    small().save(path)
    return path.read_bytes()


def refused(folder, data):
    path = folder / "some.be"
    path.write_bytes(data)
    with pytest.raises(ModelFileError) as caught:
        batchensemble.load(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_a_hundred_damaged_files_are_a_hundred_errors_of_one_type(tmp_path, file):
    random = np.random.default_rng(1)
    for kind in ("flip", "truncation", "insertion", "zeroed block") * 25:
        refused(tmp_path, damaged(file, kind, random))


def rewritten(data: bytes, change) -> bytes:
    """By someone who knows the format: the digest is right."""
    n = int.from_bytes(data[:8], "little")
    contents = json.loads(json.loads(data[8 : 8 + n])["__metadata__"]["batchensemble"])
    arrays = arrays_of(data)
    change(contents, arrays)
    text = json.dumps(contents, separators=(",", ":"))
    return resigned(bytes_of(arrays, {"batchensemble": text}))


def at(*keys, to):
    def change(contents, arrays):
        for key in keys[:-1]:
            contents = contents[key]
        assert keys[-1] in contents
        contents[keys[-1]] = to

    return change


def added(part, **values):
    return lambda contents, arrays: contents[part].update(values)


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("exploded",)


def reshaped(contents, arrays):
    arrays["bank_.theta"] = arrays["bank_.theta"].reshape(-1)


RECIPE = ("learned", "_recipe", "dict")
METHOD = ("learned", "_method")
BAD = {
    "a class of the system": at("about", "estimator", to="os.system"),
    "a base class": at("about", "estimator", to="Estimator"),
    "a learned class of the system": at(
        "learned", "encoder_", to={"os.system": ["mkdir exploded"]}
    ),
    "a class by its module": at("learned", "encoder_", to={"subprocess.Popen": {"args": "true"}}),
    "a pickle": at("learned", "encoder_", to={"bytes": pickle.dumps(Bomb()).hex()}),
    "a pickle of objects": at(
        "learned",
        "encoder_",
        to={"ndarray": ["moments", "|O", {"array": "bank_.theta"}]},
    ),
    "an estimator as a field": at("learned", "encoder_", to={"Regressor": {}}),
    "a method replaced": added("learned", predict="not a method"),
    "the class replaced": added("learned", __class__="x"),
    "an unknown parameter": added("parameters", surprise=1),
    "nothing learned": at("learned", to={}),
    "no parts": at("learned", to=[]),
    "no networks": at("learned", "_recipe", to=None),
    "an array elsewhere": at("learned", "_settings", to={"array": "../../../etc/passwd"}),
    "endless layers": at(*RECIPE, to=[["hidden", [1] * 10_000], ["heads", [1, 1]]]),
    "enormous layers": at(
        *RECIPE, to=[["in_features", 3], ["heads", [1, 1]], ["hidden", [10**9, 10**9]]]
    ),
    "numbers that overflow": at(
        *RECIPE, to=[["in_features", 2**62], ["heads", [1, 1]], ["hidden", [2**62]]]
    ),
    "many members": at(*METHOD, to={"BatchEnsemble": {"n_members": 10**12}}),
    "many networks": at(*METHOD, to={"DeepEnsemble": {"n_networks": 10**12}}),
    "many passes": at(*METHOD, to={"MCDropout": {"n_passes": 10**12}}),
    "deep values": at("learned", "_settings", to=json.loads("[" * 300 + "]" * 300)),
    "another shape": reshaped,
    "a time zone that is a folder": added(
        "learned", fitted_at_={"timestamp": ["2020-01-01T00:00:00+00:00", "ns", "America"]}
    ),
    "a time zone without end": added(
        "learned", fitted_at_={"timestamp": ["2020-01-01T00:00:00+00:00", "ns", "a" * 10**6]}
    ),
    "a time without end": added(
        "learned", fitted_at_={"timestamp": ["2020-01-01" + "0" * 4 * 10**6, "ns", None]}
    ),
    "half a type": added("learned", odd_={"ndarray": ["objects", "(1,", [1], ["a"]]}),
    "keys that share a hash": added(
        "learned", odd_={"dict": [[i * (2**61 - 1), 0] for i in range(40_000)]}
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_made_in_bad_faith_does_nothing_but_fail(name, file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    started = time.perf_counter()
    message = refused(tmp_path, rewritten(file, BAD[name]))
    assert "use that version, or fit and save the model again" in message
    assert time.perf_counter() - started < 2
    assert [each.name for each in tmp_path.iterdir()] == ["some.be"]


def test_the_crafting_of_these_files_is_not_what_fails(file, tmp_path):
    (tmp_path / "m.be").write_bytes(rewritten(file, lambda contents, arrays: None))
    x, _ = regression_table(40)
    assert np.array_equal(batchensemble.load(tmp_path / "m.be").predict(x), small().predict(x))
    assert (tmp_path / "m.be").read_bytes() == file


def test_endless_layers_are_refused_before_the_first_is_made(tmp_path):
    forecaster().save(tmp_path / "m.be")

    def change(contents, arrays):
        settings = dict(contents["learned"]["_recipe"]["dict"]) | {"n_layers": 10**5}
        contents["learned"]["_recipe"]["dict"] = list(settings.items())

    data = rewritten((tmp_path / "m.be").read_bytes(), change)
    started = time.perf_counter()
    assert "expected fewer layers" in refused(tmp_path, data)
    assert time.perf_counter() - started < 2


def test_a_lost_network_is_noticed(tmp_path):
    Regressor("deep_ensemble", **QUICK).fit(*regression_table(40)).save(tmp_path / "m.be")

    def change(contents, arrays):
        arrays["bank_.theta"] = arrays["bank_.theta"][1:]
        contents["learned"]["n_parameters_"] = arrays["bank_.theta"].size

    data = rewritten((tmp_path / "m.be").read_bytes(), change)
    assert "expected 3 networks" in refused(tmp_path, data)


def test_many_passes_are_refused_before_masks_are_drawn(tmp_path):
    x, y = regression_table(40)
    Regressor("mc_dropout", **QUICK).fit(x, y).save(tmp_path / "m.be")
    data = (tmp_path / "m.be").read_bytes()
    change = at(*METHOD, "MCDropout", "n_passes", to=5 * 10**7)
    assert "the dropout masks of all passes" in refused(tmp_path, rewritten(data, change))


def test_what_could_not_be_loaded_again_is_not_saved(tmp_path):
    model = Regressor("mc_dropout", **QUICK | {"n_passes": 1000}).fit(*regression_table(40))
    ensemble = replace(model.model_.ensemble, method=MCDropout(n_passes=10**8))
    model.model_ = replace(model.model_, ensemble=ensemble)
    with pytest.raises(ValueError, match="fit with a smaller n_passes"):
        model.save(tmp_path / "m.be")


# ----------------------------------------------------------------------------------- where, and how


def test_a_device_that_is_not_here_is_said_before_the_file_is_read(tmp_path):
    with pytest.raises(
        ValueError, match="expected device to be 'auto' or a device of this machine"
    ):
        batchensemble.load(tmp_path / "none", device="cuda:77")


def test_a_model_is_loaded_where_it_is_asked_for(tmp_path):
    model = small()
    assert again(model, tmp_path, device="cpu").model_.ensemble.bank.theta.device.type == "cpu"
    assert again(model, tmp_path).model_.ensemble.bank.theta.dtype == torch.float32


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_model_trained_on_a_gpu_answers_alike_without_one(tmp_path):
    x, y, new = mixed(150), np.arange(150.0), mixed(30, 1)
    on_gpu = QUICK | {"device": "cuda"}
    regressor = Regressor(**on_gpu).fit(x, y, calibrate=True)
    classifier = Classifier(**on_gpu).fit(x, y > 70, calibrate=True)
    forecaster = Forecaster(**TINY_FORECASTER | {"device": "cuda"}).fit(long_frame())
    twin = again(regressor, tmp_path, device="cpu")
    assert twin.model_.ensemble.bank.theta.device.type == "cpu"
    np.testing.assert_allclose(twin.predict_interval(new), regressor.predict_interval(new))
    twin = again(classifier, tmp_path, device="cpu")
    np.testing.assert_allclose(twin.predict_proba(new), classifier.predict_proba(new))
    twin = again(forecaster, tmp_path, device="cpu")
    mean = forecaster.predict_dist().mean  # paths are drawn in float32
    np.testing.assert_allclose(twin.predict_dist().mean, mean, rtol=1e-3, atol=1e-3)
    back = again(twin, tmp_path, device="cuda")
    np.testing.assert_allclose(back.predict_dist().mean, mean, rtol=1e-3, atol=1e-3)


def test_loading_takes_milliseconds(tmp_path, file):
    path = tmp_path / "m.be"
    path.write_bytes(file)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        batchensemble.load(str(path))
        times.append(time.perf_counter() - start)
    assert min(times) < 0.05


def test_describing_needs_no_torch_and_says_what_is_inside(tmp_path):
    x, y = mixed(), pd.Series(np.arange(60) % 2, name="bought")
    model = Classifier("deep_ensemble", **QUICK).fit(x, y)
    model.save(tmp_path / "m.be")
    found = describe(tmp_path / "m.be")
    assert found["columns"] == [
        {"name": "number", "kind": "number"},
        {"name": "flag", "kind": "boolean"},
        {"name": "town", "kind": "category"},
        {"name": "day", "kind": "date"},
    ]
    assert found["target"] == {"name": "bought", "classes": [0, 1]}
    assert (found["estimator"], found["task"]) == ("Classifier", "classification")
    assert (found["method"], found["n_parameters"]) == ("deep_ensemble", model.n_parameters_)
    assert found["settings"]["hidden"] == [8]
    assert found["settings"]["lr"] == 0.001  # of the preset
    assert found["library"] == VERSION
    assert found["fitted_at"] == model.fitted_at_
    assert found["bytes"] == (tmp_path / "m.be").stat().st_size
    code = (
        "import sys; from batchensemble.modelfile.persistence import describe; "
        f"print(describe({str(tmp_path / 'm.be')!r})['task'], 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["classification", "False"]


def test_a_forecaster_is_described_by_its_series(tmp_path):
    model = Forecaster(**TINY_FORECASTER, **EXOGENOUS).fit(columned())
    model.save(tmp_path / "m.be")
    found = describe(tmp_path / "m.be")
    assert found["task"] == "forecast"
    assert found["target"] == {
        "name": "y",
        "n_series": 2,
        "freq": "MS",
        "last_time": "2019-12-01 00:00:00",
        "horizon": 4,
        "context": model.context_,
    }
    assert found["columns"] == [
        {"name": "promo", "kind": "boolean", "known": "future"},
        {"name": "wind", "kind": "number", "known": "past"},
        {"name": "sky", "kind": "category", "known": "past"},
    ]


# ------------------------------------------------------------------------ files of older versions

OLD = Path(__file__).parent / "saved_by_0_1_0"


@pytest.mark.parametrize("name", sorted(path.stem for path in OLD.glob("*.be")))
def test_files_of_version_0_1_0_load_and_predict_what_they_did(name, tmp_path):
    expected = json.loads((OLD / "expected.json").read_text())[name]
    old = batchensemble.load(OLD / f"{name}.be", device="cpu")
    for model in (old, again(old, tmp_path, device="cpu")):
        answers = asked(model, expected)
        assert answers.keys() == expected.keys()
        for question, answer in answers.items():
            assert np.allclose(answer, expected[question], rtol=1e-6, atol=1e-6), question


@pytest.mark.filterwarnings("ignore::batchensemble.BatchEnsembleWarning")
@pytest.mark.parametrize("kind", ["regressor", "classifier"])
def test_files_of_version_0_1_0_learn_on(kind):
    model = batchensemble.load(OLD / f"{kind}_batch_ensemble.be", device="cpu")
    rows = pd.concat([pd.read_csv(OLD / "rows.csv", parse_dates=["built"])] * 12)
    before = model.predict(rows)
    model.update(rows, before + 1.0 if kind == "regressor" else before)
    assert len(model.predict(rows)) == len(before)


def asked(model, expected):
    if isinstance(model, Forecaster):
        ahead = pd.read_csv(OLD / "ahead.csv", parse_dates=["ds"])
        frame = model.predict(level=[80], X_df=ahead)
        return {name: frame[name] for name in frame.columns[2:]}
    rows = pd.read_csv(OLD / "rows.csv", parse_dates=["built"])
    ask = {
        "mean": lambda: model.predict(rows),
        "interval": lambda: model.predict_interval(rows, 0.8),
        "probabilities": lambda: model.predict_proba(rows),
        "set": lambda: model.predict_set(rows, 0.8),
        "shift": lambda: model.shift_score(rows),
    }
    return {question: ask[question]() for question in expected}


def test_a_model_that_could_not_be_loaded_is_not_saved_and_the_old_file_stays(tmp_path):
    model = Forecaster(horizon=3, epochs=1, preset="fast", random_state=0).fit(long_frame())
    model.save(tmp_path / "m.be")
    before = (tmp_path / "m.be").read_bytes()
    model.set_params(holidays="NO")
    words = r"m\.be was not written: a file of this model could not be loaded .* changed since fit"
    with pytest.raises(ValueError, match=words):
        model.save(tmp_path / "m.be")
    assert (tmp_path / "m.be").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["m.be"]
    model.set_params(holidays=None).save(tmp_path / "again.be")
    assert batchensemble.load(tmp_path / "again.be").predict().equals(model.predict())
