import numpy as np
import pandas as pd
import pytest

from batchensemble.data.calendars import calendar, cycle_waves, season_length, seasons_of

offset = pd.tseries.frequencies.to_offset


@pytest.mark.parametrize(
    ("freq", "steps"),
    [
        ("YS", 1),
        ("YE-JUN", 1),
        ("QS-OCT", 4),
        ("QE", 4),
        ("BQE", 4),
        ("MS", 12),
        ("ME", 12),
        ("BMS", 12),
        ("BME", 12),
        ("2MS", 6),
        ("5MS", 1),
        ("W-SUN", 52),
        ("2W-WED", 26),
        ("B", 5),
        ("D", 7),
        ("2D", 1),
        ("24h", 7),
        ("1440min", 7),
        ("7D", 52),
        ("168h", 52),
        ("14D", 26),
        ("10D", 1),
        ("364D", 1),
        ("84h", 2),
        ("36h", 1),
        ("h", 24),
        ("60min", 24),
        ("6h", 4),
        ("7h", 1),
        ("15min", 96),
        ("min", 60),
        ("s", 60),
        ("ms", 1),
        ("200ms", 432_000),
        ("5us", 1),
        ("bh", 8),
        ("2bh", 4),
        ("C", 5),
        ("WOM-1FRI", 12),
        ("2WOM-3MON", 6),
        ("CBMS", 12),
        ("CBME", 12),
        ("SMS", 24),
        ("SME", 24),
        ("REQ-L-DEC-SAT-1", 4),
    ],
)
def test_a_season_is_what_people_mean_in_whole_steps(freq, steps):
    assert season_length(offset(freq)) == steps


OFFSETS = pd.offsets


@pytest.mark.parametrize(
    ("freq", "steps"),
    [
        (pd.DateOffset(days=1), 7),
        (pd.DateOffset(weeks=2), 26),
        (pd.DateOffset(2, months=1), 6),
        (pd.DateOffset(months=1, day=15), 12),
        (pd.DateOffset(years=1), 1),
        (pd.DateOffset(hours=6), 4),
        (pd.DateOffset(months=1, days=3), 1),
        (pd.DateOffset(day=15), 1),
        (pd.DateOffset(days=1, hour=9), 7),
        (pd.DateOffset(weeks=1.5), 1),
        (pd.DateOffset(days=0), 1),
        (pd.DateOffset(hours=1, milliseconds=5), 1),
        (pd.offsets.BusinessHour(start="23:30", end="06:30"), 7),
        (OFFSETS.LastWeekOfMonth(weekday=4), 12),
        (OFFSETS.CustomBusinessDay(weekmask="Mon Tue Wed Thu Fri Sat"), 6),
        (OFFSETS.BusinessHour(start="08:00", end="12:00"), 4),
        (OFFSETS.BusinessHour(start=["09:00", "13:30"], end=["12:00", "17:30"]), 7),
        (OFFSETS.CustomBusinessHour(start="22:00", end="02:00"), 4),
        (OFFSETS.BusinessHour(start="08:30", end="12:00"), 1),
    ],
)
def test_a_season_of_an_offset_made_by_hand_is_that_of_its_name(freq, steps):
    assert season_length(freq) == steps


@pytest.mark.parametrize(
    ("freq", "season", "seasons"),
    [
        ("h", 24, (24, 168)),
        ("15min", 96, (96, 672)),
        ("h", 12, (12,)),
        ("24h", 7, (7,)),
        ("D", 7, (7,)),
        ("MS", 12, (12,)),
        ("bh", 8, (8, 40)),
        ("2bh", 4, (4, 20)),
        ("bh", 5, (5,)),
        (OFFSETS.CustomBusinessHour(weekmask="1111110", start="08:00", end="20:00"), 12, (12, 72)),
    ],
)
def test_a_week_is_a_season_too_if_the_first_is_its_day(freq, season, seasons):
    assert seasons_of(offset(freq), season) == seasons


def test_integers_have_no_season_and_neither_they_nor_offsets_made_by_hand_a_calendar():
    for freq in (1, 5, pd.DateOffset(months=1)):
        times = pd.date_range("2020-01-15", periods=4, freq="D")
        assert season_length(freq) == (1 if isinstance(freq, int) else 12)
        assert calendar(pd.Index([1, 2]) if isinstance(freq, int) else times, freq).shape[1] == 0


@pytest.mark.parametrize(
    ("freq", "cycles"),
    [("YS", 0), ("QS", 1), ("ME", 1), ("W-SUN", 1), ("B", 2), ("D", 2), ("h", 3), ("15min", 3)],
)
def test_each_cycle_longer_than_a_step_is_a_point_on_a_circle(freq, cycles):
    features = calendar(pd.date_range("2020-01-01", periods=500, freq=freq), offset(freq))
    assert features.shape == (500, 2 * cycles)
    assert features.dtype == np.float32
    sine, cosine = features[:, :cycles], features[:, cycles:]
    np.testing.assert_allclose(sine**2 + cosine**2, 1, rtol=1e-6)


@pytest.mark.parametrize(
    ("freq", "column", "steps"), [("MS", 0, 12), ("D", 1, 7), ("h", 2, 24), ("h", 1, 168)]
)
def test_a_cycle_comes_round_after_its_steps_and_not_before(freq, column, steps):
    features = calendar(pd.date_range("2021-01-01", periods=3 * steps, freq=freq), offset(freq))
    n = features.shape[1] // 2
    point = features[:, [column, n + column]]
    np.testing.assert_allclose(point[steps:], point[:-steps], atol=1e-5)
    assert (np.linalg.norm(point[1:steps] - point[0], axis=1) > 1e-3).all()


def test_a_leap_year_and_a_time_zone_are_read_by_the_clock_on_the_wall():
    days = calendar(pd.to_datetime(["2020-02-29", "2021-12-31"]), offset("D"))
    angle = 2 * np.pi * np.array([59, 364]) / 365.25
    np.testing.assert_allclose(days[:, [0, 2]], np.stack([np.sin(angle), np.cos(angle)], 1), 1e-5)
    naive = pd.date_range("2024-03-30", periods=12, freq="h")
    aware = naive.tz_localize("Asia/Tokyo")
    np.testing.assert_array_equal(calendar(naive, offset("h")), calendar(aware, offset("h")))


def test_a_day_starts_at_midnight_and_noon_is_opposite():
    times = pd.to_datetime(["2024-01-01 00:00", "2024-01-01 12:00", "2024-01-01 06:00"])
    sine, cosine = calendar(times, offset("h"))[:, [2, 5]].T
    np.testing.assert_allclose(sine, [0, 0, 1], atol=1e-6)
    np.testing.assert_allclose(cosine, [1, -1, 0], atol=1e-6)


def test_every_step_of_a_clock_moves_it():
    for freq in ("h", "min", "s"):
        day = calendar(pd.date_range("2024-01-01", periods=4, freq=freq), offset(freq))[:, 2]
        step = pd.Timedelta(offset(freq)) / pd.Timedelta(days=1)
        np.testing.assert_allclose(day, np.sin(2 * np.pi * step * np.arange(4)), rtol=1e-5)


def test_tables_and_series_agree_on_week_and_day_and_on_the_year_to_a_day():
    random = np.random.default_rng(0)
    seconds = random.integers(-(10**9), 10**9, size=500)
    moments = np.datetime64(0, "us") + seconds * np.timedelta64(1, "s")
    cycles = ["year", "week", "day"]
    tables, series = (cycle_waves(moments, cycles, exact=exact) for exact in (True, False))
    assert tables.shape == (2, 3, 500)
    np.testing.assert_allclose(tables[:, 1:], series[:, 1:], atol=1e-9)
    apart = np.linalg.norm(tables[:, 0] - series[:, 0], axis=0)
    assert 1e-3 < apart.max() < 2 * np.pi * 2 / 365


def test_a_missing_date_has_no_position():
    moments = np.array(["2024-07-01", "NaT"], "datetime64[us]")
    waves = cycle_waves(moments, ["year", "week", "day"], exact=True)
    assert (waves[..., 1] == 0).all()
    np.testing.assert_allclose(np.hypot(*waves[..., 0]), 1)


def test_integers_are_at_a_position_in_a_cycle_of_steps():
    steps = pd.Index(np.arange(-30, 30, 3))
    angle = 2 * np.pi * np.arange(-10, 10) / 7
    expected = np.stack([np.sin(angle), np.cos(angle)], 1)
    np.testing.assert_allclose(calendar(steps, 3, period=7), expected, atol=1e-6)
    assert calendar(steps, 3).shape == (20, 0)
