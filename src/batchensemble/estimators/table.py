"""What estimators for tables share: fitting, predictions, calibration, out-of-distribution rows."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from batchensemble.conformal import (
    REPORTED,
    IntervalCalibration,
    SetCalibration,
    check_enough,
)
from batchensemble.data.columns import Columns
from batchensemble.data.date_columns import with_written_dates
from batchensemble.data.doubts import doubts_about, doubts_about_new
from batchensemble.data.frames import read_columns
from batchensemble.data.table_encoder import TableEncoder
from batchensemble.data.telling import tell
from batchensemble.estimators.base import Estimator, pick_device
from batchensemble.estimators.effort import length_for
from batchensemble.estimators.examples import Examples, read_eval_set, training_data
from batchensemble.estimators.explanation import Explanation, explained, of_kinds_at_fit
from batchensemble.estimators.forms import shown
from batchensemble.estimators.heads import Head, censored_loss
from batchensemble.estimators.parameters import TABLE_CONSTRAINTS
from batchensemble.estimators.presets import resolve
from batchensemble.estimators.settings import TableSettings
from batchensemble.estimators.splits import (
    FEWEST_ROWS_HELD_OUT,
    Seeds,
    draw_seeds,
    fewer_watched,
    hold_back,
    read_order,
    rows_of,
)
from batchensemble.estimators.stored import plain_lists
from batchensemble.estimators.table_model import (
    Dist,
    HeldOut,
    TableModel,
    let_curves_go_on,
    recipe_of,
    shift_scale,
    shift_scores,
    table_network,
)
from batchensemble.estimators.targets import (
    group_labels,
    read_censored,
    read_target,
    read_weight,
)
from batchensemble.estimators.usefulness import held_out_outputs
from batchensemble.modelfile.persistence import FilePath
from batchensemble.predictive import Uncertainty
from batchensemble.training.bank import Bank
from batchensemble.training.engines import Data
from batchensemble.training.methods import MakeNetwork, Method, word_of
from batchensemble.training.models import Ensemble, Rows
from batchensemble.words import true_or_false

LEAST_COVERAGE = 0.5  # that every group and class must have rows for
MOST_NAMED = 5  # columns, in an error
HOW_TO_TRAIN = ("validation_fraction", "weight_decay", "clip_norm", "batching")
HOW_IT_IS_MADE = (
    *("method", "n_members", "adapters", "init", "hidden", "dropout"),
    *("bins", "embedding_width"),
)
MC_DROPOUT = 0.1  # at least, where masks are all that tells members apart


@dataclass(eq=False, repr=False, kw_only=True)
class TableEstimator(Estimator, TableSettings, Generic[Dist]):
    """Abstract: `Regressor` and `Classifier` define the target and its calibration."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = TABLE_CONSTRAINTS
    _presets: ClassVar[dict[str, dict[str, Any]]]
    _many_rows: ClassVar[dict[int, dict[str, dict[str, Any]]]] = {}
    _fewest_calibration_rows: ClassVar[int]

    model_: TableModel[Dist] = field(init=False)
    target_name_: str | None = field(init=False)
    shift_scale_: float = field(init=False)
    group_column_: str | None = field(init=False)

    @abstractmethod
    def _learn_target(self, every: Examples, learned: Examples) -> None:
        """Keep what `_head` needs; `learned` are the rows that are not held back."""

    @abstractmethod
    def _check_new_target(self, values: NDArray[Any]) -> None:
        """Raise if `update` cannot learn from these targets."""

    @abstractmethod
    def _head(self) -> Head[Dist]: ...

    @abstractmethod
    def _calibrated(
        self, columns: Columns, values: NDArray[Any], groups: NDArray[Any] | None, per_class: bool
    ) -> IntervalCalibration | SetCalibration:
        """What rows that were not learned from teach about the predictions."""

    @abstractmethod
    def _parts(self) -> tuple[list[str], Callable[[Dist], NDArray[np.float64]]]:
        """What `explain` explains: names, and the numbers of each row, (rows, names)."""

    @abstractmethod
    def _doubts(self, values: NDArray[Any], dist: Dist) -> Iterator[str]:
        """Whether predictions of held-out rows are worth anything."""

    @abstractmethod
    def _about_target(self) -> dict[str, Any]:
        """What was learned about it."""

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        calibrate: bool = False,
        groups: ArrayLike | None = None,
        in_time: bool = False,
        censored: ArrayLike | None = None,
        eval_set: Any = None,
        checkpoint: FilePath | None = None,
    ) -> Self:
        """Learn from a table and its targets.

        X may be a numpy array, a list of rows, a pandas or polars frame, or a sparse matrix:
        numbers, booleans, strings, categories and dates are recognised, and missing values are
        allowed. Rows of weight 0 are ignored. With `calibrate` a random fifth of the rows is held
        out and passed to `calibrate`, where each row counts once, whatever its weight. A fit that
        fails leaves the estimator as it was.

        X may also name a Parquet or CSV file, a folder, files such as "folder/*.parquet" or a list
        of files, or be a dataset of pyarrow. Then y is the name of the target's column, and the
        table may be larger than memory.

        Rows that belong together (of one patient, say) have the same label in `groups`: they stay
        together when rows are held out for early stopping or calibration, so that the model is not
        scored on rows that it almost knows. With `in_time` rows are in time order, and the last are
        held out.

        Where `censored` is True, the true value is at least y: a patient who is still alive, a
        machine that still runs. Training then maximises the likelihood (loss="nll"). With
        `eval_set=(X, y)` or `(X, y, censored)`, these rows decide when to stop, and training uses
        all rows of fit.

        A `checkpoint` is a file with the state of training, written from time to time: after a
        kill, the same fit continues from it. It is deleted at the end. With a checkpoint,
        `random_state=None` is 0. If `torch.distributed` has several processes, they share the work,
        and all get the model.
        """
        calibrate = true_or_false(calibrate, "calibrate")
        in_time = true_or_false(in_time, "in_time")
        with self._all_or_nothing():
            self._validate_params()
            is_update = self.warm_start and hasattr(self, "model_")
            files = None
            if not hasattr(X, "shape"):  # no array or frame: only now what reads files is imported
                from batchensemble.estimators.from_files import files_of, fit_files, target_of

                by_row = {"sample_weight": sample_weight, "groups": groups, "censored": censored}
                files = files_of(self, X, y, by_row, in_time, is_update or eval_set is not None)
            if files is not None:
                if not files.sample.is_whole:
                    fit_files(self, files, calibrate=calibrate, checkpoint=checkpoint)
                    return self
                X = files.sample.frame.drop(columns=files.target)
                y = target_of(self, files.sample.frame)
            if is_update and checkpoint is not None:
                raise ValueError("a checkpoint is for a first fit, not for warm_start; omit it")
            rows = (X, y, sample_weight, groups, in_time, censored)
            examples = self._examples(*rows, is_first=not is_update)
            if is_update:
                self._update(examples, calibrate, eval_set)
            else:
                self._fit(examples, calibrate, eval_set, checkpoint)
                if files is not None:
                    self.model_.encoder.spans_ = files.spans(self.model_.encoder.names_)
        return self

    def _fit(
        self, every: Examples, calibrate: bool, eval_set: Any, checkpoint: FilePath | None = None
    ) -> HeldOut[Dist] | None:
        seeds = draw_seeds(self.random_state, to_repeat=checkpoint is not None)
        learned, held_back = self._parted(every, calibrate, seeds.split)
        self.settings_ = self._resolved(len(learned))
        self._forget_calibration()
        self.__dict__.pop("origin_", None)
        self._learn_target(every, learned)
        encoder = self._encoder()
        x = encoder.fit_transform(learned.columns)
        self._doubt(encoder, learned.columns, learned.values)
        watched = self._watched(eval_set, encoder)
        recipe = recipe_of(self.settings_, encoder, self._head().sizes)
        method = self._make_method()
        found = self._learn(
            learned, x, encoder, recipe, method, watched, seeds, checkpoint=checkpoint
        )
        if held_back is not None:
            self._calibrate(held_back.columns, held_back.values)
        return found

    def update(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        calibrate: bool = False,
        groups: ArrayLike | None = None,
        in_time: bool = False,
        censored: ArrayLike | None = None,
        eval_set: Any = None,
    ) -> Self:
        """Continue training on new rows; arguments as in `fit`.

        Training starts from the fitted networks, and columns are read as in fit. Some of the new
        rows, or those of `eval_set`, decide when to stop: if their predictions do not improve, the
        networks stay as they were. The model may forget what only old rows showed, so pass some of
        them if it still holds. The calibration is dropped.
        """
        check_is_fitted(self, "model_")
        calibrate = true_or_false(calibrate, "calibrate")
        in_time = true_or_false(in_time, "in_time")
        with self._all_or_nothing():
            self._validate_params()
            examples = self._examples(X, y, sample_weight, groups, in_time, censored)
            self._update(examples, calibrate, eval_set)
        return self

    def _update(self, every: Examples, calibrate: bool, eval_set: Any) -> HeldOut[Dist] | None:
        model, seeds = self.model_, draw_seeds(self.random_state)
        self._check_new_target(every.values)
        learned, held_back = self._parted(every, calibrate, seeds.split)
        watched = self._watched(eval_set, model.encoder)
        settings = self._resolved(len(learned))
        self._doubt_update(settings)
        self.settings_ = self.settings_ | {name: settings[name] for name in HOW_TO_TRAIN}
        share = settings["validation_fraction"]
        fewest = math.ceil((FEWEST_ROWS_HELD_OUT - 0.5) / max(min(share, 1 - share), 1e-9))
        if watched is None and len(learned) < fewest and share:
            raise ValueError(
                f"expected at least {fewest} new rows, so that {FEWEST_ROWS_HELD_OUT} can be held "
                f"out to see whether an update helps, got {len(learned)}; collect more, pass "
                "eval_set, or fit again with all rows"
            )
        self._forget_calibration()
        if learned.censored is not None:
            self._allow_censored()
        x, before = model.encoder.transform(learned.columns), self.history_
        ensemble = model.ensemble
        recipe, method = ensemble.recipe, ensemble.method
        found = self._learn(
            learned, x, model.encoder, recipe, method, watched, seeds, start=ensemble.bank
        )
        self.history_ = [*before, *self.history_]
        since = "it has learned from other rows since it was scored"
        self._amend_origin(scores={}, n_judged=0, judged_on=since, calibrated="", warnings=[])
        if held_back is not None:
            self._calibrate(held_back.columns, held_back.values)
        return found

    def _doubt_update(self, settings: dict[str, Any]) -> None:
        """Warn of parameters that were changed after fit and that an update ignores."""
        then = self.settings_ | {"method": word_of(self.model_.ensemble.method)}
        now = settings | {"method": self.method}
        asked = [n for n in HOW_IT_IS_MADE if n in then and getattr(self, n) is not None]
        other = [f"{n}={now[n]!r}" for n in asked if shown(now[n]) != shown(then[n])]
        if other:
            tell(
                f"an update continues the networks of the first fit and ignores "
                f"{', '.join(other)}; to have other networks, fit a new estimator",
                4,
            )

    def _examples(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        in_time: bool = False,
        censored: Any = None,
        *,
        is_first: bool = False,
    ) -> Examples:
        """What `fit` or `update` got, checked, without rows of weight 0."""
        columns = read_columns(X) if is_first else self.read(X)
        if is_first:
            validate_data(self, X, skip_check_array=True)
            name = getattr(y, "name", None)
            self.target_name_ = name if isinstance(name, str) and name else None
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        values, n = read_target(y, columns.n_rows), columns.n_rows
        order = read_order(groups, in_time, n)
        weight = self._weighted(values, sample_weight, is_first)
        weight = None if weight is None else read_weight(weight, n)
        if censored is not None and self._task == "classification":
            self._allow_censored()
        every = Examples(columns, values, weight, read_censored(censored, n), order)
        counting = every.that_count()
        if groups is not None:
            read_order(counting.order.groups, in_time, len(counting))  # are there still two?
        return counting

    def _parted(
        self, every: Examples, calibrate: bool, seed: int
    ) -> tuple[Examples, Examples | None]:
        """Rows to learn from, and rows to calibrate with."""
        if not calibrate:
            return every, None
        if every.censored is not None:
            raise ValueError(
                f"calibrate=True needs the true values, and {every.censored.sum():,} of "
                f"{len(every):,} targets are censored; omit it, or call calibrate with rows whose "
                "values are all known"
            )
        fewest = self._fewest_calibration_rows
        learned, held_back = hold_back(len(every), fewest, seed, every.order)
        return every.take(learned).weighed_anew(), every.take(held_back)

    def _watched(self, eval_set: Any, encoder: TableEncoder) -> Examples | None:
        """The rows of `eval_set`, as early stopping wants them."""
        if eval_set is None:
            return None
        X, y, *censored = read_eval_set(eval_set)
        columns = read_columns(X)
        if columns.names != encoder.names_:
            raise ValueError(
                f"expected eval_set with the columns of X, {encoder.names_[:MOST_NAMED]}, got "
                f"{columns.names[:MOST_NAMED]}"
            )
        columns = with_written_dates(columns, encoder.names_, encoder.kinds_, encoder.date_formats_)
        values = read_target(y, columns.n_rows)
        self._check_new_target(values)
        mask = read_censored(censored[0], columns.n_rows) if censored else None
        if mask is not None:
            self._allow_censored()
        return Examples(columns, values, censored=mask)

    def _encoder(self) -> TableEncoder:
        return TableEncoder(
            self.settings_["scaling"],
            max_categories=self.settings_["max_categories"],
            bins=self.settings_["bins"] or None,
            categories=plain_lists(self.categories),
        )

    def _doubt(
        self,
        encoder: TableEncoder,
        columns: Columns,
        values: NDArray[Any],
        *,
        is_sample: bool = False,
    ) -> None:
        """Warn of what may make the model worse, or look better, than its user thinks."""
        doubts = doubts_about(
            encoder.with_dates(columns),
            values,
            encoder,
            is_classes=self._task == "classification",
            is_limit_given=self.max_categories is not None,
            is_sample=is_sample,
        )
        for doubt in doubts:
            tell(doubt, 4)

    def _learn(
        self,
        learned: Examples,
        x: NDArray[np.float32],
        encoder: TableEncoder,
        recipe: dict[str, Any],
        method: Method,
        watched: Examples | None,
        seeds: Seeds,
        *,
        start: Bank | None = None,
        checkpoint: FilePath | None = None,
    ) -> HeldOut[Dist] | None:
        """Train networks, from `start` if there is one, and learn how wide predictions are."""
        head = self._head()
        target, n_watched = (
            head.encode(self._known(learned)),
            0 if watched is None else len(watched),
        )
        most = self.settings_.get("folds", 1)
        most = most if start is None else min(most, len(start))
        share = self.settings_["validation_fraction"]
        method, splits = rows_of(method, most, share, target, n_watched, seeds, learned.order)
        has_held_out = splits[0].held_out is not None
        settings, n_rows = self._resolved(len(learned)), len(splits[0].train)
        length = length_for(settings, n_rows, method, recipe, has_held_out=has_held_out)
        self.settings_ = self.settings_ | length
        data = training_data(x, target, learned, pick_device(self.device))
        if watched is not None:
            beside = encoder.transform(watched.columns), head.encode(self._known(watched))
            data = data.followed_by(training_data(*beside, watched, data.device))
        loss = head.loss if data.y.ndim == 1 else censored_loss(head)
        ensemble = self._train(
            method,
            recipe,
            loss,
            data,
            self._training(stops_early=has_held_out),
            rows=[fewer_watched(rows) for rows in splits],
            seed=seeds.prediction,
            start=start,
            depth=5,
            checkpoint=checkpoint,
        )
        let_curves_go_on(ensemble, encoder)
        self.model_ = TableModel(encoder, ensemble, head)
        self._learn_spread(data, splits)
        self.model_ = self._assembled(encoder, ensemble)
        self.shift_scale_ = shift_scale(self.model_, x, np.random.default_rng(seeds.split))
        if not has_held_out or data.y.ndim > 1:
            return None
        values = learned.values if watched is None else watched.values
        first = 0 if watched is None else len(learned)
        rows, outputs = held_out_outputs(ensemble, data, splits)
        held_out = HeldOut(rows, values[rows - first], self.model_.head.predictive(outputs))
        if data.weight is None:
            for doubt in self._doubts(held_out.values, held_out.dist):
                tell(doubt, 4)
        return held_out

    def _resolved(self, n_rows: int) -> dict[str, Any]:
        """The preset's settings for a table of so many rows, and what was given."""
        given = self.get_params(deep=False)
        settings = resolve(self.preset, given, self._presets, self._many_rows, n_rows)
        if self.method == "mc_dropout" and self.dropout is None:
            settings["dropout"] = max(settings["dropout"], MC_DROPOUT)
        if self.method == "deep_ensemble" and self.n_members is None:
            settings["n_members"] *= settings["folds"]  # as many members as a BatchEnsemble has
        return settings

    def _known(self, examples: Examples) -> NDArray[Any]:
        """(rows,), the targets or, where they are censored, from where on they may be."""
        return examples.values

    def _allow_censored(self) -> None:
        """Raise if the settings have no room for censored targets."""

    def _weighted(self, values: NDArray[Any], sample_weight: Any, is_first: bool) -> Any:
        """The weights, and those of the classes."""
        return sample_weight

    def _learn_spread(self, data: Data, splits: list[Rows]) -> None:
        """How wide predictions should be, from rows that early stopping held out; if it matters."""

    def calibrate(
        self, X: Any, y: ArrayLike, *, groups: Any = None, per_class: bool = False
    ) -> Self:
        """Learn from rows that fit has not seen how wide intervals or sets must be.

        They must come from the same source as the rows to predict. Then intervals and sets contain
        the truth as often as asked for, on average, however good the model is. A new fit drops the
        calibration.

        That holds for all rows together. With `groups` (the name of a column of X, or a label for
        each row, which predictions then also need) it holds within each group. With `per_class` it
        holds for the rows of each class, however rare.
        """
        per_class = true_or_false(per_class, "per_class")
        columns = self.read(X)
        values = read_target(y, columns.n_rows)
        if columns.n_rows < self._fewest_calibration_rows:
            raise ValueError(
                f"expected at least {self._fewest_calibration_rows} rows to calibrate a "
                f"{type(self).__name__} with, got {columns.n_rows}; collect more"
            )
        if groups is not None and per_class:
            raise ValueError("expected groups or per_class=True, got both; omit one of the two")
        self._calibrate(columns, values, groups, per_class)
        self._amend_origin(calibrated=f"Calibrated with {columns.n_rows:,} rows after its training")
        return self

    def _calibrate(
        self, columns: Columns, values: NDArray[Any], groups: Any = None, per_class: bool = False
    ) -> None:
        labels = None if groups is None else group_labels(columns, groups, self.model_.encoder)
        calibration = self._calibrated(columns, values, labels, per_class)
        if labels is not None:
            check_enough(labels, LEAST_COVERAGE)
        self.calibration_ = calibration
        self.group_column_ = groups if isinstance(groups, str) else None
        self.model_ = self._assembled(self.model_.encoder, self.model_.ensemble)

    def _forget_calibration(self) -> None:
        self.calibration_ = None
        self.__dict__.pop("group_column_", None)

    def groups_in(self, X: Any, groups: Any = None) -> NDArray[Any] | None:
        """The groups of these rows, if intervals and sets are calibrated by groups."""
        calibration = self.calibration_
        if calibration is None or calibration.groups is None:
            if groups is None:
                return None
            raise ValueError("groups were given, but calibrate had none; omit them")
        name = vars(self).get("group_column_")
        if groups is None and name is None:
            raise ValueError(
                "this model was calibrated by groups; pass groups=, one label for each row, or, "
                "for files, calibrate with the name of a column"
            )
        return group_labels(self.read(X), name if groups is None else groups, self.model_.encoder)

    def predict_dist(self, X: Any) -> Dist:
        """The whole prediction, one object."""
        columns = self.read(X)  # says if there is no model
        return self.model_.predict(columns)

    def _ask(self, X: Any, question: Callable[[Dist], NDArray[Any]]) -> NDArray[Any]:
        columns = self.read(X)
        return self.model_.ask(columns, question)

    def uncertainty(self, X: Any) -> Uncertainty:
        """Total, aleatoric and epistemic uncertainty of every row."""
        columns = self.read(X)
        parts = [dist.uncertainty() for dist in self.model_.chunks(columns)]
        return Uncertainty(*map(np.concatenate, zip(*parts, strict=True)))

    def calibration_report(self) -> pd.DataFrame:
        """What calibration changed, by nominal coverage.

        `..._before` is the uncalibrated model on the calibration rows. For `..._after` each row is
        scored with a calibration by all others. That is fair, but `coverage_after` can hardly
        differ from the nominal one; more telling is `assured_after`, the coverage that 95 % of
        calibrations of this size exceed.
        """
        self._check_calibrated()
        assert self.calibration_ is not None
        report = {**self.calibration_.report(), "rows": len(self.calibration_)}
        return pd.DataFrame(report, index=pd.Index(REPORTED, name="coverage"))

    def shift_score(self, X: Any) -> NDArray[np.float64]:
        """How unusual each row looks, by the members' disagreement and by its numbers.

        95 % of the rows of fit are at most 1, and about 90 % of new rows like them; there is no
        upper limit. (Where few rows differ, many may be 1, but for rounding.) Disagreement is
        relative to the rows of fit: for numbers the variance of the members' means (the epistemic
        uncertainty), for classes that of their logits, since far away all members may be sure of
        one class. A number outside the range in fit adds 1 for each tenth of that range (not
        in a column that was constant in fit, nor without bins, as in `preset="paper"`).
        Calibration does not change the score.
        """
        columns = self.read(X)
        if self.model_.ensemble.members.n_members == 1:
            raise ValueError(
                "a shift score is the disagreement of several members, and this model has one "
                f"(method={self.method!r}); fit with another method, or more members"
            )
        head = self.model_.head
        parts = [head.disagreement(outputs) for outputs in self.model_.outputs(columns)]
        return shift_scores(self.model_, columns, np.concatenate(parts), self.shift_scale_)

    def explain(self, X: Any, background: Any = None) -> Explanation:
        """Which columns drive each row's prediction and both parts of its uncertainty.

        Shapley values, by the package shap. Contributions are relative to the rows of `background`,
        such as the rows of fit, or by default to the other rows of X; of many rows, 50 are used. A
        row takes as long as about a thousand predictions for each column.
        """
        rows = of_kinds_at_fit(self.read(X), self.model_.encoder)
        if background is None and rows.n_rows == 1:
            raise ValueError(
                "one row can only be explained relative to others; pass background, such as "
                "rows of fit"
            )
        usual = rows
        if background is not None:
            usual = of_kinds_at_fit(self.read(background), self.model_.encoder)
        parts, question = self._parts()
        return explained(rows, usual, parts, lambda some: self.model_.ask(some, question))

    def read(self, X: Any) -> Columns:
        """X as the columns of fit, checked."""
        if "model_" not in vars(self):
            check_is_fitted(self, "model_")
        columns = read_columns(X)
        encoder = self.model_.encoder
        self.check_columns(X, columns, asked=self)
        columns = with_written_dates(columns, encoder.names_, encoder.kinds_, encoder.date_formats_)
        for doubt in doubts_about_new(columns, encoder):
            tell(doubt, 3)
        return columns

    def check_columns(self, X: Any, columns: Columns, asked: Any) -> None:
        """Refuse others than those of fit; what was read before has been checked."""
        if isinstance(X, Columns) or self._are_those_of_fit(X, columns.names):
            return
        validate_data(asked, X, skip_check_array=True, reset=False)
        names, expected = columns.names, self.model_.encoder.names_
        if not hasattr(X, "columns") or names == expected:
            return
        if set(names) == set(expected):
            raise ValueError(
                f"expected the columns in the order of fit, {expected}, got {names}; "
                "select them in that order"
            )
        # scikit-learn knows only names that are texts, and lets numbers and dates pass.
        if expected != [f"x{j}" for j in range(len(expected))]:
            other = next(i for i in range(len(names)) if names[i] != expected[i])
            raise ValueError(
                f"expected the columns of fit, got {names[other]} in place of "
                f"{expected[other]}; select those of fit, or pass X.to_numpy() to go by position"
            )

    def _are_those_of_fit(self, X: Any, names: list[str]) -> bool:
        """Whether the common kinds of tables are as expected: all other checks take longer."""
        known = vars(self).get("feature_names_in_")
        if type(X) is np.ndarray:
            return known is None and len(names) == self.n_features_in_
        is_named = type(X) is pd.DataFrame and X.columns.inferred_type == "string"
        # A file or a request calls the columns of an array as the model does: x0, x1, ...
        expected = self.model_.encoder.names_ if known is None else known.tolist()
        return is_named and names == expected

    def _network(self, recipe: dict[str, Any]) -> MakeNetwork:
        return table_network(recipe)

    def _assembled(self, encoder: TableEncoder, ensemble: Ensemble) -> TableModel[Dist]:
        return TableModel(encoder, ensemble, self._head())

    def _about_data(self) -> dict[str, Any]:
        encoded = self.model_.encoder.columns_
        columns = [{"name": name, "kind": kind} for name, kind, _ in encoded]
        return {"columns": columns, "target": {"name": self.target_name_} | self._about_target()}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        return tags
