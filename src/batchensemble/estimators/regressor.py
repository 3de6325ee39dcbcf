"""Regression that predicts a whole distribution."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin

from batchensemble.conformal import IntervalCalibration, fewest_rows, predicted_interval
from batchensemble.data.columns import Columns
from batchensemble.data.telling import tell
from batchensemble.estimators.examples import Examples
from batchensemble.estimators.heads import AS_TRAINED, NumberHead, read_numbers
from batchensemble.estimators.parameters import (
    NUMBER_CONSTRAINTS,
    NUMBER_PARAMETERS,
    TABLE_ATTRIBUTES,
    TABLE_PARAMETERS,
)
from batchensemble.estimators.presets import MANY_ROWS, PRESETS
from batchensemble.estimators.settings import NumberSettings
from batchensemble.estimators.spread import Spread, held_out_spread
from batchensemble.estimators.table import TableEstimator
from batchensemble.estimators.target_kinds import described, learn_kind
from batchensemble.estimators.targets import check_weight, read_target
from batchensemble.estimators.usefulness import doubt_about_numbers
from batchensemble.predictive import NumberPredictive, Transform
from batchensemble.training.engines import Data
from batchensemble.training.losses import GaussianCRPS, GaussianNLL
from batchensemble.training.models import Rows
from batchensemble.words import one_of, true_or_false


@final
@dataclass(eq=False, repr=False, kw_only=True)
class Regressor(
    RegressorMixin,  # type: ignore[misc]
    TableEstimator[NumberPredictive],
    NumberSettings,
):
    __doc__ = f"""Predict a number, and how far to trust it.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = Regressor(random_state=0, epochs=5).fit(X[:400], y[:400])
    >>> model.predict_interval(X[400:], coverage=0.9).shape
    (42, 2)
    {TABLE_PARAMETERS}    target : None or one of "auto", "real", "positive", "count", "bounded"
        What the target can be: any number; a number of at least 0; a whole number of at least 0;
        a number between two bounds. Predictions, intervals and quantiles then stay there. With
        "auto" the rows decide; `target_kind_` says how.
    target_bounds : (float, float) or None
        The bounds of target="bounded"; None for 0 and 1, or else 0 and 100.
    {NUMBER_PARAMETERS}
    Attributes
    ----------
    calibration_ : IntervalCalibration or None
        After `calibrate`: predictions for the calibration rows, beside the truth.
    target_kind_ : str
        What the target can be: "real", "positive", "count" or "bounded".
    transform_ : Transform or None
        Leads from the numbers that the networks predict to the target; None for "real".
    target_location_, target_scale_ : float
        The target, or the number before the transform, is scaled as (y - location) / scale.
    spread_ : Spread
        How much wider or narrower predictions are than the networks' own.
    {TABLE_ATTRIBUTES}
    """

    _presets: ClassVar[dict[str, dict[str, Any]]] = PRESETS
    _many_rows: ClassVar[dict[int, dict[str, dict[str, Any]]]] = MANY_ROWS
    _task: ClassVar[str] = "regression"

    target: str | None = None
    target_bounds: tuple[float, float] | None = None

    calibration_: IntervalCalibration | None = field(init=False, default=None)
    target_kind_: str = field(init=False)
    transform_: Transform | None = field(init=False)
    target_location_: float = field(init=False)
    target_scale_: float = field(init=False)
    spread_: Spread = field(init=False)

    _fewest_calibration_rows: ClassVar[int] = fewest_rows(0.9)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NUMBER_CONSTRAINTS,
        "target": [str, None],
        "target_bounds": [tuple, list, None],
    }

    def predict(
        self, X: Any, return_std: bool = False
    ) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The mean, and with `return_std=True` also the standard deviation."""
        if not true_or_false(return_std, "return_std"):
            return self._ask(X, lambda dist: dist.mean)
        both = self._ask(X, lambda dist: np.column_stack([dist.mean, dist.std]))
        return both[:, 0], both[:, 1]

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """R², the share of the targets' variance that the means explain; at most 1."""
        truth = read_numbers(read_target(y, self.read(X).n_rows))
        weight = None if sample_weight is None else check_weight(sample_weight, len(truth))
        return float(super().score(X, truth, weight))

    def predict_interval(
        self, X: Any, coverage: float = 0.9, *, groups: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """The interval that contains the truth with this probability: (rows, 2), its two ends.

        The central interval of the predicted distribution. After calibration: the mean plus or
        minus as many standard deviations as the calibration rows (of the row's group) needed, with
        different numbers below and above if that was better in fit. It stays in the range of the
        target, and ends at whole numbers for counts.
        """
        labels, whole = self.groups_in(X, groups), self.is_count
        if labels is not None:
            dist = self.predict_dist(X)
            return predicted_interval(dist, coverage, self.calibration_, labels, whole=whole)
        return self._ask(
            X, lambda dist: predicted_interval(dist, coverage, self.calibration_, whole=whole)
        )

    def predict_quantiles(self, X: Any, q: ArrayLike) -> NDArray[np.float64]:
        """Quantiles of the distribution: (rows,) for one level, (rows, levels) for several.

        Those of counts are rounded to whole numbers. Calibration changes intervals, not quantiles.
        """
        if self.is_count:
            return self._ask(X, lambda dist: np.rint(dist.quantile(q)))
        return self._ask(X, lambda dist: dist.quantile(q))

    @property
    def is_count(self) -> bool:
        """Whether the target is a count, whose intervals end at whole numbers."""
        return vars(self).get("target_kind_") == "count"

    def _learn_target(self, every: Examples, learned: Examples) -> None:
        if self.beta and self.loss == "crps":
            raise ValueError(
                f"beta={self.beta} belongs to loss='nll', got loss='crps'; omit one of the two"
            )
        if self.beta and self.loss is None:
            self.settings_["loss"] = "nll"
        if every.censored is not None:
            self._allow_censored()
        scaling, values = self.settings_["target_scaling"], learned.values
        self.target_kind_, self.transform_ = learn_kind(
            read_numbers(every.values),  # also of rows held back: they must be possible
            self.settings_["target"],
            self.target_bounds,
            logarithmic=scaling == "log",
        )
        head = NumberHead.learned(values, scaling, self._loss(), self.transform_)
        self.target_location_, self.target_scale_ = head.location, head.scale
        self.spread_ = AS_TRAINED
        if self.settings_["rescale"]:
            self.spread_ = Spread(narrowest=head.grid_share(values))

    def _known(self, examples: Examples) -> NDArray[Any]:
        if examples.censored is None or not self.is_count:
            return examples.values
        return read_numbers(examples.values) - 0.5 * examples.censored  # which is rounded to it

    def _allow_censored(self) -> None:
        if self.loss == "crps":
            raise ValueError(
                "censored targets are learned by their likelihood, loss='nll', got loss='crps'; "
                "omit it"
            )
        self.settings_ = self.settings_ | {"loss": "nll"}

    def _check_new_target(self, values: NDArray[Any]) -> None:
        y, transform = read_numbers(values), vars(self).get("transform_")
        if transform is not None and not transform.low <= y.min() <= y.max() <= transform.high:
            raise ValueError(
                f"expected targets in the range of the model "
                f"({described(self.target_kind_, transform)}), got values from {y.min():g} to "
                f"{y.max():g}; fit with target='real'"
            )
        for value in y[y != np.rint(y)][:1] if self.is_count else ():
            raise ValueError(
                f"expected whole numbers (target_kind_ is 'count'), got {value:g}; fit "
                "with target='positive'"
            )

    def _learn_spread(self, data: Data, splits: list[Rows]) -> None:
        if not self.settings_.get("rescale"):
            return
        head = self._head()
        spread = held_out_spread(
            self.model_.ensemble, head.loss, data, splits, head.after_transform
        )
        if spread != AS_TRAINED:  # else there were too few rows, and what is known stays
            self.spread_ = replace(spread, narrowest=self.spread_.narrowest)

    def _head(self) -> NumberHead:
        # Files of version 0.1 have no spread, and those of 0.2 no transform.
        spread, transform = (
            vars(self).get(name, other)
            for name, other in (("spread_", AS_TRAINED), ("transform_", None))
        )
        location, scale = self.target_location_, self.target_scale_
        return NumberHead(location, scale, self._loss(), spread, transform)

    def _loss(self) -> GaussianNLL | GaussianCRPS:
        bounds = tuple(self.settings_["log_variance_bounds"])
        # Files of version 0.1 know the NLL alone, and keep beta elsewhere.
        word = one_of(self.settings_.get("loss", "nll"), ("crps", "nll"), "loss")
        beta = self.settings_.get("beta", self.beta) or 0.0
        return GaussianCRPS(bounds) if word == "crps" else GaussianNLL(bounds, beta)

    def _calibrated(
        self, columns: Columns, values: NDArray[Any], groups: NDArray[Any] | None, per_class: bool
    ) -> IntervalCalibration:
        if per_class:
            raise ValueError("per_class=True is for a Classifier: numbers have no classes; omit it")
        y, parts, start = read_numbers(values), [], 0
        self._tell_of_impossible(y)
        for dist in self.model_.chunks(columns):
            truth = y[start : start + len(dist)]
            parts.append(IntervalCalibration.of(truth, dist, whole=self.is_count))
            start += len(dist)
        two_sided = self._head().spread.skewed
        return replace(IntervalCalibration.joined(parts), groups=groups, two_sided=two_sided)

    def _tell_of_impossible(self, y: NDArray[np.float64]) -> None:
        transform = self._head().transform
        if transform is None:
            return
        n_missed = np.count_nonzero((y < transform.low) | (y > transform.high))
        if n_missed:
            tell(
                f"{n_missed} of {len(y)} calibration targets are outside the range of the model "
                f"({described(self.target_kind_, transform)}), so no interval contains them: "
                f"coverage of such targets is at most {1 - n_missed / len(y):.0%}; fit with "
                "target='real'",
                4,
            )

    def _parts(self) -> tuple[list[str], Callable[[NumberPredictive], NDArray[np.float64]]]:
        return ["mean", "aleatoric", "epistemic"], lambda dist: np.column_stack(
            [dist.mean, dist.aleatoric, dist.epistemic]
        )

    def _doubts(self, values: NDArray[Any], dist: NumberPredictive) -> Iterator[str]:
        y = read_numbers(values)
        return doubt_about_numbers(y, dist.mean, float(y.mean()))

    def _about_target(self) -> dict[str, Any]:
        return {
            "kind": described(vars(self).get("target_kind_", "real"), self._head().transform),
            "location": self.target_location_,
            "scale": self.target_scale_,
        }
