import json
import subprocess
import sys

import numpy as np
import onnx
import pandas as pd
import pytest
from fixtures import TINY_FORECASTER, TINY_RECURRENT, long_frame, onnx_session, regression_table
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from batchensemble import Classifier, Forecaster, Regressor
from batchensemble.export import onnx_inputs, to_onnx
from batchensemble.modelfile.version import VERSION
from batchensemble.training.networks import MLP

TINY = {"epochs": 1, "n_members": 3, "n_passes": 4, "hidden": (8,), "random_state": 0}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.onnx"


@pytest.fixture(scope="module")
def regressor():
    return Regressor(**TINY).fit(*regression_table())


def metadata(path):
    found = onnx_session(path).get_modelmeta().custom_metadata_map
    return {key: json.loads(text) if text[0] in "[{" else text for key, text in found.items()}


def test_the_file_says_what_it_is_and_what_goes_in_and_out(path):
    X = pd.DataFrame({"label": [1.0, 2.0, 3.0], "kind": ["a", "b", "a"]})
    to_onnx(Classifier("single", **TINY).fit(X, ["no", "yes", "no"]), path)
    found = metadata(path)
    assert (found["task"], found["method"], found["n_members"]) == ("classification", "single", "1")
    assert found["classes"] == ["no", "yes"]
    assert found["batchensemble_version"] == VERSION
    assert found["columns"] == [
        {"name": "label", "kind": "number", "input": "label_"},
        {"name": "kind", "kind": "category", "input": "kind"},
    ]
    session = onnx_session(path)
    for key, slots in (("inputs", session.get_inputs()), ("outputs", session.get_outputs())):
        assert [each["name"] for each in found[key]] == [slot.name for slot in slots]
        assert [each["shape"] for each in found[key]] == [slot.shape for slot in slots]
        assert all(each["meaning"] for each in found[key])


def test_the_file_of_a_forecaster_holds_the_scales_of_its_series(path):
    model = Forecaster(**TINY_RECURRENT).fit(long_frame())
    to_onnx(model, path)
    inputs, found = onnx_inputs(model), metadata(path)
    known = np.array([found["series"][name] for name in ("s0", "s1", "s2")])
    assert np.allclose(known.T, [inputs["location"], inputs["scale"]])
    assert (found["target"], found["horizon"]) == ("y", "4")
    assert found["never_negative"] == []


def test_the_file_of_a_forecaster_names_the_series_that_were_never_negative(path):
    df = long_frame()
    df.loc[df.unique_id == "s1", "y"] -= 100
    to_onnx(Forecaster(**TINY_FORECASTER).fit(df), path)
    assert metadata(path)["never_negative"] == ["s2"]


def test_a_batch_ensemble_takes_hardly_more_room_than_one_network(tmp_path):
    x, y = regression_table()
    size = {}
    for method in ("single", "batch_ensemble", "deep_ensemble"):
        settings = TINY | {"n_members": 10, "hidden": (128, 128), "folds": 1}
        to_onnx(Regressor(method, **settings).fit(x, y), tmp_path / method)
        size[method] = (tmp_path / method).stat().st_size
    assert size["batch_ensemble"] < 1.6 * size["single"] < 0.25 * size["deep_ensemble"]
    to_onnx(Regressor(**settings | {"folds": 5}).fit(x, y), tmp_path / "folds")
    assert (tmp_path / "folds").stat().st_size < 5 * size["batch_ensemble"]


def test_a_program_without_this_library_can_ask_the_file(path, regressor):
    to_onnx(regressor, path)
    x, _ = regression_table()
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['torch', 'batchensemble', 'onnx']))\n"
        "import numpy as np, onnxruntime\n"
        f"session = onnxruntime.InferenceSession({str(path)!r})\n"
        "x = {i.name: np.full((2, 1), 0.5) for i in session.get_inputs()}\n"
        "print(*session.run(['mean'], x)[0])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second = map(float, done.stdout.split())
    expected = regressor.predict(np.full((1, x.shape[1]), 0.5))[0]
    assert first == second == pytest.approx(expected, abs=1e-5 * regressor.target_scale_)


def test_the_file_is_of_a_version_that_runtimes_of_the_last_years_read(path, regressor):
    to_onnx(regressor, path)
    model = onnx.load(path)
    assert model.ir_version == 8
    assert {each.domain: each.version for each in model.opset_import} == {"": 18, "ai.onnx.ml": 3}


def test_what_is_not_a_fitted_estimator_is_refused(path):
    with pytest.raises(NotFittedError):
        to_onnx(Regressor(), path)
    with pytest.raises(TypeError, match="expected a Regressor, Classifier or Forecaster, got Lin"):
        to_onnx(LinearRegression().fit([[1.0], [2.0]], [1.0, 2.0]), path)
    assert not path.exists()


def test_a_network_that_computes_something_else_is_refused_and_the_old_file_stays(path):
    class Doubled(MLP):
        def forward(self, x, masks=None, noise=None):
            return 2 * super().forward(x, masks, noise)

    model = Regressor(**TINY).fit(*regression_table())
    to_onnx(model, path)
    before = path.read_bytes()
    model.model_.ensemble.members.network.__class__ = Doubled
    with pytest.raises(TypeError, match="expected a MLP, for which a graph can be written, got Do"):
        to_onnx(model, path)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_class_that_is_no_text_of_utf8_is_named(path):
    x, y = regression_table()
    model = Classifier(**TINY).fit(x, np.where(y > np.median(y), "a", "b\ud800"))
    with pytest.raises(ValueError, match=r"UTF-8 can write, got 'b\\ud800'; rename it"):
        to_onnx(model, path)
    assert not path.exists()


def test_without_onnx_the_error_says_what_to_install(path, regressor, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    for name in [name for name in sys.modules if name.startswith("batchensemble.export.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "batchensemble.export")
    from batchensemble.export import to_onnx

    with pytest.raises(ImportError, match=r"pip install 'batchensemble\[onnx\]'"):
        to_onnx(regressor, path)
