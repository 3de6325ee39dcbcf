"""One network, one prediction."""

from dataclasses import dataclass

from torch import Generator, Tensor

from batchensemble.bank import Bank
from batchensemble.methods.base import Forward, MakeNetwork
from batchensemble.networks import Network


@dataclass(frozen=True)
class Single:
    n_networks: int = 1

    def network(self, make: MakeNetwork, generator: Generator) -> Network:
        return make(generator)

    def forward(self, bank: Bank, generator: Generator) -> Forward:
        network = bank.network(0).eval()

        def forward(x: Tensor) -> Tensor:
            return network(x.unsqueeze(-2))  # type: ignore[no-any-return]

        return forward
