from io import BytesIO
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure

from batchensemble.plots.svg import SVG, inline, tip


def saved(draw):
    figure, buffer = Figure(), BytesIO()
    draw(figure.subplots())
    figure.savefig(buffer, format="svg")
    return buffer.getvalue()


def test_each_mark_has_its_own_words_and_lines_of_words_stay_lines():
    def draw(axes):
        tip(axes.scatter([1, 2, 3], [1, 2, 3]), ["one", "two\nlines", "a & <b>"])

    root = ElementTree.fromstring(inline(saved(draw)))
    titles = [e.text for use in root.iter(f"{SVG}use") for e in use.iter(f"{SVG}title")]
    assert titles == ["one", "two\nlines", "a & <b>"]


def test_words_for_fewer_marks_than_there_are_is_an_error():
    with pytest.raises(ValueError, match="shorter"):
        inline(saved(lambda axes: tip(axes.scatter([1, 2], [1, 2]), ["one"])))


def test_black_and_grey_become_the_pages_own_ink():
    text = inline(saved(lambda axes: axes.axhline(0.5, color="#666666")))
    assert "var(--soft)" in text
    assert "var(--ink)" in text
    assert "#000000" not in text


def test_characters_that_no_page_may_hold_become_spaces():
    def draw(axes):
        tip(axes.scatter([1], [1]), ["soft\x0bbreak\ue000"])

    root = ElementTree.fromstring(inline(saved(draw)))
    assert next(root.iter(f"{SVG}title")).text == "soft break"
