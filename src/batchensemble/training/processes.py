"""Several processes that train together, as torchrun starts them.

If there are enough networks, each process trains its share of them, and they meet once an epoch.
Otherwise each computes its share of every batch's gradient. All end with the same networks.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, distributed
from torch.distributed.rendezvous import rendezvous


@dataclass(frozen=True)
class Team:
    """This process among all that train together; a lone one is a team of one."""

    rank: int = 0
    size: int = 1

    @classmethod
    def here(cls) -> "Team":
        if not distributed.is_available() or not distributed.is_initialized():
            return cls()
        return cls(distributed.get_rank(), distributed.get_world_size())

    def splits_networks(self, n_networks: int) -> bool:
        return 1 < self.size <= n_networks

    def splits_rows(self, n_networks: int) -> bool:
        return self.size > n_networks

    def networks(self, n_networks: int) -> slice:
        """Those that this process trains."""
        if not self.splits_networks(n_networks):
            return slice(0, n_networks)
        ends = [n_networks * i // self.size for i in range(self.size + 1)]
        return slice(ends[self.rank], ends[self.rank + 1])

    def gathered(self, own: Tensor, n_networks: int, device: torch.device) -> Tensor:
        """(own networks, ...) -> (all networks, ...), where `own` is."""
        if not self.splits_networks(n_networks):
            return own
        every = own.new_zeros((n_networks, *own.shape[1:]), device=device)
        every[self.networks(n_networks)] = own.to(device)
        distributed.all_reduce(every)  # a sum with zeros: exact, whatever the shares are
        return every.to(own.device)

    def summed(self, tensor: Tensor) -> Tensor:
        """The sum of all processes' tensors, in place."""
        if self.size > 1:
            distributed.all_reduce(tensor)
        return tensor

    def any(self, flag: bool, device: torch.device) -> bool:
        """Whether it is true for some process."""
        return bool(self.summed(torch.tensor([int(flag)], device=device)).item() > 0)

    def of_first(self, numbers: Sequence[int]) -> list[int]:
        """The first process's numbers."""
        if self.size == 1:
            return list(numbers)
        held = [list(numbers)]
        distributed.broadcast_object_list(held, src=0)
        return held[0]

    def check_same(self, digest: str) -> None:
        """Refuse to train different things together."""
        if self.size == 1:
            return
        digests = [""] * self.size
        distributed.all_gather_object(digests, digest)
        if len({*digests}) > 1:
            raise ValueError(
                "processes that train together must fit the same rows with the same settings, got "
                "different ones; give each the same data, or do not call init_process_group"
            )


@contextmanager
def joined() -> Iterator[Team]:
    """A team with the other processes that torchrun started; alone if it did not."""
    if not distributed.is_torchelastic_launched() or int(os.environ["WORLD_SIZE"]) < 2:
        yield Team()
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    store, rank, size = next(iter(rendezvous("env://")))
    # The store outlives a restart: addresses of killed processes must not be found in it.
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    distributed.init_process_group(
        "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo",
        store=distributed.PrefixStore(f"attempt {attempt}", store),  # type: ignore[attr-defined]
        rank=rank,
        world_size=size,
    )
    try:
        yield Team.here()
    finally:
        distributed.destroy_process_group()
