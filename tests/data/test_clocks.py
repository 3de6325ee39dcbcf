"""Laws of clocks that skip an hour: a day begins as all others do, or right after."""

import numpy as np
import pandas as pd
import pytest
from fixtures import TINY_FORECASTER

from batchensemble import Forecaster, load
from batchensemble.data.clocks import alike, localized, strays, walls
from batchensemble.data.panels import read_panel

SKIPPED = [  # zones, the day whose first hour is skipped, and when series are measured
    ("America/Santiago", "2024-09-08", "0h"),
    ("Africa/Cairo", "2024-04-26", "0h"),
    ("Asia/Beirut", "2024-03-31", "0h"),
    ("Europe/Berlin", "2024-03-31", "2h"),
]


def days(first, last, zone, late="0h"):
    times = localized(pd.date_range(first, last) + pd.Timedelta(late), zone)
    values = 10 + 3 * np.sin(2 * np.pi * np.arange(len(times)) / 7)
    return pd.DataFrame({"unique_id": "a", "ds": times, "y": values})


def test_a_clock_shows_the_time_of_day_of_the_row_beside_where_it_was_skipped():
    times = days("2024-09-06", "2024-09-09", "America/Santiago")["ds"]
    times = pd.DatetimeIndex(times)
    assert times[2].hour == 1
    shown = walls(times, np.arange(4), np.array([1, 0, 1, 2]))
    assert shown.tolist() == pd.date_range("2024-09-06", periods=4).tolist()
    at_one = pd.date_range("2024-09-06 01:00", periods=4, tz="America/Santiago")  # negative control
    assert (walls(at_one, np.arange(4), np.array([1, 0, 1, 2])).hour == 1).all()


@pytest.mark.parametrize(("zone", "day", "late"), SKIPPED)
def test_days_go_on_where_a_clock_skips_their_start(zone, day, late):
    day = pd.Timestamp(day)
    frame = days(day - pd.Timedelta("90D"), day + pd.Timedelta("5D"), zone, late)
    every, n = frame["ds"].tolist(), 90
    assert (every[n] - every[n - 1], every[n + 1] - every[n]) != (pd.Timedelta("1D"),) * 2
    assert read_panel(frame[:n]).future_times(4).tolist() == every[n : n + 4]
    assert read_panel(frame[: n + 1]).future_times(4).tolist() == every[n + 1 : n + 5]
    assert read_panel(frame[n:]).times.tolist() == every[n:]
    gappy = frame[n:].drop(index=n + 1)
    assert read_panel(gappy, fill="ffill").times.tolist() == every[n:]


@pytest.mark.parametrize("freq", [None, "D"])
def test_a_model_is_updated_and_saved_over_a_day_without_midnight(freq, tmp_path):
    frame = days("2024-05-01", "2024-09-12", "America/Santiago")
    n = len(frame) - 5  # the next row is of the day
    model = Forecaster(**TINY_FORECASTER, freq=freq).fit(frame[:n])
    for row in range(n, n + 4):
        model.update(frame[row : row + 1])
        model.save(tmp_path / "m.be")
        model = load(tmp_path / "m.be")
        assert model.predict(h=1)["ds"].tolist() == frame["ds"][row + 1 : row + 2].tolist()


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe"])
def test_hours_go_on_where_a_clock_shows_one_twice(zone):
    times = pd.date_range("2024-10-26", "2024-10-28", freq="h", tz="Europe/Berlin").tz_convert(zone)
    frame = pd.DataFrame({"unique_id": "a", "ds": times, "y": np.arange(float(len(times)))})
    model = Forecaster(**TINY_FORECASTER, freq="h").fit(frame[:20])
    for row in range(20, 40):
        model.update(frame[row : row + 1])
    assert model.panel_.times.tolist() == times[:40].tolist()


def test_times_are_made_alike_unless_one_has_a_zone_or_is_a_number():
    days = pd.date_range("2026-01-01", periods=2, freq="h")
    tokyo, utc = (days.tz_localize(zone) for zone in ("Asia/Tokyo", "UTC"))
    same = alike(utc.as_unit("ns"), tokyo.as_unit("us"))
    assert same.tolist() == utc.tolist()
    assert (str(same.tz), same.unit) == ("Asia/Tokyo", "us")
    for times, like in ((utc, days), (pd.Index([1]), days), (days, pd.Index([1]))):
        with pytest.raises(ValueError, match=r"expected times of the type .* as in fit, got"):
            alike(times, like)


@pytest.mark.parametrize("freq", [None, "D"])
@pytest.mark.parametrize("zone", ["Etc/GMT-2", "Europe/Berlin"])
def test_days_of_a_clock_changed_in_summer_are_not_taken_for_the_days_before(zone, freq):
    frame = days("2023-11-06", "2024-04-20", "Europe/Berlin")
    winter = frame[frame["ds"] < "2024-03-31"]
    fixed = winter.assign(ds=winter["ds"].dt.tz_convert("Etc/GMT-1"))
    model = Forecaster(**TINY_FORECASTER, freq=freq).fit(fixed)
    april = frame[frame["ds"] >= "2024-04-02"]
    april = april.assign(ds=april["ds"].dt.tz_convert(zone))
    refused = (
        r"local clock of the training data, such as .*\+01:00, got 2024-04-02.*\+02:00.*summer.*; "
        "fit again with"
    )
    for use in (lambda df: model.predict(df=df), model.update):
        with pytest.raises(ValueError, match=refused):
            use(april)
    known = Forecaster(**TINY_FORECASTER, freq=freq).fit(winter).predict(df=april, h=1)
    assert known["ds"].tolist() == [pd.Timestamp("2024-04-21", tz="Europe/Berlin")]


def test_days_written_in_utc_are_told_of_the_clock_where_one_begins_an_hour_off():
    frame = days("2023-11-06", "2024-04-20", "Europe/London")
    utc = frame.assign(ds=frame["ds"].dt.tz_convert("UTC"))
    model = Forecaster(**TINY_FORECASTER).fit(utc[utc["ds"] < "2024-03-31"])
    gap = utc[(utc["ds"] < "2024-03-31") | (utc["ds"] > "2024-04-01")]
    with pytest.raises(ValueError, match=r"got 2024-04-01 23:00.*summer.*; use times in the zone"):
        model.predict(df=gap)
    hours = pd.date_range("2024-01-01", periods=9, freq="2h", tz="UTC")[[0, 1, 2, 3, 4, 6, 7, 8]]
    odd = pd.DataFrame({"ds": hours.insert(3, hours[3] + pd.Timedelta("1h")), "y": 1.0})
    with pytest.raises(ValueError, match="frequencies may be mixed"):
        read_panel(odd, freq="2h")


def test_strays_are_not_looked_for_among_hours_nor_where_a_clock_skips_midnight():
    chile = pd.DatetimeIndex(days("2024-09-01", "2024-09-12", "America/Santiago")["ds"])
    assert not strays(chile, chile[:3]).size
    assert len(strays(chile + pd.Timedelta("1h"), chile)) == len(chile)
    hours = pd.date_range("2024-09-01", periods=5, freq="h", tz="UTC")
    assert not strays(hours + pd.Timedelta("1min"), hours).size


def test_a_day_that_a_zone_skipped_is_refused_and_a_clock_that_skips_hours_is_not():
    days = pd.date_range("2011-10-20", "2011-12-28", freq="D", tz="Pacific/Apia")
    frame = pd.DataFrame({"unique_id": "a", "ds": days, "y": np.sin(np.arange(len(days)))})
    panel = read_panel(frame)
    assert panel.future_times(1)[0] == pd.Timestamp("2011-12-29", tz="Pacific/Apia")
    with pytest.raises(ValueError, match="Pacific/Apia, which skipped one before 2011-12-31"):
        panel.future_times(5)
