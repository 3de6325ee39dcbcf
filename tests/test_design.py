"""docs/design.md against the code: the picture of the rooms, and which files may be long."""

import re
from configparser import ConfigParser
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import grimp
import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "batchensemble"
SVG = "{http://www.w3.org/2000/svg}"
DOOR = "__init__"  # the names of the package itself, which the linter's layers leave out
MOST_LINES = 300


class Room(NamedTuple):
    """A box of the picture: where its top is, and the rule that its colour stands for."""

    top: float
    rule: str


@pytest.fixture(scope="module")
def picture():
    svg = ElementTree.parse(ROOT / "docs" / "images" / "rooms.svg")
    rooms = {}
    for box in svg.iter(f"{SVG}g"):
        if box.get("class", "").startswith("room "):
            name = box.find(f"{SVG}text").text.removesuffix(".py")
            assert name not in rooms, f"{name} is drawn twice"
            rule = box.get("class").removeprefix("room ")
            rooms[name] = Room(float(box.find(f"{SVG}rect").get("y")), rule)
    return rooms


@pytest.fixture(scope="module")
def linter():
    parser = ConfigParser()
    parser.read(ROOT / ".importlinter")
    return parser


@pytest.fixture(scope="module")
def imports():
    """Which rooms each room imports, inside functions too."""
    graph = grimp.build_graph("batchensemble", cache_dir=None)
    rooms = {}
    for module in graph.modules:
        imported = map(room_of, graph.find_modules_directly_imported_by(module))
        rooms.setdefault(room_of(module), set()).update(imported)
    return {room: imported - {room} for room, imported in rooms.items()}


def room_of(module):
    return [*module.split("."), DOOR][1]


def floors(tops):
    """Sets of rooms, from the top floor to the ground."""
    return [{room for room in tops if tops[room] == top} for top in sorted(set(tops.values()))]


def uphill(tops, imports):
    """Imports that do not lead down in the picture."""
    return {(a, b) for a, imported in imports.items() for b in imported if tops[a] >= tops[b]}


def height(imports):
    """Rooms on the longest way down; a cycle is an error."""
    heights = {}
    for room in TopologicalSorter(imports).static_order():
        heights[room] = 1 + max((heights[below] for below in imports[room]), default=0)
    return max(heights.values())


def test_every_room_that_exists_is_in_the_picture_and_no_other(picture):
    there = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py"}
    there |= {path.parent.name for path in PACKAGE.glob("*/*.py")}
    assert set(picture) == there


def test_the_floors_of_the_picture_are_the_layers_that_the_linter_enforces(picture, linter):
    lines = linter["importlinter:contract:rooms"]["layers"].split("\n")
    layers = [{room.strip() for room in line.split("|")} for line in lines if line]
    assert floors({room: box.top for room, box in picture.items() if room != DOOR}) == layers


def test_every_import_between_rooms_leads_down_in_the_picture(picture, imports):
    tops = {room: box.top for room, box in picture.items()}
    assert uphill(tops, imports) == set()


def test_a_room_on_the_wrong_floor_is_noticed(picture, imports):
    tops = {room: box.top for room, box in picture.items()}
    assert ("nn", "words") in uphill(tops | {"words": tops["nn"]}, imports)
    assert ("cli", "words") in uphill(tops | {"words": tops["cli"] - 1}, imports)


def test_the_house_has_at_most_16_rooms_on_7_floors_and_no_cycle(picture, imports):
    assert len(picture) <= 16
    assert len(floors({room: box.top for room, box in picture.items()})) <= 7
    assert height(imports) <= 7
    with pytest.raises(CycleError):
        height(imports | {"words": {"cli"}})


def test_colours_stand_for_the_libraries_that_the_linter_forbids(picture, linter):
    for rule, contract in (("no-torch", "no-torch"), ("no-frames", "no-pandas")):
        modules = linter[f"importlinter:contract:{contract}"]["source_modules"].split()
        rooms = {room for room, box in picture.items() if box.rule == rule}
        assert rooms == {module.removeprefix("batchensemble.") for module in modules}


@pytest.mark.parametrize("page", ["docs/design.md", "CONTRIBUTING.md"])
def test_a_page_about_the_code_names_every_room(page, picture):
    text = (ROOT / page).read_text(encoding="utf-8")
    for room in picture:
        named = any(f"`{room}{end}`" in text for end in ("", "/", ".py"))
        assert named, f"{page} leaves out {room}"


def longer(than):
    """Files with more lines, by their path in the package."""
    lines = {
        path: len(path.read_text(encoding="utf-8").splitlines()) for path in PACKAGE.rglob("*.py")
    }
    return {path.relative_to(PACKAGE).as_posix() for path, n in lines.items() if n > than}


def test_a_file_has_at_most_300_lines_unless_the_design_says_why():
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    table = text.partition("| file | why it is longer |")[2].partition("\n\n")[0]
    reasons = dict(re.findall(r"^\| `(.+?)` \| (.+) \|$", table, re.M))
    assert set(reasons) == longer(MOST_LINES), "split the file, or give a reason in docs/design.md"
    assert len(reasons) <= 6
    assert longer(MOST_LINES) < longer(MOST_LINES - 20)
