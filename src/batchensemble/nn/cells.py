"""Recurrent cells with a member axis: every linear map inside them is a BatchEnsemble layer.

A cell has two forms. Its `forward` is the equations, one step on (batch, members, features). Its
`steps` is the same cell laid out for many: weights folded once, the input's part of the gates
computed for all known times together, and members in front (see `Lanes`).
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Generator, Tensor, nn

from batchensemble.nn.linear import BatchEnsembleLinear, repeated
from batchensemble.nn.members import check_count


class Cell(nn.Module):
    """Abstract: (batch, members, input) and (batch, members, hidden) -> the new hidden."""

    def __init__(self, input_size: int, hidden_size: int, n_members: int) -> None:
        super().__init__()
        check_count("input_size", input_size)
        check_count("hidden_size", hidden_size)
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.n_members = n_members

    @abstractmethod
    def forward(self, x: Tensor, h: Tensor) -> Tensor: ...

    @abstractmethod
    def steps(self) -> "Steps": ...

    def _gate(self, adapters: str, init: str, generator: Generator | None) -> BatchEnsembleLinear:
        return BatchEnsembleLinear(
            self.input_size + self.hidden_size,
            self.hidden_size,
            self.n_members,
            adapters=adapters,
            init=init,
            generator=generator,
        )


class Lanes:
    """Brings the axes of networks and members to the front, where products want them.

    A lane has weights of its own. Members that share all weights are further rows of one lane.
    """

    def __init__(self, weight: Tensor) -> None:
        """Of an effective weight, (networks?, members or 1, in, out)."""
        self.is_bank = weight.ndim == 4
        self.n_members = weight.shape[-3]
        self.own_weights = self.n_members > 1

    def enter(self, x: Tensor) -> Tensor:
        """(networks?, batch, members, features) -> (lanes, rows, features)."""
        if self.own_weights:
            x = x.transpose(-2, -3)
            return x.flatten(0, 1) if self.is_bank else x
        x = x.flatten(-3, -2)
        return x if self.is_bank else x.unsqueeze(0)

    def leave(self, x: Tensor, n_members: int) -> Tensor:
        """(lanes, rows, features) -> (networks?, batch, members, features)."""
        if self.own_weights:
            x = x.unflatten(0, (-1, n_members)) if self.is_bank else x
            return x.transpose(-2, -3)
        apart: Tensor = (x if self.is_bank else x.squeeze(0)).unflatten(-2, (-1, n_members))
        return apart


class Steps(Protocol):
    """A cell over lanes, for many steps."""

    hidden_size: int
    lanes: Lanes

    def project(self, x: Tensor) -> Tensor:
        """What the input adds to the gates: (lanes, rows, input) -> (lanes, rows, gates)."""
        ...

    def step(self, projected: Tensor, h: Tensor) -> Tensor:
        """(lanes, rows, gates) and (lanes, rows, hidden) -> (lanes, rows, hidden)."""
        ...


class BatchEnsembleRNNCell(Cell):
    """h' = tanh(W [x, h] + b), a BatchEnsemble layer and a tanh."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        n_members: int,
        *,
        adapters: str = "rsb",
        init: str = "random_sign",
        generator: Generator | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, n_members)
        self.candidate = self._gate(adapters, init, generator)

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        """(batch, members, input), (batch, members, hidden) -> (batch, members, hidden)."""
        return torch.tanh(self.candidate(torch.cat([x, h], -1)))

    def steps(self) -> Steps:
        return _RNNSteps(self)


class GRUBECell(Cell):
    """A GRU whose gates are BatchEnsemble layers on [x, h].

    The reset gate acts before the product, and the update gate weighs the candidate;
    `torch.nn.GRU` has both the other way round. `gates` says which gates have members, letters of
    "czf" (candidate, update, reset); the others are plain layers shared by all members.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        n_members: int,
        *,
        gates: str = "czf",
        adapters: str = "rsb",
        init: str = "random_sign",
        generator: Generator | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, n_members)
        is_text = isinstance(gates, str)
        if not is_text or set(gates) - set("czf") or len(set(gates)) < len(gates):
            raise ValueError(
                "expected gates to be a subset of the letters 'czf' (candidate, update, reset), "
                f"each at most once, got {gates!r}"
            )
        self.gates = "".join(letter for letter in "czf" if letter in gates)
        self.reset = self._gate(adapters if "f" in gates else "", init, generator)
        self.update = self._gate(adapters if "z" in gates else "", init, generator)
        self.candidate = self._gate(adapters if "c" in gates else "", init, generator)

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        """(batch, members, input), (batch, members, hidden) -> (batch, members, hidden)."""
        xh = torch.cat([x, h], -1)
        reset = torch.sigmoid(self.reset(xh))
        update = torch.sigmoid(self.update(xh))
        candidate = torch.tanh(self.candidate(torch.cat([x, reset * h], -1)))
        return (1 - update) * h + update * candidate

    def steps(self) -> Steps:
        return _GRUBESteps(self)

    def extra_repr(self) -> str:
        return f"gates={self.gates!r}"


class GRUCell(Cell):
    """The cell of `torch.nn.GRU`: two biases a gate, and the reset gate after the product.

    `input` and `hidden` hold the weights of the gates (reset, update, new) one below the other, as
    torch's weight_ih and weight_hh do. Without adapters it is the plain GRU.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        n_members: int = 1,
        *,
        adapters: str = "",
        init: str = "random_sign",
        generator: Generator | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, n_members)

        def layer(size: int) -> BatchEnsembleLinear:
            return BatchEnsembleLinear(
                size, 3 * hidden_size, n_members, adapters=adapters, init=init, generator=generator
            )

        self.input, self.hidden = layer(input_size), layer(hidden_size)
        bound = hidden_size**-0.5  # torch's, whatever the input's size
        nn.init.uniform_(self.input.weight, -bound, bound, generator=generator)

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        """(batch, members, input), (batch, members, hidden) -> (batch, members, hidden)."""
        reset_x, update_x, new_x = self.input(x).chunk(3, -1)
        reset_h, update_h, new_h = self.hidden(h).chunk(3, -1)
        reset = torch.sigmoid(reset_x + reset_h)
        update = torch.sigmoid(update_x + update_h)
        new = torch.tanh(new_x + reset * new_h)
        return (1 - update) * new + update * h

    def steps(self) -> Steps:
        return _GRUSteps(self)


class _RNNSteps:
    def __init__(self, cell: BatchEnsembleRNNCell) -> None:
        x, h, bias = _on_input_and_hidden(cell.candidate, cell.input_size)
        self.hidden_size, self.lanes = cell.hidden_size, Lanes(x)
        self.x, self.h, self.bias = map(_by_lane, (x, h, bias))

    def project(self, x: Tensor) -> Tensor:
        return torch.baddbmm(self.bias, x, self.x)

    def step(self, projected: Tensor, h: Tensor) -> Tensor:
        return torch.tanh(torch.baddbmm(projected, h, self.h))


class _GRUBESteps:
    def __init__(self, cell: GRUBECell) -> None:
        gates = (cell.reset, cell.update, cell.candidate)
        parts = [_on_input_and_hidden(gate, cell.input_size) for gate in gates]
        x, h, bias = (_side_by_side(part) for part in zip(*parts, strict=True))
        self.hidden_size, self.lanes = cell.hidden_size, Lanes(x)
        self.sizes = [2 * cell.hidden_size, cell.hidden_size]
        self.x, self.bias = _by_lane(x), _by_lane(bias)
        self.gates, self.candidate = _by_lane(h).split(self.sizes, -1)

    def project(self, x: Tensor) -> Tensor:
        return torch.baddbmm(self.bias, x, self.x)

    def step(self, projected: Tensor, h: Tensor) -> Tensor:
        gates_x, candidate_x = projected.split(self.sizes, -1)
        reset, update = torch.sigmoid(torch.baddbmm(gates_x, h, self.gates)).chunk(2, -1)
        candidate = torch.tanh(torch.baddbmm(candidate_x, reset * h, self.candidate))
        return torch.lerp(h, candidate.to(h.dtype), update.to(h.dtype))  # autocast: two dtypes


class _GRUSteps:
    def __init__(self, cell: GRUCell) -> None:
        x, bias_x = cell.input.effective()
        h, bias_h = cell.hidden.effective()
        self.hidden_size, self.lanes = cell.hidden_size, Lanes(x)
        self.sizes = [2 * cell.hidden_size, cell.hidden_size]
        self.x, self.h, self.bias_x, self.bias_h = map(_by_lane, (x, h, bias_x, bias_h))

    def project(self, x: Tensor) -> Tensor:
        return torch.baddbmm(self.bias_x, x, self.x)

    def step(self, projected: Tensor, h: Tensor) -> Tensor:
        gates_x, new_x = projected.split(self.sizes, -1)
        gates_h, new_h = torch.baddbmm(self.bias_h, h, self.h).split(self.sizes, -1)
        reset, update = torch.sigmoid(gates_x + gates_h).chunk(2, -1)
        new = torch.tanh(torch.addcmul(new_x, reset, new_h))
        return torch.lerp(new.to(h.dtype), h, update.to(h.dtype))  # autocast: two dtypes


def _on_input_and_hidden(
    layer: BatchEnsembleLinear, input_size: int
) -> tuple[Tensor, Tensor, Tensor]:
    """A layer on [x, h] taken apart: the weights on x, those on h, and the bias."""
    weight, bias = layer.effective()
    on_x, on_h = weight.split([input_size, weight.shape[-2] - input_size], -2)
    return on_x, on_h, bias


def _side_by_side(tensors: Sequence[Tensor]) -> Tensor:
    """Along the last axis; what the members share is repeated for each of them."""
    n_members = max(tensor.shape[-3] for tensor in tensors)
    return torch.cat([repeated(tensor, n_members) for tensor in tensors], -1)


def _by_lane(tensor: Tensor) -> Tensor:
    """(networks?, members, in, out) -> (lanes, in, out)."""
    return tensor.flatten(0, 1) if tensor.ndim == 4 else tensor
