import json

import pytest

from batchensemble import load
from batchensemble.shell.exporting import export_model

onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


def test_what_was_fitted_from_a_file_runs_elsewhere(shell):
    shell("export", "price.be", "price.onnx")
    session = onnxruntime.InferenceSession("price.onnx")
    described = json.loads(session.get_modelmeta().custom_metadata_map["inputs"])
    assert len(described) == 6
    assert {one.name for one in session.get_inputs()} >= {"rooms", "area"}


def test_a_wrong_place_is_refused_before_any_work(shell):
    model = load("price.be")
    with pytest.raises(ValueError, match=r"expected the name of an \.onnx file"):
        export_model(model, shell.folder / "m.pb")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        export_model(model, shell.folder / "none" / "m.onnx")
