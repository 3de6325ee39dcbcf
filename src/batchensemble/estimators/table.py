"""How the estimators for tables learn, and answer rows in chunks."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor

from batchensemble.conformal import IntervalCalibration, SetCalibration
from batchensemble.data.frames import Columns, read_columns
from batchensemble.data.table_encoder import TableEncoder
from batchensemble.estimators.base import CALIBRATION_SHARE, Estimator, pick_device
from batchensemble.estimators.parameters import TABLE_CONSTRAINTS
from batchensemble.estimators.presets import resolve
from batchensemble.estimators.targets import read_target, read_weight
from batchensemble.predictive import Uncertainty
from batchensemble.training.engines import Data
from batchensemble.training.loop import Training
from batchensemble.training.methods import MakeNetwork, Members, make_method
from batchensemble.training.models import Rows, make_members, maker, predict_rows
from batchensemble.training.networks import MLP

FEWEST_ROWS_HELD_OUT = 8
ENCODED_ROWS = 2**15  # at a time


@dataclass(eq=False, repr=False, kw_only=True)
class TableEstimator(Estimator):
    """Abstract: its heirs say what a target, a loss and an answer are, and what to trust."""

    max_categories: int | None = None
    categories: Mapping[str, Sequence[Any]] | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = TABLE_CONSTRAINTS
    _presets: ClassVar[dict[str, dict[str, Any]]]
    _fewest_calibration_rows: ClassVar[int]

    calibration_: IntervalCalibration | SetCalibration = field(init=False)

    @abstractmethod
    def _learn_target(self, values: NDArray[Any], learned: Any) -> NDArray[Any]:
        """Learn from some rows what it takes to answer in the target's units; encode all."""

    @abstractmethod
    def _learn_shift(self, x: NDArray[np.float32], random: np.random.Generator) -> None:
        """Learn how far the members disagree about encoded rows of fit."""

    @abstractmethod
    def _calibration(
        self, columns: Columns, values: NDArray[Any]
    ) -> IntervalCalibration | SetCalibration:
        """What rows that were not learned from teach about the predictions."""

    @abstractmethod
    def _heads(self) -> tuple[int, ...]:
        """The sizes of the network's heads."""

    @abstractmethod
    def _about_target(self) -> dict[str, Any]:
        """What was learned of it."""

    @abstractmethod
    def _dist(self, outputs: Tensor) -> Any:
        """The prediction that these outputs, (rows, predictions, outputs), mean."""

    @abstractmethod
    def _tempered(self, outputs: Tensor) -> Tensor:
        """The outputs as calibration would have them."""

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        calibrate: bool = False,
    ) -> Self:
        """Learn from a table and its targets.

        X may be a numpy array, a list of rows, or a pandas or polars frame: numbers, booleans,
        strings, categories and dates are recognised, and gaps are allowed. Rows of weight 0 are
        left out. With `calibrate` a fifth of the rows, drawn by chance, are not learned from but
        handed to `calibrate`; there each counts once, whatever its weight. A fit that fails
        leaves the estimator as it was.
        """
        with self._all_or_nothing():
            self._fit(X, y, sample_weight, calibrate)
        return self

    def _fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, calibrate: bool) -> None:
        self._validate_params()
        self._settings = resolve(self.preset, self.get_params(deep=False), self._presets)
        self._method = make_method(self.method, n_members=self.n_members, n_passes=self.n_passes)
        training = self._training()
        columns = read_columns(X)
        validate_data(self, X, skip_check_array=True)
        name = getattr(y, "name", None)
        self.target_name_ = name if isinstance(name, str) and name else None
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        values = read_target(y, columns.n_rows)
        weight = None
        if sample_weight is not None:
            weight = read_weight(sample_weight, columns.n_rows)
            kept = np.flatnonzero(weight)
            columns, values, weight = columns.take(kept), values[kept], weight[kept]
        random = check_random_state(self.random_state)
        split_seed, seed, self._prediction_seed = map(int, random.randint(2**31 - 1, size=3))
        learned, spared = self._spare(len(values), split_seed) if calibrate else (slice(None), None)
        target = self._learn_target(values, learned)[learned]
        if weight is not None and spared is not None:
            weight = read_weight(weight[learned], len(target))
        self.encoder_ = TableEncoder(
            self._settings["scaling"],
            max_categories=self._settings["max_categories"],
            categories=_plain(self.categories),
        )
        x = self.encoder_.fit_transform(columns.take(learned))
        rows, held_out = self._split(target, split_seed)
        own = Rows(seed, torch.tensor(rows), None if held_out is None else torch.tensor(held_out))
        self._train(x, target, weight, training, own)
        self._learn_shift(x, np.random.default_rng(split_seed))
        self.__dict__.pop("calibration_", None)
        if spared is not None:
            self.calibration_ = self._calibration(columns.take(spared), values[spared])

    def _train(
        self,
        x: NDArray[np.float32],
        target: NDArray[Any],
        weight: NDArray[np.float64] | None,
        training: Training,
        own: Rows,
    ) -> None:
        device = pick_device(self.device)
        self._recipe = {
            "in_features": x.shape[1],
            "heads": self._heads(),
            "hidden": tuple(self._settings["hidden"]),
            "dropout": self._settings["dropout"],
            "adapters": self.adapters,
            "init": self.init,
        }
        data = Data(
            torch.tensor(x, device=device),
            torch.tensor(target, device=device),
            None if weight is None else torch.tensor(weight, dtype=torch.float32, device=device),
        )
        self._learn(data, training, own)

    def _spare(self, n_rows: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows to learn from, and rows to calibrate with.

        By chance alone, not by class: the guarantee is about rows as they come.
        """
        n_spared = round(CALIBRATION_SHARE * n_rows)
        if n_spared < self._fewest_calibration_rows:
            raise ValueError(
                f"expected at least {self._fewest_calibration_rows} of the rows when "
                f"{CALIBRATION_SHARE:.0%} of them are spared for calibration, got {n_spared} of "
                f"{n_rows}; collect more, or fit without calibrate=True"
            )
        order = np.random.default_rng([seed, 1]).permutation(n_rows)
        return np.sort(order[n_spared:]), np.sort(order[:n_spared])

    def _split(
        self, target: NDArray[Any], seed: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
        """Training rows and, where there are enough, rows held out for early stopping."""
        rows = np.arange(len(target))
        n_held_out = round(self._settings["validation_fraction"] * len(rows))
        if not FEWEST_ROWS_HELD_OUT <= n_held_out <= len(rows) - FEWEST_ROWS_HELD_OUT:
            return rows, None
        counts = np.unique(target, return_counts=True)[1]
        spared = min(n_held_out, len(rows) - n_held_out)
        few_labels = target.dtype.kind == "i" and len(counts) <= spared and counts.min() > 1
        kept, held_out = train_test_split(
            rows,
            test_size=n_held_out,
            random_state=seed,
            stratify=target if few_labels else None,
        )
        return kept, held_out

    def predict_dist(self, X: Any) -> Any:
        """The whole prediction, one object."""
        return self._dist(self._tempered(torch.cat(list(self._outputs(self._read(X))))))

    def uncertainty(self, X: Any) -> Uncertainty:
        """Total, aleatoric and epistemic uncertainty of every row."""
        parts = [dist.uncertainty() for dist in self._dists(self._read(X))]
        return Uncertainty(*map(np.concatenate, zip(*parts, strict=True)))

    def _answer(self, X: Any, ask: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        """Ask the predictions of a chunk of rows at a time, so that memory stays bounded."""
        columns = self._read(X)
        answers = (ask(dist) for dist in self._dists(columns))
        first = next(answers)
        # One place for all: many small ones between large ones that go would leave holes.
        whole = np.empty((columns.n_rows, *first.shape[1:]), first.dtype)
        stop = len(first)
        whole[:stop] = first
        for answer in answers:
            whole[stop : stop + len(answer)] = answer
            stop += len(answer)
        return whole

    def _read(self, X: Any) -> Columns:
        """Rows to predict, with the columns of fit."""
        check_is_fitted(self, "bank_")
        columns = read_columns(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        names, expected = columns.names, self.encoder_.names_
        if hasattr(X, "columns") and names != expected and set(names) == set(expected):
            raise ValueError(
                f"expected the columns in the order of fit, {expected}, got {names}; "
                "select them in that order"
            )
        return columns

    def _dists(self, columns: Columns) -> Iterator[Any]:
        return (self._dist(self._tempered(outputs)) for outputs in self._outputs(columns))

    def _outputs(self, columns: Columns) -> Iterator[Tensor]:
        """(rows, predictions, outputs) of the networks, chunk by chunk."""
        for start in range(0, columns.n_rows, ENCODED_ROWS):
            x = self.encoder_.transform(columns.take(slice(start, start + ENCODED_ROWS)))
            yield from predict_rows(self._members, x, self.bank_.theta.device)

    def _maker(self) -> MakeNetwork:
        return maker(MLP, **self._recipe)

    def _make_members(self) -> Members:
        return make_members(self._method, self.bank_, self._prediction_seed)

    def _shorter(self) -> dict[str, Any]:
        return {"categories": _plain(self.categories)}

    def _about_data(self) -> dict[str, Any]:
        columns = [{"name": name, "kind": kind} for name, kind, _ in self.encoder_.columns_]
        return {"columns": columns, "target": {"name": self.target_name_} | self._about_target()}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags


def _plain(categories: Mapping[str, Sequence[Any]] | None) -> dict[str, Any] | None:
    """Lists in place of other libraries' arrays, which no file can keep."""
    if categories is None:
        return None
    plain = (list, tuple, np.ndarray)
    return {
        name: words if isinstance(words, plain) else list(words)
        for name, words in categories.items()
    }
