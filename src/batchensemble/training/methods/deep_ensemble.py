"""K networks, each with its own initialisation and shuffling."""

from dataclasses import dataclass

from torch import Generator

from batchensemble.training.bank import Bank
from batchensemble.training.methods.base import MakeNetwork, Members
from batchensemble.training.networks import Network


@dataclass(frozen=True)
class DeepEnsemble:
    n_networks: int = 10

    def network(self, make: MakeNetwork, generator: Generator) -> Network:
        return make(generator)

    def members(self, bank: Bank, generator: Generator) -> Members:
        return Members(bank.folded(), self.n_networks)
