import datetime as dt

import numpy as np
import pandas as pd
import pytest
from fixtures import TINY_RECURRENT, long_frame
from sklearn.exceptions import NotFittedError

from batchensemble import Forecaster, Regressor
from batchensemble.export import onnx_inputs
from batchensemble.export.interface import GAP, NOT_A_TIME


def fitted(X):
    return Regressor(epochs=1, n_members=2, hidden=(4,)).fit(X, np.arange(len(X)))


def test_every_column_is_an_array_of_one_column_in_the_type_that_the_file_asks_for():
    X = pd.DataFrame(
        {
            "number": [1, None, 2.5],
            "truth": pd.array([True, None, False], dtype="boolean"),
            "day": [dt.datetime(1970, 1, 2), None, dt.datetime(1969, 12, 31)],
            "word": ["a", None, ""],
        }
    )
    inputs = onnx_inputs(fitted(X), X)
    day = 86_400_000_000
    assert {name: values.shape for name, values in inputs.items()} == dict.fromkeys(X, (3, 1))
    assert np.array_equal(inputs["number"][:, 0], [1, np.nan, 2.5], equal_nan=True)
    assert np.array_equal(inputs["truth"][:, 0], [1, np.nan, 0], equal_nan=True)
    assert inputs["day"][:, 0].tolist() == [day, NOT_A_TIME, -day]
    assert inputs["word"][:, 0].tolist() == ["a", GAP, ""]


def test_a_column_that_was_empty_at_fit_may_hold_anything():
    model = fitted(pd.DataFrame({"x": [1.0, 2.0], "empty": [None, None]}))
    inputs = onnx_inputs(model, pd.DataFrame({"x": [1.0], "empty": ["word"]}))
    assert inputs["empty"].dtype == np.float64


def test_what_predict_refuses_is_refused():
    model = fitted(pd.DataFrame({"x": [1.0, 2.0]}))
    with pytest.raises(ValueError, match="expected a number column as in fit, got a category"):
        onnx_inputs(model, pd.DataFrame({"x": ["a"]}))
    with pytest.raises(NotFittedError):
        onnx_inputs(Regressor(), [[1.0]])
    model = fitted(pd.DataFrame({"x": ["a", "b", None]}))
    with pytest.raises(ValueError, match="'x': the word '<missing>' stands for a gap"):
        onnx_inputs(model, pd.DataFrame({"x": [GAP]}))


def test_what_belongs_to_forecasts_is_refused_for_tables():
    with pytest.raises(ValueError, match="got h, seed; omit them: they are for a Forecaster"):
        onnx_inputs(fitted(pd.DataFrame({"x": [1.0, 2.0]})), [[1.0]], h=3, seed=0)


def test_a_forecasters_values_are_the_last_ones_as_they_are():
    df = long_frame()
    model = Forecaster(**TINY_RECURRENT).fit(df)
    inputs = onnx_inputs(model, h=5, n_paths=9)
    last = df["y"].to_numpy().reshape(3, -1)[:, -model.model_.reach :]
    assert np.array_equal(inputs["values"], last)
    assert inputs["noise"].shape == (3, 3, 3, 5)  # series, paths of each member, members, steps
    assert np.array_equal(onnx_inputs(model, h=5, n_paths=9)["noise"], inputs["noise"])
