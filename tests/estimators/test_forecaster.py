"""Laws of the forecaster; fits are tiny, since the laws hold for a badly trained one too."""

import copy
import dataclasses
import pickle
import time
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from fixtures import TINY_FORECASTER as QUICK
from fixtures import long_frame as long
from fixtures import seasonal_values as seasonal
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from utilsforecast.evaluation import evaluate
from utilsforecast.losses import coverage, mae, mqloss, rmse, scaled_crps

from batchensemble import BatchEnsembleWarning, Forecaster, SamplePredictive, load
from batchensemble.training.methods import METHODS

NAMES = {
    "batch_ensemble": "BatchEnsemble",
    "deep_ensemble": "DeepEnsemble",
    "mc_dropout": "MCDropout",
    "single": "Single",
}
RECURRENT = {**QUICK, "preset": "recurrent", "hidden_size": 8}
EVERY_METHOD = pytest.mark.parametrize("method", sorted(METHODS))


def as_polars(frame):
    return pl.DataFrame({name: frame[name].to_list() for name in frame})


def numbers(frame):
    """The forecast's columns, of a frame of any library."""
    keys = ("unique_id", "ds", "cutoff", "y", "sample_id")
    return np.column_stack([np.asarray(frame[c]) for c in frame.columns if c not in keys])


def of(frame, name):
    return frame[frame["unique_id"] == name]


def assert_close(a, b, atol=1e-5):
    np.testing.assert_allclose(numbers(a), numbers(b), rtol=1e-5, atol=atol)


@cache
def fitted(method="batch_ensemble"):
    """Shared by tests that do not change it."""
    return Forecaster(method, **QUICK).fit(long())


@pytest.fixture(scope="module")
def data():
    return long()


@pytest.fixture(scope="module")
def model():
    return fitted()


@EVERY_METHOD
def test_columns_are_named_by_method_level_and_quantile(data, method):
    model, name = fitted(method), NAMES[method]
    assert list(model.predict()) == ["unique_id", "ds", name]
    assert list(model.predict(level=[80, 97.5], quantiles=[0.1, 0.025])) == [
        "unique_id",
        "ds",
        name,
        f"{name}-lo-80",
        f"{name}-hi-80",
        f"{name}-lo-97.5",
        f"{name}-hi-97.5",
        f"{name}-q-10",
        f"{name}-q-2.5",
    ]
    assert list(model.uncertainty()) == ["unique_id", "ds", "total", "aleatoric", "epistemic"]
    assert list(model.simulate(5)) == ["unique_id", "ds", "sample_id", "y"]
    windows = model.cross_validation(data, level=[80])
    assert list(windows)[:4] == ["unique_id", "ds", "cutoff", "y"]
    assert list(windows)[4:] == [name, f"{name}-lo-80", f"{name}-hi-80"]


def test_quantiles_alone_are_those_beside_the_mean(model):
    found = model.predict_quantiles([0.1, 0.9], h=3)
    assert list(found) == ["unique_id", "ds", "BatchEnsemble-q-10", "BatchEnsemble-q-90"]
    assert found.equals(model.predict(3, quantiles=[0.1, 0.9])[list(found)])


def test_the_callers_names_are_kept_and_the_alias_is_the_callers(data):
    names = {"unique_id": "shop", "ds": "month", "y": "sales"}
    columns = {"id_col": "shop", "time_col": "month", "target_col": "sales"}
    model = Forecaster(alias="ours", **columns, **QUICK).fit(data.rename(columns=names))
    assert list(model.predict(level=[80])) == ["shop", "month", "ours", "ours-lo-80", "ours-hi-80"]
    assert list(model.simulate(2)) == ["shop", "month", "sample_id", "sales"]
    for alias in ("y", "cutoff"):
        with pytest.raises(ValueError, match=f"forecast cannot be named '{alias}', like one"):
            Forecaster(alias=alias, **QUICK).cross_validation(data)
    with pytest.raises(ValueError, match=r"are .*'cutoff'.* named cutoff .*rename the column"):
        Forecaster(time_col="cutoff", **QUICK).cross_validation(
            data.rename(columns={"ds": "cutoff"})
        )


def test_what_is_asked_in_polars_is_answered_in_polars_with_the_same_numbers(data, model):
    polars = Forecaster(**QUICK).fit(as_polars(data))
    expected, found = model.predict(level=[80]), polars.predict(level=[80])
    assert isinstance(expected, pd.DataFrame)
    assert isinstance(found, pl.DataFrame)
    assert_close(expected, found)
    assert found["unique_id"].to_list() == expected["unique_id"].tolist()
    assert found["ds"].to_list() == expected["ds"].dt.to_pydatetime().tolist()
    for frame in (
        polars.simulate(3),
        polars.uncertainty(),
        polars.cross_validation(as_polars(data)),
    ):
        assert isinstance(frame, pl.DataFrame)
    # A model fitted in one library answers questions in the other.
    assert isinstance(polars.predict(df=data), pd.DataFrame)


@pytest.mark.parametrize(
    "make",
    [np.asarray, list, pd.Series, pl.Series, lambda y: pd.DataFrame({"ds": range(60), "y": y})],
)
def test_one_series_may_be_an_array_a_list_a_series_or_a_frame_without_ids(make):
    y = seasonal()
    forecast = Forecaster(**QUICK).fit(make(y)).predict()
    assert forecast["unique_id"].to_list() == ["y"] * 4
    assert forecast["ds"].to_list() == [60, 61, 62, 63]
    assert_close(forecast, Forecaster(**QUICK).fit(y).predict())


def test_a_pandas_series_brings_its_dates_and_its_name():
    days = pd.date_range("2024-02-01", periods=60, freq="D")
    forecast = Forecaster(**QUICK).fit(pd.Series(seasonal(), index=days, name="sales")).predict()
    assert forecast["unique_id"].tolist() == ["sales"] * 4
    assert forecast["ds"].tolist() == (days[-4:] + pd.Timedelta(days=4)).tolist()


@pytest.mark.parametrize("freq", ["MS", "ME", "D", "h", "W-SUN", "QS-OCT", "B"])
def test_times_go_on_right_after_the_end(freq):
    frame = long(2, 64, freq)
    known = frame.groupby("unique_id").head(60)
    forecast = Forecaster(**QUICK).fit(known).predict()
    expected = frame.groupby("unique_id").tail(4)
    assert forecast["ds"].tolist() == expected["ds"].tolist()
    joined = expected.merge(forecast, on=["unique_id", "ds"])
    assert len(joined) == 8


def test_times_of_integers_go_on_in_their_step():
    frame = pd.DataFrame({"ds": np.arange(60) * 5 + 3, "y": seasonal()})
    assert Forecaster(**QUICK).fit(frame).predict(h=2)["ds"].tolist() == [303, 308]


def test_series_come_back_in_the_order_of_their_first_appearance_whatever_the_order_of_rows():
    frame = long(ids=["z", 7, "a"])
    frame["unique_id"] = frame["unique_id"].astype(object)
    model = Forecaster(**QUICK).fit(frame)
    forecast = model.predict()
    assert forecast["unique_id"].drop_duplicates().tolist() == ["z", 7, "a"]
    backwards = model.predict(df=frame.iloc[::-1])
    assert backwards["unique_id"].drop_duplicates().tolist() == ["a", 7, "z"]
    for name in ("z", 7, "a"):
        assert_close(of(forecast, name), of(backwards, name))


def test_the_paper_preset_has_the_published_number_of_parameters():
    y = seasonal(40)
    found = {
        method: Forecaster(method, preset="paper", epochs=1).fit(y).n_parameters_
        for method in METHODS
    }
    assert found == {
        "batch_ensemble": 10_790,
        "single": 5_538,
        "mc_dropout": 5_538,
        "deep_ensemble": 55_380,
    }


@EVERY_METHOD
def test_a_random_state_decides_every_number_and_predicting_changes_nothing(data, method):
    state = torch.get_rng_state()
    first = fitted(method)
    expected = numbers(first.predict(level=[80]))
    assert np.array_equal(numbers(first.predict(level=[80])), expected)
    again = Forecaster(method, **QUICK).fit(data)
    assert np.array_equal(numbers(again.predict(level=[80])), expected)
    other = Forecaster(method, **{**QUICK, "random_state": 1}).fit(data)
    assert not np.allclose(numbers(other.predict(level=[80])), expected)
    assert torch.equal(torch.get_rng_state(), state)


@EVERY_METHOD
def test_copies_predict_the_same_and_a_clone_knows_nothing(data, method):
    model = fitted(method)
    expected = model.predict(level=[80])
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        pd.testing.assert_frame_equal(twin.predict(level=[80]), expected)
    twin.update(data.tail(1).assign(ds=data["ds"].max() + pd.offsets.MonthBegin()))
    pd.testing.assert_frame_equal(model.predict(level=[80]), expected)
    assert not hasattr(clone(model), "model_")
    assert clone(model).get_params() == model.get_params()


def test_a_fit_that_fails_leaves_the_forecaster_as_it_was(data):
    model = Forecaster(**QUICK).fit(data)
    expected = model.predict()
    with pytest.raises(ValueError, match="it needs"):
        model.fit(data.head(5))
    pd.testing.assert_frame_equal(model.predict(), expected)
    model.set_params(feedback="truth")
    with pytest.raises(ValueError, match="feedback"):
        model.fit(long(5))
    pd.testing.assert_frame_equal(model.predict(), expected)
    untouched = Forecaster(**QUICK)
    with pytest.raises(ValueError, match="it needs"):
        untouched.fit(data.head(5))
    assert vars(untouched) == vars(Forecaster(**QUICK))


def test_fitting_and_predicting_are_silent_and_write_no_files(data, capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = Forecaster(**QUICK).fit(data)
    model.predict(level=[80])
    model.cross_validation(data)
    model.plot()
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []
    Forecaster(**QUICK, verbose=True).fit(data).predict()
    assert "2/2" in capfd.readouterr().err


@EVERY_METHOD
def test_the_series_beside_it_do_not_change_a_forecast(data, method):
    model = fitted(method)
    together = model.predict(level=[80])
    for name in ("s0", "s1", "s2"):
        assert_close(of(together, name), model.predict(level=[80], df=of(data, name)))


def test_not_even_an_enormous_series_beside_it_changes_a_forecast(data, model):
    enormous = data.assign(y=np.where(data["unique_id"] == "s0", 1e12 * data["y"], data["y"]))
    forecast = model.predict(df=enormous)
    for name in ("s1", "s2"):
        assert_close(of(model.predict(), name), of(forecast, name))


@EVERY_METHOD
@pytest.mark.parametrize("floats", [1, 5_000])
def test_chunks_do_not_change_a_forecast(method, floats, monkeypatch):
    model = fitted(method)
    whole = model.predict(level=[80])
    monkeypatch.setattr("batchensemble.training.models.PATH_FLOATS", floats)
    assert_close(model.predict(level=[80]), whole)


@pytest.mark.parametrize("n_paths", [2, 7, 40, 100])
def test_a_longer_forecast_begins_with_the_shorter_one(model, n_paths):
    for h in (1, 3, 4):
        short = model.predict_dist(h, n_paths=n_paths).paths
        longer = model.predict_dist(h + 6, n_paths=n_paths).paths[..., :h]
        np.testing.assert_allclose(longer, short, atol=1e-5)


def assert_same_in_other_units(settings, data, units):
    expected = Forecaster(**settings).fit(data).predict(level=[80])
    for factor, shift in units:
        changed = data.assign(y=factor * data["y"] + shift)
        found = Forecaster(**settings).fit(changed).predict(level=[80])
        np.testing.assert_allclose((numbers(found) - shift) / factor, numbers(expected), atol=1e-4)


@pytest.mark.parametrize("scaling", ["window", "standard", "minmax"])
def test_other_units_give_the_same_forecast_in_other_units(data, scaling):
    units = [(1e-8, 0), (1e8, 0), (1e8, -1e10), (3.0, -500.0)]
    below = data.assign(y=data["y"] - data["y"].max() - 1)
    assert_same_in_other_units({**QUICK, "scaling": scaling}, below, units)
    units.append((1e-8, 1e-6))  # above zero the default looks at logarithms, too
    assert_same_in_other_units({**RECURRENT, "scaling": scaling}, data, units)


def test_a_forecast_of_values_above_zero_has_their_unit_but_depends_on_where_zero_is(data):
    above = data.assign(y=data["y"] - data["y"].min() + 5)
    assert_same_in_other_units(QUICK, above, [(1e-8, 0), (1e8, 0)])
    with pytest.raises(AssertionError, match="Mismatched"):
        assert_same_in_other_units(QUICK, above, [(1.0, 20.0)])


@pytest.mark.parametrize("factor", [1e-90, 1e-15, 1e-12, 1e-8, 1e4, 1e9, 1e12, 1e15, 1e35])
def test_a_history_in_other_units_than_fits_is_forecast_in_its_own(data, model, factor):
    found = model.predict(level=[80], df=data.assign(y=factor * data["y"]))
    np.testing.assert_allclose(
        numbers(found) / factor, numbers(model.predict(level=[80])), rtol=2e-5
    )


@pytest.mark.parametrize("settings", [QUICK, RECURRENT])
@pytest.mark.parametrize("shift", [1e6, 1e9, 1e12])
def test_a_history_far_from_fits_keeps_its_width(data, settings, shift):
    below = data.assign(y=data["y"] - data["y"].max() - 1)  # above zero logarithms count, too
    model = Forecaster(**settings).fit(below)
    found = model.predict(level=[80], df=below.assign(y=below["y"] - shift))
    np.testing.assert_allclose(
        numbers(found) + shift, numbers(model.predict(level=[80])), atol=2e-2
    )


@pytest.mark.parametrize("settings", [QUICK, RECURRENT])
@pytest.mark.parametrize("slip", [1e9, 1e30])
def test_a_slip_long_before_what_a_forecast_reads_does_not_decide_its_scale(
    data, settings, slip, tmp_path
):
    slipped = data.assign(y=data["y"].where(data.index != 2, slip))
    model = Forecaster(**settings, context=12).fit(slipped)
    found = model.predict(level=[80])
    model.save(tmp_path / "m.be")  # keeps the end of each series alone
    kept = load(tmp_path / "m.be")
    assert len(kept.panel_.values) < len(data)
    pd.testing.assert_frame_equal(kept.predict(level=[80]), found)
    pd.testing.assert_frame_equal(model.predict(level=[80], df=kept.panel_), found)
    _, lower, upper = numbers(found).T
    assert (upper - lower).max() < 100 * data["y"].std()


@pytest.mark.parametrize("settings", [QUICK, RECURRENT])
@pytest.mark.parametrize("slip", [1e6, 1e9, 1e60])
def test_a_slip_long_before_what_a_forecast_reads_does_not_widen_it(data, settings, slip):
    far = data.assign(y=data["y"] + 1e6)  # beside 1e6 a slip of 1e9 is not so wild
    slipped = far.assign(y=far["y"].where(far.index != 24, slip))  # a target of some windows
    widths = []
    for frame in (far, slipped):
        _, lower, upper = numbers(
            Forecaster(**settings, context=12).fit(frame).predict(level=[80])
        ).T
        widths.append(upper - lower)
    assert (widths[1] < 3 * widths[0]).all()


@pytest.mark.parametrize("odd", [1e9, "periodic"])
def test_an_odd_series_does_not_change_what_columns_do_to_the_others(odd):
    random, n = np.random.default_rng(0), 80
    y = random.normal(size=n)
    other = np.where(np.arange(n) == 40, 1e9, random.normal(size=n))
    if odd == "periodic":  # its mean change over a week is a rounding error
        other = 10 * np.sin(np.arange(n) * 2 * np.pi / 7)
    frame = pd.DataFrame(
        {
            "unique_id": np.repeat(["odd", "usual"], n),
            "ds": np.tile(pd.date_range("2020-01-01", periods=n), 2),
            "y": [*other, *y],
            "x": random.normal(size=2 * n),
        }
    )
    model = Forecaster(**QUICK, future_columns=["x"]).fit(frame)
    times = np.tile(pd.date_range("2020-03-21", periods=4), 2)
    ahead = pd.DataFrame({"unique_id": np.repeat(["odd", "usual"], 4), "ds": times, "x": 1.0})
    usual = of(model.predict(X_df=ahead), "usual")
    assert np.abs(numbers(usual)).max() < 10


def test_numbers_of_numpy_are_as_good_as_pythons(tmp_path):
    names = ("context", "season", "n_members", "epochs", "n_paths", "horizon")
    settings = {**QUICK, "context": 9, "season": 3, "calendar": False, "n_paths": 20}
    odd = {name: np.int64(settings[name]) for name in names} | {"calendar": np.bool_(False)}
    model, same = (Forecaster(**settings | more).fit(seasonal()) for more in ({}, odd))
    same.save(tmp_path / "m.be")
    pd.testing.assert_frame_equal(load(tmp_path / "m.be").predict(), model.predict())


def test_a_value_below_zero_that_a_file_does_not_keep_still_says_that_there_is_no_floor(tmp_path):
    y = np.abs(np.random.default_rng(0).normal(size=80))
    y[40:] += 1000
    model = Forecaster(**QUICK, context=12).fit(y[:60])
    later = np.abs(np.random.default_rng(1).normal(size=120))
    model.update(np.append(-1.0, later))
    found = model.predict(level=[80])
    model.save(tmp_path / "m.be")
    kept = load(tmp_path / "m.be")
    assert kept.panel_.values.min() >= 0
    assert numbers(found).min() < 0
    pd.testing.assert_frame_equal(kept.predict(level=[80]), found)


@pytest.mark.parametrize("factor", [1e-300, 5e-324])
def test_numbers_too_small_to_tell_apart_are_forecast_as_constants(data, factor):
    model = Forecaster(**QUICK).fit(data.assign(y=factor * data["y"].round()))
    assert np.abs(numbers(model.predict(level=[80]))).max() < 1e-5


def test_a_history_below_zero_is_forecast_below_zero_though_fit_saw_none(data):
    model = Forecaster(**QUICK).fit(data.assign(y=data["y"] - data["y"].min()))
    below = data.assign(y=data["y"] - 2 * data["y"].max())
    assert (numbers(model.predict(df=below)) < 0).all()


@pytest.mark.parametrize("scaling", ["window", "standard", "minmax"])
@pytest.mark.parametrize("value", [5.0, 0.0, -1e9, 1e-12])
def test_a_constant_series_goes_on_as_it_is(value, scaling):
    model = Forecaster(**QUICK, scaling=scaling).fit(np.full(60, value))
    forecast = numbers(model.predict(level=[95]))
    assert np.abs(forecast - value).max() <= 1e-5 * (abs(value) or 1.0)


def test_a_constant_series_among_others_does_not_disturb_them(data):
    frame = data.assign(y=np.where(data["unique_id"] == "s1", 7.0, data["y"]))
    forecast = Forecaster(**QUICK).fit(frame).predict(level=[95])
    assert np.isfinite(numbers(forecast)).all()
    assert np.abs(numbers(of(forecast, "s1")) - 7).max() < 1e-4


def test_more_paths_than_any_digit_needs_are_refused_wherever_they_are_asked_for(model):
    for ask in (model.simulate, lambda n: model.predict_dist(n_paths=n)):
        with pytest.raises(ValueError, match="at most 1,000,000 n_paths, got 1,000,001"):
            ask(1_000_001)


@EVERY_METHOD
@pytest.mark.parametrize("n_paths", [1, 20, 41])
def test_exactly_as_many_paths_are_simulated_as_asked_for(method, n_paths):
    model = fitted(method)
    paths = model.simulate(n_paths, h=3)
    assert len(paths) == 3 * n_paths * 3
    assert paths["sample_id"].tolist() == np.tile(np.repeat(np.arange(n_paths), 3), 3).tolist()
    times = model.predict(h=3)
    for name, part in paths.groupby("unique_id"):
        assert part["ds"].tolist() == of(times, name)["ds"].tolist() * n_paths


def test_simulated_paths_are_those_that_the_forecast_summarises(data, model):
    n_paths = 42  # a multiple of the members: no path is left away
    dist = model.predict_dist(n_paths=n_paths)
    assert isinstance(dist, SamplePredictive)
    assert dist.paths.shape == (3, 3, 14, 4)
    twin = copy.deepcopy(model).set_params(n_paths=n_paths)
    forecast = twin.predict(level=[80])
    paths = twin.simulate()["y"].to_numpy().reshape(3, n_paths, 4)
    low, high = np.quantile(paths, [0.1, 0.9], axis=1)
    expected = np.stack([paths.mean(axis=1), low, high], -1).reshape(12, 3)
    np.testing.assert_allclose(numbers(forecast), expected, rtol=1e-6)
    np.testing.assert_allclose(dist.mean.ravel(), forecast["BatchEnsemble"], rtol=1e-6)
    members_in_turn = dist.paths.swapaxes(1, 2).reshape(3, n_paths, 4)
    np.testing.assert_allclose(paths, members_in_turn)


def test_a_seed_gives_the_same_paths_and_another_seed_others(model):
    first, again, other = (model.simulate(10, seed=seed)["y"].to_numpy() for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.isclose(first, other).any()
    default = model.simulate(10)["y"].to_numpy()
    assert np.array_equal(default, model.simulate(10)["y"].to_numpy())


def test_series_of_the_same_values_get_paths_of_their_own(data):
    twins = pd.concat([of(data, "s0"), of(data, "s0").assign(unique_id="s1")])
    a, b = Forecaster(**QUICK).fit(twins).predict_dist().paths
    assert not np.isclose(a, b).any()


@EVERY_METHOD
def test_noise_and_doubt_add_up_and_a_single_network_has_no_doubt(method):
    frame = fitted(method).uncertainty(h=5)
    assert len(frame) == 15
    np.testing.assert_allclose(frame["total"], frame["aleatoric"] + frame["epistemic"])
    assert (frame[["total", "aleatoric"]] > 0).all(axis=None)
    assert (frame["epistemic"] >= 0).all()
    assert frame["epistemic"].eq(0).all() == (method == "single")


def test_wider_levels_contain_narrower_ones_and_quantiles_are_their_ends(model):
    frame = model.predict(level=[50, 90], quantiles=[0.05, 0.25, 0.75, 0.95])
    columns = [f"BatchEnsemble-{end}" for end in ("lo-90", "lo-50", "hi-50", "hi-90")]
    assert (np.diff(frame[columns], axis=1) >= 0).all()
    quantiles = frame[[f"BatchEnsemble-q-{q}" for q in (5, 25, 75, 95)]]
    np.testing.assert_allclose(frame[columns], quantiles)
    assert_close(model.predict(level=90), model.predict(level=[90]))


def test_windows_are_cut_where_they_should_be_and_hold_the_truth(data):
    found = Forecaster(**QUICK).cross_validation(data, h=3, n_windows=4, step_size=2)
    assert len(found) == 3 * 4 * 3
    times = of(data, "s0")["ds"].tolist()
    for _, part in found.groupby("unique_id"):
        assert (
            part["cutoff"].tolist() == np.repeat([times[i] for i in (50, 52, 54, 56)], 3).tolist()
        )
        assert part["ds"].tolist() == [times[i + k] for i in (50, 52, 54, 56) for k in (1, 2, 3)]
    truth = found.merge(data, on=["unique_id", "ds"], suffixes=("", "_true"))
    assert len(truth) == len(found)
    assert truth["y"].equals(truth["y_true"])


@EVERY_METHOD
def test_one_batch_of_windows_equals_a_loop_of_predictions_from_shorter_data(data, method):
    model = Forecaster(method, **QUICK).fit(data.groupby("unique_id").head(50))
    together = model.cross_validation(
        data, h=4, n_windows=3, step_size=3, refit="never", level=[80]
    )
    for i, cutoff in enumerate(sorted(together["cutoff"].unique())):
        known = data[data["ds"] <= cutoff]
        assert known["unique_id"].value_counts().eq(50 + 3 * i).all()
        alone = model.predict(4, df=known, level=[80])
        assert_close(together[together["cutoff"] == cutoff], alone, atol=1e-4)


def test_windows_of_the_same_values_get_paths_of_their_own():
    y = np.tile(np.arange(-6.0, 6.0), 6)
    model = Forecaster(**QUICK, calendar=False).fit(y[:48])
    dist = model.cross_validation_dist(y, n_windows=2, step_size=12, refit="never")
    first, second = dist.paths
    assert not np.isclose(first, second).any()
    np.testing.assert_allclose(first.mean((0, 1)), second.mean((0, 1)), atol=2 * first.std())


def test_a_window_never_reaches_back_into_the_series_before(data):
    model = Forecaster(**RECURRENT, context=12, seasonal_lag=False).fit(data)
    unseen = long(2, 15, ids=["u", "v"])
    with pytest.raises(ValueError, match="series 'u': expected at least 12 rows, got 11: it needs"):
        model.cross_validation(unseen, refit="never")
    assert len(model.cross_validation(long(2, 16, ids=["u", "v"]), refit="never")) == 8


@EVERY_METHOD
def test_the_paths_behind_a_validation_are_those_that_its_frame_summarises(data, method):
    model = fitted(method)
    late = {"n_windows": 2, "step_size": 3, "refit": "never"}
    longer = long(n=70)
    frame = model.cross_validation(longer, quantiles=[0.3], **late)
    dist = model.cross_validation_dist(longer, **late)
    assert dist.paths.shape[:2] == (6, fitted(method).model_.ensemble.members.n_members)
    expected = np.column_stack([dist.mean.ravel(), dist.quantile(0.3).ravel()])
    np.testing.assert_allclose(numbers(frame), expected)


def test_a_refit_knows_only_what_precedes_the_first_cutoff(data):
    settings = {"h": 4, "n_windows": 3, "step_size": 1}
    position = data.groupby("unique_id").cumcount()
    other_future = data.assign(y=np.where(position >= 54, 1e6 * data["y"], data["y"]))
    a, b = (Forecaster(**QUICK).cross_validation(df, **settings) for df in (data, other_future))
    first = a["cutoff"] == a["cutoff"].min()
    assert_close(a[first], b[first])
    assert not np.allclose(numbers(a[~first]), numbers(b[~first]))
    head = Forecaster(**QUICK).fit(data[position < 54])
    assert_close(a[first], head.predict())


def test_windows_that_were_learned_from_are_refused_without_a_refit(data):
    model = Forecaster(**QUICK).fit(data)
    message = (
        "series 's0': .* learned from, which end at 2019-12-01, got a first cutoff at 2019-08-01"
    )
    with pytest.raises(ValueError, match=message):
        model.cross_validation(data, refit="never")
    with pytest.raises(NotFittedError):
        Forecaster(**QUICK).cross_validation(data, refit="never")
    # What update brought was not learned from.
    position = data.groupby("unique_id").cumcount()
    model = Forecaster(**QUICK).fit(data[position < 56]).update(data[position >= 56])
    assert len(model.cross_validation(data, refit="never")) == 12
    with pytest.raises(ValueError, match=r"times of the type .* as in fit, got .*UTC"):
        model.cross_validation(data.assign(ds=data["ds"].dt.tz_localize("UTC")), refit="never")
    with pytest.raises(ValueError, match="expected times of the frequency 'MS'"):
        model.cross_validation(long(freq="D"), refit="never")


@pytest.mark.parametrize("scaling", ["window", "standard", "minmax"])
def test_a_series_never_seen_is_scaled_by_its_whole_history_whoever_asks(data, scaling):
    model = Forecaster(**QUICK, scaling=scaling).fit(data)
    unseen = of(data, "s1").assign(unique_id="unseen", y=lambda df: df["y"] + np.arange(60))
    found = model.cross_validation(unseen, refit="never")
    assert_close(found, model.predict(df=unseen.head(56)))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_windows": 0}, "n_windows to be a whole number above 0, got 0"),
        ({"step_size": 1.5}, "step_size to be a whole number above 0, got 1.5"),
        ({"h": 0}, "h to be a whole number of steps above 0, got 0"),
        ({"n_windows": 60}, "series 's0': expected at least 64 rows, got 60: it needs 4 more"),
        ({"n_windows": 52}, "series 's0': expected at least 7 rows, got 5: it needs"),
    ],
)
def test_windows_that_cannot_be_cut_are_refused(data, settings, words):
    with pytest.raises(ValueError, match=words):
        Forecaster(**QUICK, context=12).cross_validation(data, **settings)


def test_an_update_forecasts_as_the_longer_history_does(data):
    position = data.groupby("unique_id").cumcount()
    model = Forecaster(**QUICK).fit(data[position < 50])
    theta = model.model_.ensemble.bank.theta.clone()
    expected = model.predict(df=data, level=[80])
    assert model.update(data[position == 50]) is model
    model.update(data[position > 50])
    pd.testing.assert_frame_equal(model.predict(level=[80]), expected)
    assert torch.equal(model.model_.ensemble.bank.theta, theta)


def test_rows_without_a_name_continue_a_single_series(data):
    one = of(data, data["unique_id"].iloc[0]).set_index("ds")["y"].rename("sales")
    known, new = one[:50], one[50:]
    expected = Forecaster(**QUICK).fit(known).update(new).predict()
    long = pd.DataFrame({"ds": new.index, "y": new.to_numpy()})
    for nameless in (new.rename(None), long, new.to_numpy()):
        model = Forecaster(**QUICK).fit(known).update(nameless)
        pd.testing.assert_frame_equal(model.predict(), expected)
    with pytest.raises(ValueError, match="got series 'other', which is not among them"):
        Forecaster(**QUICK).fit(known).update(new.rename("other"))


@pytest.mark.parametrize("freq", ["D", "h"])
def test_a_value_belongs_to_its_period_whatever_rows_come_with_it(freq):
    """Series a is measured at any time within the period, b always at the same."""
    random, grid = np.random.default_rng(0), pd.date_range("2023-01-02", periods=63, freq=freq)
    unit = "h" if freq == "D" else "min"
    a, b = (
        pd.DataFrame({"unique_id": name, "ds": grid + pd.to_timedelta(late, unit), "y": y})
        for name, late, y in (
            ("a", random.integers(7, 18, 63), 10 + random.normal(size=63)),
            ("b", np.full(63, 8), 20 + random.normal(size=63)),
        )
    )
    model = Forecaster(**QUICK, freq=freq).fit(pd.concat([a[:60], b[:60]]))
    both, alone = model.predict(df=pd.concat([a[:60], b[:60]])), model.predict(df=b[:60])
    assert of(both, "b")["ds"].tolist() == alone["ds"].tolist()
    assert_close(of(both, "b"), alone)
    expected = model.predict(df=pd.concat([a, b]))
    for row in range(60, 63):
        model.update(pd.concat([a[row : row + 1], b[row : row + 1]]))
    pd.testing.assert_frame_equal(model.predict(), expected)
    plain = Forecaster(**QUICK).fit(b[:60])  # negative control: nobody said so
    with pytest.raises(ValueError, match="expected times of the frequency"):
        plain.update(a[60:61].assign(unique_id="b"))


def test_answers_never_stand_in_the_columns_of_the_data(data):
    named = data.rename(columns={"unique_id": "total"})
    model = Forecaster(**QUICK, id_col="total").fit(named)
    model.predict(level=[80])
    with pytest.raises(
        ValueError, match="'total' has the name of a column of the forecast; rename"
    ):
        model.uncertainty()
    named = data.rename(columns={"y": "sales-lo-80"})
    model = Forecaster(**QUICK, target_col="sales-lo-80", alias="sales")
    with pytest.raises(
        ValueError, match=r"'sales-lo-80' has the name .*; rename it, or choose another"
    ):
        model.cross_validation(named, level=[80])


def test_levels_that_differ_little_have_columns_of_their_own():
    answers = fitted().predict(level=[80, 80.00001, 99.99999], quantiles=[0.1, 0.10000001])
    ends = ["80", "80.00001", "99.99999"]
    assert [name.rsplit("-")[-1] for name in answers if "-lo-" in name] == ends
    assert [name.rsplit("-")[-1] for name in answers if "-q-" in name] == ["10", "10.000001"]
    judged = Forecaster(**QUICK).cross_validation(long(), level=[100 / 3])
    assert "BatchEnsemble-lo-33.33333333" in judged


def test_columns_in_another_unit_are_told():
    random = np.random.default_rng(1)
    days = pd.DataFrame({"ds": pd.date_range("2022-01-01", periods=100)})
    days["price"] = random.uniform(40, 60, 100)
    days["y"] = 100 - days["price"]
    model = Forecaster(**QUICK, future_columns=["price"]).fit(days[:90])
    ahead = days[90:94].drop(columns="y")
    model.predict(4, X_df=ahead)
    with pytest.warns(BatchEnsembleWarning, match="column 'price': .* 1,000 times smaller"):
        model.predict(4, X_df=ahead.assign(price=1000 * ahead["price"]))
    with pytest.warns(BatchEnsembleWarning, match="column 'price': .* 1,000 times larger"):
        copy.deepcopy(model).update(days[90:95].assign(price=days["price"] / 1000))
    with pytest.warns(BatchEnsembleWarning, match="column 'price': 1 of 4 values ahead are miss"):
        model.predict(4, X_df=ahead.assign(price=ahead["price"].where(ahead.index != 91)))
    model.update(days[90:95])


def test_columns_in_other_words_are_told(data):
    weather = np.where(np.random.default_rng(0).random(len(data)) < 0.5, "sun", "rain")
    data = data.assign(weather=weather, wind=weather)
    columns = {"future_columns": ["weather"], "past_columns": ["wind"]}
    model = Forecaster(**QUICK, **columns).fit(data.groupby("unique_id").head(56))
    ahead = data.groupby("unique_id").tail(4)
    model.predict(4, X_df=ahead)
    loud = {name: ahead[name].str.upper() for name in ("weather", "wind")}
    unknown = "none of its categories, .* occurred in training"
    words = "column 'weather': none of its categories, .* 'RAIN'.* occurred in training"
    with pytest.warns(BatchEnsembleWarning, match=words):
        model.predict(4, X_df=ahead.assign(**loud))
    with pytest.warns(BatchEnsembleWarning, match=f"'w.*': {unknown}") as told:
        model.predict(
            2,
            X_df=ahead,
            df=data.groupby("unique_id").head(56).assign(wind=lambda df: df["wind"].str.upper()),
        )
    assert "'wind'" in str(told[0].message)
    with pytest.warns(BatchEnsembleWarning, match=f"'w.*': {unknown}"):
        copy.deepcopy(model).update(ahead.assign(**loud))


def test_an_update_in_another_unit_is_told(data):
    data = data.assign(y=data["y"] + 50)
    position = data.groupby("unique_id").cumcount()
    model, new = Forecaster(**QUICK).fit(data[position < 50]), data[position >= 50]
    with pytest.warns(
        BatchEnsembleWarning, match=r"series 's0' and \d+ more: .* 1,000 times larger"
    ):
        copy.deepcopy(model).update(new.assign(y=new["y"] / 1000))
    one = Forecaster(**QUICK).fit(of(data, "s0")["y"].to_numpy())
    with pytest.warns(BatchEnsembleWarning, match="1,000 times smaller"):
        one.update(1000 * of(new, "s0")["y"].to_numpy())
    model.update(new)


@pytest.mark.filterwarnings("ignore:.* values are missing")
@pytest.mark.parametrize("fill", [None, "ffill", "interpolate"])
@pytest.mark.parametrize("missing", [[50], [50, 51], [52], [51, 52, 54]])
def test_an_update_may_begin_and_end_with_missing_values(data, fill, missing):
    position = data.groupby("unique_id").cumcount()
    gappy = data.assign(y=data["y"].where(~position.isin(missing)))
    model = Forecaster(**QUICK, fill=fill).fit(data[position < 50])
    expected = model.predict(df=gappy, level=[80])
    model.update(gappy[position.between(50, 52)])
    model.update(gappy[position >= model.panel_.lengths[0]])  # missing ones at an end come again
    pd.testing.assert_frame_equal(model.predict(level=[80]), expected)


def test_new_rows_with_a_gap_an_overlap_or_an_unknown_series_are_refused(data):
    position = data.groupby("unique_id").cumcount()
    model = Forecaster(**QUICK).fit(data[position < 50])
    expected = model.predict()
    for new, words in (
        (data[position > 50], "series 's0': .*got none for 2019-03-01; add them"),
        (data[position >= 49], "after its end at 2019-02-01, got one at 2019-02-01"),
        (
            data[position == 50].head(1).assign(unique_id="new"),
            "got series 'new', which is not among them",
        ),
        (data[position == 50].assign(y=np.nan), "expected at least one value"),
    ):
        with pytest.raises(ValueError, match=words):
            model.update(new)
    pd.testing.assert_frame_equal(model.predict(), expected)


def told(n_series=4, n=80):
    """Noise that a column tells beforehand."""
    random = np.random.default_rng(3)
    frame = long(n_series, n)
    tell = random.normal(size=len(frame))
    return frame.assign(y=10 * tell + 0.1 * random.normal(size=len(frame)), tell=tell)


def error(frame, **settings):
    model = Forecaster(**{**QUICK, "epochs": 40, "lr": 0.01, "calendar": False, **settings})
    found = model.cross_validation(frame, h=4, n_windows=5)
    return (found["y"] - found["BatchEnsemble"]).abs().mean()


# Scaled by window, the same value of the column means another scaled value in every window.
@pytest.mark.parametrize(("scaling", "share"), [("window", 0.5), ("standard", 0.25)])
def test_a_column_that_tells_the_future_helps_and_a_shuffled_one_does_not(scaling, share):
    frame = told()
    without = error(frame.drop(columns="tell"), scaling=scaling)
    with_it = error(frame, future_columns=["tell"], scaling=scaling)
    shuffled = np.random.default_rng(0).permutation(frame["tell"])
    control = error(frame.assign(tell=shuffled), future_columns=["tell"], scaling=scaling)
    assert with_it < share * without
    assert control > 0.9 * without


def test_columns_of_the_past_do_not_tell_the_future():
    frame = told()
    position = frame.groupby("unique_id").cumcount()
    model = Forecaster(past_columns=["tell"], **QUICK).fit(frame[position < 76])
    found = model.cross_validation(frame, refit="never")
    later = frame.assign(tell=np.where(position >= 76, 99.0, frame["tell"]))
    assert_close(found, model.cross_validation(later, refit="never"))
    # The control: the last known value is read.
    now = frame.assign(tell=np.where(position == 75, 99.0, frame["tell"]))
    assert not np.allclose(numbers(found), numbers(model.cross_validation(now, refit="never")))
    assert_close(found, model.predict(df=frame[position < 76]), atol=1e-4)


def test_columns_of_the_past_help_where_the_next_value_follows_them():
    frame = told()
    frame["tell"] = frame.groupby("unique_id")["tell"].shift(-1).fillna(0.0)
    settings = {**QUICK, "epochs": 40, "lr": 0.01, "calendar": False, "context": 24}

    def first_step(data, **columns):
        errors = []
        for seed in range(3):
            model = Forecaster(**{**settings, "random_state": seed}, **columns)
            found = model.cross_validation(data, h=1, n_windows=10)
            errors.append((found["y"] - found["BatchEnsemble"]).abs().mean())
        return np.mean(errors)

    blind = first_step(frame.drop(columns="tell"))
    # Over seeds the ratio is 0.47 on average, from 0.39 to 0.58.
    assert first_step(frame, past_columns=["tell"]) < 0.6 * blind
    shuffled = frame.assign(tell=np.random.default_rng(0).permutation(frame["tell"]))
    assert first_step(shuffled, past_columns=["tell"]) > 0.8 * blind


def test_future_columns_are_asked_for_and_must_be_complete():
    frame = told().assign(kind="u")
    position = frame.groupby("unique_id").cumcount()
    known, ahead = frame[position < 76], frame[position >= 76].drop(columns="y")
    model = Forecaster(future_columns=["tell", "kind"], **QUICK).fit(known)
    with pytest.raises(ValueError, match=r"expected X_df= with the columns \['tell', 'kind'\]"):
        model.predict()
    with pytest.raises(ValueError, match=r"got none for series 's0' at .*1 of 16 rows are missing"):
        model.predict(X_df=ahead.iloc[1:])
    with pytest.raises(ValueError, match=r"without \['kind'\]"):
        model.predict(X_df=ahead.drop(columns="kind"))
    expected = model.predict(X_df=ahead)
    assert_close(model.predict(X_df=ahead.iloc[::-1]), expected)
    assert_close(model.predict(X_df=as_polars(ahead)), expected)
    assert_close(model.predict(2, X_df=ahead), expected.groupby("unique_id").head(2))
    other = ahead.assign(tell=ahead["tell"] + 1)
    assert not np.allclose(numbers(model.predict(X_df=other)), numbers(expected))
    for method in (model.predict_dist, model.simulate, model.uncertainty):
        with pytest.raises(ValueError, match="expected X_df="):
            method()
        method(X_df=ahead)
    assert len(model.plot("s1", X_df=ahead).axes) == 1


def test_columns_that_are_not_listed_or_are_the_series_own_are_refused(data):
    with pytest.raises(ValueError, match=r"got also \['price'\]; list them in future_columns="):
        Forecaster(**QUICK).fit(data.assign(price=1.0))
    with pytest.raises(ValueError, match=r"other than .* ids, times and values, .*, got \['y'\]"):
        Forecaster(future_columns=["y"], **QUICK).fit(data)
    with pytest.raises(ValueError, match=r"got more than once: \['price'\]"):
        Forecaster(future_columns=["price"], past_columns=["price"], **QUICK).fit(
            data.assign(price=1.0)
        )


def test_a_plot_shows_each_series_with_its_own_history_and_forecast(data, model):
    forecast = model.predict()
    n = max(model.context_, 3 * 4)
    for ax, name in zip(model.plot().axes, ("s0", "s1", "s2"), strict=True):
        lines = {line.get_label(): line.get_ydata() for line in ax.get_lines()}
        np.testing.assert_allclose(
            lines["forecast (mean)"][1:], of(forecast, name)["BatchEnsemble"]
        )
        np.testing.assert_allclose(lines["history"], of(data, name)["y"].tail(n))
    one = model.plot(np.array(["s0"]), h=20).axes[0]
    assert len(one.get_lines()[1].get_ydata()) == max(model.context_, 3 * 20)


def test_five_hundred_short_series_make_one_model_in_a_moment():
    frame = long(500, 30)
    start = time.perf_counter()
    model = Forecaster(**QUICK).fit(frame)
    forecast = model.predict(level=[80])
    assert time.perf_counter() - start < 20, "about two seconds alone on a core"
    assert len(forecast) == 2000
    assert np.isfinite(numbers(forecast)).all()
    assert len(model.history_) == 1
    assert model.n_parameters_ == Forecaster(**QUICK).fit(frame.head(30)).n_parameters_


def test_series_of_different_lengths_and_starts_share_a_model(data):
    position = data.groupby("unique_id").cumcount()
    cut = {"s0": 0, "s1": 25, "s2": 40}
    frame = data[position >= data["unique_id"].map(cut)]
    forecast = Forecaster(**QUICK).fit(frame).predict()
    assert len(forecast) == 12
    assert np.isfinite(numbers(forecast)).all()


@pytest.mark.parametrize("feedback", ["teacher", "mean", "sample"])
@pytest.mark.parametrize("n_layers", [1, 2])
def test_every_way_of_training_gives_finite_forecasts(data, feedback, n_layers):
    model = Forecaster(**RECURRENT, feedback=feedback, n_layers=n_layers).fit(data)
    assert np.isfinite(numbers(model.predict(h=30, level=[80]))).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda df: pd.concat([df, df.iloc[[7]]]), "more than one for series 's0' at 2015-08-01"),
        (lambda df: df.assign(y=df["y"].where(df.index != 7, np.inf)), "finite number .*, got inf"),
        (lambda df: df.assign(y=df["y"].astype(str)), "expected a number in 'y'"),
        (
            lambda df: df.assign(ds=df["ds"].dt.strftime("%d/%m/%Y")),
            "convert them with pd.to_datetime",
        ),
        (lambda df: pd.concat([df, long(1, 60, "D", ids=["d"])]), "frequencies may be mixed"),
        (
            lambda df: df.groupby("unique_id").head(1),
            "got at most 1, in series 's0'; add rows, or pass freq='D' for days",
        ),
        (lambda df: df.iloc[[0]].assign(ds=1), "expected at least 7 rows, got 1: it needs 6 more"),
        (
            lambda df: df.drop(range(4, 60)),
            "series 's0': expected at least 7 rows, got 4: it needs 3",
        ),
        (lambda df: df.head(0), "the data are empty"),
        (lambda df: df.drop(columns="y"), r"without \['y'\]"),
        (lambda df: df["y"].to_numpy().reshape(-1, 2), "several series need a long frame"),
    ],
)
def test_bad_data_are_refused_with_the_series_and_the_cure(data, change, words):
    with pytest.raises(ValueError, match=words):
        Forecaster(**QUICK).fit(change(data))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda df: df.assign(y=df["y"].where(df.index != 7)), r"2015-08-01; choose a fill"),
        (lambda df: df.drop(7), r"got none for 2015-08-01; choose a fill"),
    ],
)
def test_the_recurrent_network_refuses_gaps_and_the_default_says_that_it_reads_around_them(
    data, change, words
):
    with pytest.raises(ValueError, match=f"series 's0': .*{words}"):
        Forecaster(**RECURRENT).fit(change(data))
    with pytest.warns(UserWarning, match="1 of 180 values are missing, .* 's0' at 20") as told:
        model = Forecaster(**QUICK).fit(change(data))
    assert told[0].filename == __file__
    assert model.panel_.lengths.tolist() == [60, 60, 60]
    assert np.isfinite(numbers(model.predict(level=[80]))).all()


@pytest.mark.filterwarnings("ignore:.*values are missing")
def test_what_stands_for_a_missing_value_is_neither_learned_from_nor_a_target(data):
    gappy = data.assign(y=data["y"].where(~data.index.isin([20, 21, 50, 75, 130])))
    model = Forecaster(**QUICK).fit(gappy)
    panel = model.panel_
    odd = np.where(panel.is_filled, 1e4, panel.values)
    again = Forecaster(**QUICK).fit(dataclasses.replace(panel, values=odd))
    assert_close(model.predict(level=[80]), again.predict(level=[80]), atol=0)
    scored = model.cross_validation(gappy, n_windows=8, h=3)
    is_gap = scored["ds"].eq(data["ds"][50]) & scored["unique_id"].eq("s0")
    assert scored["y"].isna().equals(is_gap)
    assert is_gap.any()


@pytest.mark.filterwarnings("ignore:.*values are missing")
def test_a_file_keeps_which_values_are_missing(data, tmp_path):
    model = Forecaster(**QUICK).fit(data.drop([50, 118]))
    model.save(tmp_path / "model.be")
    loaded = load(tmp_path / "model.be")
    assert_close(model.predict(), loaded.predict(), atol=0)
    assert loaded.panel_.is_filled.sum() == 2


def test_gaps_of_another_history_are_told_as_far_as_forecasts_read_it(data):
    model = Forecaster(**{**QUICK, "context": 20}).fit(data)
    read = model.model_.reach
    model.predict(df=data.drop(60 - read - 1))
    with pytest.warns(BatchEnsembleWarning, match="1 of .* missing, .* forecasts do without") as w:
        model.predict(df=data.drop(60 - read + 1))
    assert w[0].filename == __file__


def test_gaps_are_closed_if_asked_to(data):
    gappy = data.drop([7, 8]).assign(y=lambda df: df["y"].where(df.index != 70))
    model = Forecaster(**QUICK, fill="interpolate").fit(gappy)
    assert model.panel_.lengths.tolist() == [60, 60, 60]
    assert np.isfinite(numbers(model.predict())).all()


def test_gaps_among_new_rows_are_closed_as_those_of_fit_are(data):
    position = data.groupby("unique_id").cumcount()
    new = data[position >= 50].drop([52, 113])
    model = Forecaster(**QUICK, fill="interpolate").fit(data[position < 50])
    assert_close(model.predict(df=data.drop([52, 113])), model.update(new).predict())
    with pytest.raises(ValueError, match=r"series 's0': .*got none for 2019-05-01"):
        Forecaster(**RECURRENT).fit(data[position < 50]).update(new)
    marked = Forecaster(**QUICK).fit(data[position < 50]).update(new).panel_
    assert np.flatnonzero(marked.is_filled).tolist() == [52, 113]


@pytest.mark.parametrize("refit", [False, "never"])
def test_a_gap_at_a_cutoff_does_not_tell_what_comes_after_it(data, refit):
    position = data.groupby("unique_id").cumcount()
    gappy = data[(position < 53) | (position > 55)]
    other_future = gappy.assign(y=np.where(position[gappy.index] > 55, 1e6, gappy["y"]))
    model = Forecaster(**QUICK, fill="interpolate").fit(data[position < 50])
    a, b = (model.cross_validation(df, h=4, refit=refit) for df in (gappy, other_future))
    assert (a["cutoff"] == data["ds"][55]).all()
    assert_close(a, b)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {**RECURRENT, "feedback": "teach"},
            "expected feedback to be one of .* did you mean 'teacher'",
        ),
        ({"scaling": "robust"}, "expected scaling to be one of 'minmax', 'standard', 'window'"),
        ({"preset": "papper"}, "did you mean 'paper'"),
        ({"method": "batchensemble"}, "did you mean 'batch_ensemble'"),
        ({"fill": "linear"}, "expected fill to be one of 'interpolate', 'ffill'"),
        ({**RECURRENT, "gates": "xyz"}, "expected gates"),
        ({"gates": "cz"}, "gates are for the recurrent network"),
        ({"n_layers": 2}, "n_layers are for the recurrent network, and preset='default'"),
        ({"freq": "XYZ"}, "expected freq= such as"),
        ({"context": 0}, "'context' parameter"),
        ({"horizon": 0}, "'horizon' parameter"),
        ({"n_paths": 0}, "'n_paths' parameter"),
        ({"future_columns": "price"}, "'future_columns' parameter"),
        ({"log_variance_bounds": (1, 0)}, "expected bounds of the log-variance"),
        ({"hidden_size": 0}, "'hidden_size' parameter"),
        ({"season": -1}, "'season' parameter"),
    ],
)
def test_bad_settings_are_refused_at_fit_with_words(data, settings, words):
    with pytest.raises(ValueError, match=words):
        Forecaster(**{**QUICK, **settings}).fit(data)
    with pytest.raises(ValueError, match=words):
        Forecaster(**{**QUICK, **settings}).cross_validation(data)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda m: m.predict(0), "h to be a whole number of steps above 0, got 0"),
        (lambda m: m.predict(2.5), "h to be a whole number of steps above 0, got 2.5"),
        (lambda m: m.predict(True), "h to be a whole number of steps above 0, got True"),
        (lambda m: m.predict(level=[120]), r"level from 1 to below 100, .* got \[120\]"),
        (lambda m: m.predict(level=[0]), "level from 1 to below 100"),
        (lambda m: m.predict(level=0.8), r"such as \[80, 95\], in per cent, got 0.8"),
        (lambda m: m.predict(level=["80"]), r"got \['80'\]"),
        (lambda m: m.predict(quantiles=[2]), r"quantiles strictly between 0 and 1, .* got \[2\]"),
        (lambda m: m.predict(level=[np.nan]), "level from 1 to below"),
        (lambda m: m.simulate(seed=-1), "seed to be a whole number of at least 0, got -1"),
        (lambda m: m.simulate(0), "n_paths to be a whole number above 0, got 0"),
        (lambda m: m.simulate(2.5), "n_paths to be a whole number above 0, got 2.5"),
        (lambda m: m.predict_dist(n_paths=-3), "n_paths to be a whole number above 0, got -3"),
        (lambda m: m.predict(df=long(1, 2)), "expected at least 3 rows, got 2: it needs"),
        (lambda m: m.predict(df=seasonal()), "the times are whole numbers, which the frequency"),
        (lambda m: m.predict(X_df=long()), "expected no X_df=, since no columns were named fut"),
    ],
)
def test_bad_questions_are_refused_with_words(model, ask, words):
    with pytest.raises(ValueError, match=words):
        ask(model)


def test_nothing_is_answered_before_a_fit(data):
    model = Forecaster(**QUICK)
    for ask in (
        model.predict,
        model.predict_dist,
        model.simulate,
        model.uncertainty,
        model.plot,
        lambda: model.update(data),
    ):
        with pytest.raises(NotFittedError):
            ask()


@pytest.mark.parametrize("library", [lambda df: df, as_polars])
def test_utilsforecast_judges_our_frames_as_they_are(data, library):
    found = Forecaster(**QUICK).cross_validation(library(data), n_windows=2, level=[80, 95])
    known = library(data[data["ds"] <= pd.Timestamp("2019-07-01")])
    for metrics, level in (([mae, rmse], None), ([scaled_crps, mqloss, coverage], [80, 95])):
        columns = [c for c in found.columns if c != "cutoff"]
        scores = evaluate(found[columns], metrics=metrics, level=level, train_df=known)
        values = np.asarray(scores["BatchEnsemble"])
        assert len(values) >= 3 * len(metrics)
        assert np.isfinite(values).all()
        by_cutoff = evaluate(found, metrics=metrics, level=level, train_df=known)
        assert "cutoff" in by_cutoff.columns
    absolute = np.abs(np.asarray(found["y"]) - np.asarray(found["BatchEnsemble"])).reshape(3, -1)
    mine = evaluate(found[columns], metrics=[mae])
    np.testing.assert_allclose(np.asarray(mine["BatchEnsemble"]), absolute.mean(axis=1))


def test_utilsforecast_plots_our_frames_as_they_are(data, model):
    matplotlib = pytest.importorskip("matplotlib")
    plotting = pytest.importorskip("utilsforecast.plotting")
    before = matplotlib.get_backend()
    matplotlib.use("agg")
    try:
        figure = plotting.plot_series(data, model.predict(level=[80]), level=[80])
        assert len(figure.axes) >= 3
    finally:
        import matplotlib.pyplot as plt

        plt.close("all")
        matplotlib.use(before)


def judged(series, n_windows=48, h=12):
    """CRPS of ours and of the seasonal naive's Gaussian, and the coverage of our 80 %."""
    months = pd.date_range("1990-01-01", periods=len(series[0]), freq="MS")
    frame = pd.concat(
        pd.DataFrame({"unique_id": i, "ds": months, "y": y}) for i, y in enumerate(series)
    )
    cut = len(months) - n_windows - h + 1
    shares = np.arange(0.05, 1, 0.05)
    found = Forecaster(random_state=0, n_paths=200).cross_validation(
        frame, n_windows=n_windows, level=[80], quantiles=shares.tolist()
    )
    truth = found["y"].to_numpy()

    def crps(quantiles):
        """Twice the mean pinball loss over levels, for both forecasts alike."""
        below = truth[:, None] - quantiles
        return 2 * np.maximum(shares * below, (shares - 1) * below).mean()

    values = np.stack(series)
    own = found["unique_id"], np.searchsorted(months, found["ds"]) - 12
    spread = np.std(values[:, 12:cut] - values[:, : cut - 12], axis=1)[found["unique_id"]]
    naive = values[own][:, None] + spread[:, None] * norm.ppf(shares)
    ours = found[[f"BatchEnsemble-q-{100 * q:g}" for q in shares]].to_numpy()
    covered = (found["BatchEnsemble-lo-80"] <= truth) & (truth <= found["BatchEnsemble-hi-80"])
    return crps(ours), crps(naive), covered.mean()


def test_seasonal_series_are_forecast_better_than_by_the_season_before_and_covered():
    series = [seasonal(200, seed) for seed in (5, 6)]
    ours, naive, covered = judged(series)
    assert ours < 0.95 * naive
    assert 0.65 < covered < 0.92
    # The control: in any order there is nothing to know but the spread.
    shuffled, _, _ = judged([np.random.default_rng(0).permutation(series[0])])
    assert shuffled > 1.3 * ours


@pytest.mark.parametrize("value", [pd.NA, np.array([1, 0]), "yes", None])
def test_what_is_neither_true_nor_false_is_refused_by_name(value):
    y = np.arange(60.0) % 7
    model = Forecaster(**QUICK)
    with pytest.raises(ValueError, match="expected calibrate to be True or False, got"):
        model.fit(y, calibrate=value)
    with pytest.raises(ValueError, match="expected adapt to be True or False, got"):
        model.fit(y, calibrate=True, adapt=value)
    with pytest.raises(ValueError, match="expected refit to be False"):
        model.cross_validation(y, refit=value)
    assert len(model.cross_validation(y, refit=np.True_))


@pytest.mark.parametrize("n_paths", ["a", pd.NA, np.zeros(2), True, 0.5, 1e300])
def test_a_number_of_paths_is_a_whole_number(n_paths):
    model = Forecaster(**QUICK).fit(seasonal())
    with pytest.raises(ValueError, match="expected n_paths to be a whole number above 0, got"):
        model.predict_dist(n_paths=n_paths)


@pytest.mark.parametrize("level", [[[1], [2, 3]], [True, 80], {80}])
def test_levels_are_numbers(level):
    model = Forecaster(**QUICK).fit(seasonal())
    with pytest.raises(ValueError, match="expected level from 1 to below 100"):
        model.predict(level=level)


def test_a_context_that_would_fill_the_memory_is_refused():
    with pytest.raises(ValueError, match=r"to read context=2,147,483,647 steps, .* shorter cont"):
        Forecaster(**QUICK | {"context": 2**31 - 1}).fit(seasonal())
    with pytest.raises(ValueError, match="'n_layers' parameter of Forecaster must be an int"):
        Forecaster(preset="recurrent", n_layers=2**31 - 1).fit(seasonal())


@pytest.mark.parametrize("preset", ["fast", "recurrent"])
def test_the_callers_precision_does_not_matter(tmp_path, preset):
    y, settings = seasonal(), QUICK | {"preset": preset}
    model = Forecaster(**settings).fit(y)
    expected = model.predict(level=[80])
    model.save(tmp_path / "m.be")

    def check():
        for each in (model, load(tmp_path / "m.be"), Forecaster(**settings).fit(y)):
            pd.testing.assert_frame_equal(each.predict(level=[80]), expected, check_exact=True)

    with torch.autocast("cpu", torch.bfloat16):
        check()
    torch.set_default_dtype(torch.float64)
    try:
        check()
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("freq", ["MS", "W", "D", "h"])
def test_a_history_in_another_time_zone_is_read_in_that_of_fit(freq):
    days = pd.date_range("2018-01-01", periods=70, freq=freq, tz="Europe/Berlin")
    own = pd.DataFrame({"unique_id": "a", "ds": days, "y": np.arange(70) % 7.0})
    same = own.assign(ds=days.tz_convert("UTC"))  # the instants of a database
    model = Forecaster(**QUICK).fit(own[:60])
    pd.testing.assert_frame_equal(model.predict(df=same[:60]), model.predict())
    past = [model.cross_validation(df, n_windows=3, refit="never") for df in (own, same)]
    pd.testing.assert_frame_equal(*past)
    later = [copy.deepcopy(model).update(df[60:]).predict() for df in (own, same)]
    pd.testing.assert_frame_equal(*later)
    with pytest.raises(ValueError, match=r"times of the type .*Berlin\] as in fit, got"):
        model.predict(df=own.assign(ds=days.tz_localize(None)))


def test_dates_known_ahead_may_be_written_as_texts():
    days = pd.DataFrame({"ds": pd.date_range("2024-01-01", periods=70), "y": np.arange(70) % 7.0})
    days["sent"] = days["ds"] - pd.to_timedelta(np.arange(70) % 5, "D")
    texts = days.assign(sent=days["sent"].dt.strftime("%Y-%m-%d"))
    model = Forecaster(**QUICK, future_columns=["sent"]).fit(days[:60])
    h = model.model_.horizon
    known = model.predict(X_df=days[60:])
    for df in (None, texts[:60]):
        pd.testing.assert_frame_equal(model.predict(df=df, X_df=texts[60:]), known)
    updated = [copy.deepcopy(model).update(df[60 : 70 - h]) for df in (days, texts)]
    pd.testing.assert_frame_equal(*(one.predict(X_df=days[60:]) for one in updated))
