"""K networks, each with its own first values and its own shuffling."""

from dataclasses import dataclass

from torch import Generator, Tensor

from batchensemble.bank import Bank
from batchensemble.methods.base import Forward, MakeNetwork
from batchensemble.networks import Network


@dataclass(frozen=True)
class DeepEnsemble:
    n_networks: int = 10

    def network(self, make: MakeNetwork, generator: Generator) -> Network:
        return make(generator)

    def forward(self, bank: Bank, generator: Generator) -> Forward:
        networks = bank[:]
        networks.module.eval()

        def forward(x: Tensor) -> Tensor:
            x = x.unsqueeze(-2)
            return networks(x.expand(len(networks), *x.shape)).squeeze(-2).movedim(0, -2)

        return forward
