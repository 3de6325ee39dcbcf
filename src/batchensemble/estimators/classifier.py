"""Classification that knows when it does not know."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from torch import Tensor

from batchensemble.estimators.parameters import TABLE_PARAMETERS
from batchensemble.estimators.presets import CLASSIFIER_PRESETS
from batchensemble.estimators.table import TableEstimator
from batchensemble.losses import CategoricalNLL
from batchensemble.predictive import CategoricalPredictive


@final
@dataclass(eq=False, repr=False, kw_only=True)
class Classifier(ClassifierMixin, TableEstimator):  # type: ignore[misc]
    __doc__ = f"""Predict a class, its probability, and how far to trust that.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Classifier(random_state=0, epochs=5).fit(X, y)
    >>> model.predict_proba(X).shape
    (150, 3)
    {TABLE_PARAMETERS}
    Attributes
    ----------
    classes_ : array
        The classes, in the order of the probabilities.
    n_parameters_ : int
        Trained numbers, of all networks together.
    target_name_ : str or None
        Of a named pandas or polars Series.
    bank_, encoder_, history_
        The trained networks, the encoder of the columns, and losses and scores by epoch (a list
        of one history, or with `one_by_one` of one for each network).
    """

    _presets: ClassVar[dict[str, dict[str, Any]]] = CLASSIFIER_PRESETS
    _task: ClassVar[str] = "classification"

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        return self._answer(X, lambda dist: dist.mode)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities, averaged over the members: (rows, classes) in the order of `classes_`."""
        return self._answer(X, lambda dist: dist.mean)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of the probabilities."""
        with np.errstate(divide="ignore"):
            logs: NDArray[np.float64] = np.log(self.predict_proba(X))
        return logs

    def _dist(self, outputs: Tensor) -> CategoricalPredictive:
        return CategoricalPredictive(outputs.softmax(-1).numpy(), self.classes_)

    def _learn_target(self, values: NDArray[Any]) -> NDArray[np.int64]:
        if values.dtype == object:
            raise ValueError(
                f"expected labels of one kind, got {sorted({type(v).__name__ for v in values})}; "
                "turn them into texts or numbers"
            )
        with np.errstate(invalid="ignore"):  # it casts numbers such as 1e30 to integers
            check_classification_targets(values)
        self.classes_, labels = np.unique(values, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"expected at least 2 classes in y, got one class: {list(self.classes_)}"
            )
        return labels.astype(np.int64)

    def _loss(self) -> CategoricalNLL:
        return CategoricalNLL()

    def _about_target(self) -> dict[str, Any]:
        return {"classes": self.classes_}

    def _heads(self) -> tuple[int, ...]:
        return (len(self.classes_),)
