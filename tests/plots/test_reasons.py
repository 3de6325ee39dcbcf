from io import BytesIO

import numpy as np

from batchensemble.plots.reasons import (
    LESS,
    LONGEST_NAME,
    MORE,
    MOST_COLUMNS,
    plot_reasons,
    reasons_chart,
)


def drawn(values):
    names = [f"c{j}" for j in range(len(values))]
    (axes,) = plot_reasons([reasons_chart("mean: 7", names, np.array(values))]).axes
    bars = [(bar.get_width(), bar.get_facecolor()) for bar in axes.patches]
    return axes, bars, [label.get_text() for label in axes.get_yticklabels()]


def test_the_strongest_column_stands_on_top():
    axes, bars, names = drawn([0.1, -3.0, 2.0])
    assert names == ["c0", "c2", "c1"]
    assert [width for width, _ in bars] == [0.1, 2.0, -3.0]
    assert axes.get_title(loc="left") == "mean: 7"


def test_more_and_less_have_their_colours():
    from matplotlib.colors import to_rgba

    _, bars, _ = drawn([1.0, -2.0])
    assert [colour for _, colour in bars] == [to_rgba(MORE), to_rgba(LESS)]


def test_only_the_strongest_of_many_columns_are_shown():
    _, bars, names = drawn(np.arange(1.0, 31.0))
    assert len(bars) == len(names) == MOST_COLUMNS
    assert names[-1] == "c29"


def test_a_page_says_what_the_bars_show():
    chart = reasons_chart("mean: 7", ["a", "b" * 60], np.array([0.25, -3.0]))
    assert chart.words == f"mean: 7: {'b' * 60} -3, a +0.25."
    svg = chart.svg()
    assert "<title>a +0.25</title>" in svg
    assert "b" * LONGEST_NAME not in svg.replace("b" * 60, "")  # the axis has a shorter name


def test_a_dollar_in_a_name_stays_one():
    chart = reasons_chart("mean: 7", ["$a_$", "price$ and cost$ {"], np.array([1.0, 2.0]))
    assert "$ and cost$ {" in chart.svg()
    figure = plot_reasons([chart])
    figure.savefig(BytesIO())
    assert not any(label.get_parse_math() for label in figure.axes[0].get_yticklabels())
