import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from batchensemble import Forecaster
from batchensemble.data.panels import read_panel
from batchensemble.plots.forecast import plot_forecast

LEVELS = (50, 80, 95)


def panel(n_series=1, length=30, freq="MS", zone=None):
    times = pd.date_range("2020-01-01", periods=length, freq=freq, tz=zone)
    parts = [
        pd.DataFrame({"unique_id": f"s{i}", "ds": times, "y": np.arange(length) + 100.0 * i})
        for i in range(n_series)
    ]
    return read_panel(pd.concat(parts))


def drawn(series, h=6, history=12, levels=LEVELS, **rest):
    mean = series.values[series.starts[1:] - 1][:, None] + np.arange(1, h + 1)
    fan = {level: (mean - level / 10, mean + level / 10) for level in levels}
    return plot_forecast(series, mean, fan, history=history, **rest)


def lines(ax):
    return {line.get_label(): line for line in ax.lines}


def bounds(ax):
    """Lower and upper edge of each interval at the last step, by label."""
    ends = {c.get_label(): c.get_paths()[0].vertices for c in ax.collections}
    return {
        label: (v[v[:, 0] == v[:, 0].max(), 1].min(), v[v[:, 0] == v[:, 0].max(), 1].max())
        for label, v in ends.items()
    }


def test_the_fan_of_a_wider_level_contains_the_narrower_one():
    (ax,) = drawn(panel()).axes
    edges = bounds(ax)
    assert list(edges) == ["95 % interval", "80 % interval", "50 % interval"]  # widest behind
    lows, highs = zip(*edges.values(), strict=True)
    assert list(lows) == sorted(lows)
    assert list(highs) == sorted(highs, reverse=True)
    mean = lines(ax)["forecast (mean)"].get_ydata()
    assert max(lows) < mean[-1] < min(highs)


def test_wider_intervals_are_paler_also_in_grey():
    (ax,) = drawn(panel(), levels=(20, 40, 60, 80)).axes
    greys = [c.get_facecolor()[0, :3] @ [0.299, 0.587, 0.114] for c in ax.collections]
    assert (np.diff(greys) < -0.04).all()


@pytest.mark.parametrize("history", [1, 12, 1000])
def test_history_shown_ends_where_the_forecast_begins(history):
    series = panel()
    (ax,) = drawn(series, history=history).axes
    past, ahead = (lines(ax)[label] for label in ("history", "forecast (mean)"))
    assert past.get_xdata()[-1] == ahead.get_xdata()[0]
    assert past.get_ydata()[-1] == ahead.get_ydata()[0]
    assert len(past.get_xdata()) == min(history, 30)
    assert len(ahead.get_xdata()) == 7
    assert ahead.get_xdata()[-1] == series.future_times(6)[-1].to_datetime64()


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 9])
def test_several_series_get_panels_of_their_own_up_to_six(n):
    figure = drawn(panel(n))
    assert [ax.get_title("left") for ax in figure.axes] == [f"s{i}" for i in range(min(n, 6))]
    for i, ax in enumerate(figure.axes):
        assert lines(ax)["history"].get_ydata()[-1] == 100 * i + 29
        assert ax.get_legend() is None
    assert len(figure.legends) == 1
    assert figure.get_suptitle() == ("The first 6 of 9 series" if n == 9 else "")


def test_an_axis_of_the_callers_is_drawn_on_and_only_for_one_series():
    from matplotlib.figure import Figure

    figure = Figure()
    ax = figure.subplots()
    assert drawn(panel(), ax=ax) is figure
    assert len(ax.get_legend().get_texts()) == 5
    with pytest.raises(ValueError, match="expected one series for one ax, got 2; name it with"):
        drawn(panel(2), ax=ax)
    with pytest.raises(TypeError, match="expected ax to be Axes of matplotlib, got list"):
        drawn(panel(), ax=[ax])


@pytest.mark.parametrize(
    ("series", "ticks"),
    [
        (panel(length=60), {"2023", "2024"}),
        (panel(freq="h", zone="Asia/Tokyo"), {"Jan-02", "12:00"}),
        (read_panel(np.arange(30.0)), {"20", "30"}),
    ],
)
def test_ticks_are_dates_by_the_clock_on_the_wall_or_whole_numbers(series, ticks):
    figure = drawn(series, history=30)
    figure.draw_without_rendering()
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert ticks <= set(labels)
    assert len(labels) <= 12


def test_a_figure_shows_itself_in_a_notebook_and_can_be_saved_and_pickled(tmp_path):
    figure = drawn(panel(4))
    assert figure._repr_png_().startswith(b"\x89PNG")
    figure.savefig(tmp_path / "forecast.svg")
    assert len(pickle.loads(pickle.dumps(figure)).axes) == 4


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    months = pd.date_range("2015-01-01", periods=60, freq="MS")
    frame = pd.concat(
        pd.DataFrame({"unique_id": i, "ds": months, "y": rng.normal(size=60)}) for i in range(8)
    )
    settings = {"epochs": 1, "hidden": (4,), "n_members": 2, "n_paths": 40}
    return Forecaster(horizon=4, random_state=0, **settings).fit(frame)


def test_what_is_plotted_is_what_is_predicted(model):
    (ax,) = model.plot(3, level=[80, 50]).axes
    forecast = model.predict(level=[80]).query("unique_id == 3")
    mean = lines(ax)["forecast (mean)"].get_ydata()[1:]
    np.testing.assert_allclose(mean, forecast["BatchEnsemble"], atol=1e-5)
    low, high = bounds(ax)["80 % interval"]
    expected = forecast[["BatchEnsemble-lo-80", "BatchEnsemble-hi-80"]].to_numpy()[-1]
    np.testing.assert_allclose([low, high], expected, atol=1e-5)


def test_series_horizon_and_history_are_the_callers_choice(model):
    assert len(model.plot().axes) == 6
    figure = model.plot([5, 1], h=2, level=[], history=7)
    assert [ax.get_title("left") for ax in figure.axes] == ["5", "1"]
    past, ahead = (lines(figure.axes[0])[label] for label in ("history", "forecast (mean)"))
    assert (len(past.get_xdata()), len(ahead.get_xdata())) == (7, 3)
    by_default = lines(model.plot(0).axes[0])["history"]
    assert len(by_default.get_xdata()) == min(60, 3 * max(model.context_, 4))
    for arguments, words in (
        ({"series": "z"}, r"expected ids of the series 0, 1, 2, 3, 4, \.\.\., got 'z'"),
        ({"history": 0}, "expected history to be a whole number of steps above 0, got 0"),
        ({"level": [120]}, "expected level from 1 to below 100"),
    ):
        with pytest.raises(ValueError, match=words):
            model.plot(**arguments)


def test_no_figure_stays_open_in_pyplot_and_it_is_not_even_imported():
    code = (
        "import sys, numpy as np\n"
        "from batchensemble.data.panels import read_panel\n"
        "from batchensemble.plots.forecast import plot_forecast\n"
        "assert 'matplotlib' not in sys.modules\n"
        "plot_forecast(read_panel(np.arange(9.0)), np.ones((1, 2)), {}, history=5)\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "import matplotlib; matplotlib.use('agg')\n"
        "import matplotlib.pyplot as plt\n"
        "plot_forecast(read_panel(np.arange(9.0)), np.ones((1, 2)), {}, history=5)\n"
        "assert plt.get_fignums() == []\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    message = r"plots need matplotlib: pip install 'batchensemble\[plots\]'"
    with pytest.raises(ImportError, match=message):
        drawn(panel())


def test_what_is_missing_is_a_gap_in_the_line_of_the_history():
    y = np.arange(30.0)
    y[20:25] = np.nan
    for how in ({"fill": "interpolate"}, {"marks_gaps": True}):
        shown = lines(drawn(read_panel(y, **how)).axes[0])["history"].get_ydata()
        assert np.array_equal(shown, y[-12:], equal_nan=True)
