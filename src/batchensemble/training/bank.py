"""A bank: networks of one shape, held as one whose parameters have one more axis in front."""

import copy
from collections.abc import Iterable, Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn

from batchensemble.nn import fold
from batchensemble.training.networks import MLP, Network


class Bank:
    """R networks of one shape that compute, train and are kept in lock step.

    `theta`, (networks, parameters), holds everything; `module` is one of the networks with its
    parameters turned into views of theta, so that it maps (networks, batch, members, features) to
    (networks, batch, members, outputs).
    """

    def __init__(self, networks: Sequence[Network]) -> None:
        if not networks:
            raise ValueError("expected at least one network, got none")
        shapes = [[(name, p.shape) for name, p in net.named_parameters()] for net in networks]
        if any(shape != shapes[0] for shape in shapes):
            raise ValueError("expected networks of one shape, got different parameters")
        if any(True for net in networks for _ in net.buffers()):
            raise ValueError("expected networks without buffers, got some with buffers")
        self._shapes = shapes[0]
        theta = [torch.cat([p.detach().flatten() for p in net.parameters()]) for net in networks]
        self._hold(copy.deepcopy(networks[0]), torch.stack(theta))

    def _hold(self, module: Network, theta: Tensor) -> None:
        self.module, self.theta = module, theta
        start = 0
        for name, shape in self._shapes:
            stop = start + shape.numel()
            view = theta[:, start:stop].view(len(theta), *shape)
            owner, _, leaf = name.rpartition(".")
            setattr(module.get_submodule(owner), leaf, nn.Parameter(view))
            start = stop

    def __getstate__(self) -> dict[str, Any]:
        # Views are not pickled as views: keep theta, and the module without numbers.
        module = copy.deepcopy(self.module).to("meta")
        theta, device = self.theta.cpu(), self.theta.device
        return {"_shapes": self._shapes, "module": module, "theta": theta, "device": device}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Back to its device if there is one here: a bank trained on a GPU works without one.
        self._shapes = state["_shapes"]
        device = state["device"] if _is_here(state["device"]) else "cpu"
        self._hold(state["module"], state["theta"].to(device))

    @classmethod
    def of(cls, network: Network, theta: Tensor) -> Self:
        """Networks like this one, which may be on "meta", with these parameters."""
        shapes = [(name, p.shape) for name, p in network.named_parameters()]
        n_parameters = sum(shape.numel() for _, shape in shapes)
        if theta.ndim != 2 or theta.shape[1] != n_parameters:
            raise ValueError(
                f"expected theta of (networks, {n_parameters} parameters), got {tuple(theta.shape)}"
            )
        return cls._holding(shapes, network.eval(), theta)

    @classmethod
    def _holding(cls, shapes: list[tuple[str, torch.Size]], module: Network, theta: Tensor) -> Self:
        bank = cls.__new__(cls)
        bank._shapes = shapes
        bank._hold(module, theta)
        return bank

    def __len__(self) -> int:
        return len(self.theta)

    @property
    def n_parameters(self) -> int:
        return self.theta.numel()

    def parameters(self) -> list[nn.Parameter]:
        return list(self.module.parameters())

    def parameter_names(self) -> list[tuple[str, int]]:
        """Each parameter's name and size, in the order of theta's columns."""
        return [(name, shape.numel()) for name, shape in self._shapes]

    def __call__(
        self, x: Tensor, masks: Tensor | None = None, noise: Tensor | None = None
    ) -> Tensor:
        """(networks, batch, ..., members, features) -> (networks, batch, ..., members, outputs)."""
        return self.module(x, masks, noise)  # type: ignore[no-any-return]

    def __getitem__(self, networks: slice | Sequence[int]) -> Self:
        """A bank of some of the networks, copied."""
        return self._with(self.theta[networks].clone())

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> Self:
        return self._with(self.theta.to(device, dtype or self.theta.dtype))

    def _with(self, theta: Tensor) -> Self:
        return self._holding(self._shapes, copy.deepcopy(self.module), theta)

    @classmethod
    def joined(cls, banks: Iterable[Self]) -> Self:
        """One bank of all the networks."""
        banks = list(banks)
        return banks[0]._with(torch.cat([bank.theta for bank in banks]))

    def folded(self) -> Network:
        """For inference: one network whose members are all members of all networks."""
        network: Network = fold(self.network(0) if len(self) == 1 else self.module)  # type: ignore[assignment]
        network.n_members = len(self) * self.module.n_members
        for module in network.modules():
            if isinstance(module, MLP):
                module.join_heads()
                module.n_members = network.n_members
                module.fold_embeddings(len(self))
        return network

    def network(self, index: int) -> Network:
        """One of the networks on its own, copied."""
        single = self[[index]]
        for name, parameter in list(single.module.named_parameters()):
            owner, _, leaf = name.rpartition(".")
            alone = nn.Parameter(parameter.detach()[0].clone())
            setattr(single.module.get_submodule(owner), leaf, alone)
        return single.module


def _is_here(device: torch.device) -> bool:
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):
        return False
    return True
