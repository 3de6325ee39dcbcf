"""What a method is."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Protocol

from torch import Generator, Tensor

from batchensemble.nn import expand_members
from batchensemble.training.bank import Bank
from batchensemble.training.few_rows import Forward, forward_of
from batchensemble.training.networks import Network

CALLS_WORTH_LOADING = 20  # with a few rows each: loading takes as long as a thousand of them


@dataclass(frozen=True)
class Members:
    """Trained networks made ready to predict: one folded network, and what tells members apart.

    The members are those of the network or, with `masks`, the masks.
    """

    network: Network
    n_members: int
    masks: Tensor | None = None  # (members, mask_features)
    small_calls: Iterator[int] = field(default_factory=count, compare=False)

    def __call__(self, x: Tensor) -> Tensor:
        """(batch, features) -> (batch, members, outputs)."""
        masks = None if self.masks is None else self.masks.to(x.device)
        outputs: Tensor = self.network(expand_members(x, self.network.n_members), masks)
        return outputs.expand(*outputs.shape[:-2], self.n_members, outputs.shape[-1])

    def of_few_rows(self) -> Forward | None:
        """The same for a few rows in compiled loops, once there were enough calls to load them."""
        return self.compiled if next(self.small_calls) >= CALLS_WORTH_LOADING else None

    def prepare(self) -> None:
        """Load the loops now, so that no later call has to."""
        if self.compiled is not None:
            for _ in range(CALLS_WORTH_LOADING):
                next(self.small_calls)

    @cached_property
    def compiled(self) -> Forward | None:
        return None if self.masks is not None else forward_of(self.network)


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
