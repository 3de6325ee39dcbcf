from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sample_files import houses, sales

from batchensemble import BatchEnsembleWarning, Forecaster, Regressor, load
from batchensemble.cli.holdout import model_path, train
from batchensemble.cli.predictions import prediction_columns
from batchensemble.cli.training_data import read_training_series, read_training_table
from batchensemble.metrics import rmse

QUICK = {"epochs": 2, "n_members": 2}


def table(tmp_path, frame=None, target="price"):
    (houses() if frame is None else frame).to_csv(tmp_path / "f.csv", index=False)
    return read_training_table(tmp_path / "f.csv", target, task=None, drop=())


def series(tmp_path, frame):
    frame.to_csv(tmp_path / "f.csv", index=False)
    words = {"time": "month", "series": "store", "future": (), "past": ()}
    return read_training_series(tmp_path / "f.csv", "sales", **words)


def test_a_model_is_judged_on_rows_that_it_did_not_learn_from(tmp_path, monkeypatch):
    data = table(tmp_path)
    seen = []
    fit = Regressor.fit

    def spy(self, X, y, *args, **kwargs):
        seen.extend(X.index)
        return fit(self, X, y, *args, **kwargs)

    monkeypatch.setattr(Regressor, "fit", spy)
    learned = train(data, QUICK, holdout=0.25, seed=0, calibrate=False)
    others = ~data.frame.index.isin(seen)
    assert (
        (learned.origin_["n_learned"], learned.origin_["n_judged"])
        == (len(seen), others.sum())
        == (88, 30)
    )
    truth, mean = data.y[others], learned.predict(data.frame[others])
    assert learned.origin_["scores"]["rmse"] == pytest.approx(rmse(truth, mean=mean))
    assert learned.origin_["scores"]["rmse_of_mean"] == pytest.approx(truth.std())


@pytest.mark.parametrize(
    ("n", "holdout", "why"),
    [
        (60, 0.2, "20 % of 58 rows is 12, and scoring needs 20; use --holdout 0.35"),
        (30, 0.2, "20 % of 28 rows is 6, and scoring needs 20"),
        (200, 0, "--holdout is 0"),
    ],
)
def test_without_rows_to_spare_all_are_learned_from_and_nothing_is_claimed(
    tmp_path, n, holdout, why
):
    learned = train(table(tmp_path, houses(n)), QUICK, holdout=holdout, seed=0, calibrate=True)
    assert (learned.origin_["n_judged"], learned.origin_["scores"]) == (0, {})
    assert learned.origin_["judged_on"].replace("\N{NO-BREAK SPACE}", " ") == why
    assert learned.origin_["calibrated"] == "Not calibrated: no rows were held back"
    assert learned.calibration_ is None


def test_a_forecaster_is_judged_on_the_last_steps_and_then_goes_on_from_them(tmp_path):
    data = series(tmp_path, sales())
    learned = train(data, QUICK | {"horizon": 4}, holdout=0.2, seed=0, calibrate=False)
    assert (learned.origin_["n_learned"], learned.origin_["n_judged"]) == (112, 8)
    # By hand: fitted to what precedes the last steps, and asked for them.
    df = sales().assign(month=lambda f: pd.to_datetime(f["month"]))
    is_late = df["month"] > df["month"].max() - pd.DateOffset(months=4)
    model = Forecaster(
        **QUICK, horizon=4, random_state=0, id_col="store", time_col="month", target_col="sales"
    ).fit(df.loc[~is_late, ["store", "month", "sales"]])
    mean = model.predict()["BatchEnsemble"].to_numpy()
    assert learned.origin_["scores"]["rmse"] == pytest.approx(
        rmse(df["sales"][is_late].to_numpy(), mean=mean)
    )
    ahead = learned.predict()["month"].unique()
    assert ahead[0] == df["month"].max() + pd.DateOffset(months=1)


def test_intervals_that_hold_far_too_few_of_the_last_steps_are_told(tmp_path):
    months = sales()["month"].sort_values().unique()
    broken = sales().assign(sales=lambda f: f["sales"] + 1000.0 * f["month"].isin(months[-4:]))
    data, settings = series(tmp_path, broken), QUICK | {"horizon": 4, "n_paths": 50}
    told = train(data, settings, holdout=0.2, seed=0).origin_["warnings"]
    assert told[-1] == (
        "the 80 % intervals cover only 0 % of the values in held-out windows; fit with --calibrate"
    )


def test_a_forecaster_is_calibrated_if_told_by_what_it_did_not_learn(tmp_path):
    data, settings = series(tmp_path, sales()), QUICK | {"horizon": 4, "n_paths": 50}
    plain = train(data, settings, holdout=0.3, seed=0)
    learned = train(data, settings, holdout=0.3, seed=0, calibrate=True)
    assert plain.origin_["calibrated"] == ""
    assert plain.calibration_ is None
    assert (plain.origin_["n_learned"], learned.origin_["n_learned"]) == (112, 84)
    assert "90 % intervals covered" in learned.origin_["calibrated"].replace(
        "\N{NO-BREAK SPACE}", " "
    )
    assert len(learned.calibration_) == 2 * (18 - 4 + 1)
    assert learned.predict()["month"].equals(plain.predict()["month"])


def test_too_few_forecasts_leave_a_series_uncalibrated_and_say_so(tmp_path):
    data = series(tmp_path, sales(24).query("store == 'north'"))
    learned = train(data, QUICK | {"horizon": 6}, holdout=0.2, seed=0, calibrate=True)
    words = "Not calibrated: expected at least 9 windows"
    assert learned.origin_["calibrated"].startswith(words)
    assert learned.calibration_ is None


def test_short_series_are_learned_whole(tmp_path):
    data = series(tmp_path, sales(24))
    learned = train(data, QUICK | {"horizon": 8}, holdout=0.2, seed=0, calibrate=False)
    assert (learned.origin_["n_learned"], learned.origin_["scores"]) == (48, {})
    assert "4 times the horizon of 8 steps" in learned.origin_["judged_on"]


def test_a_short_series_is_learned_whole_and_the_others_are_judged(tmp_path):
    young = sales().query("store == 'south'").assign(store="young")[-10:]
    data = series(tmp_path, pd.concat([sales(), young]))
    settings = QUICK | {"horizon": 4, "n_paths": 50}
    learned = train(data, settings, holdout=0.3, seed=0, calibrate=True)
    origin = learned.origin_
    assert (origin["n_learned"], origin["n_judged"]) == (2 * (60 - 18) + 10, 8)
    assert origin["judged_on"] == (
        "the held-out last 4 steps of 2 of 3 series (the others are too short)"
    )
    assert len(learned.calibration_) == 2 * (18 - 4 + 1)
    # By hand: fitted to the same rows, and asked for the last steps.
    df = pd.concat([sales(), young]).assign(month=lambda f: pd.to_datetime(f["month"]))
    df = df[["store", "month", "sales"]]
    n_after = df.groupby("store").cumcount(ascending=False)
    is_long = df["store"] != "young"
    roles = {"id_col": "store", "time_col": "month", "target_col": "sales"}
    model = Forecaster(**settings, **roles, random_state=0).fit(df[~is_long | (n_after >= 18)])
    mean = model.predict(df=df[is_long & (n_after >= 4)])["BatchEnsemble"].to_numpy()
    truth = df["sales"][is_long & (n_after < 4)].to_numpy()
    assert origin["scores"]["rmse"] == pytest.approx(rmse(truth, mean=mean), rel=1e-5)
    ahead = learned.predict()
    assert ahead["store"].unique().tolist() == ["north", "south", "young"]
    assert ahead["month"].min() == df["month"].max() + pd.DateOffset(months=1)


def test_the_origin_of_a_model_travels_with_it(tmp_path):
    data = table(tmp_path)
    learned = train(data, QUICK, holdout=0.2, seed=0, calibrate=False)
    learned.save(tmp_path / "m.be")
    model = load(tmp_path / "m.be")
    assert model.origin_["scores"] == learned.origin_["scores"]
    assert model.origin_["left_out"] == data.origin.left_out
    assert model.target_name_ == "price"
    np.testing.assert_array_equal(model.predict(data.frame), learned.predict(data.frame))


def test_a_training_that_diverges_is_an_error_in_words(tmp_path, monkeypatch):
    from batchensemble.training.loop import TrainingDiverged

    def diverge(*args, **kwargs):
        raise TrainingDiverged("the loss of network 0 became nan; try a smaller lr")

    monkeypatch.setattr(Regressor, "fit", diverge)
    with pytest.raises(ValueError, match="try a smaller lr"):
        train(table(tmp_path), QUICK, holdout=0, seed=0, calibrate=False)


def test_a_model_is_called_like_its_data_unless_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert model_path(Path("data/houses.csv.gz"), None) == Path("houses.be")
    assert model_path(Path("houses.v2.parquet"), None) == Path("houses.v2.be")
    assert model_path(Path("HOUSES.CSV"), None) == Path("HOUSES.be")
    assert model_path(Path("-"), Path("m.be")) == Path("m.be")
    assert model_path(tmp_path / "*.csv", None) == Path(f"{tmp_path.name}.be")
    (tmp_path / "Sales [2024].csv").touch()
    assert model_path(tmp_path / "Sales [2024].csv", None) == Path("Sales [2024].be")
    with pytest.raises(ValueError, match="the model needs a file name: add -o"):
        model_path(Path("-"), None)
    with pytest.raises(ValueError, match="the model needs a file name: add -o"):
        model_path(Path("houses.csv"), Path("-"))


@pytest.mark.parametrize("target", ["price", "town"])
def test_the_rows_that_judged_a_model_calibrate_it(tmp_path, target):
    data = table(tmp_path, houses(400), target)
    plain = train(data, QUICK, holdout=0.25, seed=0, calibrate=False)
    learned = train(data, QUICK, holdout=0.25, seed=0, calibrate=True)
    assert learned.origin_["scores"] == plain.origin_["scores"]  # they judged it before
    things = "intervals" if target == "price" else "sets"
    said = learned.origin_["calibrated"].replace("\N{NO-BREAK SPACE}", " ")
    assert f"90 % {things} covered" in said
    assured = learned.calibration_report().loc[0.9, "assured_after"]
    assert said.endswith(f"; of new rows, at least {100 * assured:.1f} % with 95 % confidence")
    before, after = (
        prediction_columns(model, model.predict_dist(data.frame), 0.9) for model in (plain, learned)
    )
    if target == "price":
        assert not before["lower"].equals(after["lower"])
    else:
        assert "set" not in before
        assert all(p in s for p, s in zip(after["prediction"], after["set"], strict=True))


def rare_table(tmp_path, n=600, n_rare=60):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.normal(size=n), "b": random.normal(size=n)})
    frame["fraud"] = np.where(np.arange(n) < n_rare, "yes", "no")
    return table(tmp_path, frame, "fraud")


def test_rare_classes_are_told_to_be_left_out_of_sets_and_per_class_holds_them(tmp_path):
    data = rare_table(tmp_path)
    how = {"holdout": 0.3, "seed": 0}
    words = r"sets contain the class yes in only \d+ of its \d+ rows"
    with pytest.warns(BatchEnsembleWarning, match=words):
        model = train(data, QUICK, **how)
    scores = model.origin_["scores"]
    assert {"auc", "average_precision"} < {*scores}
    assert scores["share_of_rarer"] == pytest.approx(0.1, abs=0.03)
    model = train(data, QUICK, **how, per_class=True)
    sets = model.predict_set(data.frame)
    assert sets[data.y == "yes", 1].mean() > 0.7
    with pytest.raises(ValueError, match=r"needs 20 rows of every class.*yes \(12\)"):
        train(rare_table(tmp_path, n_rare=12), QUICK, **how, per_class=True)


def test_two_groups_are_too_few_to_hold_one_out(tmp_path):
    houses().assign(side=lambda rows: np.arange(len(rows)) % 2).to_csv(tmp_path / "f.csv")
    data = read_training_table(tmp_path / "f.csv", "price", task=None, drop=(), groups="side")
    with pytest.raises(ValueError, match=r"expected at least 3 groups, .* got 2; omit --groups"):
        train(data, QUICK, holdout=0.2, seed=0, calibrate=False)
    assert train(data, QUICK, holdout=0, seed=0, calibrate=False).origin_["n_judged"] == 0


@pytest.mark.parametrize(("n", "n_windows"), [(52, 15), (60, 19), (96, 19), (160, 21)])
def test_one_series_holds_out_enough_to_calibrate_as_in_python_but_at_most_half(
    tmp_path, n, n_windows
):
    frame = sales(n).query("store == 'north'").drop(columns="holidays")
    settings = {"epochs": 1, "n_members": 2, "horizon": 12}
    model = train(series(tmp_path, frame), settings, holdout=0.2, seed=0, calibrate=True)
    assert len(model.calibration_) == n_windows
    months = frame.assign(month=pd.to_datetime(frame["month"]))
    names = {"id_col": "store", "time_col": "month", "target_col": "sales"}
    twin = Forecaster(**settings, **names, random_state=0)
    if n > 52:
        assert len(twin.fit(months, calibrate=True).calibration_) == n_windows
