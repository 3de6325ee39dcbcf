"""What a method is."""

from collections.abc import Callable
from typing import Protocol

from torch import Generator, Tensor

from batchensemble.bank import Bank
from batchensemble.networks import Network

Forward = Callable[[Tensor], Tensor]
"""(batch, features) -> (batch, predictions, outputs)."""


class MakeNetwork(Protocol):
    """Builds a network: plain, or a BatchEnsemble of so many members."""

    def __call__(self, generator: Generator, *, n_members: int | None = None) -> Network: ...


class Method(Protocol):
    """A way to get several predictions for a row."""

    @property
    def n_networks(self) -> int:
        """How many networks are trained."""
        ...

    def network(self, make: MakeNetwork, generator: Generator) -> Network:
        """One of the networks to train."""
        ...

    def forward(self, bank: Bank, generator: Generator) -> Forward:
        """The trained networks as one function; the same rows always get the same answer."""
        ...
