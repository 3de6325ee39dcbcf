"""What the README and the docs say, runs and is there.

Blocks marked ```python and commands in blocks marked ```console run, from the top of their page to
the end, in a folder that is empty but for our results. Blocks marked ```py show the code of other
packages and do not.
"""

import importlib.util
import re
import shlex
import subprocess
from inspect import signature
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

import batchensemble
from batchensemble import metrics
from batchensemble.cli import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path, language: str = "python") -> list[str]:
    return [block for kind, block in all_blocks(page) if kind == language]


def all_blocks(page: Path) -> list[tuple[str, str]]:
    """Language and text, in the order of the page."""
    return re.findall(r"^```(\w+)\n(.*?)^```", read(page), re.M | re.S)


@pytest.mark.usefixtures("registries")
@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda p: p.name)
def test_the_code_and_the_commands_of_a_page_run(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("results").symlink_to(ROOT / "results")
    names: dict[str, object] = {}
    for number, (language, block) in enumerate(all_blocks(page)):
        if language == "python":
            exec(compile(block, f"{page.name}, block {number}", "exec"), names)
        elif language == "console":
            run_console(block)


def run_console(block: str) -> None:
    """Run what follows each `$`: every command ends with 0, or with what `echo $?` shows after it.

    What is shown below a command need not be what it says, unless it is an error.
    """
    steps = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)
    for (command, shown), (after, code) in zip(steps, [*steps[1:], ("", "")], strict=True):
        if command == "echo $?":
            continue
        found, said = run_pipe(command)
        assert found == (int(code) if after == "echo $?" else 0), f"{command}: {said}"
        errors = [line for line in shown.splitlines() if line.startswith("Error: ")]
        assert not errors or said.splitlines() == errors, f"{command}: {said}"


def run_pipe(line: str) -> tuple[int, str]:
    """The code of the last of our commands in a pipe, and all that they said of errors."""
    text, code, said = "", 0, ""
    for stage in line.split(" | "):
        program, *words = shlex.split(stage)
        if program == "batchensemble":
            done = CliRunner().invoke(app, words, input=text)
            text, code, said = done.stdout, done.exit_code, said + done.stderr
        else:
            other = subprocess.run([program, *words], input=text, capture_output=True, text=True)
            other.check_returncode()
            text = other.stdout
    return code, said


def test_a_command_that_ends_otherwise_than_shown_is_noticed(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    error = "Error: there is no file x.csv; check the path\n"
    wrong = "$ batchensemble fit x.csv --target y\n"
    run_console(f"{wrong}{error}$ echo $?\n1\n")
    for block in (wrong, f"{wrong}$ echo $?\n2\n", f"{wrong}Error: no\n$ echo $?\n1\n"):
        with pytest.raises(AssertionError, match="fit x"):
            run_console(block)


def test_code_that_is_shown_and_not_run_is_python_all_the_same():
    shown = [(page.name, block) for page in PAGES for block in blocks(page, "py")]
    assert len(shown) >= 4
    for name, block in shown:
        compile(block, name, "exec")


def test_the_readme_has_code_and_the_two_commands():
    text = read(ROOT / "README.md")
    assert len(blocks(ROOT / "README.md")) >= 4
    for command in ("make reproduce", "make test"):
        assert command in text


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", read(page)):
            assert (page.parent / target).exists(), f"{page.name} points to {target}"


def test_every_page_is_in_the_navigation():
    navigation = read(ROOT / "mkdocs.yml").partition("nav:")[2]
    assert sorted(re.findall(r"\S+\.md", navigation)) == sorted(page.name for page in PAGES[1:])


def test_every_metric_has_its_convention_and_a_line_that_runs_it():
    page = DOCS / "conventions.md"
    code = "\n".join(blocks(page))
    for name in metrics.__all__:
        assert f"`{name}`" in read(page), f"{name} is not explained"
        assert f"metrics.{name}" in code, f"{name} is not run"


def test_pictures_are_light_and_every_one_is_shown():
    shown = {(page.parent / path).resolve() for page in PAGES for path in pictures(page)}
    for picture in (p for p in (DOCS / "images").rglob("*") if p.is_file()):
        assert picture in shown, f"no page shows {picture.name}"
        if picture.parent.name == "images":
            assert picture.stat().st_size < 100_000, f"{picture.name} is too large"


def test_every_picture_that_we_draw_is_there():
    drawn = loaded("pictures").PICTURES
    assert drawn
    for name in drawn:
        assert (DOCS / "images" / f"{name}.png").is_file(), f"python docs/pictures.py {name}"


def loaded(name: str) -> ModuleType:
    """A module of the docs."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
    assert "$$" not in drawn


@pytest.mark.parametrize("latex", [r"\nosuch{x}", r"\begin{aligned} a &= b \end{aligned}"])
def test_an_equation_that_would_come_out_wrong_is_refused_with_a_cure(latex, maths):
    with pytest.raises(ValueError, match=r"expected LaTeX that latex2mathml knows, got .* split"):
        maths.on_page_content(rf'<span class="arithmatex">\({latex}\)</span>')


@pytest.mark.parametrize("name", ["Regressor", "Classifier", "Forecaster"])
def test_the_reference_explains_every_parameter_of_an_estimator(name):
    griffe = pytest.importorskip("griffe")
    extensions = griffe.load_extensions(DOCS / "docstrings.py")
    module = f"batchensemble.estimators.{name.lower()}"
    docstring = griffe.load(f"{module}.{name}", extensions=extensions).docstring
    (parameters,) = (part for part in docstring.parsed if part.kind.value == "parameters")
    explained = {parameter.name for parameter in parameters.value}
    assert explained == set(signature(getattr(batchensemble, name)).parameters)
