"""Classes by their probabilities; uncertainties are in nats."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr, rel_entr

from batchensemble.predictive.base import Predictive, average
from batchensemble.predictive.checks import (
    UNREADABLE,
    Array,
    Labels,
    Rng,
    check_draws,
    check_labels,
    check_probabilities,
    refuse_masked,
)


@dataclass(frozen=True, eq=False, repr=False)
class CategoricalPredictive(Predictive):
    """Class probabilities of every member; the prediction is their mean.

    probabilities (samples, members, classes); classes are the labels of y, `mode` and `sample`, by
    default 0, 1, ...
    """

    probabilities: Array
    classes: NDArray[Any] | None = None
    _by_row = ("probabilities",)

    def __post_init__(self) -> None:
        axes = ("samples", "members", "classes")
        probabilities = check_probabilities("probabilities", self.probabilities, *axes)
        self._freeze(probabilities=probabilities)
        if self.classes is not None:
            refuse_masked("classes", self.classes)
            classes = np.array(self.classes)
            if classes.shape != (self.n_classes,) or len(np.unique(classes)) < len(classes):
                raise ValueError(
                    f"classes: expected {self.n_classes} different labels, got {self.classes!r}; "
                    "give one for each column of probabilities"
                )
            object.__setattr__(self, "classes", classes)

    def encode(self, y: ArrayLike) -> Labels:
        """(samples,) the columns of probabilities that hold the labels y."""
        if self.classes is None:
            return check_labels("y", y, n_rows=len(self), n_classes=self.n_classes)
        refuse_masked("y", y)
        try:
            labels = np.asarray(y)
            is_class = labels[..., None] == self.classes
            others = labels[~np.any(is_class, axis=-1)]
            are_known = labels.shape == (len(self),) and not len(others)
        except (*UNREADABLE, IndexError):  # gaps, tensors, odd lists
            labels, others, are_known = np.array(None), np.array([None]), False
        if not are_known:
            some = (others if len(others) else labels.ravel())[:5].tolist()
            raise ValueError(
                f"y: expected {len(self)} labels out of {self.classes.tolist()}, got shape "
                f"{labels.shape} with {some}; give one of them for each row"
            )
        return np.asarray(is_class.argmax(axis=-1), dtype=np.int64)

    def _decode(self, columns: Labels) -> NDArray[Any]:
        return columns if self.classes is None else self.classes[columns]

    @property
    def n_classes(self) -> int:
        return int(self.probabilities.shape[2])

    @property
    def mean(self) -> Array:
        """(samples, classes) mean probabilities; exactly the members' where they agree."""
        p = self.probabilities
        mean: Array = np.clip(p[:, 0] + average(p - p[:, :1], 1), p.min(axis=1), p.max(axis=1))
        return mean

    @property
    def mode(self) -> NDArray[Any]:
        """(samples,) the most probable class; the first of equals."""
        return self._decode(np.asarray(self.mean.argmax(axis=1), dtype=np.int64))

    @property
    def confidence(self) -> Array:
        """(samples,) probability of `mode`."""
        confidence: Array = self.mean.max(axis=1)
        return confidence

    @property
    def total(self) -> Array:
        """(samples,) entropy of the mean probabilities, in nats."""
        entropy: Array = entr(self.mean).sum(axis=1)
        return entropy

    @property
    def aleatoric(self) -> Array:
        """(samples,) mean entropy of the members, in nats."""
        return average(entr(self.probabilities).sum(axis=2), 1)

    @property
    def epistemic(self) -> Array:
        """(samples,) mutual information of class and member, in nats; exactly 0 in agreement."""
        mean = np.maximum(self.mean, 1e-300)[:, None]  # where a denormal's mean rounds to 0
        divergence = rel_entr(self.probabilities, mean).sum(axis=2)
        return np.maximum(average(divergence, 1), 0.0)

    def log_prob(self, y: ArrayLike) -> Array:
        """(samples,) log mean probability of the classes y, in nats; -inf where it is 0."""
        labels = self.encode(y)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.mean[np.arange(len(self)), labels]))

    def sample(self, n: int, rng: Rng) -> NDArray[Any]:
        """(samples, n) classes drawn from the mean; `rng` is a numpy Generator or a seed."""
        u = check_draws(n, rng, len(self)).random((len(self), n))
        below = np.cumsum(self.mean, axis=1)
        below /= below[:, -1:]
        out = np.zeros((len(self), n), dtype=np.int64)
        for c in range(self.n_classes - 1):
            out += u >= below[:, c : c + 1]
        return self._decode(out)
