"""Classification that knows when it does not know."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d

from batchensemble.estimators.base import PARAMETERS, TableEstimator
from batchensemble.losses import CategoricalNLL
from batchensemble.predictive import CategoricalPredictive


@final
@dataclass(eq=False, repr=False, kw_only=True)
class Classifier(ClassifierMixin, TableEstimator):  # type: ignore[misc]
    __doc__ = f"""Predict a class, its probability, and how far to trust that.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Classifier(random_state=0, epochs=5).fit(X, y)
    >>> model.predict_proba(X).shape
    (150, 3)
    {PARAMETERS}
    Attributes
    ----------
    classes_ : array
        The classes, in the order of the probabilities.
    n_parameters_ : int
        Trained numbers, of all networks together.
    bank_, encoder_, history_
        The trained networks, the encoder of the columns, and losses and scores by epoch (a list
        of one history, or with `one_by_one` of one for each network).
    """

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        mode = self.predict_dist(X).mode
        labels: NDArray[Any] = self.classes_[mode]
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities, averaged over the members: (rows, classes) in the order of `classes_`."""
        return self.predict_dist(X).mean

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of the probabilities."""
        with np.errstate(divide="ignore"):
            logs: NDArray[np.float64] = np.log(self.predict_proba(X))
        return logs

    def predict_dist(self, X: Any) -> CategoricalPredictive:
        """Every member's probabilities, as one distribution a row."""
        return CategoricalPredictive(self._outputs(X).softmax(-1).numpy())

    def _learn_target(self, y: ArrayLike) -> NDArray[np.int64]:
        values = column_or_1d(np.asarray(y), warn=True)
        if values.dtype.kind == "f":
            assert_all_finite(values, input_name="y")
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

    def _heads(self) -> tuple[int, ...]:
        return (len(self.classes_),)
