import subprocess
import sys

import pytest

from batchensemble.plots.page import PACKAGES, check_packages, need


def test_a_package_that_is_there_is_no_error():
    need("numpy", "a sum needs", "plots")
    check_packages()


@pytest.mark.parametrize("package", PACKAGES)
def test_a_missing_package_is_named_in_one_line_with_what_to_install(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError) as caught:
        check_packages()
    assert str(caught.value) == f"a report needs {package}: pip install 'batchensemble[report]'"


def test_what_only_pages_need_is_not_imported_before_one_is_made():
    code = (
        "import sys, batchensemble.plots.charts, batchensemble.cli.report\n"
        "sys.exit(bool({'itables', 'matplotlib'} & {*sys.modules}))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
