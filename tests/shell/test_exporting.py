import sys
from types import ModuleType

import pytest

from batchensemble import load
from batchensemble.shell.exporting import export_model


def test_a_model_goes_to_the_exporter_and_a_wrong_place_does_not(shell, monkeypatch):
    calls = []
    exporter = ModuleType("batchensemble.export")
    exporter.to_onnx = lambda model, path: calls.append((model, path))
    monkeypatch.setitem(sys.modules, "batchensemble.export", exporter)
    model = load("price.be")
    export_model(model, shell.folder / "m.onnx")
    assert calls == [(model, shell.folder / "m.onnx")]
    with pytest.raises(ValueError, match=r"expected the name of an \.onnx file"):
        export_model(model, shell.folder / "m.pb")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        export_model(model, shell.folder / "none" / "m.onnx")
    assert len(calls) == 1
