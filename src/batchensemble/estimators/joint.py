"""Several numbers as targets: a Regressor for each, and how their errors go together."""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from batchensemble.data.columns import Columns
from batchensemble.data.frames import read_columns
from batchensemble.data.table_files import is_in_files
from batchensemble.data.telling import collected, tell
from batchensemble.estimators.copula import FEWEST_ROWS, learned_correlation
from batchensemble.estimators.joint_file import BY_NAME, check_parts, stored_jointly
from batchensemble.estimators.parameters import (
    NUMBER_CONSTRAINTS,
    NUMBER_PARAMETERS,
    TABLE_PARAMETERS,
)
from batchensemble.estimators.regressor import Regressor
from batchensemble.estimators.settings import NumberSettings
from batchensemble.estimators.table_model import HeldOut
from batchensemble.estimators.targets import about_target, read_targets
from batchensemble.modelfile.codec import set_fields
from batchensemble.modelfile.persistence import FilePath
from batchensemble.predictive import JointPredictive, NumberPredictive
from batchensemble.predictive.joint import check_correlation
from batchensemble.training.history import History
from batchensemble.words import one_of, true_or_false

Floats = NDArray[np.float64]


@final
@dataclass(eq=False, repr=False, kw_only=True)
class JointRegressor(MultiOutputMixin, RegressorMixin, NumberSettings):  # type: ignore[misc]
    __doc__ = f"""Predict several numbers, and how their errors are correlated.

    Each target has a `Regressor` of its own, as if it were fitted alone with the same settings.
    Then a Gaussian copula learns from rows held out for early stopping how the errors of the
    targets are correlated, for joint draws.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> table, _ = load_diabetes(return_X_y=True, as_frame=True)
    >>> X, Y = table.drop(columns=["s1", "s2"]), table[["s1", "s2"]]
    >>> model = JointRegressor(random_state=0, epochs=5).fit(X, Y)
    >>> model.sample(X, 100).shape
    (100, 442, 2)
    {TABLE_PARAMETERS}    target : None, str or mapping of target name to str
        What each target can be: one of "auto", "real", "positive", "count", "bounded" for all, or
        one for each that is named; see `Regressor`.
    target_bounds : (float, float), mapping of target name to such a pair, or None
        The bounds of target="bounded"; None for 0 and 1, or else 0 and 100.
    {NUMBER_PARAMETERS}
    Attributes
    ----------
    regressors_ : dict of str to Regressor
        The model of each target, by its name.
    target_names_ : list of str
        The columns of a frame passed as Y, or y0, y1, ...
    correlation_ : array (targets, targets)
        Of the errors' normal scores; shrunk towards independence.
    n_held_out_ : int
        Rows that the correlation was learned from.
    """

    _task: ClassVar[str] = "regression"

    target: str | Mapping[str, str] | None = None
    target_bounds: tuple[float, float] | Mapping[str, tuple[float, float]] | None = None

    regressors_: dict[str, Regressor] = field(init=False)
    target_names_: list[str] = field(init=False)
    correlation_: Floats = field(init=False)
    n_held_out_: int = field(init=False)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NUMBER_CONSTRAINTS,
        "target": [str, Mapping, None],
        "target_bounds": [tuple, list, Mapping, None],
    }

    def fit(
        self,
        X: Any,
        Y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        calibrate: bool = False,
        groups: ArrayLike | None = None,
        in_time: bool = False,
    ) -> Self:
        """Learn from a table and its targets, (rows, targets), an array or a frame.

        Arguments are as in `Regressor.fit`; a time limit holds for each target. The correlation of
        errors is learned from at most about 1,000 of the rows held out for early stopping, each of
        which counts once, whatever its weight. With fewer than 30, errors are taken as independent,
        with a warning. A fit that fails leaves the estimator as it was. After a Ctrl-C with
        `keep_on_interrupt`, the remaining targets train for one epoch each.
        """
        self._validate_params()
        calibrate = true_or_false(calibrate, "calibrate")
        in_time = true_or_false(in_time, "in_time")
        if is_in_files(X):
            raise ValueError(
                "X names files, and JointRegressor needs a table in memory; read it first, for "
                "example with pandas.read_csv"
            )
        if Y is None:
            raise ValueError("JointRegressor requires y to be passed, but the target y is None")
        is_update = self.warm_start and hasattr(self, "regressors_")
        known = self.target_names_ if is_update else None
        targets = read_targets(Y, read_columns(X).n_rows, known)
        regressors = self._regressors(list(targets))
        if is_update:
            regressors = {
                name: copy.copy(self.regressors_[name]).set_params(**one.get_params(deep=False))
                for name, one in regressors.items()
            }
        parts: list[HeldOut[NumberPredictive]] = []
        said: dict[str, dict[str, None]] = {}
        is_interrupted = False
        for name, regressor in regressors.items():
            asked = regressor.epochs
            regressor.epochs = 1 if is_interrupted else asked
            y = pd.Series(targets[name], name=name)
            with collected() as doubts, regressor._all_or_nothing(), about_target(name):
                regressor._validate_params()
                told = (X, y, sample_weight, groups, in_time)
                rows = regressor._examples(*told, is_first=not is_update)
                learn = regressor._update if is_update else regressor._fit
                held_out = learn(rows, calibrate, None)
            regressor.epochs = asked
            is_interrupted |= regressor.history_[-1].ended == "interrupt"
            for doubt in doubts:
                said.setdefault(doubt, {})[name] = None
            if held_out is not None:
                parts.append(held_out)
        for doubt, names in said.items():
            of = "" if len(names) == len(regressors) else f" (target {', '.join(names)})"
            tell(doubt + of, 2)
        n_held_out, correlation = len(parts[0].rows) if parts else 0, np.eye(len(regressors))
        if n_held_out >= FEWEST_ROWS:
            correlation = learned_correlation(parts)
        else:
            tell(
                "joint draws will be independent: the correlation of errors is learned from "
                f"at least {FEWEST_ROWS} rows held out for early stopping, and there are "
                f"{n_held_out}; collect more rows, or choose a validation_fraction above 0",
                2,
            )
        self.n_held_out_, self.correlation_ = n_held_out, correlation
        self.regressors_, self.target_names_ = regressors, list(regressors)
        self._copy_features()
        return self

    def _regressors(self, names: list[str]) -> dict[str, Regressor]:
        """One for each target, with the same seed."""
        seed = self.random_state
        if seed is None or isinstance(seed, np.random.RandomState):
            seed = int(check_random_state(seed).randint(2**31 - 1))
        parameters = self.get_params(deep=False) | {"random_state": seed}
        by_name: dict[str, dict[str, Any]] = {}
        for parameter in BY_NAME:
            value = parameters[parameter]
            if isinstance(value, Mapping):
                for name in value:
                    one_of(name, names, f"the names in {parameter}")
            by_name[parameter] = {
                name: value.get(name) if isinstance(value, Mapping) else value for name in names
            }
        return {
            name: Regressor(**parameters | {each: of[name] for each, of in by_name.items()})
            for name in names
        }

    def predict(self, X: Any, return_std: bool = False) -> Floats | tuple[Floats, Floats]:
        """The means, (rows, targets), and with `return_std=True` also the standard deviations."""
        if not true_or_false(return_std, "return_std"):
            return self._stacked(X, lambda one, x: one.predict(x))
        both = self._stacked(X, lambda one, x: np.stack([*one.predict(x, return_std=True)], -1))
        return both[..., 0], both[..., 1]

    def predict_interval(
        self, X: Any, coverage: float = 0.9, *, groups: ArrayLike | None = None
    ) -> Floats:
        """The interval of each target, (rows, targets, 2); see `Regressor.predict_interval`.

        Each contains its target with this probability; all targets of a row at once are inside less
        often.
        """
        return self._stacked(X, lambda one, x: one.predict_interval(x, coverage, groups=groups))

    def predict_quantiles(self, X: Any, q: ArrayLike) -> Floats:
        """Quantiles of each target: (rows, targets), or (rows, targets, levels) for several."""
        return self._stacked(X, lambda one, x: one.predict_quantiles(x, q))

    def predict_dist(self, X: Any) -> JointPredictive:
        """The whole prediction: a distribution by target name, and joint draws."""
        columns = self._read(X)
        dists = {name: one.predict_dist(columns) for name, one in self.regressors_.items()}
        return JointPredictive(dists, self.correlation_)

    def sample(self, X: Any, n: int, rng: np.random.Generator | int = 0) -> Floats:
        """(n, rows, targets) joint draws; `rng` is a numpy Generator or a seed.

        Calibration changes intervals, not draws.
        """
        return self.predict_dist(X).sample(n, rng)

    def calibrate(self, X: Any, Y: Any, *, groups: Any = None) -> Self:
        """Calibrate the intervals of each target; see `Regressor.calibrate`."""

        check_is_fitted(self, "regressors_")
        columns = self._read(X)
        targets = read_targets(Y, columns.n_rows, self.target_names_)
        self.regressors_ = {
            name: copy.copy(one).calibrate(columns, targets[name], groups=groups)
            for name, one in self.regressors_.items()
        }
        return self

    def calibration_report(self) -> pd.DataFrame:
        """What calibration changed, by target and nominal coverage."""
        check_is_fitted(self, "regressors_")
        reports = {name: one.calibration_report() for name, one in self.regressors_.items()}
        return pd.concat(reports, names=["target"])

    def score(self, X: Any, Y: Any, sample_weight: ArrayLike | None = None) -> float:
        """The mean of the targets' R²."""
        check_is_fitted(self, "regressors_")
        targets = read_targets(Y, read_columns(X).n_rows, self.target_names_)
        scores = [
            self.regressors_[name].score(X, values, sample_weight)
            for name, values in targets.items()
        ]
        return float(np.mean(scores))

    def save(self, path: FilePath) -> None:
        """Write the fitted model to one file, for `batchensemble.load(path)`; see `Regressor`."""
        check_is_fitted(self, "regressors_")
        from batchensemble.estimators.loading import write_loadable  # which knows all estimators

        write_loadable(path, *stored_jointly(self))

    def restore(self, learned: dict[str, Any], regressors: Sequence[Regressor]) -> None:
        """Become the estimator that learned this; for `load`."""
        set_fields(self, learned)
        check_parts(self, regressors)
        self.regressors_ = dict(zip(self.target_names_, regressors, strict=True))
        self.correlation_ = check_correlation(self.correlation_, len(regressors))
        self._copy_features()

    @property
    def n_parameters_(self) -> int:
        return sum(one.n_parameters_ for one in self.regressors_.values())

    @property
    def history_(self) -> list[History]:
        """Those of all targets, in order."""
        return [history for one in self.regressors_.values() for history in one.history_]

    def _copy_features(self) -> None:
        first, own = vars(self.regressors_[self.target_names_[0]]), self.__dict__
        own.pop("feature_names_in_", None)
        names = ("n_features_in_", "feature_names_in_")
        own.update({name: first[name] for name in names if name in first})

    def _stacked(self, X: Any, answer: Callable[[Regressor, Columns], Any]) -> Floats:
        columns = self._read(X)
        return np.stack([answer(one, columns) for one in self.regressors_.values()], axis=1)

    def _read(self, X: Any) -> Columns:
        """X as the columns of fit, checked once and not for each target."""
        check_is_fitted(self, "regressors_")
        first, columns = self.regressors_[self.target_names_[0]], read_columns(X)
        first.check_columns(X, columns, asked=self)
        return columns

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = Regressor().__sklearn_tags__().input_tags
        tags.target_tags.single_output = False
        return tags
