"""One network with dropout left on."""

from dataclasses import dataclass

from torch import Generator

from batchensemble.nn.dropout import draw_keys, keep_masks
from batchensemble.training.bank import Bank
from batchensemble.training.methods.base import MakeNetwork, Members
from batchensemble.training.networks import Network


@dataclass(frozen=True)
class MCDropout:
    """A mask is a member: it is drawn once and is the same for all rows.

    So a row's answer does not depend on the rows predicted with it.
    """

    n_passes: int = 100
    n_networks: int = 1

    def network(self, make: MakeNetwork, generator: Generator) -> Network:
        return make(generator)

    def members(self, bank: Bank, generator: Generator) -> Members:
        network = bank.folded()
        masks = None
        if network.mask_features:
            shape = (self.n_passes, network.mask_features)
            key = draw_keys((), generator, generator.device)
            masks = keep_masks(key, shape, network.dropout)
        return Members(network, self.n_passes, masks)
