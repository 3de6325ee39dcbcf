"""K members in one network."""

from dataclasses import dataclass

from torch import Generator, Tensor

from batchensemble.bank import Bank
from batchensemble.methods.base import Forward, MakeNetwork
from batchensemble.networks import Network
from batchensemble.nn import expand_members, fold


@dataclass(frozen=True)
class BatchEnsemble:
    n_members: int = 10
    n_networks: int = 1

    def network(self, make: MakeNetwork, generator: Generator) -> Network:
        return make(generator, n_members=self.n_members)

    def forward(self, bank: Bank, generator: Generator) -> Forward:
        folded = fold(bank.network(0))

        def forward(x: Tensor) -> Tensor:
            return folded(expand_members(x, self.n_members))  # type: ignore[no-any-return]

        return forward
