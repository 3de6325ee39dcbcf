"""An MLflow flavour over our own model file, which holds no pickle.

`log_model` in a run, `mlflow models serve` on a server, `load_model` back in Python.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

from batchensemble.estimators.answers import prediction_columns
from batchensemble.estimators.classifier import Classifier
from batchensemble.estimators.forecaster import Forecaster
from batchensemble.estimators.loading import load
from batchensemble.estimators.regressor import Regressor
from batchensemble.modelfile.version import VERSION

try:
    import mlflow.artifacts
    import mlflow.pyfunc
    from mlflow.models import Model, ModelSignature
    from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema
    from mlflow.types.schema import AnyType
except ImportError as error:
    raise ImportError(
        f"batchensemble.adapters.mlflow needs MLflow, and importing it failed ({error}); "
        "pip install batchensemble[mlflow]"
    ) from error

FLAVOR = "batchensemble"
FILE = "model.be"
COVERAGE = 0.9

FittedEstimator = Regressor | Classifier | Forecaster


def save_model(
    model: FittedEstimator,
    path: str | Path,
    *,
    input_example: Any = None,
    signature: ModelSignature | None = None,
    pip_requirements: list[str] | None = None,
    mlflow_model: Model | None = None,
    **more: Any,
) -> None:
    """Write a fitted model as an MLflow model, a new folder at `path`.

    The signature is made of the columns of fit and of two parameters of predictions: `interval`, a
    coverage, and `quantiles`. Everything else goes to `mlflow.pyfunc.save_model`.
    """
    if not isinstance(model, FittedEstimator):
        raise TypeError(
            f"expected a Regressor, Classifier or Forecaster, got {type(model).__name__}; log "
            "another model for each target, or the file that model.save writes as an artifact"
        )
    about = mlflow_model or Model()
    about.add_flavor(FLAVOR, data=FILE, version=VERSION)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / FILE
        model.save(file)
        mlflow.pyfunc.save_model(
            str(path),
            loader_module=__name__,
            data_path=str(file),
            signature=signature or signature_of(model),
            input_example=input_example,
            pip_requirements=pip_requirements or [f"batchensemble=={VERSION}", "mlflow"],
            mlflow_model=about,
            **more,
        )


def log_model(
    model: FittedEstimator,
    name: str = "model",
    *,
    registered_model_name: str | None = None,
    **more: Any,
) -> Any:
    """`save_model` into the current run of MLflow; what it returns has the `model_uri`."""
    return Model.log(
        artifact_path=None,
        name=name,
        flavor=sys.modules[__name__],
        registered_model_name=registered_model_name,
        model=model,
        **more,
    )


def load_model(model_uri: str, device: str = "auto") -> FittedEstimator:
    """The estimator itself, from `runs:/...`, `models:/...` or a folder."""
    folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=model_uri))
    flavors = Model.load(str(folder)).flavors
    if FLAVOR not in flavors:
        raise ValueError(
            f"{model_uri} is not a batchensemble model; its flavours are {', '.join(flavors)}"
        )
    return load(folder / flavors["python_function"]["data"], device=device)


def signature_of(model: FittedEstimator) -> ModelSignature:
    """The columns of fit, and the parameters of predictions; a forecaster takes any history."""
    params = ParamSchema(
        [
            ParamSpec("interval", DataType.double, COVERAGE),
            ParamSpec("quantiles", DataType.double, [], (-1,)),
        ]
    )
    if isinstance(model, Forecaster):
        return ModelSignature(params=params)
    # MLflow would refuse whole numbers as numbers, gaps and times with zones: the model reads and
    # checks the values itself.
    names = model.model_.encoder.names_
    inputs = Schema([ColSpec(AnyType(), name if _has_names(model) else None) for name in names])
    return ModelSignature(inputs=inputs, params=params)


def _has_names(model: Regressor | Classifier) -> bool:
    """Whether it was fitted to a frame whose columns have texts for names."""
    return hasattr(model, "feature_names_in_")


class _Predictions:
    """What MLflow calls."""

    def __init__(self, model: FittedEstimator) -> None:
        self.model = model

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> pd.DataFrame:
        """The columns that `batchensemble predict` writes; `q0.1` for a quantile."""
        params = params or {}
        coverage, levels = params.get("interval", COVERAGE), list(params.get("quantiles", ()))
        if isinstance(self.model, Forecaster):
            steps: pd.DataFrame = self.model.predict(
                df=model_input, level=[100 * coverage], quantiles=levels or None
            )
            return steps
        X = _as_at_fit(self.model, pd.DataFrame(model_input))
        dist = self.model.predict_dist(X)
        frame = prediction_columns(self.model, dist, coverage, self.model.groups_in(X))
        frame.index = pd.DataFrame(model_input).index
        if levels:
            if isinstance(self.model, Classifier):
                raise ValueError("quantiles are for numbers, and this model predicts classes")
            names = [f"q{level:g}" for level in levels]
            frame[names] = self.model.predict_quantiles(X, levels)
        return frame


def _as_at_fit(model: Regressor | Classifier, frame: pd.DataFrame) -> Any:
    """The columns of fit, in their order; the model itself reads dates that came as texts."""
    if not _has_names(model):
        return frame.set_axis(range(frame.shape[1]), axis=1)
    names = model.model_.encoder.names_
    return frame[names] if {*names} <= {*frame} else frame  # which the model refuses in words


def _load_pyfunc(path: str) -> _Predictions:
    return _Predictions(load(path))
