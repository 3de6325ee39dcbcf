"""The file: the graph of an estimator, and beside it what a reader needs to know."""

import json
import os
from collections.abc import Iterable
from typing import Any

from sklearn.utils.validation import check_is_fitted

from batchensemble.conformal import IntervalCalibration
from batchensemble.estimators.classifier import Classifier
from batchensemble.estimators.forecaster import Forecaster
from batchensemble.estimators.joint import JointRegressor
from batchensemble.estimators.regressor import Regressor
from batchensemble.export.interface import Model, Slot, inputs_of, outputs_of
from batchensemble.modelfile.files import as_path, replacing
from batchensemble.modelfile.version import VERSION

TASKS = {Regressor: "regression", Classifier: "classification", Forecaster: "forecast"}


def to_onnx(model: Model, path: str | os.PathLike[str], *, coverage: float | None = None) -> None:
    """Write a fitted estimator to an ONNX file, its encoding of the columns included.

    A table has one input for each column, (rows, 1): numbers, booleans and gaps (NaN) as float64,
    dates as int64 microseconds since 1970 in UTC, categories as strings, with "<missing>" for a
    gap. A forecaster reads the last known values in the user's units, which of them were observed,
    and standard normal noise for each path. The file says what every input and output means: see
    the keys `inputs` and `outputs` of its metadata. It agrees with the estimator to about 1e-5 of
    the target's scale; less closely for rows far from those of fit, and for forecasts beyond the
    horizon, which go on from draws.

    With `coverage`, a calibrated Regressor has the outputs `lower` and `upper`, the interval that
    `predict_interval` returns.

    Examples
    --------
    >>> to_onnx(model, "model.onnx")  # doctest: +SKIP
    >>> session = onnxruntime.InferenceSession("model.onnx")  # doctest: +SKIP
    >>> session.run(["mean", "std"], onnx_inputs(model, X))  # doctest: +SKIP
    """
    try:
        import onnx  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"exporting needs onnx, which cannot be imported ({error}): "
            "pip install 'batchensemble[onnx]'"
        ) from error
    if isinstance(model, JointRegressor):
        raise ValueError(
            "a model of several targets cannot be exported as a whole; export each of its "
            "regressors_ in Python, or fit one model for each target"
        )
    if not isinstance(model, Regressor | Classifier | Forecaster):
        raise TypeError(
            f"expected a Regressor, Classifier or Forecaster, got {type(model).__name__}; "
            "export a network of your own with torch.onnx.export"
        )
    check_is_fitted(model, "model_")
    try:
        whole = _serialised(model, coverage)
    except UnicodeEncodeError as error:  # half a pair of UTF-16, which Python texts may hold
        raise ValueError(
            f"expected names, classes and categories that UTF-8 can write, got {error.object!r}; "
            "rename it, and fit again"
        ) from error
    with replacing(as_path(path)) as file:
        file.write(whole)


def _serialised(model: Regressor | Classifier | Forecaster, coverage: float | None) -> bytes:
    from batchensemble.export import series, tables
    from batchensemble.export.graph import Graph

    reaches = _reaches(model, coverage)
    outputs = outputs_of(model, has_bounds=reaches is not None)
    graph = Graph(reserved={*outputs, *(slot.name for slot in inputs_of(model))})
    if isinstance(model, Forecaster):
        values = series.forecaster(model, graph)
    elif isinstance(model, Classifier):
        values = tables.classifier(model, graph)
    else:
        values = tables.regressor(model, graph, reaches)
    for name, slot in outputs.items():
        graph.output(slot, values[name])
    name = type(model).__name__
    doc = f"A {name} of batchensemble, {model.method}; the metadata say what goes in and out."
    about = _metadata(model, outputs.values(), coverage)
    whole: bytes = graph.model(doc, about).SerializeToString()
    return whole


def _reaches(model: Model, coverage: float | None) -> tuple[float, float] | None:
    """How many standard deviations the interval reaches below and above the mean."""
    if coverage is None:
        return None
    found = model.calibration_ if isinstance(model, Regressor) else None
    if not isinstance(found, IntervalCalibration) or found.groups is not None:
        raise ValueError(
            "coverage needs a Regressor that is calibrated, and not by group; omit it, or "
            "fit with calibrate=True"
        )
    below, above = found.reaches(coverage)
    return float(below[0]), float(above[0])


def _metadata(model: Model, outputs: Iterable[Slot], coverage: float | None) -> dict[str, str]:
    """Texts by key; where a value is not one word or number, JSON."""
    about: dict[str, Any] = {
        "batchensemble_version": VERSION,
        "task": TASKS[type(model)],
        "method": model.method,
        "n_members": model.model_.ensemble.members.n_members,
        "inputs": [_described(slot) for slot in inputs_of(model)],
        "outputs": [_described(slot) for slot in outputs],
    }
    if isinstance(model, Forecaster):
        about |= {
            "target": model.target_col,
            "horizon": model.model_.horizon,
            "future_columns": list(model.future_names),
            "past_columns": list(model.past_columns),
            "static_columns": list(model.static_columns),
            "series": {str(i): own for i, own in model.model_.encoder.scales_.items()},
            "never_negative": [
                str(i) for i, low in model.model_.encoder.floors.items() if low == 0
            ],
        }
    else:
        about["columns"] = [
            {"name": name, "kind": kind, "input": slot.name}
            for (name, kind, _), slot in zip(
                model.model_.encoder.columns_, inputs_of(model), strict=True
            )
        ]
    if isinstance(model, Classifier):
        about["classes"] = model.classes_.tolist()
    if coverage is not None:
        about["coverage"] = coverage
    return {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in about.items()
    }


def _described(slot: Slot) -> dict[str, Any]:
    return {"name": slot.name, "shape": slot.shape, "meaning": slot.meaning}
