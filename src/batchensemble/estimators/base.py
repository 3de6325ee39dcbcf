"""What all estimators share: parameters, training, fits that fail cleanly, and files."""

import dataclasses
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from batchensemble.conformal import IntervalCalibration, SetCalibration
from batchensemble.data.telling import tell
from batchensemble.estimators.forms import shown
from batchensemble.estimators.parameters import CONSTRAINTS
from batchensemble.estimators.settings import Settings
from batchensemble.estimators.size_limits import check_masks, check_size
from batchensemble.estimators.stored import stored
from batchensemble.estimators.usefulness import doubts_about_length
from batchensemble.modelfile.codec import Arrays, set_fields
from batchensemble.modelfile.files import as_path
from batchensemble.modelfile.persistence import FilePath
from batchensemble.training.bank import Bank
from batchensemble.training.checkpoint import Checkpoint
from batchensemble.training.engines.data import Source
from batchensemble.training.history import History
from batchensemble.training.loop import Training
from batchensemble.training.losses import Loss
from batchensemble.training.methods import MakeNetwork, Method, make_method, share_of, word_of
from batchensemble.training.models import Ensemble, Rows
from batchensemble.training.precision import single_precision
from batchensemble.training.processes import Team
from batchensemble.training.shards import Shards
from batchensemble.training.together import fit_beside_others


@dataclass(eq=False, repr=False, kw_only=True)
class Estimator(Settings):
    """Abstract: `fit` writes `model_`, a frozen object that predicts."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CONSTRAINTS
    _task: ClassVar[str]
    _dtype: ClassVar[torch.dtype] = torch.float64  # of predictions

    model_: Any = field(init=False)
    settings_: dict[str, Any] = field(init=False)
    history_: list[History] = field(init=False)
    n_parameters_: int = field(init=False)
    fitted_at_: str = field(init=False)
    calibration_: IntervalCalibration | SetCalibration | None = field(init=False, default=None)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """A fit that fails leaves the estimator as it was; any caller's modes will do."""
        before = dict(self.__dict__)
        try:
            with (
                torch.inference_mode(False),
                torch.enable_grad(),
                single_precision(),
                np.errstate(under="ignore"),
            ):
                yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _amend_origin(self, **said: Any) -> None:
        """What the command line said about the model when it fitted it, if it did."""
        if origin := vars(self).get("origin_"):
            self.__dict__["origin_"] = origin | said

    def _make_method(self) -> Method:
        n_members = self.settings_["n_members"]
        return make_method(self.method, n_members=n_members, n_passes=int(self.n_passes))

    def _training(self, *, stops_early: bool) -> Training:
        names = ("epochs", "batch_size", "lr", "weight_decay", "clip_norm")
        return Training(
            **{name: self.settings_[name] for name in names},
            batching=self.settings_.get("batching", self.batching or "shared"),  # files of 0.1
            epoch_steps=self.settings_.get("epoch_steps"),
            patience_growth=self.settings_.get("patience_growth", 0.0),
            penalty=float(self.penalty),
            patience=self.settings_["patience"] if stops_early else None,
            time_limit=self.time_limit,
            keep_on_interrupt=self.keep_on_interrupt,
            verbose=self.verbose,
        )

    def _train(
        self,
        method: Method,
        recipe: dict[str, Any],
        loss: Loss,
        data: Source,
        training: Training,
        *,
        rows: Sequence[Rows],
        seed: int,
        start: Bank | None = None,
        depth: int = 4,
        checkpoint: FilePath | None = None,
    ) -> Ensemble:
        """With rows for each of several folds, each trains its share of the method's networks.

        `seed` is that of predictions; networks begin as those of `start`, if there is one. The
        user's line is `depth` calls above a warning.
        """
        most = max(len(part.train) for part in rows)
        check_size(method, self._network(recipe), min(training.batch_size, most))
        team, digest = Team.here(), ""
        if checkpoint is not None or team.size > 1:
            digest = run_digest(data, method, recipe, loss, training, rows)
            team.check_same(digest)
        bank, self.history_ = fit_beside_others(
            share_of(method, len(rows)),
            self._network(recipe),
            loss,
            data,
            training,
            rows=rows,
            recipe=recipe,
            one_by_one=self.one_by_one,
            start=start,
            checkpoint=None if checkpoint is None else Checkpoint(as_path(checkpoint), digest),
        )
        for doubt in doubts_about_length(self.history_, training, self.epochs):
            tell(doubt, depth)
        self.n_parameters_ = bank.n_parameters
        self.fitted_at_ = datetime.now(UTC).isoformat(timespec="seconds")
        return Ensemble(method, recipe, bank, seed, dtype=self._dtype)

    def _check_calibrated(self) -> None:
        check_is_fitted(self, "model_")
        if self.calibration_ is None:
            raise NotFittedError(
                f"this {type(self).__name__} is not calibrated; call calibrate with data that fit "
                "has not seen, or fit with calibrate=True"
            )

    def abstain_threshold(self, max_error: float) -> float:
        """The largest total `uncertainty` up to which the predictions are good enough.

        On the calibration rows (or steps of past forecasts) up to it, the root mean squared error
        or the share of wrong classes is at most `max_error`. It is an estimate, chosen on these
        rows, so on others the error may be slightly larger.
        """
        self._check_calibrated()
        assert self.calibration_ is not None
        return self.calibration_.abstain_threshold(max_error)

    def plot_training(self) -> Any:
        """The loss and the score on held-out rows by epoch: a matplotlib Figure.

        Thin lines are networks, thick ones their mean; dots are the epochs that were kept. If the
        score still falls at the end, allow more epochs or time; a score that rises while the loss
        falls is overfitting, which early stopping ends.
        """
        from batchensemble.plots.training import plot_training  # late, as drawing is rare

        check_is_fitted(self, "model_")
        return plot_training([(h.losses, h.scores, h.best_epochs) for h in self.history_])

    @abstractmethod
    def _network(self, recipe: dict[str, Any]) -> MakeNetwork:
        """Builds the networks of a recipe."""

    @abstractmethod
    def _assembled(self, encoder: Any, ensemble: Ensemble) -> Any:
        """`model_`, from these and from what fit learned about the target."""

    @abstractmethod
    def _about_data(self) -> dict[str, Any]:
        """The columns and the target, for people."""

    def _learned(self) -> dict[str, Any]:
        """What a file keeps besides parameters, by the names of format 1."""
        parameters = self.get_params(deep=False)
        learned = {name: value for name, value in vars(self).items() if name not in parameters}
        model, settings = learned.pop("model_"), learned.pop("settings_")
        if self.calibration_ is None:
            learned.pop("calibration_", None)
        learned |= {
            "_settings": settings,
            "_method": model.ensemble.method,
            "_recipe": model.ensemble.recipe,
            "_prediction_seed": model.ensemble.seed,
            "encoder_": model.encoder,
        }
        return dict(sorted(learned.items()))  # the same model makes the same file

    def restore(self, learned: dict[str, Any], theta: Tensor, device: torch.device) -> None:
        """Become the estimator whose `_learned` and parameters these are; for `load`."""
        parts = ("_method", "_recipe", "_prediction_seed", "_settings", "encoder_", "calibration_")
        set_fields(self, {name: value for name, value in learned.items() if name not in parts})
        self.settings_ = learned["_settings"]
        self.calibration_ = learned.get("calibration_")
        method, recipe = learned["_method"], learned["_recipe"]
        n_layers = len(recipe["hidden"]) + len(recipe["heads"]) + recipe.get("n_layers", 0)
        if n_layers > theta.numel():
            raise ValueError(f"expected fewer layers than {theta.numel()} parameters: {n_layers}")
        with torch.device("meta"):  # takes no memory, however large a file says the network is
            network = method.network(self._network(recipe), torch.Generator("cpu"))
        bank = Bank.of(network, theta)
        if len(bank) != method.n_networks or bank.n_parameters != self.n_parameters_:
            raise ValueError(
                f"expected {method.n_networks} networks of {self.n_parameters_} parameters in all, "
                f"got {len(bank)} of {bank.n_parameters}"
            )
        ensemble = Ensemble(method, recipe, bank, learned["_prediction_seed"], dtype=self._dtype)
        check_masks(ensemble)
        ensemble = dataclasses.replace(ensemble, bank=bank.to(device))
        self.model_ = self._assembled(learned["encoder_"], ensemble)

    def save(self, path: FilePath) -> None:
        """Write the fitted model to one file, for `batchensemble.load(path)`.

        The file holds numbers and text, no code: parameters of the networks, settings and what was
        learned about the columns, not the data. An existing file is replaced once the new one is
        complete. A `random_state` that is a RandomState is kept as None; predictions do not need
        it. A `Forecaster` keeps the end of each series, as much as forecasts, updates and a default
        plot need.
        """
        check_is_fitted(self, "model_")
        if "_task" not in vars(type(self)):
            raise TypeError(
                f"a file cannot keep the code of the subclass {type(self).__name__}; save a "
                "Regressor, Classifier or Forecaster, or keep this one with joblib"
            )
        from batchensemble.estimators.loading import write_loadable  # which knows all estimators

        write_loadable(path, *self.stored())

    def stored(self) -> tuple[dict[str, Any], Arrays]:
        """What a file of the fitted model holds: JSON and arrays."""
        ensemble: Ensemble = self.model_.ensemble
        check_masks(ensemble)
        contents, arrays = stored(self.get_params(deep=False), self._learned())
        arrays["bank_.theta"] = ensemble.bank.theta.cpu().numpy()
        return {"about": self._about(), **contents}, arrays

    def _about(self) -> dict[str, Any]:
        ensemble: Ensemble = self.model_.ensemble  # trained before parameters were changed, maybe
        method = {"method": word_of(ensemble.method)}
        return {
            "estimator": type(self).__name__,
            "task": self._task,
            **method,
            **shown(self._about_data()),
            "n_members": ensemble.members.n_members,
            "n_parameters": self.n_parameters_,
            "fitted_at": self.fitted_at_,
            "settings": shown(self.get_params(deep=False) | self.settings_ | method),
        }


def run_digest(data: Source, *settings: Any) -> str:
    """Of all that decides what a training learns, but for how long it may take."""
    digest = sha256()
    for part in settings:
        if isinstance(part, Training):
            part = dataclasses.replace(part, time_limit=None, verbose=False)
        digest.update(repr(part).encode())
    known = data
    if isinstance(data, Shards):
        known = data.watched
        for some in data.contents():
            digest.update(some)
    for tensor in (getattr(known, name) for name in ("x", "y", "weight") if hasattr(known, name)):
        if tensor is not None:
            digest.update(np.ascontiguousarray(tensor.cpu().numpy()).data)
    return digest.hexdigest()


def pick_device(word: str | torch.device) -> torch.device:
    """The named device, or with "auto" a GPU if there is one."""
    if not isinstance(word, str | torch.device):
        raise ValueError(
            f"expected device to be 'auto' or a device of this machine, got {word!r:.80}"
        )
    if word == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(word)
        torch.empty(1, device=device).item()  # "meta" has no numbers
    except (RuntimeError, AssertionError) as error:
        raise ValueError(
            f"expected device to be 'auto' or a device of this machine, got {word!r}: "
            f"{str(error).splitlines()[0]}"
        ) from error
    return device
