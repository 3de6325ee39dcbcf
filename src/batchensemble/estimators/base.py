"""What the estimators share: parameters, fitting, and rows in chunks."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
from torch import Generator, Tensor

from batchensemble.engines import Data
from batchensemble.estimators.presets import resolve
from batchensemble.frames import read_columns
from batchensemble.losses import Loss
from batchensemble.methods import Forward, Method, make_method
from batchensemble.models import Rows, fit_models, mlp_maker, predict_rows
from batchensemble.predictive import Uncertainty
from batchensemble.preprocessing import TableEncoder
from batchensemble.training import Training

FEWEST_ROWS_HELD_OUT = 8

PARAMETERS = """
    Parameters
    ----------
    method : {"batch_ensemble", "deep_ensemble", "mc_dropout", "single"}
        How a row gets several predictions: members inside one network; networks of their own;
        one network with dropout left on; or one prediction only.
    n_members : int
        Members of a BatchEnsemble, networks of a deep ensemble.
    n_passes : int
        Masks that MC dropout draws.
    preset : {"default", "paper"}
        Settings that go together, for all arguments below that are None: "default" is our
        judgement for real tables, "paper" the published study's setting.
    hidden : sequence of int
        Widths of the hidden layers.
    epochs, batch_size, lr, weight_decay
        Training with Adam; the decay falls on shared weights only.
    dropout : float
        Share of hidden units dropped in training.
    clip_norm : float
        Largest norm of a network's gradient; `float("inf")` for none.
    scaling : {"quantile", "standard", "minmax"}
        Of the numeric inputs.
    validation_fraction : float
        Share of the rows held out for early stopping; 0 trains on all rows for all epochs, as
        does a table too small to spare eight rows.
    patience : int
        Epochs without a better held-out score after which training stops; the best state is kept.
    adapters : str or sequence of str
        Which vectors the members of a BatchEnsemble own, letters of "rsb"; or one such word for
        each hidden layer and one for the heads.
    init : {"random_sign", "ones", "normal", "orthogonal"}
        First values of r and s.
    penalty : float
        Strength of the penalty on members' vectors that are not orthogonal.
    batching : {"shared", "independent", "split"}
        Whether all members see the same rows of a batch, each its own shuffling, or each its
        share of the batch (cheaper, and slower to learn).
    one_by_one : bool
        Train the networks of a deep ensemble one after the other instead of together.
    max_categories : int or None
        At most so many columns for one category column; rarer categories share one.
    categories : mapping of column name to categories
        Vocabularies known beforehand.
    time_limit : float
        Seconds after which training ends with what it has.
    keep_on_interrupt : bool
        Whether Ctrl-C ends the training with a usable model instead of an error.
    random_state : int, RandomState or None
        Gives bit-equal results on one machine.
    device : str
        "auto" (a GPU where there is one), "cpu", "cuda", ...
    verbose : bool
        Show a progress bar.
"""


@dataclass(eq=False, repr=False, kw_only=True)
class TableEstimator(BaseEstimator):  # type: ignore[misc]
    """Abstract: `Regressor` and `Classifier` say what a target, a loss and an answer are."""

    method: str = field(default="batch_ensemble", kw_only=False)
    n_members: int = 10
    n_passes: int = 100
    preset: str = "default"
    hidden: Sequence[int] | None = None
    epochs: int | None = None
    batch_size: int | None = None
    lr: float | None = None
    dropout: float | None = None
    weight_decay: float | None = None
    clip_norm: float | None = None
    scaling: str | None = None
    validation_fraction: float | None = None
    patience: int | None = None
    adapters: str | Sequence[str] = "rsb"
    init: str = "random_sign"
    penalty: float = 0.0
    batching: str = "shared"
    one_by_one: bool = False
    max_categories: int | None = 64
    categories: Mapping[str, Sequence[Any]] | None = None
    time_limit: float | None = None
    keep_on_interrupt: bool = False
    random_state: int | np.random.RandomState | None = None
    device: str = "auto"
    verbose: bool = False

    @abstractmethod
    def _learn_target(self, y: ArrayLike) -> NDArray[Any]:
        """Check the target, learn what it takes to answer in its units, and encode it."""

    @abstractmethod
    def _loss(self) -> Loss: ...

    @abstractmethod
    def _heads(self) -> tuple[int, ...]:
        """The sizes of the network's heads."""

    @abstractmethod
    def predict_dist(self, X: Any) -> Any:
        """The whole prediction, one object."""

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from a table and its targets.

        X may be a numpy array, a list of rows, or a pandas or polars frame: numbers, booleans,
        strings, categories and dates are recognised, and gaps are allowed.
        """
        self._settings = resolve(self.preset, self.get_params(deep=False))
        method = make_method(self.method, n_members=self.n_members, n_passes=self.n_passes)
        training = self._training()
        columns = read_columns(X)
        validate_data(self, X, skip_check_array=True)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        target = self._learn_target(y)
        if len(target) != columns.n_rows:
            raise ValueError(
                f"expected as many targets as rows, got inconsistent numbers of samples: "
                f"{columns.n_rows} rows in X and {len(target)} values in y"
            )
        weight = None
        if sample_weight is not None:
            weight = _checked_weight(sample_weight, columns.n_rows)
        self.encoder_ = TableEncoder(
            self._settings["scaling"],
            max_categories=self.max_categories,
            categories=self.categories,
        )
        x = self.encoder_.fit_transform(columns)
        self._train(x, target, weight, method, training)
        return self

    def _training(self) -> Training:
        settings = self._settings
        return Training(
            epochs=settings["epochs"],
            batch_size=settings["batch_size"],
            lr=settings["lr"],
            weight_decay=settings["weight_decay"],
            clip_norm=settings["clip_norm"],
            batching=self.batching,
            penalty=self.penalty,
            patience=settings["patience"] if settings["validation_fraction"] else None,
            time_limit=self.time_limit,
            keep_on_interrupt=self.keep_on_interrupt,
            verbose=self.verbose,
        )

    def _train(
        self,
        x: NDArray[np.float32],
        target: NDArray[Any],
        weight: NDArray[np.float64] | None,
        method: Method,
        training: Training,
    ) -> None:
        random = check_random_state(self.random_state)
        split_seed, seed, self._prediction_seed = map(int, random.randint(2**31 - 1, size=3))
        kept = np.arange(len(x)) if weight is None else np.flatnonzero(weight)
        rows, held_out = self._split(kept, target, split_seed)
        device = pick_device(self.device)
        make = mlp_maker(
            x.shape[1],
            self._heads(),
            hidden=tuple(self._settings["hidden"]),
            dropout=self._settings["dropout"],
            adapters=self.adapters,
            init=self.init,
        )
        data = Data(
            torch.tensor(x, device=device),
            torch.tensor(target, device=device),
            None if weight is None else torch.tensor(weight, dtype=torch.float32, device=device),
        )
        own = Rows(seed, torch.tensor(rows), None if held_out is None else torch.tensor(held_out))
        self.bank_, self.history_ = fit_models(
            method, make, self._loss(), data, training, rows=[own], one_by_one=self.one_by_one
        )
        self.n_parameters_ = self.bank_.n_parameters
        self._method = method
        self._forward = self._make_forward()

    def _split(
        self, rows: NDArray[np.int64], target: NDArray[Any], seed: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
        """Training rows and, where there are enough, rows held out for early stopping."""
        fraction = self._settings["validation_fraction"]
        if not 0 <= fraction < 1:
            raise ValueError(f"expected validation_fraction in [0, 1), got {fraction}")
        n_held_out = round(fraction * len(rows))
        if n_held_out < FEWEST_ROWS_HELD_OUT:
            return rows, None
        labels = target[rows]
        counts = np.unique(labels, return_counts=True)[1]
        few_labels = labels.dtype.kind == "i" and len(counts) <= n_held_out and counts.min() > 1
        kept, held_out = train_test_split(
            rows,
            test_size=n_held_out,
            random_state=seed,
            stratify=labels if few_labels else None,
        )
        return kept, held_out

    def _outputs(self, X: Any) -> Tensor:
        """(rows, predictions, outputs) of the networks."""
        check_is_fitted(self, "bank_")
        columns = read_columns(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        x = self.encoder_.transform(columns)
        predictions = max(self.n_members, self.n_passes)
        widest = max(x.shape[1], *self._settings["hidden"], *self._heads())
        return predict_rows(
            self._forward, x, self.bank_.theta.device, floats_a_row=predictions * widest
        )

    def uncertainty(self, X: Any) -> Uncertainty:
        """Total, aleatoric and epistemic uncertainty of every row."""
        dist = self.predict_dist(X)
        return dist.uncertainty()  # type: ignore[no-any-return]

    def _make_forward(self) -> Forward:
        return self._method.forward(self.bank_, Generator().manual_seed(self._prediction_seed))

    def __getstate__(self) -> dict[str, Any]:
        # Functions cannot be pickled: this one is made again from the bank.
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_forward"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "bank_" in state:
            self._forward = self._make_forward()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags


def pick_device(word: str) -> torch.device:
    """The named device, or with "auto" the GPU where there is one."""
    if word == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(word)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(
            f"expected device to be 'auto' or one that is here, got {word!r}: "
            f"{str(error).splitlines()[0]}"
        ) from error
    return device


def _checked_weight(sample_weight: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    """Weights of mean 1 over the rows that count."""
    weight = _check_sample_weight(sample_weight, np.empty((n_rows, 1)), ensure_non_negative=True)
    if not weight.any():
        raise ValueError("expected a positive sample_weight for some row, got only zeros")
    positive = weight > 0
    scaled: NDArray[np.float64] = np.where(positive, weight / weight[positive].mean(), 0.0)
    return scaled
