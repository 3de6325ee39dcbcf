import re
from itertools import pairwise

import pytest

from batchensemble.plots.charts import curve, fan, scatter
from batchensemble.plots.looks import look
from batchensemble.plots.sheets import MeanSE

vl_convert = pytest.importorskip("vl_convert", reason="vl-convert-python is not installed")
OWN = look("batch_ensemble")


def drawn(chart):
    """As a browser would draw it."""
    return vl_convert.vegalite_to_svg({"width": 300, **chart.spec})


def test_a_curve_without_standard_errors_has_plain_numbers_under_the_pointer():
    at, values = [0.2, 0.5, 0.9], [1.0, 2.0, 4.0]
    chart = curve("Error", at, [(OWN, values)], x="share", y="RMSE")
    strips = chart.spec["layer"][-1]["data"]["values"]
    assert [strip["m0"] for strip in strips] == ["1.000", "2.000", "4.000"]
    assert "±" not in chart.words
    spread = curve("Error", at, [(OWN, [MeanSE(v, 0.1) for v in values])], x="share", y="RMSE")
    assert "±" in spread.words
    assert OWN.colour in drawn(chart)


def test_dots_grow_with_the_rows_behind_them():
    at, values, rows = [0.2, 0.5, 0.9], [0.3, 0.5, 0.8], [1, 40, 9]
    chart = curve("Right", at, [(OWN, values)], x="share", y="right", diagonal=True, counts=rows)
    strips = chart.spec["layer"][-1]["data"]["values"]
    assert [strip["rows"] for strip in strips] == rows
    dots = re.findall(r'aria-roledescription="point" [^>]*d="M([\d.]+)', drawn(chart))
    first, second, third = map(float, dots)  # radii
    assert first < third < second


def test_a_scatter_has_a_dot_for_each_point_and_the_diagonal():
    points = [(float(i), i + 0.5, f"row {i}") for i in range(7)]
    svg = drawn(scatter("Truth and prediction", points, OWN.colour, x="truth", y="prediction"))
    assert len(re.findall(r'aria-roledescription="point"', svg)) == 7
    assert re.search(r"truth: 3; prediction: 3\.5; row: row 3", svg)
    assert "stroke-dasharray" in svg


@pytest.mark.parametrize("is_date", [True, False])
def test_a_fan_shows_truth_forecast_and_interval(is_date):
    times = [f"2026-0{i}-01T00:00:00" if is_date else i for i in range(1, 5)]
    rows = [{"time": t, "truth": 2.0, "mean": 1.0, "lower": 0.0, "upper": 3.0} for t in times]
    svg = drawn(fan("The last 4 steps", rows, OWN.colour, is_date=is_date, y="sales"))
    assert len(re.findall(r'aria-roledescription="point"', svg)) == 4
    assert 'aria-roledescription="area mark"' in svg
    assert 'aria-roledescription="line mark"' in svg


def test_the_times_below_a_fan_do_not_touch():
    times = [f"2024-02-{day}T00:00:00" for day in range(10, 24)]
    rows = [{"time": t, "truth": 2.0, "mean": 1.0, "lower": 0.0, "upper": 3.0} for t in times]
    chart = fan("The last 14 steps", rows, OWN.colour, is_date=True, y="sales")
    wide = 51  # such a label, in this size
    for width in (340, 350, 360):
        how = {"width": width, "config": {"axis": {"labelFontSize": 12}}}
        svg = vl_convert.vegalite_to_svg({**chart.spec, **how})
        labels = re.findall(r'translate\(([\d.]+),[\d.]+\)"([^>]*)>[A-Z][a-z]+ \d\d</text>', svg)
        places = [float(place) for place, look in labels if 'opacity="0"' not in look]
        assert len(places) >= 4
        assert min(b - a for a, b in pairwise(places)) > wide + 8
