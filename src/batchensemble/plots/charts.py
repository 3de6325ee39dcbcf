"""The report's charts as Vega-Lite: they carry their numbers, and show them under the pointer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from batchensemble.plots.looks import Look
from batchensemble.plots.sheets import MeanSE, brief, near_range, show

SHAPES = {
    "o": "circle",
    "s": "square",
    "^": "triangle-up",
    "D": "diamond",
    "v": "triangle-down",
    "P": "cross",
    "X": "triangle-left",
    "*": "triangle-right",
}
DOTTED = [2, 3]

Spec = dict[str, Any]


@dataclass(frozen=True)
class Chart:
    """A drawing with its title and its words for those who do not see it."""

    title: str
    words: str
    spec: Spec
    kind: str  # how the page lays it out: "panel" or "curve"
    note: str = ""  # below its title


def panel(title: str, found: Sequence[tuple[Look, MeanSE]], limit: float | None) -> Chart:
    """A dot with its standard error for each method, and a dotted line at `limit`."""
    looks = [look for look, _ in found]
    rows = [_point(look, cell) | {"text": show(cell)} for look, cell in found]
    shown = near_range([cell for _, cell in found])
    scale: Spec = {"zero": False, "padding": 8} if shown is None else {"domain": [*shown]}
    x = {"type": "quantitative", "scale": scale, "title": None}
    x |= {"axis": {"tickCount": 5, "labelSeparation": 12, "labelOverlap": True}}
    dots = {
        "data": {"values": rows},
        "encoding": {
            "y": _field("method", "nominal", sort=None, title=None),
            "color": _by_method(looks, "colour"),
            "tooltip": [
                _field("method", "nominal"),
                _field("text", "nominal", title="mean ± standard error"),
            ],
        },
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 2, "clip": True},
                "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "opacity": 1, "size": 85, "clip": True},
                "encoding": {"x": {"field": "mean", **x}, "shape": _by_method(looks, "mark")},
            },
            *_far_out(rows, shown),
        ],
    }
    line = {
        "name": "guide",  # the page's style knows it by this name
        "data": {"values": [{"limit": limit}]},
        "mark": {"type": "rule", "strokeDash": DOTTED},
        "encoding": {"x": {"field": "limit", **x}},
    }
    layers = [dots] if limit is None else [line, dots]
    words = f"{title}: " + "; ".join(f"{look.label} {show(cell)}" for look, cell in found) + "."
    return Chart(title, words, {"height": 26 * len(rows), "layer": layers}, "panel")


def _far_out(rows: Sequence[Spec], shown: tuple[float, float] | None) -> list[Spec]:
    """What would hide the rest is written at the edge instead of drawn."""
    if shown is None:
        return []
    layers = []
    for edge, align, arrow in ((0, "left", "← {}"), (1, "right", "{} →")):
        far = [r for r in rows if (r["mean"] < shown[0] if edge == 0 else r["mean"] > shown[1])]
        texts = [{"method": r["method"], "note": arrow.format(r["text"])} for r in far]
        layers += [
            {
                "data": {"values": texts},
                "mark": {"type": "text", "align": align, "dx": -6 if edge else 6, "dy": -9},
                "encoding": {
                    "x": {"datum": shown[edge]},
                    "text": _field("note", "nominal"),
                    "tooltip": {"value": None},
                },
            }
        ] * bool(far)
    return layers


def curve(
    title: str,
    at: Sequence[float],
    found: Sequence[tuple[Look, Sequence[MeanSE | float]]],
    *,
    x: str,
    y: str,
    diagonal: bool = False,
    counts: Sequence[int] | None = None,
) -> Chart:
    """A line for each method, with a band where there are standard errors.

    The pointer shows all at one x. With `counts`, rows behind each x, dots grow with them.
    """
    looks = [look for look, _ in found]
    points = [
        _point(look, cell) | {"at": round(place, 4)} | ({"rows": counts[i]} if counts else {})
        for look, cells in found
        for i, (place, cell) in enumerate(zip(at, cells, strict=True))
    ]
    low, high = (0.0, 1.0) if diagonal else (at[0], at[-1])
    middles = [low, *((a + b) / 2 for a, b in pairwise(at)), high]
    strips = [
        {"at": round(place, 4), "from": round(middles[i], 4), "to": round(middles[i + 1], 4)}
        | {f"m{j}": _written(cells[i]) for j, (_, cells) in enumerate(found)}
        | ({"rows": counts[i]} if counts else {})
        for i, place in enumerate(at)
    ]
    share = {"axis": {"format": "%"}}
    across = {"type": "quantitative", "title": x, "scale": {"domain": [low, high]}, **share}
    up = {"type": "quantitative", "title": y, "scale": {"zero": diagonal}}
    up |= share if diagonal else {}
    lines: Spec = {
        "data": {"values": points},
        "encoding": {"x": {"field": "at", **across}, "color": _by_method(looks, "colour")},
        "layer": [
            {
                "mark": {"type": "area", "opacity": 0.18},
                "encoding": {"y": {"field": "low", **up}, "y2": {"field": "high"}},
            },
            {
                "mark": {"type": "line", "strokeWidth": 1 if counts else 2},
                "encoding": {"y": {"field": "mean", **up}},
            },
        ],
    }
    if counts:
        size = _field("rows", "quantitative", legend=None, scale={"range": [0, 300]})
        dots = {"mark": {"type": "point", "filled": True, "opacity": 0.8}}
        lines["layer"].append(dots | {"encoding": {"y": {"field": "mean", **up}, "size": size}})
    dotted = {
        "name": "guide",
        "data": {"values": [{"at": 0, "mean": 0}, {"at": 1, "mean": 1}]},
        "mark": {"type": "line", "strokeDash": DOTTED, "strokeWidth": 1},
        "encoding": {"x": {"field": "at", **across}, "y": {"field": "mean", **up}},
    }
    tips = [_field("at", "quantitative", title=x, format=".1%")]
    tips += [_field(f"m{j}", "nominal", title=look.label) for j, look in enumerate(looks)]
    tips += [_field("rows", "quantitative")] if counts else []
    over = {"type": "point", "fields": ["at"], "on": "pointerover", "clear": "pointerout"}
    pointer = {
        "name": "strip",
        "data": {"values": strips},
        "params": [{"name": "over", "select": over}],
        "mark": {"type": "rect", "cursor": "default"},
        "encoding": {
            "x": {"field": "from", **across},
            "x2": {"field": "to"},
            "opacity": {"condition": {"param": "over", "empty": False, "value": 0.15}, "value": 0},
            "tooltip": tips,
        },
    }
    ends = "; ".join(
        f"{look.label} {_written(cells[0])} to {_written(cells[-1])}" for look, cells in found
    )
    words = f"{title}: {y} from {at[0]:.1%} to {at[-1]:.1%}: {ends}."
    layers = [dotted, lines, pointer] if diagonal else [lines, pointer]
    spec = {"height": 250, "layer": layers}
    return Chart(title, words, spec, "curve")


def scatter(
    title: str, points: Sequence[tuple[float, float, str]], colour: str, *, x: str, y: str
) -> Chart:
    """A dot for each (x, y, words), and the diagonal; the pointer shows the words."""
    rows = [{"x": float(f"{a:.6g}"), "y": float(f"{b:.6g}"), "row": c} for a, b, c in points]
    ends = [end for a, b, _ in points for end in (a, b)]
    low, high = min(ends), max(ends)
    axis = {"type": "quantitative", "scale": {"domain": [low, high], "nice": True}}
    places = {"x": {"field": "x", "title": x, **axis}, "y": {"field": "y", "title": y, **axis}}
    diagonal = {
        "name": "guide",
        "data": {"values": [{"x": low, "y": low}, {"x": high, "y": high}]},
        "mark": {"type": "line", "strokeDash": DOTTED, "strokeWidth": 1},
        "encoding": places,
    }
    dots = {
        "data": {"values": rows},
        "mark": {"type": "point", "filled": True, "size": 28, "opacity": 0.55, "color": colour},
        "encoding": places
        | {
            "tooltip": [
                _field("row", "nominal"),
                _field("x", "quantitative", title=x),
                _field("y", "quantitative", title=y),
            ]
        },
    }
    words = f"{title}: {len(rows):,} points from {low:.6g} to {high:.6g}."
    return Chart(title, words, {"height": 250, "layer": [diagonal, dots]}, "curve")


def fan(
    title: str, rows: Sequence[Mapping[str, Any]], colour: str, *, is_date: bool, y: str
) -> Chart:
    """A forecast and its interval over time, beside the truth.

    rows have `time`, `truth`, and where there is a forecast `mean`, `lower` and `upper`.
    """
    across = _field("time", "temporal" if is_date else "quantitative", title=None)
    across |= {"axis": {"labelSeparation": 12, "labelOverlap": True}}
    across |= {"scale": {"zero": False}} if not is_date else {}
    up = {"type": "quantitative", "title": y, "scale": {"zero": False}}
    tips = [across | {"title": "time"}]
    tips += [_field(name, "quantitative") for name in ("truth", "mean", "lower", "upper")]
    line = {"type": "line", "strokeWidth": 2}
    spec = {
        "height": 250,
        "data": {"values": list(rows)},
        "encoding": {"x": across, "tooltip": tips},
        "layer": [
            {
                "mark": {"type": "area", "opacity": 0.22, "color": colour},
                "encoding": {"y": {"field": "lower", **up}, "y2": {"field": "upper"}},
            },
            {"mark": line | {"color": colour}, "encoding": {"y": {"field": "mean", **up}}},
            {
                "mark": {"type": "point", "filled": True, "size": 30, "color": "#000000"},
                "encoding": {"y": {"field": "truth", **up}},
            },
        ],
    }
    words = f"{title}: {len(rows)} times; dots are the truth, the line is the forecast."
    return Chart(title, words, spec, "curve")


def _point(look: Look, cell: MeanSE | float) -> dict[str, Any]:
    mean, se = cell if isinstance(cell, MeanSE) else (cell, 0.0)
    ends = {"mean": mean, "low": mean - se, "high": mean + se}
    return {"method": look.label} | {name: float(f"{value:.6g}") for name, value in ends.items()}


def _written(cell: MeanSE | float) -> str:
    return show(cell) if isinstance(cell, MeanSE) else brief(cell)


def _field(name: str, kind: str, **more: Any) -> Spec:
    return {"field": name, "type": kind, **more}


def _by_method(looks: Sequence[Look], part: str) -> Spec:
    """Colour or mark by the method's label."""
    values = [look.colour if part == "colour" else SHAPES[look.mark] for look in looks]
    scale = {"domain": [look.label for look in looks], "range": values}
    return _field("method", "nominal", scale=scale, legend=None)
