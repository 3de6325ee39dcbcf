"""Networks with a member axis; a plain network has one member and no adapters."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any

import torch
from torch import Generator, Tensor, nn

from batchensemble.nn.cells import Cell
from batchensemble.nn.dropout import draw_keys, drop, keep_masks
from batchensemble.nn.embeddings import Embeddings, FoldedEmbeddings
from batchensemble.nn.linear import BatchEnsembleLinear, FoldedLinear
from batchensemble.nn.recurrent import GRU, GRUBE
from batchensemble.words import one_of

FEEDBACK = ("mean", "sample", "teacher")

Draw = Callable[[Tensor, Tensor | None], Tensor]
"""A head's outputs and standard noise -> a value; without noise, the mean."""


class Network(nn.Module):
    """Abstract: (batch, ..., members, features) -> (batch, ..., members, outputs).

    Randomness is passed in, for each row and member: dropout masks of ones and zeros, and standard
    normal noise.
    """

    n_members: int
    dropout: float
    horizon: int = 1
    """How many outputs a row gets, one after the other."""
    noise_features: int = 0
    """How many noise values a row needs, for each member."""

    @property
    @abstractmethod
    def mask_features(self) -> int:
        """How many units dropout decides on, for each row, member and step of the horizon."""

    @abstractmethod
    def forward(
        self, x: Tensor, masks: Tensor | None = None, noise: Tensor | None = None
    ) -> Tensor:
        """`masks`, (batch, members, horizon * mask_features), switches dropout on in any mode."""


def check_widths(hidden: Sequence[int]) -> tuple[int, ...]:
    """Of hidden layers."""
    numbers = (isinstance(width, Integral) and not isinstance(width, bool) for width in hidden)
    if not all(numbers) or not all(width > 0 for width in hidden):
        raise ValueError(f"expected hidden to be whole numbers of at least 1, got {hidden!r:.80}")
    return tuple(map(int, hidden))


class MLP(Network):
    """Hidden ReLU layers with dropout, then one linear head for each group of outputs.

    `heads` are the heads' sizes: (1, 1) for a mean and a log-variance, (C,) for C logits.
    `adapters` is one word for all layers or one for each hidden layer and a last one for the
    heads: ("", "", "rsb") is a BatchEnsemble in the heads only. So is `init`. `embedding` are the
    arguments of `Embeddings` for inputs beyond the `in_features` plain ones.
    """

    def __init__(
        self,
        in_features: int,
        heads: Sequence[int],
        *,
        hidden: Sequence[int] = (32, 32),
        n_members: int = 1,
        adapters: str | Sequence[str] = "rsb",
        init: str | Sequence[str] = "random_sign",
        dropout: float = 0.1,
        embedding: Mapping[str, Any] | None = None,
        generator: Generator | None = None,
    ) -> None:
        super().__init__()
        if not 0 <= dropout < 1:
            raise ValueError(f"expected dropout in [0, 1), got {dropout}")
        hidden = check_widths(hidden)
        words, inits = (
            _by_layer(value, len(hidden), name)
            for value, name in ((adapters, "adapters"), (init, "init"))
        )
        self.n_members = n_members
        self.hidden = hidden
        self.dropout = dropout

        def layer(n_in: int, n_out: int, word: str, init: str) -> BatchEnsembleLinear:
            return BatchEnsembleLinear(
                n_in, n_out, n_members, adapters=word, init=init, generator=generator
            )

        self.embeddings: Embeddings | FoldedEmbeddings | None = None
        if embedding:
            self.embeddings = Embeddings(in_features, generator=generator, **embedding)
            in_features = self.embeddings.out_features
        self.n_inputs = in_features
        sizes = [in_features, *hidden]
        self.layers = nn.ModuleList(map(layer, sizes, hidden, words, inits))
        self.heads = nn.ModuleList(layer(sizes[-1], size, words[-1], inits[-1]) for size in heads)

    @property
    def mask_features(self) -> int:
        return sum(self.hidden) if self.dropout else 0

    def forward(
        self, x: Tensor, masks: Tensor | None = None, noise: Tensor | None = None
    ) -> Tensor:
        """(batch, members, in_features) -> (batch, members, outputs).

        `masks`, (batch, members, mask_features) of ones and zeros, switches dropout on in any
        mode; without them dropout is drawn anew in training mode and off in evaluation mode.
        An MLP ignores `noise`.
        """
        if masks is None and self.training and self.mask_features:
            shape = (*x.shape[:-1], self.mask_features)
            masks = keep_masks(draw_keys(device=x.device), shape, self.dropout)
        by_layer = [None] * len(self.hidden) if masks is None else masks.split(self.hidden, -1)
        if self.embeddings is not None:
            x = self.embeddings(x)
        for layer, mask in zip(self.layers, by_layer, strict=True):
            x = torch.relu_(layer(x))
            if mask is not None:
                x = drop(x, mask, self.dropout)
        outputs = [head(x) for head in self.heads]
        return outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=-1)

    def join_heads(self) -> None:
        """Join the heads of a folded network into one layer."""
        heads = [head for head in self.heads if isinstance(head, FoldedLinear)]
        self.heads = nn.ModuleList([FoldedLinear.joined(heads)])

    def fold_embeddings(self, n_networks: int) -> None:
        """After the networks of a bank were folded into this one."""
        if isinstance(self.embeddings, Embeddings):
            self.embeddings = self.embeddings.fold(n_networks, self.n_members // n_networks)


def _by_layer(value: str | Sequence[str], n_hidden: int, name: str) -> list[str]:
    """One word for each hidden layer and a last one for the heads."""
    words = [value] * (n_hidden + 1) if isinstance(value, str) else list(value)
    if len(words) != n_hidden + 1:
        raise ValueError(f"expected {name} for {n_hidden} hidden layers and the heads, got {words}")
    return words


class Recurrent(Network):
    """A recurrent layer, then an MLP: forecasts `horizon` steps one after the other.

    To forecast the value at time i it reads the values at i - lag for each of the `lags`, and
    `covariates` further numbers of time i. It has read `context` such steps at its first forecast.
    `feedback` says what replaces values not yet known in training: the predicted "mean", a
    "sample" from the prediction, or the truth ("teacher").

    With `adapters=""` the recurrent layer is the plain GRU, otherwise GRUBE.
    """

    def __init__(
        self,
        covariates: int,
        heads: Sequence[int],
        *,
        draw: Draw,
        context: int,
        horizon: int,
        lags: Sequence[int] = (1,),
        feedback: str = "mean",
        hidden_size: int = 32,
        n_layers: int = 1,
        hidden: Sequence[int] = (32, 32),
        n_members: int = 1,
        adapters: str = "rsb",
        gates: str = "czf",
        init: str = "random_sign",
        dropout: float = 0.1,
        generator: Generator | None = None,
    ) -> None:
        super().__init__()
        for name, count in (("context", context), ("horizon", horizon), ("lags", min(lags))):
            if count < 1:
                raise ValueError(f"expected {name} of at least 1, got {count}")
        self.n_members = n_members
        self.dropout = dropout
        self.draw = draw
        self.context, self.horizon, self.lags = context, horizon, tuple(lags)
        self.feedback = one_of(feedback, FEEDBACK, "feedback")
        self.noise_features = horizon - 1 if feedback == "sample" else 0
        self.reach = context - 1 + max(lags)
        self.hidden_size = hidden_size
        n_inputs = len(self.lags) + covariates
        members: dict[str, Any] = {"adapters": adapters, "init": init, "generator": generator}
        self.recurrent: GRU | GRUBE
        if adapters:
            self.recurrent = GRUBE(
                n_inputs, hidden_size, n_members, n_layers=n_layers, gates=gates, **members
            )
        else:
            self.recurrent = GRU(n_inputs, hidden_size, n_layers=n_layers, generator=generator)
        self.head = MLP(
            hidden_size, heads, hidden=hidden, n_members=n_members, dropout=dropout, **members
        )

    @property
    def mask_features(self) -> int:
        return self.head.mask_features

    @property
    def n_covariates(self) -> int:
        first: Cell = self.recurrent.cells[0]  # type: ignore[assignment]
        return first.input_size - len(self.lags)

    @property
    def floats_a_path(self) -> int:
        """About how many floats `simulate` holds at a time for one path of one member."""
        return 6 * self.hidden_size + 4 * max(self.head.hidden, default=0)

    def forward(
        self, x: Tensor, masks: Tensor | None = None, noise: Tensor | None = None
    ) -> Tensor:
        """(batch, time, members, 1 + covariates) -> (batch, horizon, members, outputs).

        x holds `reach` times before the first forecast and the `horizon` times of the forecasts.
        Its first feature is the value; only "teacher" reads the values of the horizon. Every step
        has its own part of the masks.
        """
        by_step: Sequence[Tensor | None] = [None] * self.horizon
        if masks is not None:
            masks = masks.unflatten(-1, (self.horizon, -1))
            by_step = masks.unbind(-2)
        unrolled = self.recurrent.unrolled()
        if self.feedback == "teacher":
            hidden, _ = unrolled(self._sequence(x, self.context + self.horizon - 1))
            hidden = hidden[..., -self.horizon :, :, :]
            outputs: Tensor = self.head(hidden, None if masks is None else masks.transpose(-2, -3))
            return outputs
        _, context = unrolled(self._sequence(x, self.context))
        answers = [self.head(context[-1], by_step[0])]
        state = [unrolled.lanes.enter(h) for h in context]
        fed: list[Tensor] = []
        for step in range(1, self.horizon):
            fed.append(self.draw(answers[-1], None if noise is None else noise[..., step - 1]))
            inputs = self._inputs(x, fed, step, fed[-1].shape)
            state = unrolled.step(unrolled.lanes.enter(inputs), state)
            hidden = unrolled.lanes.leave(state[-1], x.shape[-2])
            answers.append(self.head(hidden, by_step[step]))
        return torch.stack(answers, -3)

    def simulate(self, x: Tensor, noise: Tensor, masks: Tensor | None = None) -> Tensor:
        """Ancestral sampling: every path feeds back its own draws.

        x (batch, time, 1 + covariates) and standard noise (batch, paths, members, steps) -> paths
        (batch, paths, members, steps). x holds `reach` known times and, for the covariates alone,
        one for each step. The context is read once for all paths. `masks`, (members, units of one
        step), stay the same along a path.
        """
        x = x.unsqueeze(-2)
        n_windows, n_paths, n_members, n_steps = noise.shape
        rows = noise.shape[:-1]
        unrolled = self.recurrent.unrolled()
        lanes = unrolled.lanes
        sequence = self._sequence(x, self.context)
        _, context = unrolled(sequence.expand(-1, -1, n_members if lanes.own_weights else 1, -1))
        outputs = self.head(context[-1].expand(-1, n_members, -1), masks).unsqueeze(1)
        state = [lanes.enter(h.unsqueeze(1).expand(*rows, -1).flatten(0, 1)) for h in context]
        # Memory for all steps at once: allocated one by one between a step's temporaries, they
        # would fragment the heap, and a long forecast would take gigabytes.
        fed = outputs.new_empty(n_steps, *rows)
        for step in range(n_steps):
            if step:
                inputs = self._inputs(x.unsqueeze(1), fed, step, rows)
                state = unrolled.step(lanes.enter(inputs.flatten(0, 1)), state)
                outputs = self.head(lanes.leave(state[-1], n_members), masks)
                outputs = outputs.unflatten(0, (n_windows, n_paths))
            fed[step] = self.draw(outputs, noise[..., step])
        paths: Tensor = fed.movedim(0, -1)
        return paths

    def _sequence(self, x: Tensor, n_steps: int) -> Tensor:
        """Inputs of the first steps, all known: (batch, n_steps, members, inputs)."""
        first = self.reach - self.context + 1
        lagged = [x[..., first - lag : first - lag + n_steps, :, :1] for lag in self.lags]
        return torch.cat([*lagged, x[..., first : first + n_steps, :, 1:]], -1)

    def _inputs(
        self, x: Tensor, fed: Sequence[Tensor] | Tensor, step: int, rows: torch.Size
    ) -> Tensor:
        """Inputs of a later step, (*rows, inputs); unknown values are fed back."""
        lagged = [
            fed[step - lag] if lag <= step else x[..., self.reach + step - lag, :, 0]
            for lag in self.lags
        ]
        covariates = x[..., self.reach + step, :, 1:].expand(*rows, -1)
        return torch.cat([*(v.expand(rows).unsqueeze(-1) for v in lagged), covariates], -1)
