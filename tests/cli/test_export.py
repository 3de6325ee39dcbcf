import json

import numpy as np
import pandas as pd
import pytest

from batchensemble import load
from batchensemble.export import onnx_inputs

onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


def test_what_was_fitted_from_a_file_runs_elsewhere(shell):
    told = json.loads(shell("export", "price.be", "price.onnx", "--json").stdout)
    assert told["bytes"] == (shell.folder / "price.onnx").stat().st_size
    session = onnxruntime.InferenceSession("price.onnx")
    new = shell.read("new.csv", dtype={"plot": str})
    X = new.assign(sold=pd.to_datetime(new["sold"]), garden=new["garden"].astype(bool))
    model = load("price.be")
    X = X[model.model_.encoder.names_]
    (mean,) = session.run(["mean"], onnx_inputs(model, X))
    np.testing.assert_allclose(np.ravel(mean), model.predict(X), rtol=1e-4)


def test_bounds_are_those_of_a_calibrated_model(shell):
    said = shell("export", "town.be", "town.onnx", "--coverage", 0.8, code=1).stderr
    said = " ".join(said.split())
    assert "calibrated, and not by group; omit it, or fit with --calibrate" in said
    shell("export", "price.be", "price.onnx", "--coverage", 0.8)
    names = {each.name for each in onnxruntime.InferenceSession("price.onnx").get_outputs()}
    assert {"mean", "lower", "upper"} <= names


def test_a_wrong_place_is_refused_before_any_work(shell):
    done = shell("export", "none.be", "m.pb", code=1)
    assert "expected a file name that ends in .onnx, got m.pb" in done.stderr
    done = shell("export", "none.be", "none/m.onnx", code=1)
    assert "expected a folder for none/m.onnx, got none at none" in done.stderr
