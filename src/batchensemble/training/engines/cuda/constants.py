"""The constants a kernel is compiled with: the shape of a network and how it is trained."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from batchensemble.nn.dropout import FACTOR1, FACTOR2, SHIFT1, SHIFT2, SHIFT3, threshold
from batchensemble.training.engines.adam import BETA1, BETA2, EPS, Adam
from batchensemble.training.engines.shapes import BIAS, BIAS_STEP, N_IN, N_OUT, UNIT, WEIGHT, R, S
from batchensemble.training.losses import CategoricalNLL, GaussianNLL, Loss

CHUNK = 64
STRIDE = CHUNK + 4
THREADS = 256


@dataclass(frozen=True)
class Spread:
    """How a network is spread over a chip."""

    n_rows: int  # of a batch
    blocks: int  # of threads, for the members
    outside: bool = False  # too large: keep what is needed least in memory outside the chip


class Parts(NamedTuple):
    """Layers made of parts: heads are parts of one layer, and so are gates with the same inputs."""

    table: NDArray[np.int64]  # the parts' `layer_table`
    layer_of: tuple[int, ...]  # the layer of each part
    corners: tuple[tuple[int, int], ...]
    """A part's first output and input in its layer; parts with the same outputs are added up."""


@dataclass(frozen=True)
class Shape:
    """Layers and members of a network."""

    parts: Parts
    n_units: int  # that dropout decides on
    n_members: int
    spread: Spread
    has_penalty: bool = False
    first_back: int = 0  # the first layer whose inputs have gradients

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Inputs and outputs of each layer."""
        ends = np.array(self.parts.corners) + self.parts.table[:, [N_OUT, N_IN]]
        layer_of = np.array(self.parts.layer_of)
        sizes = [ends[layer_of == layer].max(axis=0) for layer in self._layers]
        return [(int(n_in), int(n_out)) for n_out, n_in in sizes]

    @property
    def n_shared(self) -> int:
        return sum(length for length, _ in self._shared())

    @property
    def n_own(self) -> int:
        return sum(length for length, _ in self._own())

    @property
    def floats(self) -> int:
        """Floats of shared memory, as the kernels' `Network`, rounded up to a multiple of four."""
        rounds = -(-self.n_members // self.spread.blocks)
        part = -(-self.n_shared // self.spread.blocks)
        weights = sum(padded(i) * (padded(o) + 4) for i, o in self.sizes)
        weights += sum(padded(o) * (padded(i) + 4) for i, o in self.sizes[self.first_back :])
        n_vectors = max(1, len(self._own()) * self.n_members)
        gram = self.n_members * (self.n_own + 1) + (1 + rounds) * n_vectors
        return padded(
            padded(gram if self.has_penalty else 0)
            + weights
            + sum(padded(o) for _, o in self.sizes)
            + 2 * self.n_shared
            + 2 * (1 if self.spread.outside else part)
            + 4 * rounds * (self.n_own + 1)
            + 2 * (THREADS // 32)
            + 2 * self.spread.blocks
        )

    @property
    def _layers(self) -> range:
        return range(max(self.parts.layer_of) + 1)

    def _shared(self) -> list[tuple[int, int]]:
        """Length and place in theta of what members share, weights first."""
        weights = [(int(row[N_IN] * row[N_OUT]), int(row[WEIGHT])) for row in self.parts.table]
        biases = [
            (int(row[N_OUT]), int(row[BIAS])) for row in self.parts.table if not row[BIAS_STEP]
        ]
        return weights + biases

    def _own(self) -> list[tuple[int, int]]:
        """Length and place in theta of the first member's r, s and biases."""
        runs = []
        for row in self.parts.table:
            if row[R] >= 0:
                runs.append((int(row[N_IN]), int(row[R])))
            if row[S] >= 0:
                runs.append((int(row[N_OUT]), int(row[S])))
            if row[BIAS_STEP] > 0:
                runs.append((int(row[N_OUT]), int(row[BIAS])))
        return runs

    def constants(self) -> dict[str, Any]:
        shared, own = self._shared(), self._own()
        at_shared, at_own = _starts(shared), _starts(own)
        rows = self.parts.table.tolist()
        first_part = [self.parts.layer_of.index(layer) for layer in self._layers]
        return {
            "ROWS": self.spread.n_rows,
            "N_MEMBERS": self.n_members,
            "BLOCKS": self.spread.blocks,
            "OUTSIDE": self.spread.outside,
            "HAS_PENALTY": self.has_penalty,
            "FIRST_BACK": self.first_back,
            "N_LAYERS": len(self._layers),
            "N_IN": [n_in for n_in, _ in self.sizes],
            "N_OUT": [n_out for _, n_out in self.sizes],
            "N_UNITS": self.n_units,
            "UNIT": [rows[part][UNIT] for part in first_part],
            "N_PARTS": len(rows),
            "LAYER_OF": list(self.parts.layer_of),
            "PART_OUT": [row[N_OUT] for row in rows],
            "PART_IN": [row[N_IN] for row in rows],
            "FIRST_OUT": [first_out for first_out, _ in self.parts.corners],
            "FIRST_IN": [first_in for _, first_in in self.parts.corners],
            "IS_ADDED": [
                int(part > first_part[layer] and self.parts.corners[part][0] == 0)
                for part, layer in enumerate(self.parts.layer_of)
            ],
            "W_AT": [at_shared[row[WEIGHT]] for row in rows],
            "R_AT": [at_own.get(row[R], -1) for row in rows],
            "S_AT": [at_own.get(row[S], -1) for row in rows],
            "B_OWN": [int(row[BIAS_STEP] > 0) for row in rows],
            "B_AT": [(at_own if row[BIAS_STEP] else at_shared)[row[BIAS]] for row in rows],
            "N_SHARED": self.n_shared,
            "N_WEIGHTS": sum(length for length, _ in shared[: len(rows)]),
            "N_OWN": self.n_own,
            "N_SHARED_RUNS": len(shared),
            "SHARED_RUN": [length for length, _ in shared],
            "SHARED_PLACE": [place for _, place in shared],
            "N_OWN_RUNS": len(own),
            "OWN_RUN": [length for length, _ in own] or [0],
            "OWN_PLACE": [place for _, place in own] or [0],
            "OWN_AT": [at_own[place] for _, place in own] or [0],
        }


def one_below_the_other(table: NDArray[np.int64], layer_of: tuple[int, ...]) -> Parts:
    """Parts that read all inputs of their layer."""
    ends = dict.fromkeys(layer_of, 0)
    corners = []
    for row, layer in zip(table, layer_of, strict=True):
        corners.append((ends[layer], 0))
        ends[layer] += int(row[N_OUT])
    return Parts(table, layer_of, tuple(corners))


def training_constants(loss: Loss, adam: Adam, dropout: float, decay: float) -> dict[str, Any]:
    nll = loss if isinstance(loss, GaussianNLL) else GaussianNLL()
    low, high = map(float, nll.bounds)
    is_free = math.isinf(low)
    width = high - low
    return {
        "IS_CLASSES": isinstance(loss, CategoricalNLL),
        "IS_FREE": is_free,
        "LOW": 0.0 if is_free else low,
        "HIGH": 0.0 if is_free else high,
        "STRETCH": 1.0 if is_free else width / math.log1p(math.exp(width)),
        "BETA": float(nll.beta),
        "HAS_DROPOUT": dropout > 0,
        "SCALE": 1 / (1 - dropout),
        "THRESHOLD": threshold(dropout),
        "SHIFT1": SHIFT1,
        "SHIFT2": SHIFT2,
        "SHIFT3": SHIFT3,
        "FACTOR1": np.uint32(FACTOR1),
        "FACTOR2": np.uint32(FACTOR2),
        "HAS_CLIP": adam.clip_norm < math.inf,
        "CLIP": float(min(adam.clip_norm, 1e30)),
        "DECAY": adam.lr * decay,
        "LR": np.float64(adam.lr),
        "BETA1": np.float64(BETA1),
        "BETA2": np.float64(BETA2),
        "EPS": np.float64(EPS),
    }


def text_of(constants: Mapping[str, Any]) -> str:
    """C++ definitions; Python's floats become single precision, numpy's double."""
    return "".join(f"{_line(name, value)}\n" for name, value in constants.items())


def _line(name: str, value: Any) -> str:
    if isinstance(value, list):
        numbers = ", ".join(map(str, value))
        return f"__device__ constexpr int {name}[] = {{{numbers}}};"
    if isinstance(value, bool):
        return f"constexpr bool {name} = {str(value).lower()};"
    if isinstance(value, np.uint32):
        return f"constexpr unsigned {name} = {int(value)}u;"
    if isinstance(value, np.float64):
        return f"constexpr double {name} = {float(value)!r};"
    if isinstance(value, float):
        return f"constexpr float {name} = {np.float32(value).item()!r}f;"
    return f"constexpr int {name} = {value};"


def _starts(runs: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Where each run begins, by its place in theta, when they lie one after the other."""
    starts = accumulate((length for length, _ in runs), initial=0)
    return {place: start for (_, place), start in zip(runs, starts, strict=False)}


def padded(n: int) -> int:
    return -(-n // 4) * 4
