"""The border between a user's tables and series, and tensors: estimators."""

from batchensemble.estimators.classifier import Classifier
from batchensemble.estimators.forecaster import Forecaster
from batchensemble.estimators.joint import JointRegressor
from batchensemble.estimators.loading import load
from batchensemble.estimators.regressor import Regressor

__all__ = ["Classifier", "Forecaster", "JointRegressor", "Regressor", "load"]
