"""Classification that knows when it does not know."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight

from batchensemble.conformal import (
    SetCalibration,
    check_enough,
    fewest_rows,
    fit_temperature,
    halves,
)
from batchensemble.data.columns import Columns
from batchensemble.data.telling import tell
from batchensemble.estimators.examples import Examples
from batchensemble.estimators.explanation import CHANCE
from batchensemble.estimators.heads import ClassHead, check_labels
from batchensemble.estimators.parameters import (
    TABLE_ATTRIBUTES,
    TABLE_CONSTRAINTS,
    TABLE_PARAMETERS,
)
from batchensemble.estimators.presets import CLASSIFIER_PRESETS
from batchensemble.estimators.table import LEAST_COVERAGE, MOST_NAMED, TableEstimator
from batchensemble.estimators.targets import check_weight, read_target
from batchensemble.estimators.usefulness import doubt_about_classes, doubts_about_sets
from batchensemble.predictive import CategoricalPredictive
from batchensemble.words import one_of, true_or_false


@final
@dataclass(eq=False, repr=False, kw_only=True)
class Classifier(ClassifierMixin, TableEstimator[CategoricalPredictive]):  # type: ignore[misc]
    __doc__ = f"""Predict a class, its probability, and how far to trust that.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Classifier(random_state=0, epochs=5).fit(X, y)
    >>> model.predict_proba(X).shape
    (150, 3)
    {TABLE_PARAMETERS}    class_weight : None, "balanced", or dict of class to weight
        How much the rows of a class count, times `sample_weight`; "balanced" makes all classes
        count the same. Probabilities then no longer match the class frequencies.

    Attributes
    ----------
    classes_ : array
        The classes, in the order of the probabilities.
    calibration_ : SetCalibration or None
        After `calibrate`: the temperature, and the probabilities of the rows for sets.
    {TABLE_ATTRIBUTES}
    """

    _presets: ClassVar[dict[str, dict[str, Any]]] = CLASSIFIER_PRESETS
    _task: ClassVar[str] = "classification"
    # Half of them for the temperature, half for the sets.
    _fewest_calibration_rows: ClassVar[int] = 2 * fewest_rows(0.9)

    class_weight: str | dict[Any, float] | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TABLE_CONSTRAINTS,
        "class_weight": [str, dict, None],
    }

    calibration_: SetCalibration | None = field(init=False, default=None)
    classes_: NDArray[Any] = field(init=False)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        return self._ask(X, lambda dist: dist.mode)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of right classes."""
        labels = read_target(y, self.read(X).n_rows)
        weight = None if sample_weight is None else check_weight(sample_weight, len(labels))
        return float(super().score(X, labels, weight))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities, averaged over the members: (rows, classes) in the order of `classes_`.

        After calibration all members share a temperature, here and in every other prediction.
        """
        return self._ask(X, lambda dist: dist.mean)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of the probabilities."""
        with np.errstate(divide="ignore"):
            logs: NDArray[np.float64] = np.log(self.predict_proba(X))
        return logs

    def predict_set(
        self,
        X: Any,
        coverage: float = 0.9,
        *,
        allow_empty: bool = False,
        groups: ArrayLike | None = None,
    ) -> NDArray[np.bool_]:
        """Sets of classes that contain the truth with this probability: (rows, classes) of bool.

        After calibration only. Half of the calibration rows set the temperature, the others the
        sets. Every set contains the most probable class, so a model more accurate than `coverage`
        covers more than asked for; with `allow_empty` the coverage is as asked for, and some sets
        are empty. After `calibrate(..., per_class=True)` it holds for the rows of each class, and
        with `groups` for those of each group.
        """
        self._check_calibrated()
        allow_empty = true_or_false(allow_empty, "allow_empty")
        calibration = self.calibration_
        assert calibration is not None
        self.check_every_class(calibration, coverage)
        labels = self.groups_in(X, groups)
        if labels is not None:
            mean = self.predict_proba(X)
            return calibration.sets(mean, coverage, allow_empty=allow_empty, groups=labels)
        return self._ask(
            X,
            lambda dist: calibration.sets(dist.mean, coverage, allow_empty=allow_empty),
        )

    def _learn_target(self, every: Examples, learned: Examples) -> None:
        # From all rows: a rare class may be among the rows held back only.
        self.classes_ = ClassHead.learned(every.values).classes

    def _check_new_target(self, values: NDArray[Any]) -> None:
        is_known = np.isin(values, self.classes_)
        if not is_known.all():
            raise ValueError(
                f"expected the classes of fit, {self.classes_.tolist()[:MOST_NAMED]}, got "
                f"{values[~is_known].tolist()[0]!r}; to learn a new class, fit again with all rows"
            )

    def _allow_censored(self) -> None:
        raise ValueError(
            "censored targets are numbers, such as the time until an event, and a Classifier "
            "predicts classes; omit censored, or use Regressor"
        )

    def _head(self) -> ClassHead:
        if self.calibration_ is None:
            return ClassHead(self.classes_)
        return ClassHead(self.classes_, self.calibration_.temperature)

    def _weighted(self, values: NDArray[Any], sample_weight: Any, is_first: bool) -> Any:
        if self.class_weight is None:
            return sample_weight
        check_labels(values)
        known = np.unique(values) if is_first else self.classes_
        if sample_weight is None:
            return self._class_weights(values, known)
        weight = np.array(check_weight(sample_weight, len(values)))
        rows = np.flatnonzero(weight)  # the others are ignored, also when classes are counted
        if len(rows):
            weight[rows] *= self._class_weights(values[rows], known)
        return weight

    def _class_weights(self, values: NDArray[Any], known: NDArray[Any]) -> Any:
        """`class_weight` of each row."""
        here, codes = np.unique(values, return_inverse=True)  # scikit-learn takes "01" for a 1
        if isinstance(self.class_weight, str):
            one_of(self.class_weight, ("balanced",), "class_weight")
            return compute_sample_weight("balanced", codes)
        classes = known.tolist()
        unknown = [label for label in self.class_weight or () if label not in classes]
        # As scikit-learn: a fold without a rare class is fine if all others have weights.
        if unknown and not all(label in (self.class_weight or ()) for label in classes):
            raise ValueError(f"class_weight: expected classes out of {classes}, got {unknown}")
        for label, weight in (self.class_weight or {}).items():
            if not (isinstance(weight, Real) and 0 <= weight < math.inf):
                raise ValueError(
                    f"class_weight: expected finite numbers of at least 0, got {weight!r} for "
                    f"{label!r}"
                )
        weights = [(self.class_weight or {}).get(label, 1.0) for label in here.tolist()]
        return np.array(weights, np.float64)[codes]

    def _calibrated(
        self, columns: Columns, values: NDArray[Any], groups: NDArray[Any] | None, per_class: bool
    ) -> SetCalibration:
        head = ClassHead(self.classes_)
        outputs = np.concatenate(list(self.model_.outputs(columns)))
        labels = head.predictive(outputs).encode(values)
        rng = np.random.default_rng(self.model_.ensemble.seed)
        first, rest = halves(labels, rng, per_class=per_class)
        temperature = fit_temperature(labels[first], logits=outputs[first])
        tempered = replace(head, temperature=temperature)
        calibration = SetCalibration(
            temperature,
            labels[rest],
            tempered.predictive(outputs[rest]).mean,
            head.predictive(outputs[rest]).mean,
            per_class=per_class,
            groups=None if groups is None else groups[rest],
        )
        self.check_every_class(calibration, LEAST_COVERAGE)
        for doubt in doubts_about_sets(calibration, self.classes_):
            tell(doubt, 4)
        return calibration

    def check_every_class(self, calibration: SetCalibration, coverage: float) -> None:
        """Refuse sets by class without enough rows of each."""
        if calibration.per_class:
            labels = self.classes_[calibration.labels]
            check_enough(labels, coverage, self.classes_.tolist(), "class")

    def _parts(self) -> tuple[list[str], Callable[[CategoricalPredictive], NDArray[np.float64]]]:
        chances = [f"{CHANCE}{label}" for label in self.classes_]
        return [*chances, "aleatoric", "epistemic"], lambda dist: np.column_stack(
            [dist.mean, dist.aleatoric, dist.epistemic]
        )

    def _doubts(self, values: NDArray[Any], dist: CategoricalPredictive) -> Iterator[str]:
        return doubt_about_classes(dist.encode(values), dist.mean.argmax(axis=1))

    def _about_target(self) -> dict[str, Any]:
        return {"classes": self.classes_}
