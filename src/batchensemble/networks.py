"""Networks with a member axis; a plain network has one member and no adapters."""

from abc import abstractmethod
from collections.abc import Sequence

import torch
from torch import Generator, Tensor, nn

from batchensemble.nn.dropout import drop, keep_masks
from batchensemble.nn.linear import BatchEnsembleLinear


class Network(nn.Module):
    """Abstract: (batch, members, ...) -> (batch, members, outputs), with dropout on request."""

    n_members: int
    dropout: float

    @property
    @abstractmethod
    def mask_features(self) -> int:
        """How many units dropout decides on, for each row and member."""

    @abstractmethod
    def forward(self, x: Tensor, masks: Tensor | None = None) -> Tensor:
        """`masks`, (batch, members, mask_features) of ones and zeros, switches dropout on."""


class MLP(Network):
    """Hidden ReLU layers with dropout, then one linear head for each group of outputs.

    `heads` are the heads' sizes: (1, 1) for a mean and a log-variance, (C,) for C logits.
    `adapters` is one word for all layers or one for each hidden layer and a last one for the
    heads: ("", "", "rsb") is a BatchEnsemble in the heads alone.
    """

    def __init__(
        self,
        in_features: int,
        heads: Sequence[int],
        *,
        hidden: Sequence[int] = (32, 32),
        n_members: int = 1,
        adapters: str | Sequence[str] = "rsb",
        init: str = "random_sign",
        dropout: float = 0.1,
        generator: Generator | None = None,
    ) -> None:
        super().__init__()
        if not 0 <= dropout < 1:
            raise ValueError(f"expected dropout in [0, 1), got {dropout}")
        if not all(isinstance(width, int) and width > 0 for width in hidden):
            raise ValueError(f"expected hidden to be whole numbers of at least 1, got {hidden}")
        words = [adapters] * (len(hidden) + 1) if isinstance(adapters, str) else list(adapters)
        if len(words) != len(hidden) + 1:
            raise ValueError(
                f"expected adapters for {len(hidden)} hidden layers and the heads, got {words}"
            )
        self.n_members = n_members
        self.hidden = tuple(hidden)
        self.dropout = dropout

        def layer(n_in: int, n_out: int, word: str) -> BatchEnsembleLinear:
            return BatchEnsembleLinear(
                n_in, n_out, n_members, adapters=word, init=init, generator=generator
            )

        sizes = [in_features, *hidden]
        self.layers = nn.ModuleList(map(layer, sizes, hidden, words))
        self.heads = nn.ModuleList(layer(sizes[-1], size, words[-1]) for size in heads)

    @property
    def mask_features(self) -> int:
        return sum(self.hidden) if self.dropout else 0

    def forward(self, x: Tensor, masks: Tensor | None = None) -> Tensor:
        """(batch, members, in_features) -> (batch, members, outputs).

        `masks`, (batch, members, mask_features) of ones and zeros, switches dropout on in any
        mode; without them dropout is drawn afresh in training mode and off in evaluation mode.
        """
        if masks is None and self.training and self.dropout:
            masks = keep_masks((*x.shape[:-1], self.mask_features), self.dropout, device=x.device)
        by_layer = [None] * len(self.hidden) if masks is None else masks.split(self.hidden, -1)
        for layer, mask in zip(self.layers, by_layer, strict=True):
            x = torch.relu(layer(x))
            if mask is not None:
                x = drop(x, mask, self.dropout)
        return torch.cat([head(x) for head in self.heads], dim=-1)
