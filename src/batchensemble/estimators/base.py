"""What all estimators share: their parameters, training, fits that fail cleanly, and files."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from batchensemble.estimators.forms import CODEC, shown
from batchensemble.estimators.parameters import CONSTRAINTS
from batchensemble.modelfile.codec import Arrays
from batchensemble.modelfile.persistence import FilePath, write_model
from batchensemble.training.bank import Bank
from batchensemble.training.engines.data import Source
from batchensemble.training.loop import Training
from batchensemble.training.losses import Loss
from batchensemble.training.methods import MakeNetwork, Members, Method
from batchensemble.training.models import Rows, fit_models

MOST_MASK_UNITS = 2**26
CALIBRATION_SHARE = 0.2  # of the rows or of the shortest series, with fit(calibrate=True)


@dataclass(eq=False, repr=False, kw_only=True)
class Estimator(BaseEstimator):  # type: ignore[misc]
    """Abstract: a fitted one has `bank_`, and makes `_members` of it.

    `_recipe` are the arguments that its networks were made with.
    """

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
    time_limit: float | None = None
    keep_on_interrupt: bool = False
    random_state: int | np.random.RandomState | None = None
    device: str = "auto"
    verbose: bool = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CONSTRAINTS
    _task: ClassVar[str]

    _settings: dict[str, Any] = field(init=False)
    _method: Method = field(init=False)
    _recipe: dict[str, Any] = field(init=False)
    _members: Members = field(init=False)
    bank_: Bank = field(init=False)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """A fit that fails leaves the estimator as it was; it may learn in any caller's mode."""
        before = dict(self.__dict__)
        try:
            with torch.inference_mode(False), torch.enable_grad():
                yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

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

    def _check_calibrated(self) -> None:
        check_is_fitted(self, "bank_")
        if not hasattr(self, "calibration_"):
            raise NotFittedError(
                f"expected a calibrated {type(self).__name__}, got one that is not; call calibrate "
                "with data that fit has not seen, or fit with calibrate=True"
            )

    def _learn(self, data: Source, training: Training, rows: Rows) -> None:
        """Train the networks, and keep them."""
        self.bank_, self.history_ = fit_models(
            self._method,
            self._maker(),
            self._loss(),
            data,
            training,
            rows=[rows],
            one_by_one=self.one_by_one,
        )
        self.n_parameters_ = self.bank_.n_parameters
        self.fitted_at_ = datetime.now(UTC).isoformat(timespec="seconds")
        self._members = self._make_members()

    @abstractmethod
    def _loss(self) -> Loss: ...

    @abstractmethod
    def _maker(self) -> MakeNetwork:
        """Builds networks by the `_recipe`."""

    @abstractmethod
    def _make_members(self) -> Members:
        """Of `bank_`."""

    @abstractmethod
    def _shorter(self) -> dict[str, Any]:
        """Attributes of which a file keeps less: they are kept like this."""

    @abstractmethod
    def _about_data(self) -> dict[str, Any]:
        """The columns and the target, in plain words."""

    def save(self, path: FilePath) -> None:
        """Write the fitted model to one file, for `batchensemble.load(path)`.

        The file holds numbers and texts, no code: parameters of the networks, settings and what
        was learned of the columns, not the data. A file of that name is replaced once the new one
        is whole. A `random_state` that is a RandomState is kept as None; predictions do not need
        it. A `Forecaster` keeps the end of each series: what forecasts, updates and a usual plot
        need.
        """
        check_is_fitted(self, "bank_")
        if "_task" not in vars(type(self)):
            raise TypeError(
                f"expected Regressor, Classifier or Forecaster, got a {type(self).__name__}, whose "
                "code no file can keep; keep it with joblib"
            )
        self._check_masks()
        parameters = self.get_params(deep=False)
        learned = {name: value for name, value in vars(self).items() if name not in parameters}
        for name in ("bank_", "_members"):
            del learned[name]
        if isinstance(parameters["random_state"], np.random.RandomState):
            parameters["random_state"] = None
        shorter = self._shorter()
        arrays: Arrays = {}
        contents: dict[str, Any] = {"about": self._about()}
        for part, values in (("parameters", parameters), ("learned", learned)):
            contents[part] = {
                name: CODEC.encode(shorter.get(name, value), name, arrays)
                for name, value in values.items()
            }
        arrays["bank_.theta"] = self.bank_.theta.cpu().numpy()
        write_model(path, contents, arrays)

    def _check_masks(self) -> None:
        """A file may ask for more masks of MC dropout than there is memory."""
        units = getattr(self._method, "n_passes", 1) * self.bank_.module.mask_features
        if units > MOST_MASK_UNITS:
            raise ValueError(
                f"expected at most {MOST_MASK_UNITS:,} units in the masks of all passes together "
                f"for a model in a file, got {units:,}; fit with a smaller n_passes"
            )

    def _about(self) -> dict[str, Any]:
        settings = self.get_params(deep=False) | self._settings
        return {
            "estimator": type(self).__name__,
            "task": self._task,
            "method": self.method,
            **shown(self._about_data()),
            "n_parameters": self.n_parameters_,
            "fitted_at": self.fitted_at_,
            "settings": shown(settings),
        }

    def __getstate__(self) -> dict[str, Any]:
        # They are made again from the bank, which is smaller.
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_members"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "bank_" in state:
            self._members = self._make_members()


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
