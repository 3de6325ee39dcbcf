from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fixtures import TINY_FORECASTER
from sample_files import QUICK, sales

from batchensemble import Forecaster, load
from batchensemble.cli.comparison import evaluate_file
from batchensemble.cli.scores import sampling_words
from batchensemble.data.telling import BatchEnsembleWarning


def judged(model):
    return evaluate_file(load(model), Path("test.csv"), target=None, coverage=0.9)


def test_forecasts_are_judged_from_every_time_that_leaves_a_horizon(shell):
    sales().query("month >= '2021-11-01'").to_csv("test.csv", index=False)
    found = judged("sales.be")
    # By hand: the model goes on month by month, and never learns.
    model, errors = load("sales.be"), []
    df = sales().assign(month=lambda f: pd.to_datetime(f["month"])).drop(columns="holidays")
    for last in pd.date_range("2021-12-01", "2022-08-01", freq="MS"):
        ahead = model.predict(df=df[df["month"] <= last])
        both = ahead.merge(df, on=["store", "month"])
        errors.append(both["BatchEnsemble"] - both["sales"])
    expected = np.sqrt(np.mean(np.square(np.concatenate(errors))))
    assert len(found.doubtful.rows) == 18
    assert found.scores["rmse"] == pytest.approx(expected, rel=1e-6)
    assert (found.n_windows, found.horizon, found.n_rows) == (18, 4, 24)
    assert found.judged_on == "18 windows of 4 steps (24 rows)"


def test_coverage_is_told_of_each_series_and_step_with_the_chance_of_whole_windows(shell):
    sales().query("month >= '2021-11-01'").to_csv("test.csv", index=False)
    found = judged("sales.be")
    parts = {row[:2]: row[2:] for row in found.subgroups.rows}
    assert [part for name, part in parts if name == "series"] == ["north", "south"]
    assert [part for name, part in parts if name == "step"] == ["1", "2", "3", "4"]
    by_series = [parts["series", name] for name in ("north", "south")]
    assert [n for n, _, _ in by_series] == [36, 36]
    mean = np.mean([share for _, share, _ in by_series])
    assert mean == pytest.approx(found.scores["coverage"])
    _, share, likely = parts["series", "north"]
    assert likely == sampling_words(share, 3)  # twelve months are three windows


def test_repeating_the_past_is_judged_as_one_would_by_hand(shell):
    sales().query("month >= '2022-01-01'").to_csv("test.csv", index=False)
    found = judged("sales.be").scores
    last, season = [], []
    for _, own in sales().groupby("store"):
        y = own["sales"].to_numpy()
        for first in range(48, 57):
            truth = y[first : first + 4]
            last.append(y[first - 1] - truth)
            season.append(y[first - 12 : first - 8] - truth)
    assert found["rmse_of_last"] == pytest.approx(np.sqrt(np.mean(np.square(last))))
    assert found["rmse_of_season"] == pytest.approx(np.sqrt(np.mean(np.square(season))))


def test_a_season_shorter_than_the_horizon_is_repeated_more_than_once(shell):
    y = np.random.default_rng(0).normal(size=90).round(3)
    days = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=90), "sold": y})
    days[:70].to_csv("days.csv", index=False)
    days[70:].to_csv("test.csv", index=False)
    words = ("-t", "sold", "--time", "day", "--horizon", 10)
    shell("fit", "days.csv", *words, "-o", "days.be", *QUICK)
    found = judged("days.be").scores
    errors = [np.resize(y[i - 7 : i], 10) - y[i : i + 10] for i in range(70, 81)]
    assert found["rmse_of_season"] == pytest.approx(np.sqrt(np.mean(np.square(errors))))


def test_rows_of_series_without_a_target_are_counted(shell):
    late = sales().query("month >= '2022-01-01'").copy()
    late.loc[late["month"] >= "2022-12-01", "sales"] = None
    late.to_csv("test.csv", index=False)
    assert judged("sales.be").n_without_target == 2


def test_columns_of_series_may_have_any_name(shell):
    names = {"store": "self", "month": "series", "holidays": "truth"}
    for name in ("sales.csv", "test.csv"):
        frame = sales().query("month >= '2022-01-01'") if name == "test.csv" else shell.read(name)
        frame.rename(columns=names).to_csv(name, index=False)
    words = ("--time", "series", "--series", "self", "--past", "truth", "--horizon", 4)
    shell("fit", "sales.csv", "-t", "sales", *words, "-o", "odd.be", *QUICK)
    odd = evaluate_file(load("odd.be"), Path("test.csv"), target=None, coverage=0.9)
    assert odd.n_windows == 18
    history = odd.detail.history
    assert (history["truth"] > 10).all()  # the sales, and not what was called so


def test_one_series_may_have_times_called_self(shell):
    one = sales().query("store == 'north'").rename(columns={"month": "self"})
    one.query("self < '2022-01-01'").to_csv("one.csv", index=False)
    new = one.query("self >= '2022-01-01'").copy()
    new["self"] = new["self"].str[:8] + "15"
    new.to_csv("new.csv", index=False)
    words = ("-t", "sales", "--time", "self", "--horizon", 4, "--freq", "MS", "-o", "one.be")
    shell("fit", "one.csv", *words, *QUICK)
    assert evaluate_file(load("one.be"), Path("new.csv"), target=None, coverage=0.9).n_windows == 9


def test_a_series_that_ended_or_is_new_is_named_and_the_others_are_judged(shell):
    late = sales().query("month >= '2022-01-01'")
    late.to_csv("test.csv", index=False)
    both = judged("sales.be")
    new = late.query("store == 'south'").assign(store="west")
    for north in (0, 3):  # steps, of which four are forecast
        ended = pd.concat([late.query("store == 'north'")[:north], late.query("store == 'south'")])
        pd.concat([ended, new]).to_csv("test.csv", index=False)
        found = judged("sales.be")
        assert (found.n_windows, found.n_rows) == (9, 12)
        shown = found.detail.frame.reset_index(drop=True)
        south = both.detail.frame.query("series == 'south'").reset_index(drop=True)
        pd.testing.assert_frame_equal(shown, south, rtol=1e-6)
        assert found.warnings[-2:] == (
            "1 series left out (fewer than 4 new steps): 'north'",
            "1 series left out (not among the series of fit): 'west'",
        )


def test_a_file_of_new_series_alone_is_refused(shell):
    late = sales().query("month >= '2022-01-01'")
    late.replace({"north": "west", "south": "east"}).to_csv("test.csv", index=False)
    with (
        pytest.warns(BatchEnsembleWarning),
        pytest.raises(ValueError, match=r"expected series of fit, such as 'north', got \['west', "),
    ):
        judged("sales.be")


def test_months_on_different_days_count_for_their_month(shell):
    random = np.random.default_rng(0)
    starts = pd.date_range("2015-01-01", periods=60, freq="MS")
    days = pd.to_timedelta(random.integers(0, 25, 60), "D")
    table = pd.DataFrame({"month": starts + days, "sold": random.normal(size=60).round(3)})
    table[:48].to_csv("months.csv", index=False)
    words = ("-t", "sold", "--time", "month", "--horizon", 4, "--freq", "MS")
    shell("fit", "months.csv", *words, "-o", "months.be", *QUICK)
    found = []
    for rows in (table, table[48:]):  # with what the model knows, and without
        rows.to_csv("test.csv", index=False)
        found.append(judged("months.be"))
    assert [one.n_windows for one in found] == [9, 9]
    assert found[0].scores == found[1].scores


def test_a_file_in_which_no_series_goes_on_for_a_horizon_is_refused(tmp_path):
    days = pd.date_range("2020-01-01", periods=30)
    frame = pd.DataFrame({"unique_id": np.repeat([1, 2], 30), "ds": [*days, *days], "y": 1.0})
    model = Forecaster(**TINY_FORECASTER).fit(frame)
    later = frame.assign(ds=frame["ds"] + pd.Timedelta("2D"))
    later.to_csv(tmp_path / "test.csv", index=False)
    with pytest.raises(ValueError, match=r"4 new steps of a series.*got 2; add rows"):
        evaluate_file(model, tmp_path / "test.csv", target=None, coverage=0.9)


def test_windows_lie_all_over_a_file_and_each_series_has_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr("batchensemble.cli.series_comparison.MOST_WINDOWS", 9)
    y = np.random.default_rng(0).normal(size=130)
    frame = pd.DataFrame({"ds": pd.date_range("2020-01-01", periods=130), "y": y})
    frame = pd.concat([frame.assign(unique_id=name) for name in "ab"])
    model = Forecaster(**TINY_FORECASTER).fit(frame[frame["ds"] < "2020-02-10"])  # 40 days
    later = frame[(frame["unique_id"] == "a") | (frame["ds"] < "2020-02-16")]  # 6 days of b
    later.to_csv(tmp_path / "test.csv", index=False)
    found = evaluate_file(model, tmp_path / "test.csv", target=None, coverage=0.9)
    windows = pd.DataFrame(found.doubtful.rows, columns=found.doubtful.columns)
    known = windows.groupby("series")["known until"].agg(["size", "min", "max"])
    assert known.loc["a"].tolist() == [9, "2020-02-09", "2020-05-05"]
    assert known.loc["b"].tolist() == [3, "2020-02-09", "2020-02-11"]


def test_where_each_of_many_series_has_one_window_these_lie_all_over_the_file(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("batchensemble.cli.series_comparison.MOST_STEPS", 1)
    days = pd.date_range("2020-01-01", periods=130)
    y = np.random.default_rng(0).normal(size=130)
    one = pd.DataFrame({"ds": days, "y": y})
    frame = pd.concat([one.assign(unique_id=f"s{i}") for i in range(20)])
    model = Forecaster(**TINY_FORECASTER).fit(frame[frame["ds"] < "2020-02-10"])
    frame.to_csv(tmp_path / "test.csv", index=False)
    found = evaluate_file(model, tmp_path / "test.csv", target=None, coverage=0.9)
    assert found.n_windows == 20
    cutoffs = pd.to_datetime([row[2] for row in found.doubtful.rows]).sort_values()
    gaps = np.diff([days[39], *cutoffs, days[125]]) / np.timedelta64(1, "D")
    assert gaps.max() <= 10


@pytest.mark.filterwarnings("ignore:.*values are missing")
@pytest.mark.parametrize("gaps", [range(1, 8), range(60, 400)])  # at the start; where a file cuts
def test_forecasts_after_gaps_are_judged_as_predict_makes_them(shell, gaps):
    random, hours = np.random.default_rng(0), np.arange(700)
    y = 100 + 20 * np.sin(hours * np.pi / 12) + random.normal(0, 2, 700)
    promo = np.where(random.random(700) < 0.3, "yes", "no")
    times = pd.date_range("2024-01-01", periods=700, freq="h")
    rows = pd.DataFrame({"s": "a", "t": times, "y": y + 40 * (promo == "yes"), "promo": promo})
    rows = rows.drop(index=[*gaps])
    known = rows[rows["t"] < times[680]]
    words = {"id_col": "s", "time_col": "t", "target_col": "y", "future_columns": ["promo"]}
    model = Forecaster(horizon=4, epochs=1, random_state=0, **words).fit(known)
    model.save("gaps.be")
    loaded = load("gaps.be")
    back = loaded.cross_validation(rows, n_windows=17, refit="never")
    expected = np.sqrt(np.mean(np.square(back["y"] - back["BatchEnsemble"])))
    for part in (rows, rows[rows["t"] >= times[680]]):
        part.to_csv("test.csv", index=False)
        assert judged("gaps.be").scores["rmse"] == pytest.approx(expected, rel=1e-5)


@pytest.mark.filterwarnings("ignore:.* values are missing")
@pytest.mark.parametrize("fill", [[], ["--fill", "ffill"], ["--fill", "interpolate"]])
@pytest.mark.parametrize("calibrated", [[], ["--calibrate"], ["--calibrate", "--no-adapt"]])
def test_every_value_that_was_observed_is_judged_and_no_other(shell, fill, calibrated):
    random = np.random.default_rng(0)
    days = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=120)})
    days["sold"] = (50 + 10 * np.sin(days.index * 2 * np.pi / 7) + random.normal(size=120)).round(3)
    lost = [75, 76, 90, 91, 92, 103, 110]
    known = days.assign(sold=days["sold"].where(~days.index.isin(lost)))
    known[:70].to_csv("old.csv", index=False)
    known[70:].to_csv("test.csv", index=False)
    words = ("-t", "sold", "--time", "day", "--horizon", 3, *fill, *calibrated, *QUICK)
    shell("fit", "old.csv", *words, "-o", "days.be")
    found, model = judged("days.be"), load("days.be")
    assert (found.n_rows, found.n_windows, found.n_without_target) == (43, 47, 7)
    frame = model.cross_validation(known, n_windows=48, refit="never", level=[90])
    lower, upper = "BatchEnsemble-lo-90", "BatchEnsemble-hi-90"
    frame = frame.dropna(subset="sold")
    assert not frame["day"].isin(days["day"][lost]).any()
    errors = frame["sold"] - frame["BatchEnsemble"]
    assert found.scores["rmse"] == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-6)
    held = frame["sold"].between(frame[lower], frame[upper]).mean()
    assert found.scores["coverage"] == pytest.approx(held)
    curve = dict(zip(found.calibration.at, found.calibration.values, strict=True))
    assert curve[0.9] == pytest.approx(held, abs=0.02)
    steps = {row[1]: row[2] for row in found.subgroups.rows if row[0] == "step"}
    counts = frame.groupby(frame["day"] - frame["cutoff"])["sold"].size()
    assert [steps[k] for k in "123"] == counts.tolist()
    assert found.selective.values[-1] == pytest.approx(
        np.sqrt((errors**2).groupby(frame["cutoff"]).mean().mean()), rel=1e-6
    )
    parts = [part.coverage for part in found.coverage_in_time]
    assert len(parts) == 3
    assert np.isfinite(parts).all()


@pytest.mark.filterwarnings("ignore:.* values are missing")
def test_one_window_with_a_gap_is_judged_by_the_rest(shell):
    new = sales().query("store == 'north'")
    late = new["month"].between("2022-01-01", "2022-04-01")
    new.loc[late].assign(sales=[None, 90.0, 95.0, 99.0]).to_csv("test.csv", index=False)
    found = judged("sales.be")
    assert (found.n_windows, found.n_rows) == (1, 3)
