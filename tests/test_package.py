"""What a user gets: the wheel, the import, the names."""

import gc
import subprocess
import sys
import venv
import zipfile
from importlib import import_module, metadata
from pathlib import Path

import pytest

import batchensemble

ROOT = Path(__file__).parents[1]


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_every_public_name_is_there_and_an_unknown_one_is_an_attribute_error():
    for name in batchensemble.__all__:
        assert getattr(batchensemble, name) is not None
        assert name in dir(batchensemble)
    with pytest.raises(AttributeError, match="no attribute 'Regresor'"):
        batchensemble.Regresor  # noqa: B018


def test_the_version_is_that_of_the_installation():
    assert batchensemble.__version__ == metadata.version("batchensemble")


def test_importing_it_pulls_in_neither_matplotlib_nor_pandas_and_costs_under_a_second():
    code = (
        "import sys, time, torch; start = time.perf_counter(); import batchensemble; "
        "import batchensemble.nn, batchensemble.metrics; "
        "print(time.perf_counter() - start, 'pandas' in sys.modules, 'matplotlib' in sys.modules)"
    )
    for _ in range(3):  # the machine may be busy
        seconds, *loaded = run(code).split()
        assert loaded == ["False", "False"]
        if float(seconds) < 1:
            break
    assert float(seconds) < 1


def test_predictions_and_metrics_need_no_torch():
    code = (
        "import sys; from batchensemble import GaussianPredictive, metrics; "
        "print('torch' in sys.modules, 'sklearn' in sys.modules)"
    )
    assert run(code).split() == ["False", "False"]


def test_an_estimator_is_imported_without_the_others_and_what_only_fit_needs():
    code = (
        "import sys; from batchensemble import Regressor; "
        "print(*(name in sys.modules for name in "
        "('sklearn.impute', 'sklearn.model_selection', 'numba', 'matplotlib', 'fastapi', "
        "'batchensemble.estimators.forecaster', 'batchensemble.estimators.joint', "
        "'batchensemble.data.table_files', 'batchensemble.plots')))"
    )
    assert set(run(code).split()) == {"False"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT],
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_the_package_its_types_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "batchensemble/py.typed" in names
    assert "batchensemble/estimators/regressor.py" in names
    tops = {name.split("/")[0] for name in names}
    assert tops == {"batchensemble", f"batchensemble-{version(wheel)}.dist-info"}


def test_the_wheel_installs_into_an_empty_environment_and_works_there(wheel, tmp_path):
    venv.create(tmp_path, with_pip=True)
    python = tmp_path / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", wheel], check=True)
    # Its dependencies are lent by the environment of the tests, which is what pip would install.
    site = next(Path(p) for p in sys.path if p.endswith("site-packages"))
    code = (
        f"import sys; sys.path.append({str(site)!r}); import numpy as np; "
        "from batchensemble import Regressor; import batchensemble; "
        "x = np.arange(40.0).reshape(-1, 1); "
        "print(Regressor(epochs=2).fit(x, x[:, 0]).predict_interval(x).shape, "
        "batchensemble.__file__)"
    )
    done = subprocess.run(
        [python, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("(40, 2)")
    assert str(tmp_path) in done.stdout


def version(wheel: Path) -> str:
    return wheel.name.split("-")[1]


@pytest.mark.parametrize("is_on", [True, False])
def test_nothing_looks_for_garbage_during_an_import_and_afterwards_all_is_as_before(
    is_on, monkeypatch
):
    during = []

    def imported(name):
        during.append(gc.isenabled())
        return import_module(name)

    monkeypatch.setattr(batchensemble, "import_module", imported)
    before = gc.isenabled()
    (gc.enable if is_on else gc.disable)()
    try:
        assert batchensemble.Regressor.__name__ == "Regressor"
        assert (during, gc.isenabled()) == ([False], is_on)
    finally:
        (gc.enable if before else gc.disable)()
