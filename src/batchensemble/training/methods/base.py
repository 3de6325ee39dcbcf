"""What a method is."""

from dataclasses import dataclass
from typing import Protocol

from torch import Generator, Tensor

from batchensemble.nn import expand_members
from batchensemble.training.bank import Bank
from batchensemble.training.networks import Network


@dataclass(frozen=True)
class Members:
    """Trained networks made ready to predict: one folded network, and what tells members apart.

    The members are those of the network or, with `masks`, the masks.
    """

    network: Network
    n_members: int
    masks: Tensor | None = None  # (members, mask_features)

    def __call__(self, x: Tensor) -> Tensor:
        """(batch, features) -> (batch, members, outputs)."""
        masks = None if self.masks is None else self.masks.to(x.device)
        outputs: Tensor = self.network(expand_members(x, self.network.n_members), masks)
        return outputs.expand(*outputs.shape[:-2], self.n_members, outputs.shape[-1])


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

    def members(self, bank: Bank, generator: Generator) -> Members:
        """The trained networks, ready; the same rows always get the same answer."""
        ...
