"""What is installed with us: pinned, with hashes, and under licences that we may pass on."""

import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
EXTRAS = {"excel", "holidays", "onnx", "parquet", "plots", "polars", "report"}
EXTRAS |= {"serve", "sktime", "study"}
# Licences that let anybody use, change and pass on; none that binds what is built with it.
FREE = "MIT|BSD|Apache|ISC|PSF|Python Software Foundation|Zlib|CC0|BSL-1.0|MIT-CMU|matplotlib"
BINDING = "GPL|AGPL|SSPL|Commons Clause|Elastic|proprietary"


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned(path):
    lines = re.findall(r"^([\w.-]+)==([\w.]+)", path.read_text(), flags=re.M)
    return {normal(name): version for name, version in lines}


def needed(extras):
    """The packages that we need here, and those that they need."""
    todo, seen = [("batchensemble", frozenset(extras))], {}
    while todo:
        name, wanted = todo.pop()
        key = normal(name)
        if key in seen and wanted <= seen[key]:
            continue
        seen[key] = seen.get(key, frozenset()) | wanted
        for line in distribution(name).requires or ():
            one = Requirement(line)
            if one.marker is None or any(
                one.marker.evaluate({"extra": e}) for e in {"", *seen[key]}
            ):
                todo.append((one.name, frozenset(one.extras)))
    return set(seen) - {"batchensemble"}


def test_every_pinned_version_has_hashes_and_nothing_else_is_locked():
    text = (ROOT / ".ci" / "requirements.lock").read_text()
    locked, constraints = (
        pinned(ROOT / ".ci" / "requirements.lock"),
        pinned(ROOT / "constraints.txt"),
    )
    assert locked == {name: v for name, v in constraints.items() if name != "torch"}
    for entry in re.split(r"\n(?=\S)", text.strip()):
        assert re.search(r"--hash=sha256:[0-9a-f]{64}$", entry), entry[:60]


def test_everything_that_the_tests_need_is_pinned():
    try:
        packages = needed({"test"})
    except PackageNotFoundError as error:
        pytest.skip(f"{error} is not installed here")
    assert packages <= set(pinned(ROOT / "constraints.txt"))


def licence(name):
    data = distribution(name).metadata
    kinds = [each for each in data.get_all("Classifier") or () if each.startswith("License")]
    first = (data.get("License") or "").strip().partition("\n")[0]
    return " ".join([data.get("License-Expression") or "", *kinds, first])


def test_what_is_installed_with_us_may_be_used_and_passed_on_freely():
    for name in sorted(needed(EXTRAS)):
        words = licence(name)
        assert re.search(FREE, words), f"{name}: {words!r}"
        assert not re.search(BINDING, words), f"{name}: {words!r}"


def test_a_binding_licence_would_be_noticed():
    assert re.search(BINDING, "GPL-3.0-or-later")
    assert not re.search(FREE, "LicenseRef-Proprietary")
