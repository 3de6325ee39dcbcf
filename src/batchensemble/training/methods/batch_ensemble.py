"""K members in one network, or in each of several."""

from dataclasses import dataclass

from torch import Generator

from batchensemble.training.bank import Bank
from batchensemble.training.methods.base import MakeNetwork, Members
from batchensemble.training.networks import Network


@dataclass(frozen=True)
class BatchEnsemble:
    n_members: int = 10
    n_networks: int = 1

    def network(self, make: MakeNetwork, generator: Generator) -> Network:
        return make(generator, n_members=self.n_members)

    def members(self, bank: Bank, generator: Generator) -> Members:
        return Members(bank.folded(), self.n_members * self.n_networks)
