"""Turns the equations of the pages into MathML while the site is built.

Browsers draw MathML by themselves, so that equations need no script and no network.
"""

import re
from html import unescape
from typing import Any

from latex2mathml.converter import convert

# What pymdownx.arithmatex makes of $...$ and of $$...$$.
EQUATION = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.S)


def on_page_content(html: str, **_: Any) -> str:
    """Called by mkdocs for every page."""
    return EQUATION.sub(_mathml, html)


def _mathml(equation: re.Match[str]) -> str:
    latex = unescape(equation[2]).strip()
    mathml: str = convert(latex, display="block" if equation[1] == "div" else "inline")
    # The logarithm comes as a variable, which touches its neighbours.
    mathml = mathml.replace("<mi>log</mi>", '<mo lspace="0.17em" rspace="0.17em">log</mo>')
    # Bars do not know which side they are on, and stretch too far.
    mathml = mathml.replace(
        "<mo>&#x0007C;</mo>", '<mo stretchy="false" lspace="0" rspace="0">|</mo>'
    )
    # An unknown command, and what remains of an unknown environment, come through as letters.
    if "\\" in mathml or "<mi>&</mi>" in mathml:
        raise ValueError(
            f"expected LaTeX that latex2mathml knows, got {latex!r}; say it in other commands, and "
            "for several lines use split"
        )
    return mathml
