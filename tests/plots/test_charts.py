import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from batchensemble.plots.charts import Chart, curve, dots, fan, grid, scatter
from batchensemble.plots.looks import look
from batchensemble.plots.sheets import MeanSE
from batchensemble.plots.svg import SVG

OWN, OTHER = look("batch_ensemble"), look("single")
AT, VALUES = [0.2, 0.5, 0.9], [1.0, 2.0, 4.0]


def axes_of(chart):
    axes = Figure().subplots()
    chart.draw(axes)
    return axes


def tips(chart):
    return [title.text for title in ElementTree.fromstring(chart.svg()).iter(f"{SVG}title")]


def forecast(times):
    rows = {"truth": 2.0, "mean": 1.0, "lower": 0.0, "upper": 3.0}
    return pd.DataFrame({"time": times, **{name: [v] * len(times) for name, v in rows.items()}})


CHARTS = {
    "dots": dots("NLL", [(OWN, MeanSE(1.0, 0.1)), (OTHER, MeanSE(1.2, 0.1))], 0.9),
    "curve": curve("Error", AT, [(OWN, VALUES), (OTHER, VALUES[::-1])], x="share", y="RMSE"),
    "scatter": scatter(
        "Truth", [(0.0, 1.0, "row 1"), (2.0, 3.0, "row 2")], "#0072B2", x="a", y="b"
    ),
    "fan": fan("Steps", forecast(pd.date_range("2026-01-01", periods=4)), "#0072B2", y="sales"),
}


@pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS)
def test_a_chart_in_a_page_has_no_size_no_style_for_others_and_no_ids_but_those_it_needs(chart):
    root = ElementTree.fromstring(chart.svg())
    assert "width" not in root.attrib
    assert root.attrib["viewBox"]
    assert not list(root.iter(f"{SVG}style"))
    ids = re.findall(r'\bid="([^"]+)"', chart.svg())
    needed = re.findall(r'url\(#([^)]+)\)|xlink:href="#([^"]+)"', chart.svg())
    assert len(ids) == len({*ids})
    assert {*ids} == {a or b for a, b in needed}
    assert "#000000" not in chart.svg()  # but the page's own ink, light or dark
    assert "var(--ink)" in chart.svg()


def test_letters_that_the_font_lacks_reach_the_page_without_a_warning():
    chart = curve("家賃", AT, [(OWN, VALUES)], x="面積", y="🏠 都市")
    assert "面積" in chart.svg()


@pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS)
def test_a_chart_is_the_same_text_whenever_it_is_drawn(chart):
    assert chart.svg() == chart.svg()


def test_two_charts_of_a_page_share_no_ids():
    one, other = (re.findall(r'\bid="([^"]+)"', CHARTS[name].svg()) for name in ("dots", "curve"))
    assert not {*one} & {*other}


def test_a_dot_has_its_error_bar_its_name_on_the_axis_and_its_numbers_under_the_pointer():
    axes = axes_of(CHARTS["dots"])
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [OWN.label, OTHER.label]
    for bar, mean in zip(axes.containers, (1.0, 1.2), strict=True):
        assert bar.lines[0].get_xdata()[0] == mean
        ends = bar.lines[2][0].get_segments()[0][:, 0]
        assert np.ptp(ends) / 2 == pytest.approx(0.1)
    assert axes.lines[0].get_xdata()[0] == 0.9
    assert tips(CHARTS["dots"]) == [
        "BatchEnsemble: 1.000 ± 0.100 (mean ± standard error)",
        "Single: 1.200 ± 0.100 (mean ± standard error)",
    ]


def test_a_number_that_would_hide_the_others_is_written_beside_the_panel_in_its_colour():
    close = [(OWN, MeanSE(1.0 + i / 10, 0.1)) for i in range(3)]
    for far, arrow in ((1e3, "→ 1000.000 ± 1.000"), (-9e2, "← -900.000 ± 1.000")):
        chart = dots("NLL", [*close, (OTHER, MeanSE(far, 1.0))], None)
        axes = axes_of(chart)
        (text,) = axes.texts
        assert (text.get_text(), text.get_color()) == (arrow, OTHER.colour)
        axes.figure.draw_without_rendering()
        assert text.get_window_extent().x0 >= axes.get_window_extent().x1
        assert max(map(abs, axes.get_xlim())) < 10
        assert len(tips(chart)) == 3


def test_a_curve_without_standard_errors_has_plain_numbers_under_the_pointer():
    chart = curve("Error", AT, [(OWN, VALUES)], x="share", y="RMSE")
    assert tips(chart) == [
        "share 20.0%\nBatchEnsemble: 1.000",
        "share 50.0%\nBatchEnsemble: 2.000",
        "share 90.0%\nBatchEnsemble: 4.000",
    ]
    assert "±" not in chart.words
    assert not axes_of(chart).collections
    spread = curve("Error", AT, [(OWN, [MeanSE(v, 0.1) for v in VALUES])], x="share", y="RMSE")
    assert "±" in spread.words
    assert len(axes_of(spread).collections) == 1
    assert OWN.colour.lower() in chart.svg()


def test_the_pointer_shows_all_methods_of_a_curve_at_once_and_the_strips_leave_no_gap():
    chart = CHARTS["curve"]
    assert tips(chart)[0] == "share 20.0%\nBatchEnsemble: 1.000\nSingle: 4.000"
    assert [start for start, *_ in chart.strips][1:] == [end for _, end, _ in chart.strips][:-1]
    assert (chart.strips[0][0], chart.strips[-1][1]) == (0.2, 0.9)


def test_dots_grow_with_the_rows_behind_them():
    rows = [1, 40, 9]
    values = [0.3, 0.5, 0.8]
    chart = curve("Right", AT, [(OWN, values)], x="share", y="right", diagonal=True, counts=rows)
    first, second, third = axes_of(chart).collections[0].get_sizes()
    assert first < third < second
    assert [words.split("rows: ")[1] for words in tips(chart)] == ["1", "40", "9"]


def test_a_scatter_has_a_dot_for_each_point_and_the_diagonal():
    points = [(float(i), i + 0.5, f"row {i}") for i in range(7)]
    chart = scatter("Truth and prediction", points, OWN.colour, x="truth", y="prediction")
    (marks,) = axes_of(chart).collections
    np.testing.assert_allclose(marks.get_offsets(), [point[:2] for point in points])
    assert tips(chart)[3] == "row 3: truth 3, prediction 3.5"
    assert len(tips(chart)) == 7
    assert "stroke-dasharray" in chart.svg()


TIMES = {"dates": pd.date_range("2026-01-01", periods=4, freq="MS"), "steps": np.arange(4)}


@pytest.mark.parametrize("times", TIMES.values(), ids=TIMES)
def test_a_fan_shows_truth_forecast_and_interval(times):
    chart = fan("The last 4 steps", forecast(times), OWN.colour, y="sales")
    axes = axes_of(chart)
    line, marks = axes.lines
    assert (line.get_ydata() == 1.0).all()
    assert (marks.get_ydata() == 2.0).all()
    edges = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert (edges.min(), edges.max()) == (0.0, 3.0)
    start = "2026-01-01" if times is TIMES["dates"] else "0"
    assert tips(chart)[0] == f"{start}: truth 2.000, mean 1.000, lower 0, upper 3.000"
    assert len(tips(chart)) == 4


@pytest.mark.parametrize("freq", ["D", "h", "MS", "YS"])
def test_the_times_below_a_fan_do_not_touch(freq):
    times = pd.date_range("2024-02-10", periods=14, freq=freq)
    figure = Figure(figsize=(3.1, 2.4), layout="constrained")
    axes = figure.subplots()
    fan("The last 14 steps", forecast(times), OWN.colour, y="sales").draw(axes)
    axes.tick_params(labelsize=8)
    figure.draw_without_rendering()
    labels = [label for label in axes.get_xticklabels() if label.get_text()]
    boxes = [label.get_window_extent() for label in labels]
    shown = [box for box in boxes if box.x0 >= 0 and box.x1 <= figure.bbox.width]
    assert len(shown) >= 3
    assert min(b.x0 - a.x1 for a, b in pairwise(shown)) > 2


def test_a_grid_has_charts_in_rows_their_titles_above_and_one_legend():
    row = [CHARTS["curve"], Chart("Adult: NLL", "", lambda axes: None)]
    figure = grid([row, row], "A title", "a note", width=2.0, height=2.0)
    assert [axes.get_title() for axes in figure.axes] == ["Error", "Adult\nNLL"] * 2
    assert figure.get_suptitle() == "A title\na note"
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.texts] == [OWN.label, OTHER.label]


@pytest.mark.parametrize(
    ("arrow", "label"),
    [("←", ("← better", "")), ("→", ("better →", "")), ("↓", ("", "↓ better")), ("", ("", ""))],
)
def test_a_grid_marks_on_the_axis_which_direction_is_better(arrow, label):
    chart = Chart("NLL", "", lambda axes: None, better=arrow)
    (axes,) = grid([[chart]], "A title", "", width=2.0, height=2.0).axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == label


def test_a_plot_of_coverage_is_square_and_its_axes_have_the_same_range():
    chart = curve("Coverage", AT, [(OWN, VALUES)], x="nominal", y="empirical", diagonal=True)
    axes = axes_of(chart)
    assert axes.get_box_aspect() == 1
    assert axes.get_xlim() == axes.get_ylim() == (0, 1)
    assert axes_of(CHARTS["curve"]).get_box_aspect() is None


def test_a_hostile_name_stays_text():
    bad = look('<script>alert("1")</script>')
    chart = dots("NLL", [(bad, MeanSE(1.0, 0.1))], None)
    assert "<script" not in chart.svg()
    assert tips(chart)[0].startswith(bad.label)
