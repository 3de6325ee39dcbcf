"""The border between a user's table and tensors: scikit-learn estimators."""

from batchensemble.estimators.classifier import Classifier
from batchensemble.estimators.regressor import Regressor

__all__ = ["Classifier", "Regressor"]
