"""The code and commands of the README and the docs run; what the pages point to exists.

docs/consoles.py runs them. Blocks marked ```py show other packages' code and do not run.
"""

import importlib.util
import re
from ast import literal_eval
from inspect import signature
from pathlib import Path
from types import ModuleType

import pytest
from sklearn.datasets import load_diabetes

import batchensemble
from batchensemble import Regressor, metrics
from batchensemble.cli import app as cli
from batchensemble.estimators.presets import CLASSIFIER_PRESETS, PRESETS, SERIES_PRESETS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]

LONG = (  # pages that take some seconds
    *("explaining.md", "many-categories.md", "tuning.md"),
    *("groups-and-time.md", "retraining.md", "skewed-target.md"),
)


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def loaded(name: str) -> ModuleType:
    """A module of the docs."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


consoles = loaded("consoles")


def blocks(page: Path, language: str = "python") -> list[str]:
    return [block for kind, block in consoles.BLOCK.findall(read(page)) if kind == language]


@pytest.mark.usefixtures("registries")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(p, marks=pytest.mark.slow if p.name in LONG else (), id=p.name)
        for p in PAGES
        if blocks(p)
    ],
)
def test_the_code_and_the_commands_of_a_page_run_and_print_what_is_shown(page):
    for step in consoles.run_page(read(page)):
        printed = "\n".join(step.printed)
        update = f"python docs/consoles.py {page.relative_to(ROOT)}"
        problem = f"{step.command} prints\n{printed}\nupdate the page with {update}"
        assert step.matched() is not None, problem


def agrees(console: str) -> bool:
    steps = consoles.run_page(f"```console\n{console}```\n")
    return all(step.matched() is not None for step in steps)


ROWS = "rows of a table"
TABLE = f"$ printf '{ROWS}\\n 1,200 -0.5 Bern\\nNLL  7.1e-3\\n'\n"


@pytest.mark.parametrize(
    "shown",
    [f"{ROWS}\n7 8 Basel\nNLL 10\n", "...\nNLL 10\n", f"{ROWS}\n...\n", f"...\n{ROWS}\n0\n...\n"],
)
def test_what_is_shown_may_have_other_numbers_blanks_and_rows_and_leave_lines_out(shown):
    assert agrees(TABLE + shown)


@pytest.mark.parametrize(
    "shown",
    ["", f"{ROWS}\n", f"{ROWS}\n1\nCRPS 10\n", f"{ROWS}\nBern\nNLL 10\n", "...\nCRPS 10\n"],
)
def test_what_a_command_does_not_print_is_noticed(shown):
    assert not agrees(TABLE + shown)


def test_an_exit_code_other_than_the_one_shown_is_noticed():
    error = "Error: there is no file x.csv; check the path\n"
    wrong = "$ batchensemble fit x.csv --target y\n"
    assert agrees(f"{wrong}{error}$ echo $?\n1\n")
    assert not agrees(f"{wrong}{error}$ echo $?\n2\n")
    assert not agrees(f"{wrong}Error: no\n$ echo $?\n1\n")
    for block in (wrong, f"{wrong}{error}{wrong}$ echo $?\n1\n"):
        with pytest.raises(ValueError, match=r"expected .*fit x.* to end with 0, got 1"):
            agrees(block)


def test_a_refreshed_page_keeps_the_lines_it_leaves_out():
    page = f"```console\n{TABLE}...\nNLL 10\n$ echo 5\nfive\n```\nthe end\n"
    now = f"```console\n{TABLE}...\nNLL  7.1e-3\n$ echo 5\n5\n```\nthe end\n"
    assert consoles.refreshed(page) == now


def test_code_that_does_not_run_compiles():
    shown = [(page.name, block) for page in PAGES for block in blocks(page, "py")]
    assert len(shown) >= 4
    for name, block in shown:
        compile(block, name, "exec")


def test_the_readme_has_code_and_the_two_commands():
    text = read(ROOT / "README.md")
    assert len(blocks(ROOT / "README.md")) >= 4
    for command in ("make reproduce", "make test"):
        assert command in text


SIZE = "an ensemble whose members share most of their parameters"


def test_what_it_costs_is_said_in_the_same_words_everywhere():
    for place in ("README.md", "docs/index.md", "mkdocs.yml", "CITATION.cff"):
        assert SIZE in " ".join(read(ROOT / place).split()), place
    for text in (read(ROOT / "pyproject.toml"), batchensemble.__doc__, cli.main.__doc__):
        assert SIZE in " ".join(text.split())


def test_the_default_preset_has_about_half_of_the_parameters_of_a_deep_ensemble():
    assert "(five networks of two members), about half" in " ".join(
        read(ROOT / "README.md").split()
    )
    X, y = load_diabetes(return_X_y=True)
    sizes = [
        Regressor(method, epochs=1, random_state=0).fit(X, y).n_parameters_
        for method in ("batch_ensemble", "deep_ensemble")
    ]
    assert 0.45 < sizes[0] / sizes[1] < 0.55


def test_the_citation_has_the_version_of_the_package():
    assert f"\nversion: {batchensemble.__version__}\n" in read(ROOT / "CITATION.cff")


def test_links_between_pages_lead_to_files_that_exist():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", read(page)):
            assert (page.parent / target).exists(), f"{page.name} points to {target}"


def test_every_page_is_in_the_navigation():
    navigation = read(ROOT / "mkdocs.yml").partition("nav:")[2]
    assert sorted(re.findall(r"\S+\.md", navigation)) == sorted(
        page.relative_to(DOCS).as_posix() for page in PAGES[1:]
    )


def test_every_metric_has_its_convention_and_a_line_that_runs_it():
    page = DOCS / "conventions.md"
    code = "\n".join(blocks(page))
    for name in metrics.__all__:
        assert f"`{name}`" in read(page), f"{name} is not explained"
        assert f"metrics.{name}" in code, f"{name} is not run"


def test_pictures_are_small_and_every_one_is_shown():
    shown = {(page.parent / path).resolve() for page in PAGES for path in pictures(page)}
    for picture in (p for p in (DOCS / "images").rglob("*") if p.is_file()):
        assert picture in shown, f"no page shows {picture.name}"
        if picture.parent.name == "images":
            assert picture.stat().st_size < 100_000, f"{picture.name} is too large"


def test_every_picture_that_we_draw_exists():
    drawn = loaded("pictures").PICTURES
    assert drawn
    for name in drawn:
        assert (DOCS / "images" / f"{name}.png").is_file(), f"python docs/pictures.py {name}"


def pictures(page: Path) -> list[str]:
    return re.findall(r"!\[[^\]]+\]\(([^)]+)\)", read(page))


@pytest.fixture
def maths():
    """The hook that turns equations into MathML; its packages come with the docs."""
    pytest.importorskip("latex2mathml")
    return loaded("maths")


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda p: p.name)
def test_equations_become_mathml_that_needs_no_script(page, maths):
    markdown = pytest.importorskip("markdown")
    extensions = ["tables", "pymdownx.superfences", "pymdownx.arithmatex"]
    generic = {"pymdownx.arithmatex": {"generic": True}}
    html = markdown.markdown(read(page), extensions=extensions, extension_configs=generic)
    drawn = maths.on_page_content(html)
    assert drawn.count("<math ") == html.count('class="arithmatex"')
    assert "arithmatex" not in drawn
    assert "<mi>log</mi>" not in drawn  # it would touch its neighbours
    assert "$$" not in drawn


@pytest.mark.parametrize("latex", [r"\nosuch{x}", r"\begin{aligned} a &= b \end{aligned}"])
def test_an_equation_that_would_come_out_wrong_raises_an_error_that_says_what_to_do(latex, maths):
    with pytest.raises(ValueError, match=r"expected LaTeX that latex2mathml knows, got .* split"):
        maths.on_page_content(rf'<span class="arithmatex">\({latex}\)</span>')


@pytest.mark.parametrize("name", ["Regressor", "JointRegressor", "Classifier", "Forecaster"])
def test_the_reference_explains_every_parameter_of_an_estimator_with_its_default(name):
    griffe = pytest.importorskip("griffe")
    extensions = griffe.load_extensions(DOCS / "docstrings.py")
    module = getattr(batchensemble, name).__module__
    docstring = griffe.load(f"{module}.{name}", extensions=extensions).docstring
    (parameters,) = (part for part in docstring.parsed if part.kind.value == "parameters")
    explained = {p.name: literal_eval(str(p.default)) for p in parameters.value}
    known = signature(getattr(batchensemble, name)).parameters
    assert explained == {p.name: p.default for p in known.values()}
    for parameter in parameters.value:
        takes_none = "None" in str(parameter.annotation)
        assert takes_none == (explained[parameter.name] is None), parameter.name
    sentences = [parameter.description for parameter in parameters.value]
    assert len(set(sentences)) == len(sentences), "parameters share an entry"


def test_the_reference_has_every_preset_once_and_only_estimators_that_have_it():
    page = loaded("presets").on_page_markdown(read(DOCS / "reference.md"))
    for preset in {*PRESETS, *SERIES_PRESETS}:
        assert page.count(f'| `preset="{preset}"` |') == 1
    assert '| `preset="recurrent"` | Forecaster |\n' in page


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_the_reference_has_the_values_of_the_presets(preset):
    page = loaded("presets").on_page_markdown(read(DOCS / "reference.md"))
    head = f'| `preset="{preset}"` | Regressor | Classifier | Forecaster |\n'
    rows = page.partition(head)[2].partition("\n\n")[0].splitlines()[1:]
    shown = {name.strip("`"): values for name, *values in (row[2:-2].split(" | ") for row in rows)}
    arguments = {
        place: {
            name: value
            for name, value in settings.items()
            if name in signature(getattr(batchensemble, estimator)).parameters
        }
        for place, estimator, settings in (
            (0, "Regressor", PRESETS[preset]),
            (2, "Forecaster", SERIES_PRESETS[preset]),
        )
    }
    assert set(shown) == set(arguments[0]) | set(arguments[2])
    for place, settings in arguments.items():
        for name, value in settings.items():
            assert shown[name][place] == f"`{value!r}`"
    assert shown["clip_norm"][1] == f"`{CLASSIFIER_PRESETS[preset]['clip_norm']}`"
    assert shown["log_variance_bounds"][1] == ""  # classes have none
