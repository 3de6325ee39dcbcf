"""One network whose dropout stays on: every mask gives another prediction."""

from dataclasses import dataclass

from torch import Generator, Tensor

from batchensemble.bank import Bank
from batchensemble.methods.base import Forward, MakeNetwork
from batchensemble.networks import Network
from batchensemble.nn.dropout import keep_masks


@dataclass(frozen=True)
class MCDropout:
    """A mask is a member: it is drawn once and thins the network alike for all rows.

    So a row's answer does not depend on the rows it came with.
    """

    n_passes: int = 100
    n_networks: int = 1

    def network(self, make: MakeNetwork, generator: Generator) -> Network:
        return make(generator)

    def forward(self, bank: Bank, generator: Generator) -> Forward:
        network = bank.network(0).eval()
        shape = (self.n_passes, max(1, network.mask_features))
        masks = keep_masks(shape, network.dropout, generator, generator.device)

        def forward(x: Tensor) -> Tensor:
            x = x.unsqueeze(-2)
            if network.mask_features:
                return network(x, masks.to(x.device))  # type: ignore[no-any-return]
            return network(x).expand(*x.shape[:-2], self.n_passes, -1)  # type: ignore[no-any-return]

        return forward
