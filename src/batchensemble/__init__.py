"""Predictions with trustworthy uncertainty for tables and time series.

Inside is BatchEnsemble, an ensemble whose members share most of their parameters.
"""

import gc
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from batchensemble import datasets, metrics, nn
    from batchensemble.data.telling import BatchEnsembleWarning
    from batchensemble.estimators.classifier import Classifier
    from batchensemble.estimators.forecaster import Forecaster
    from batchensemble.estimators.joint import JointRegressor
    from batchensemble.estimators.loading import load
    from batchensemble.estimators.regressor import Regressor
    from batchensemble.predictive import (
        CategoricalPredictive,
        GaussianPredictive,
        JointPredictive,
        SamplePredictive,
        TransformedPredictive,
    )

    __version__: str

__all__ = [
    "BatchEnsembleWarning",
    "CategoricalPredictive",
    "Classifier",
    "Forecaster",
    "GaussianPredictive",
    "JointPredictive",
    "JointRegressor",
    "Regressor",
    "SamplePredictive",
    "TransformedPredictive",
    "datasets",
    "load",
    "metrics",
    "nn",
]

# Imported on first use, so that a layer costs no scikit-learn and a metric no torch.
_ROOMS = {
    "BatchEnsembleWarning": "data.telling",
    "CategoricalPredictive": "predictive",
    "Classifier": "estimators.classifier",
    "Forecaster": "estimators.forecaster",
    "GaussianPredictive": "predictive",
    "JointPredictive": "predictive",
    "JointRegressor": "estimators.joint",
    "Regressor": "estimators.regressor",
    "SamplePredictive": "predictive",
    "TransformedPredictive": "predictive",
    "load": "estimators.loading",
}


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return getattr(_imported(_ROOMS[name]), name)
    if name == "__version__":
        return _imported("modelfile.version").VERSION
    if name in __all__:
        return _imported(name)
    raise AttributeError(f"module 'batchensemble' has no attribute {name!r}")


def _imported(room: str) -> ModuleType:
    # What is imported stays: to look for garbage in it takes a tenth of the time.
    is_on = gc.isenabled()
    gc.disable()
    try:
        return import_module(f"batchensemble.{room}")
    finally:
        if is_on:
            gc.enable()


def __dir__() -> list[str]:
    return sorted(__all__)
