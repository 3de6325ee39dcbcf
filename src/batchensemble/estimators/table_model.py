"""The fitted model of a table: columns in, predictions out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from batchensemble.data.columns import Columns
from batchensemble.data.embedded import FARTHEST
from batchensemble.data.table_encoder import TableEncoder
from batchensemble.estimators.heads import Head
from batchensemble.nn import PiecewiseLinear
from batchensemble.predictive import Predictive
from batchensemble.training.methods import MakeNetwork
from batchensemble.training.models import Ensemble, maker, predict_rows
from batchensemble.training.networks import MLP, check_widths

ENCODED_ROWS = 2**15  # at a time
SHIFT_ROWS, SHIFT_LEVEL = 1000, 0.95
COUNTS_ONE = 0.1  # of a range, outside it
# How much farther members are apart for each bin beyond the numbers of fit. There, CRPS was 1.8 %
# lower than with 0, and 0.4 to 5 % lower than with 0.5 to 1 (`benchmarks/beyond.py`).
APART_A_BIN = 0.25

Dist = TypeVar("Dist", bound=Predictive)


@dataclass(frozen=True, eq=False)
class TableModel(Generic[Dist]):
    """An encoder, trained networks and the meaning of their outputs; nothing in it changes."""

    encoder: TableEncoder
    ensemble: Ensemble
    head: Head[Dist]

    def predict(self, columns: Columns) -> Dist:
        """The prediction for every row."""
        parts = list(self.outputs(columns))
        return self.head.predictive(parts[0] if len(parts) == 1 else np.concatenate(parts))

    def chunks(self, columns: Columns) -> Iterator[Dist]:
        """The same, some rows at a time, so that memory stays bounded."""
        return (self.head.predictive(outputs) for outputs in self.outputs(columns))

    def outputs(self, columns: Columns) -> Iterator[NDArray[np.float64]]:
        """(rows, members, outputs) of the networks, some rows at a time."""
        for start in range(0, columns.n_rows, ENCODED_ROWS):
            rows = slice(start, start + ENCODED_ROWS)
            some = columns.take(rows) if columns.n_rows > ENCODED_ROWS else columns
            x = self.encoder.transform(some)
            beyond, stop = self.encoder.bins_beyond(x), 0
            for outputs in predict_rows(self.ensemble.members, x, self.ensemble.device):
                stop += len(outputs)
                yield self._apart(outputs, beyond[stop - len(outputs) : stop])

    def _apart(
        self, outputs: NDArray[np.float64], beyond: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Members farther from their mean where no row of fit could tell which of them is right."""
        rows = np.flatnonzero(beyond)
        if not len(rows):
            return outputs
        outputs, places = outputs.copy(), self.head.places
        members = outputs[rows, :, places]
        mean = members.mean(1, keepdims=True)
        factors = 1 + APART_A_BIN * beyond[rows, None, None]
        outputs[rows, :, places] = mean + (members - mean) * factors
        return outputs

    def ask(self, columns: Columns, question: Callable[[Dist], NDArray[Any]]) -> NDArray[Any]:
        """What `question` answers about each row's prediction, some rows at a time."""
        answers = (question(dist) for dist in self.chunks(columns))
        first = next(answers)
        if len(first) == columns.n_rows:
            return first
        # One array for all: many small ones between large ones that go would leave holes.
        whole = np.empty((columns.n_rows, *first.shape[1:]), first.dtype)
        stop = len(first)
        whole[:stop] = first
        for answer in answers:
            whole[stop : stop + len(answer)] = answer
            stop += len(answer)
        return whole


def let_curves_go_on(ensemble: Ensemble, encoder: TableEncoder) -> None:
    """Of columns with fewer bins than others, beyond their last one."""
    for part in ensemble.bank.module.modules():
        if isinstance(part, PiecewiseLinear):
            part.go_on_([len(edges) - 1 for edges in encoder.binned_.edges])


@dataclass(frozen=True, eq=False)
class HeldOut(Generic[Dist]):
    """Rows that early stopping held out: where they are among those learned from, and their truth.

    The predictions are those of the networks that did not see a row.
    """

    rows: NDArray[np.int64]
    values: NDArray[Any]
    dist: Dist


def recipe_of(
    settings: dict[str, Any], encoder: TableEncoder, heads: tuple[int, ...]
) -> dict[str, Any]:
    """The arguments of the networks."""
    n_inputs, hidden = encoder.n_features_out_, check_widths(settings["hidden"])
    recipe = {
        "in_features": n_inputs,
        "heads": heads,
        "hidden": hidden,
        "dropout": settings["dropout"],
        "adapters": by_layer(settings["adapters"], len(hidden), first=len(hidden)),
        "init": by_layer(settings["init"], len(hidden), first=1),
    }
    embedding = encoder.embedding
    n_embedded = embedding["n_positions"] + len(embedding["counts"])
    if n_embedded:
        recipe["in_features"] = n_inputs - n_embedded
        recipe["embedding"] = embedding | {"width": settings["embedding_width"]}
    return recipe


def table_network(recipe: dict[str, Any]) -> MakeNetwork:
    return maker(MLP, **recipe)


def by_layer(words: str | Sequence[str], n_hidden: int, *, first: int) -> str | tuple[str, ...]:
    """Two words for many layers: one for the `first` of them, one for the others."""
    if isinstance(words, str):
        return words
    if len(words) == 2:
        return (words[0],) * first + (words[1],) * (n_hidden + 1 - first)
    return tuple(words)


def shift_scores(
    model: TableModel[Any], columns: Columns, disagreement: NDArray[np.float64], scale: float
) -> NDArray[np.float64]:
    """1 for the scale of disagreement, and 1 for each tenth of a range that a number lies beyond.

    Numbers outside those of fit reach the network as if they were at the edge, or nearly so.
    """
    with np.errstate(over="ignore"):  # members that agree to the last bit have a tiny scale
        scores = disagreement / scale + model.encoder.beyond(columns) / COUNTS_ONE
    return np.minimum(scores, FARTHEST)


def shift_scale(
    model: TableModel[Any], x: NDArray[np.float32], random: np.random.Generator
) -> float:
    """The members' disagreement that 95 of 100 encoded rows of fit stay below."""
    some = random.permutation(len(x))[:SHIFT_ROWS]
    outputs = predict_rows(model.ensemble.members, x[some], model.ensemble.device)
    apart = np.concatenate([model.head.disagreement(part) for part in outputs])
    # Where members agree to the last bit, the least disagreement is unusual.
    return max(float(np.quantile(apart, SHIFT_LEVEL)), float(np.finfo(np.float64).tiny))
