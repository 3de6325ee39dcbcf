"""Turns the equations of the pages into MathML while the site is built.

Browsers render MathML natively, so equations need no script and no network.
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
    # latex2mathml makes the logarithm a variable, without space around it.
    mathml = mathml.replace("<mi>log</mi>", '<mo lspace="0.17em" rspace="0.17em">log</mo>')
    # Bars have no left and right, and stretch too far.
    mathml = mathml.replace(
        "<mo>&#x0007C;</mo>", '<mo stretchy="false" lspace="0" rspace="0">|</mo>'
    )
    # Unknown commands, and the rest of unknown environments, come through as letters.
    if "\\" in mathml or "<mi>&</mi>" in mathml:
        raise ValueError(
            f"expected LaTeX that latex2mathml knows, got {latex!r}; write it with other commands, "
            "and for several lines use split"
        )
    return mathml
