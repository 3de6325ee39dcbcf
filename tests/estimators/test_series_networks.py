"""What each kind of network reads and is made from."""

import numpy as np
import pandas as pd
import pytest
from fixtures import long_frame

from batchensemble.data.panels import read_panel
from batchensemble.data.series_encoder import SeriesEncoder
from batchensemble.estimators.presets import SERIES_PRESETS
from batchensemble.estimators.series_networks import NETWORKS, automatic_context


def setup(preset, panel, season=None, **changes):
    settings = SERIES_PRESETS[preset] | {"gates": "czf"} | changes
    return NETWORKS[settings["network"]](settings, panel, season)


@pytest.mark.parametrize(
    ("freq", "season", "usual", "n_series", "context"),
    [
        ("MS", 12, 500, 100, 120),
        ("MS", 12, 500, 1, 120),
        ("MS", 12, 144, 1, 96),
        ("MS", 12, 90, 1, 72),
        ("MS", 12, 90, 10, 90),
        ("MS", 12, 50, 1, 50),
        ("D", 7, 500, 1, 70),
        ("W", 52, 500, 1, 156),
        ("h", 24, 5000, 1, 337),
        ("30min", 48, 9999, 1, 673),
        ("YS", 1, 500, 1, 32),
        ("QS", 4, 500, 1, 40),
        ("YS", 1, 2, 1, 3),
    ],
)
def test_the_context_is_some_seasons_as_far_as_series_reach(freq, season, usual, n_series, context):
    freq = pd.tseries.frequencies.to_offset(freq)
    assert automatic_context(freq, season, usual, n_series) == context


def test_members_start_apart_in_the_first_layer_and_own_their_heads():
    recipe = setup("best", read_panel(long_frame())).recipe(covariates=3)
    assert recipe["adapters"] == ("rsb", "rsb", "wb")
    assert recipe["init"] == ("random_sign", "ones", "ones")
    chosen = setup("best", read_panel(long_frame()), adapters="rs").recipe(covariates=3)
    assert chosen["adapters"] == "rs"


def test_only_short_series_are_lengthened_and_what_is_repeated_is_marked():
    panel = read_panel(long_frame(2, 60))
    encoder = SeriesEncoder("difference", calendar=False, period=12, linear=True).fit(panel)
    short = setup("default", panel, 12, context=40, horizon=6)
    encoded, starts = short.lengthened(encoder.encode(panel), panel)
    n_added = 40 - max(2 * 12 + 1, 2 * 40 // 3)
    np.testing.assert_array_equal(np.diff(starts), [60 + n_added] * 2)
    np.testing.assert_array_equal(encoded.covariates[: n_added + 1, 0], [-1.0] * n_added + [1.0])
    long = setup("default", panel, 12, context=20, horizon=6)
    assert long.lengthened(encoder.encode(panel), panel)[1].tolist() == [0, 60, 120]


@pytest.mark.parametrize(
    ("freq", "n", "n_series", "hidden", "dropout"),
    [
        ("h", 24 * 100, 1, (128, 128), 0.1),
        ("h", 24 * 99, 1, (64,), 0.3),
        ("h", 24 * 34, 3, (128, 128), 0.1),
        ("W", 520, 1, (64,), 0.3),  # a long season that came back ten times
        ("MS", 120, 20, (64,), 0.3),  # a short one that came back two hundred times
    ],
)
def test_where_a_long_season_came_back_often_the_network_is_wider(
    freq, n, n_series, hidden, dropout
):
    panel = read_panel(long_frame(n_series, n, freq))
    found = setup("default", panel).settings
    assert (found["hidden"], found["dropout"]) == (hidden, dropout)
    told = setup("default", panel, hidden=(5,), dropout=0.0, lr=0.5).settings
    assert (told["hidden"], told["dropout"], told["lr"]) == ((5,), 0.0, 0.5)
    assert setup("fast", panel).settings["hidden"] == SERIES_PRESETS["fast"]["hidden"]


@pytest.mark.parametrize(
    ("n_days", "n_series", "blended"), [(99, 1, True), (100, 1, False), (99, 3, True)]
)
def test_smoothers_know_a_week_that_series_are_too_short_to_teach(n_days, n_series, blended):
    panel = read_panel(long_frame(n_series, 24 * n_days, "h"))
    assert setup("default", panel).recipe(covariates=3)["blended"] is blended


def test_one_value_is_not_enough_to_read_but_for_the_recurrent_network():
    panel = read_panel(long_frame())
    with pytest.raises(ValueError, match="context of at least 2 steps, got 1"):
        setup("default", panel, context=1)
    assert setup("default", panel, context=2).context == 2
    assert setup("recurrent", panel, context=1).context == 1
