"""Recurrent layers over whole sequences: one or several cells, one above the other."""

from collections.abc import Sequence

import torch
from torch import Generator, Tensor, nn

from batchensemble.nn.cells import BatchEnsembleRNNCell, Cell, GRUBECell, GRUCell, Steps
from batchensemble.nn.members import check_count, check_features, check_members

State = tuple[Tensor, ...]
"""One (batch, members, hidden) for each layer."""


class Unrolled:
    """A recurrent layer's cells, folded once, for as many steps as one likes."""

    def __init__(self, cells: Sequence[Steps]) -> None:
        self.cells = cells
        self.lanes = cells[0].lanes

    def __call__(
        self, x: Tensor, state: State | None = None, lengths: Tensor | None = None
    ) -> tuple[Tensor, State]:
        """(batch, time, members, input) -> (batch, time, members, hidden), and the last state."""
        if self.lanes.own_weights:
            check_members(x, self.lanes.n_members)
        if x.ndim < 4:
            raise ValueError(
                f"expected (batch, time, members, features), got {tuple(x.shape)}; of one member, "
                "x.unsqueeze(-2)"
            )
        n_members, n_steps = x.shape[-2], x.shape[-3]

        def enter(x: Tensor) -> Tensor:
            """(batch, time, members, features) -> (lanes, time, rows, features)."""
            by_time = x.transpose(-4, -3).flatten(-4, -3)
            rows: Tensor = self.lanes.enter(by_time).unflatten(1, (n_steps, -1))
            return rows

        rows, keep = enter(x), None
        if lengths is not None:
            time = torch.arange(n_steps, device=x.device)
            is_inside = (time < lengths.to(x.device).unsqueeze(-1))[..., None, None]
            keep = enter(is_inside.expand(*x.shape[:-1], 1))
            rows = torch.where(keep, rows, 0)  # a NaN there would reach the gradients
        if state is None:
            h = [rows.new_zeros(len(rows), rows.shape[2], c.hidden_size) for c in self.cells]
        else:
            h = [self.lanes.enter(h) for h in state]
        hidden, last = self._run(rows, h, keep)
        outputs = self.lanes.leave(hidden.flatten(1, 2), n_members).unflatten(-3, (n_steps, -1))
        return outputs.transpose(-4, -3), tuple(self.lanes.leave(h, n_members) for h in last)

    def _run(
        self, x: Tensor, state: Sequence[Tensor], keep: Tensor | None
    ) -> tuple[Tensor, list[Tensor]]:
        """(lanes, time, rows, input) -> (lanes, time, rows, hidden), and the last state.

        Where `keep`, (lanes, time, rows, 1), is False the state stays and the output is zero.
        """
        last = []
        for cell, h in zip(self.cells, state, strict=True):
            projected = cell.project(x.flatten(1, 2)).unflatten(1, x.shape[1:3])
            hidden = []
            # Taken apart at once: the gradient of one step at a time would be as long as them all.
            for t, now in enumerate(projected.unbind(1)):
                new = cell.step(now, h)
                h = new if keep is None else torch.where(keep[:, t], new, h)
                hidden.append(h)
            x = torch.stack(hidden, 1)
            last.append(h)
        return (x if keep is None else x * keep), last

    def step(self, x: Tensor, state: Sequence[Tensor]) -> list[Tensor]:
        """One step over lanes: (lanes, rows, input) and a state -> the next state."""
        new = []
        for cell, h in zip(self.cells, state, strict=True):
            x = cell.step(cell.project(x), h)
            new.append(x)
        return new


class RecurrentLayer(nn.Module):
    """Abstract: cells one above the other, each reading the hidden states of the one below."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        super().__init__()
        self.cells = nn.ModuleList(cells)
        self._has_members = any(getattr(module, "adapters", "") for module in self.modules())

    def unrolled(self) -> Unrolled:
        return Unrolled([cell.steps() for cell in self.cells])  # type: ignore[operator]

    def forward(
        self, x: Tensor, state: State | None = None, lengths: Tensor | None = None
    ) -> tuple[Tensor, State]:
        """(batch, time, members, input) -> (batch, time, members, hidden), and the last state.

        `state` is what to start from, zeros if None. With `lengths`, (batch,), sequences may be
        padded at their end: the padding is not read, its outputs are zero, and the last state is
        that of each sequence's own end.
        """
        if x.ndim > 3:  # else it is refused below
            self._check(x, state, lengths)
        unrolled = self.unrolled()
        if self._has_members:  # even if it is one
            check_members(x, unrolled.lanes.n_members)
        return unrolled(x, state, lengths)

    def _check(self, x: Tensor, state: State | None, lengths: Tensor | None) -> None:
        check_features(x, self.cells[0].input_size)  # type: ignore[arg-type]
        *batch, n_steps, n_members, _ = x.shape
        if n_steps == 0:
            raise ValueError(f"expected at least one time step, got {tuple(x.shape)}")
        if state is not None:
            sizes = [(*batch, n_members, cell.hidden_size) for cell in self.cells]
            if [tuple(h.shape) for h in state] != sizes:
                raise ValueError(
                    f"expected a state for each layer, of the shapes {sizes}, got "
                    f"{[tuple(h.shape) for h in state]}; pass the state that this layer returned"
                )
        if lengths is not None:
            check_lengths(lengths, batch, n_steps)


def check_lengths(lengths: Tensor, batch: Sequence[int], n_steps: int) -> None:
    """Raise unless there is a whole number of steps, 0 to `n_steps`, for each sequence."""
    is_whole = isinstance(lengths, Tensor) and not (
        lengths.is_floating_point() or lengths.is_complex() or lengths.dtype == torch.bool
    )
    shapes = tuple(batch), tuple(batch[-1:])  # the networks of a bank may share them
    if not is_whole or tuple(lengths.shape) not in shapes:
        is_tensor = isinstance(lengths, Tensor)
        got = f"{lengths.dtype} {tuple(lengths.shape)}" if is_tensor else f"{lengths!r:.80}"
        raise ValueError(
            f"expected lengths as a tensor of whole numbers of the shape {shapes[0]}, one for "
            f"each sequence, got {got}; use torch.tensor"
        )
    if not torch.compiler.is_compiling() and ((lengths < 0) | (lengths > n_steps)).any():
        raise ValueError(
            f"expected lengths from 0 to the {n_steps} steps of x, got {lengths.tolist()!s:.80}"
        )


class BatchEnsembleRNN(RecurrentLayer):
    """The plain recurrent network with BatchEnsemble layers."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        n_members: int,
        *,
        n_layers: int = 1,
        adapters: str = "rsb",
        init: str = "random_sign",
        generator: Generator | None = None,
    ) -> None:
        super().__init__(
            [
                BatchEnsembleRNNCell(
                    size, hidden_size, n_members, adapters=adapters, init=init, generator=generator
                )
                for size in _sizes(input_size, hidden_size, n_layers)
            ]
        )


class GRUBE(RecurrentLayer):
    """The GRU whose gates are BatchEnsemble layers; see `GRUBECell`."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        n_members: int,
        *,
        n_layers: int = 1,
        gates: str = "czf",
        adapters: str = "rsb",
        init: str = "random_sign",
        generator: Generator | None = None,
    ) -> None:
        super().__init__(
            [
                GRUBECell(
                    size,
                    hidden_size,
                    n_members,
                    gates=gates,
                    adapters=adapters,
                    init=init,
                    generator=generator,
                )
                for size in _sizes(input_size, hidden_size, n_layers)
            ]
        )


class GRU(RecurrentLayer):
    """The plain GRU with the equations and parameters of `torch.nn.GRU`; a bank can train it."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        n_layers: int = 1,
        generator: Generator | None = None,
    ) -> None:
        super().__init__(
            [
                GRUCell(size, hidden_size, generator=generator)
                for size in _sizes(input_size, hidden_size, n_layers)
            ]
        )


def _sizes(input_size: int, hidden_size: int, n_layers: int) -> list[int]:
    """What each layer reads."""
    check_count("n_layers", n_layers)
    return [input_size, *[hidden_size] * (n_layers - 1)]
