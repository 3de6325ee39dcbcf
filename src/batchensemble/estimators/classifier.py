"""Classification that knows when it does not know."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from torch import Tensor

from batchensemble.conformal import SetCalibration, fewest_rows, fit_temperature
from batchensemble.data.frames import Columns
from batchensemble.estimators.parameters import TABLE_ATTRIBUTES, TABLE_PARAMETERS
from batchensemble.estimators.presets import CLASSIFIER_PRESETS
from batchensemble.estimators.trust import TrustedTable
from batchensemble.predictive import CategoricalPredictive
from batchensemble.training.losses import CategoricalNLL


@final
@dataclass(eq=False, repr=False, kw_only=True)
class Classifier(ClassifierMixin, TrustedTable):  # type: ignore[misc]
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
    calibration_ : SetCalibration
        After `calibrate`: the temperature, and the probabilities of the rows for sets.
    {TABLE_ATTRIBUTES}
    """

    _presets: ClassVar[dict[str, dict[str, Any]]] = CLASSIFIER_PRESETS
    _task: ClassVar[str] = "classification"
    # Half of them for the temperature, half for the sets.
    _fewest_calibration_rows: ClassVar[int] = 2 * fewest_rows(0.9)

    calibration_: SetCalibration = field(init=False)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        return self._answer(X, lambda dist: dist.mode)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities, averaged over the members: (rows, classes) in the order of `classes_`.

        After calibration all members share a temperature, here and in every other answer.
        """
        return self._answer(X, lambda dist: dist.mean)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of the probabilities."""
        with np.errstate(divide="ignore"):
            logs: NDArray[np.float64] = np.log(self.predict_proba(X))
        return logs

    def predict_set(
        self, X: Any, coverage: float = 0.9, *, allow_empty: bool = False
    ) -> NDArray[np.bool_]:
        """Sets of classes that hold the truth with that probability: (rows, classes), True inside.

        After calibration only. Half of the calibration rows set the temperature, the others the
        sets. Every set holds the most probable class, so that a model that is right more often
        than `coverage` covers more than was asked for; with `allow_empty` it keeps to what was
        asked for, and is silent about some rows.
        """
        self._check_calibrated()
        sets: NDArray[np.bool_] = self._answer(
            X, lambda dist: self.calibration_.sets(dist.mean, coverage, allow_empty=allow_empty)
        )
        return sets

    def _tempered(self, outputs: Tensor) -> Tensor:
        # All members alike. The mean of the members may then prefer another class.
        if not hasattr(self, "calibration_"):
            return outputs
        return outputs / self.calibration_.temperature

    def _disagreement(self, outputs: Tensor) -> NDArray[np.float64]:
        centred = outputs - outputs.mean(-1, keepdim=True)  # a constant added to logits is nothing
        variances: NDArray[np.float64] = centred.var(1, correction=0).sum(-1).numpy()
        return variances

    def _calibration(self, columns: Columns, values: NDArray[Any]) -> SetCalibration:
        outputs = torch.cat(list(self._outputs(columns)))
        labels = self._dist(outputs).encode(values)
        order = np.random.default_rng(self._prediction_seed).permutation(len(labels))
        first, rest = np.split(order, [len(order) // 2])
        temperature = fit_temperature(labels[first], logits=outputs[first].numpy())
        return SetCalibration(
            temperature,
            labels[rest],
            self._dist(outputs[rest] / temperature).mean,
            self._dist(outputs[rest]).mean,
        )

    def _dist(self, outputs: Tensor) -> CategoricalPredictive:
        return CategoricalPredictive(outputs.softmax(-1).numpy(), self.classes_)

    def _learn_target(self, values: NDArray[Any], learned: Any) -> NDArray[np.int64]:
        if values.dtype == object:
            raise ValueError(
                f"expected labels of one kind, got {sorted({type(v).__name__ for v in values})}; "
                "turn them into texts or numbers"
            )
        with np.errstate(invalid="ignore"):  # it casts numbers such as 1e30 to integers
            check_classification_targets(values)
        # Of all rows: a class may be rare enough to be among the spared ones only.
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
