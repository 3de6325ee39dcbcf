"""What the outputs of a table's network mean: a number or classes, in the user's units."""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from batchensemble.data.telling import silenced
from batchensemble.estimators.spread import Spread
from batchensemble.predictive import (
    CategoricalPredictive,
    GaussianPredictive,
    Transform,
    TransformedPredictive,
)
from batchensemble.training.losses import (
    CategoricalNLL,
    CensoredNLL,
    GaussianCRPS,
    GaussianNLL,
    Loss,
    bounded,
)
from batchensemble.words import one_of

AS_TRAINED = Spread()
TARGET_SCALINGS = ("log", "minmax", "standard")
ROWS_A_LEVEL = 10  # at least so many rows for each value make targets a grid
SHARE_OF_GRID = 0.1  # of the distance between two levels

Floats = NDArray[np.float64]
Dist_co = TypeVar("Dist_co", covariant=True)


class Head(Protocol[Dist_co]):
    """What a network for tables is trained for."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Outputs of each of the network's heads."""
        ...

    @property
    def places(self) -> slice:
        """The outputs that say where the target lies; others say how far it spreads."""
        ...

    @property
    def loss(self) -> Loss: ...

    def encode(self, values: NDArray[Any]) -> NDArray[Any]:
        """Targets as the loss takes them."""
        ...

    def predictive(self, outputs: Floats) -> Dist_co:
        """(rows, members, outputs) -> the prediction in the user's units."""
        ...

    def disagreement(self, outputs: Floats) -> NDArray[np.float64]:
        """(rows, members, outputs) -> (rows,), how far the members are apart."""
        ...


@dataclass(frozen=True)
class NumberHead:
    """A Gaussian for the target, scaled as (y - location) / scale, as wide as `spread` says.

    With a `transform`, the same for the number that it leads from to the target.
    """

    location: float
    scale: float
    loss: GaussianNLL | GaussianCRPS
    spread: Spread = AS_TRAINED
    transform: Transform | None = None
    sizes: ClassVar[tuple[int, ...]] = (1, 1)
    places: ClassVar[slice] = slice(1)

    @classmethod
    def learned(
        cls,
        values: NDArray[Any],
        scaling: str,
        loss: GaussianNLL | GaussianCRPS,
        transform: Transform | None = None,
    ) -> Self:
        """The scale of the targets of fit."""
        y = _before(transform, read_numbers(values))
        one_of(scaling, TARGET_SCALINGS, "target_scaling")
        location, scale = (y.min(), np.ptp(y)) if scaling == "minmax" else (y.mean(), y.std())
        if not np.ptp(y):  # all targets are the same number
            scale = np.float64(1e-6 * (abs(location) or 1.0))
        if scale < 1e-100:
            raise ValueError(
                f"expected targets whose spread is above 1e-100, got {scale}; "
                "multiply them by a constant"
            )
        return cls(float(location), float(scale), loss, transform=transform)

    def grid_share(self, values: NDArray[Any]) -> float:
        """The narrowest sensible standard deviation, for targets on a grid such as whole numbers.

        Narrower Gaussians would promise more than such targets can tell. 0 for other targets.
        """
        levels = np.unique(_before(self.transform, read_numbers(values)))
        is_grid = 1 < len(levels) <= len(values) / ROWS_A_LEVEL
        return float(SHARE_OF_GRID * np.diff(levels).min()) if is_grid else 0.0

    def encode(self, values: NDArray[Any]) -> NDArray[np.float32]:
        scaled = (_before(self.transform, read_numbers(values)) - self.location) / self.scale
        # A target held back for calibration may lie anywhere: float32 must hold it all the same.
        return np.clip(scaled, -1e30, 1e30).astype(np.float32)

    def after_transform(self, scaled: Floats) -> Floats:
        """The user's targets, in units of `scale`, from those that `encode` gives."""
        if self.transform is None:
            return scaled
        return self.transform(self.location + self.scale * scaled) / self.scale

    def predictive(self, outputs: Floats) -> GaussianPredictive | TransformedPredictive:
        latent = self._latent(outputs)
        if self.transform is None:
            return latent
        return TransformedPredictive.of(latent, self.transform)

    def disagreement(self, outputs: Floats) -> NDArray[np.float64]:
        return self._latent(outputs).epistemic

    def _latent(self, outputs: Floats) -> GaussianPredictive:
        """The prediction before the transform."""
        means, raw = outputs[..., 0], outputs[..., 1]
        with np.errstate(over="ignore"):  # what is not finite is refused below
            variances = np.exp(bounded(raw, self.loss.bounds, _softplus))
        return self.spread.predictive(self.location + self.scale * means, self.scale**2 * variances)


def check_labels(values: NDArray[Any]) -> None:
    """Labels that can be told apart, put in order and kept in a file."""
    if values.dtype == object:
        raise ValueError(
            f"expected labels of one kind, got {sorted({type(v).__name__ for v in values})}; "
            "convert all of them to strings or to numbers"
        )
    if values.dtype.kind in "mM":
        raise ValueError(
            f"expected classes that are texts, numbers or booleans, got {values.dtype} values "
            f"such as {values[0]}; convert them to texts"
        )


@dataclass(frozen=True, eq=False)
class ClassHead:
    """Logits of the classes, divided by a temperature that all members share."""

    classes: NDArray[Any]
    temperature: float = 1.0
    places: ClassVar[slice] = slice(None)
    loss: ClassVar[CategoricalNLL] = CategoricalNLL()

    @classmethod
    def learned(cls, values: NDArray[Any]) -> Self:
        """The classes of all rows, also of those held back for calibration."""
        check_labels(values)
        # It casts numbers such as 1e30 to integers, and warns of rare classes, as we do.
        with np.errstate(invalid="ignore"), silenced("The number of unique classes"):
            check_classification_targets(values)
        classes = np.unique(values)
        if len(classes) < 2:
            raise ValueError(
                f"expected at least 2 classes in y, got one class: {classes.tolist()}; add rows of "
                "another class"
            )
        return cls(classes)

    @property
    def sizes(self) -> tuple[int, ...]:
        return (len(self.classes),)

    def encode(self, values: NDArray[Any]) -> NDArray[np.int64]:
        return np.searchsorted(self.classes, values).astype(np.int64)

    def predictive(self, outputs: Floats) -> CategoricalPredictive:
        # The mean over the members may prefer another class than before the temperature.
        logits = outputs / self.temperature
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused below
            odds = np.exp(logits - logits.max(-1, keepdims=True))
        return CategoricalPredictive(odds / odds.sum(-1, keepdims=True), self.classes)

    def disagreement(self, outputs: Floats) -> NDArray[np.float64]:
        # Logits mean the same after adding a constant to all of them.
        centred = outputs - outputs.mean(-1, keepdims=True)
        variances: Floats = centred.var(1).sum(-1)
        return variances


def _softplus(x: Floats) -> Floats:
    return np.logaddexp(0.0, x)


def censored_loss(head: Head[Any]) -> CensoredNLL:
    """What networks minimise where some targets are censored."""
    assert isinstance(head, NumberHead)
    assert isinstance(head.loss, GaussianNLL)
    return CensoredNLL(head.loss.bounds, head.loss.beta)


def _before(transform: Transform | None, y: NDArray[np.float64]) -> NDArray[np.float64]:
    return y if transform is None else transform.inverse(y)


def read_numbers(values: NDArray[Any]) -> NDArray[np.float64]:
    """Targets of a regression."""
    if values.dtype.kind not in "iufb":
        first = values[:1].tolist()[0]
        raise ValueError(
            f"expected numbers as targets, got {values.dtype} values such as {first!r}; "
            "convert them to numbers, or use Classifier for classes"
        )
    y = values.astype(np.float64)
    if np.abs(y).max() > 1e100:
        raise ValueError(
            "expected targets of size at most 1e100, "
            f"got values from {y.min()} to {y.max()}; divide them by a constant"
        )
    return y
