import numpy as np
import pandas as pd
import pytest

from batchensemble.data.future_rows import read_future
from batchensemble.data.gaps import KEPT
from batchensemble.data.panels import read_panel
from batchensemble.data.series_encoder import SCALINGS, SeriesEncoder


def panel(lengths=(20, 13, 30), columns=False, seed=0):
    random = np.random.default_rng(seed)
    parts = []
    for i, n in enumerate(lengths):
        frame = {"ds": pd.date_range("2020-01-01", periods=n, freq="D"), "y": random.normal(size=n)}
        parts.append(pd.DataFrame({"unique_id": f"s{i}", **frame}))
    frame = pd.concat(parts, ignore_index=True)
    frame["y"] = frame["y"] * 10 + 100
    if not columns:
        return read_panel(frame)
    frame["ahead"], frame["behind"] = random.normal(size=(2, len(frame)))
    return read_panel(frame, columns=["ahead", "behind"])


def encoder(scaling="standard", calendar=False, **rest):
    return SeriesEncoder(scaling, calendar=calendar, **rest)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_encoded_values_come_back_in_the_users_units(scaling):
    series = panel()
    encoded = encoder(scaling).fit(series).encode(series)
    np.testing.assert_allclose(
        encoded.values * encoded.scale + encoded.location, series.values, rtol=1e-6
    )
    for i in range(3):
        values = encoded.values[series.rows(i)]
        if scaling == "minmax":
            assert (values.min(), values.max()) == pytest.approx((0, 1), abs=1e-6)
        elif scaling == "difference":
            lag = len(values) // 6
            change = np.abs(values[lag:] - values[:-lag]).mean()
            assert (values.mean(), change) == pytest.approx((0, 1), abs=1e-5)
        else:
            assert (values.mean(), values.std()) == pytest.approx((0, 1), abs=1e-5)


def test_a_known_series_keeps_the_scale_of_fit_and_an_unknown_one_has_its_historys():
    series = panel()
    fitted = encoder().fit(series.head(5))
    scales = [series.head(5).values[series.head(5).rows(i)].std() for i in range(3)]
    np.testing.assert_allclose(fitted.encode(series).scale[series.starts[:-1]], scales)
    unknown = encoder().fit(series.only(["s0"]))
    for learned_from, expected in ((series.head(5), scales), (None, None)):
        scale = unknown.encode(series, learned_from=learned_from).scale[series.starts[1:-1]]
        alone = [series.values[series.rows(i)].std() for i in (1, 2)]
        np.testing.assert_allclose(scale, expected[1:] if expected else alone)
    ahead = unknown.encode_ahead(series, 4, series.future_times(3), None)
    np.testing.assert_allclose(ahead.scale.reshape(3, 7)[1:, 0], alone)


@pytest.mark.parametrize("value", [0.0, 5.0, -1e9, 1e-30])
def test_a_constant_series_is_scaled_to_zero(value):
    series = read_panel(np.full(9, value))
    for scaling in SCALINGS:
        encoded = encoder(scaling).fit(series).encode(series)
        assert (encoded.values == 0).all()
        assert (encoded.scale > 0).all()


@pytest.mark.parametrize("level", [1e6, 1e13, -1e13])
def test_a_series_that_varies_far_from_zero_is_not_taken_for_a_constant(level):
    noise = np.random.default_rng(0).normal(size=90)
    series = read_panel(level + noise)
    for scaling in ("standard", "window"):
        encoded = encoder(scaling).fit(series).encode(series)
        np.testing.assert_allclose(encoded.scale, series.values.std())


def test_columns_known_ahead_belong_to_their_time_and_past_ones_come_a_step_later():
    series = panel(columns=True)
    fitted = encoder(future=["ahead"], past=["behind"]).fit(series)
    assert fitted.n_past == 2
    covariates = fitted.encode(series).covariates
    ahead, behind = (
        fitted.encoders_[kind].transform(type(series.columns)((column,)))[:, 0]
        for kind, column in zip(("future", "past"), series.columns, strict=True)
    )
    np.testing.assert_array_equal(covariates[:, 0], ahead)
    for i in range(3):
        rows = series.rows(i)
        np.testing.assert_array_equal(covariates[rows, 1][1:], behind[rows][:-1])
    assert (covariates[:, 2] == 1).all()


@pytest.mark.parametrize("reach", [4, 13])
def test_times_to_come_are_encoded_as_they_are_once_they_have_come(reach):
    whole, h = panel(columns=True), 3
    known = whole.head(h)
    fitted = encoder(calendar=True, future=["ahead"], past=["behind"]).fit(known)
    h_ahead = pd.concat(
        pd.DataFrame(
            {
                "unique_id": whole.ids[i],
                "ds": whole.times[whole.rows(i)],
                "ahead": whole.columns[0].values[whole.rows(i)],
            }
        )
        for i in range(3)
    )
    columns = read_future(known, h_ahead, h, ["ahead"])
    reach = min(reach, int(known.lengths.min()))
    ahead = fitted.encode_ahead(known, reach, known.future_times(h), columns)
    expected = fitted.encode(whole)
    for i in range(3):
        rows = slice(i * (reach + h), (i + 1) * (reach + h))
        last = whole.starts[i + 1]
        same = slice(last - reach - h, last)
        np.testing.assert_array_equal(ahead.values[rows][:reach], expected.values[same][:reach])
        assert (ahead.values[rows][reach:] == 0).all()
        n_ahead = ahead.covariates.shape[1] - fitted.n_past
        np.testing.assert_array_equal(
            ahead.covariates[rows, :n_ahead], expected.covariates[same, :n_ahead]
        )
        # What is known up to the present only reaches the first step to come, and no further.
        np.testing.assert_array_equal(
            ahead.covariates[rows, n_ahead:][1 : reach + 1],
            expected.covariates[same, n_ahead:][1 : reach + 1],
        )
        assert (ahead.covariates[rows, n_ahead:][reach + 1 :] == 0).all()
        np.testing.assert_array_equal(ahead.scale[rows], expected.scale[same])
        np.testing.assert_array_equal(ahead.location[rows], expected.location[same])


def test_series_without_dates_get_their_position_in_the_season():
    series = read_panel(pd.DataFrame({"ds": np.arange(24) * 5, "y": np.arange(24.0)}))
    features = encoder(calendar=True, period=6).fit(series).encode(series).covariates
    angle = 2 * np.pi * np.arange(24) / 6
    np.testing.assert_allclose(features, np.stack([np.sin(angle), np.cos(angle)], 1), atol=1e-6)
    for settings in ({"calendar": False, "period": 6}, {"calendar": True}):
        assert encoder(**settings).fit(series).encode(series).covariates.shape == (24, 0)


def test_an_unknown_scaling_is_answered_with_the_known_ones():
    with pytest.raises(
        ValueError, match="one of 'minmax', 'standard', 'window', 'difference', got 'robust'"
    ):
        encoder("robust")


def test_a_column_known_ahead_is_taken_out_of_the_series_and_put_back():
    random = np.random.default_rng(0)
    noise = np.cumsum(random.normal(size=300))
    frame = pd.DataFrame(
        {"unique_id": "a", "ds": np.arange(300), "price": random.uniform(-1, 1, size=300)}
    )
    frame["y"] = noise + 5 * frame["price"]
    series = read_panel(frame, columns=["price"])
    fitted = encoder("difference", linear=True, future=["price"]).fit(series)
    encoded = fitted.encode(series)
    left = encoded.values * encoded.scale + encoded.location
    # Without that, the standard deviation would be about 4.
    assert np.std(np.diff(left - noise)) < 0.2
    back = fitted.decode(encoded.values[None, None, None].astype(float), encoded, np.array([0]))
    np.testing.assert_allclose(back.ravel(), frame["y"], atol=1e-4)


@pytest.mark.parametrize("other", [0.0, -9.0])
def test_paths_of_series_that_were_never_negative_stay_so_and_others_do_not(other):
    for shift, lowest in ((0.0, 0.0), (-1.0, -6.0)):
        one, two = (
            pd.DataFrame({"unique_id": name, "ds": np.arange(8), "y": np.arange(8.0) + start})
            for name, start in (("a", shift), ("b", other))
        )
        frame = pd.concat([one, two])
        series = read_panel(frame)
        fitted = encoder("difference").fit(series)
        encoded = fitted.encode(series)
        paths = (np.full((1, 1, 1, 2), -6.0) - encoded.location[0]) / encoded.scale[0]
        assert fitted.decode(paths, encoded, np.array([0])).min() == pytest.approx(lowest)


def test_what_stands_in_the_place_of_a_missing_value_does_not_lift_the_floor():
    y = np.array([9.0, 9.0, 1.0, 9.0, 2.0, np.nan, 9.0, 5.0])  # filled: 2 - 8
    gappy = read_panel(y, marks_gaps=True)
    fitted = SeriesEncoder("difference", calendar=False, period=3, linear=True).fit(gappy)
    assert (fitted.encode(gappy).raw < 0).any()
    assert fitted.encode(gappy).lowest.tolist() == [0.0] * 8


def test_an_extreme_value_that_fit_has_not_seen_is_held_without_a_warning():
    seen = read_panel(np.sin(np.arange(30.0)))
    new = read_panel(np.where(np.arange(30) == 20, 1e60, np.sin(np.arange(30.0))))
    encoded = SeriesEncoder("standard", calendar=False).fit(seen).encode(new)
    assert np.isfinite(encoded.values).all()
    assert encoded.values[20] == encoded.values.max() > 1e20


def test_a_missing_value_is_as_a_season_before_and_marked():
    y = np.tile([1.0, 5.0, 2.0], 6) + np.repeat(np.arange(6), 3)
    gappy = y.copy()
    gappy[[1, 10, 11]] = np.nan
    marked = read_panel(gappy, marks_gaps=True)
    assert np.flatnonzero(marked.is_filled).tolist() == [1, 10, 11]
    coder = SeriesEncoder("difference", calendar=False, period=3, linear=True).fit(marked)
    encoded = coder.encode(marked)
    assert encoded.covariates[:, 0].tolist() == [float(i not in (1, 10, 11)) for i in range(18)]
    values = encoded.values * encoded.scale + encoded.location
    expected = y.copy()
    expected[[1, 10, 11]] = 1, 7 + KEPT, 4 + KEPT**2  # each season is 1 higher
    np.testing.assert_allclose(values, expected, rtol=1e-5)
    whole = SeriesEncoder("difference", calendar=False, period=3, linear=True)
    assert whole.fit(read_panel(values)).scales_["y"] == pytest.approx(coder.scales_["y"])


def test_a_gap_at_the_beginning_of_a_window_reads_nothing_of_the_series_before_it():
    frame = pd.DataFrame({"ds": pd.date_range("2020-01-01", periods=20, freq="D")})
    frame["y"] = np.arange(20.0)
    both = pd.concat([frame.assign(unique_id="a", y=frame.y + 1e6), frame.assign(unique_id="b")])
    both = both.reset_index(drop=True)
    both.loc[[10, 30, 31], "y"] = np.nan
    series = read_panel(both, marks_gaps=True)
    own = encoder("difference", linear=True, period=7).fit(series)
    ahead = own.encode_ahead(series, 10, series.future_times(3), None)
    by_series = ahead.raw.reshape(2, -1)
    assert by_series[0, 0] == 1e6 + 3 + KEPT * 7  # as a week ago, and nearly 7 more
    assert by_series[1, :3] == pytest.approx([3 + KEPT * 7, 4 + KEPT**2 * 7, 12.0])


def test_columns_known_ahead_tell_nothing_where_nothing_was_observed():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"ds": pd.date_range("2020-01-01", periods=60)})
    frame["promo"] = (random.random(60) < 0.3) * 1.0
    frame["y"] = (100 + 30 * frame["promo"]).where((frame.index < 40) | (frame.index > 50))
    read = [
        encoder("difference", linear=True, period=7, future=["promo"])
        .fit(read_panel(frame, columns=["promo"], marks_gaps=True))
        .encode(read_panel(other, columns=["promo"], marks_gaps=True))
        for other in (frame, frame.assign(promo=frame["promo"].where(frame["y"].notna(), 1.0)))
    ]
    np.testing.assert_allclose(read[0].values, read[1].values, atol=1e-6)
