"""A figure of matplotlib as SVG inside a page, with words under the pointer."""

import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

INK, SOFT = "#000000", "#666666"  # a page shows them in colours of its own
SVG, LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
NEXT, LINE = "\ue000", "\ue001"  # between tips, and between lines of one
NOT_IN_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # Excel's soft line breaks


def tip(artist: Any, words: Sequence[str]) -> None:
    """What the pointer shows over each of an artist's marks in a page."""
    told = (word.replace(NEXT, "").replace("\n", LINE) for word in words)
    artist.set_gid(NEXT.join(("tip", *told)))


def inline(svg: bytes) -> str:
    """As part of a page: without what would reach beyond it, in few bytes, and with its tips."""
    root = ElementTree.fromstring(NOT_IN_XML.sub(" ", svg.decode()))
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    for parent in list(root.iter()):
        for child in [c for c in parent if c.tag in (f"{SVG}metadata", f"{SVG}style")]:
            parent.remove(child)
    every = list(root.iter())
    used = {e.attrib[f"{LINK}href"][1:] for e in every if f"{LINK}href" in e.attrib}
    used |= {e.attrib["clip-path"][5:-1] for e in every if "clip-path" in e.attrib}
    for element in every:
        name = element.attrib.get("id", "")
        if name not in used:
            element.attrib.pop("id", None)
        if name.startswith("tip"):
            paths = (e for e in element.iter(f"{SVG}path") if "id" not in e.attrib)
            marks = list(element.iter(f"{SVG}use")) or list(paths)
            element.set("class", "tip")
            for mark, words in zip(marks, name.split(NEXT)[1:], strict=True):
                ElementTree.SubElement(mark, f"{SVG}title").text = words.replace(LINE, "\n")
        for key in ("d", "x", "y", "transform"):
            if key in element.attrib:
                short = re.sub(r"\d+\.\d{2,}", _rounded, element.attrib[key])
                element.set(key, re.sub(r"\s+", " ", short).strip())
        if "style" in element.attrib:
            element.set("style", _page_style(element.attrib["style"]))
    ElementTree.register_namespace("", SVG[1:-1])
    ElementTree.register_namespace("xlink", LINK[1:-1])
    return re.sub(r">\s+<", "><", ElementTree.tostring(root, encoding="unicode"))


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.1f}"


def _page_style(style: str) -> str:
    style = re.sub(r"font-family: [^;]*; ", "", style)
    return style.replace(INK, "var(--ink)").replace(SOFT, "var(--soft)")
