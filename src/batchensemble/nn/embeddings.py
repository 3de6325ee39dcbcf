"""Embeddings of single inputs: each column of a table becomes several numbers.

A network sees little in a number as it is: one weight for all its values. As several numbers that
change from bin to bin or wave along, the value itself decides which weights count. All members
share an embedding.
"""

import math
from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Generator, Tensor, nn


class PiecewiseLinear(nn.Module):
    """A learned piecewise linear curve for each column and output.

    Inputs are positions in bins, 0 to `n_bins`: 2.25 is a quarter into the third bin. A value at
    position p gets the sum over bins of `min(max(p - bin, 0), 1) * weight[column, bin]`, so each
    bin's weight is how far the curve rises there.
    """

    def __init__(
        self, n_columns: int, n_bins: int, width: int, *, generator: Generator | None = None
    ) -> None:
        super().__init__()
        self.n_bins, self.width = n_bins, width
        self.weight = nn.Parameter(torch.empty(n_columns, n_bins, width))
        nn.init.uniform_(self.weight, -(n_bins**-0.5), n_bins**-0.5, generator=generator)

    def forward(self, positions: Tensor) -> Tensor:
        """(..., columns) -> (..., columns * width)."""
        bins = torch.arange(self.n_bins, dtype=positions.dtype, device=positions.device)
        return _by_column((positions.unsqueeze(-1) - bins).clamp(0, 1), self.weight)

    @torch.no_grad()
    def go_on_(self, counts: Sequence[int]) -> None:
        """Let curves of columns with fewer bins rise beyond them as they do in their last one."""
        for column, n in enumerate(counts):
            self.weight[..., column, n:, :] = self.weight[..., column, n - 1 : n, :]


class Periodic(nn.Module):
    """Sines and cosines of learned frequencies, a linear layer for each column, and a ReLU.

    `scale` is the standard deviation of the first frequencies, in periods a unit of the input.
    """

    def __init__(
        self,
        n_columns: int,
        n_frequencies: int,
        width: int,
        *,
        scale: float = 0.1,
        generator: Generator | None = None,
    ) -> None:
        super().__init__()
        self.width = width
        self.frequencies = nn.Parameter(torch.empty(n_columns, n_frequencies))
        self.weight = nn.Parameter(torch.empty(n_columns, 2 * n_frequencies, width))
        self.bias = nn.Parameter(torch.zeros(n_columns * width))
        nn.init.normal_(self.frequencies, 0, scale, generator=generator)
        bound = (2 * n_frequencies) ** -0.5
        nn.init.uniform_(self.weight, -bound, bound, generator=generator)

    def forward(self, x: Tensor) -> Tensor:
        """(..., columns) -> (..., columns * width)."""
        turns = 2 * math.pi * x.unsqueeze(-1) * _aligned(self.frequencies, x.ndim + 1, 2)
        waves = torch.cat([turns.cos(), turns.sin()], -1)
        return torch.relu(_by_column(waves, self.weight) + _aligned(self.bias, x.ndim, 1))


class Categories(nn.Module):
    """A learned vector for each category of each column; inputs are categories' numbers.

    Those that a column does not have are refused on a CPU, where a look at them costs little.
    """

    def __init__(
        self, counts: Sequence[int], width: int, *, generator: Generator | None = None
    ) -> None:
        super().__init__()
        self.width, self.counts = width, tuple(counts)
        self.starts = [0, *accumulate(counts)][:-1]
        self.weight = nn.Parameter(torch.empty(sum(counts), width))
        nn.init.uniform_(self.weight, -(width**-0.5), width**-0.5, generator=generator)

    def forward(self, numbers: Tensor) -> Tensor:
        """(..., columns), whole numbers in any dtype -> (..., columns * width)."""
        columns = numbers.long().unbind(-1)
        if numbers.device.type == "cpu" and not torch.compiler.is_compiling():
            self._check(columns)
        places = torch.stack([c + start for c, start in zip(columns, self.starts, strict=True)], -1)
        weight: Tensor = self.weight
        if weight.ndim == 3:  # a bank: each network looks into its own part
            n_networks, n_places, _ = weight.shape
            first = torch.arange(n_networks, device=places.device) * n_places
            places = places + first.view(-1, *[1] * (places.ndim - 1))
            weight = weight.flatten(0, 1)
        return nn.functional.embedding(places, weight).flatten(-2)

    def _check(self, columns: Sequence[Tensor]) -> None:
        for i, (column, count) in enumerate(zip(columns, self.counts, strict=True)):
            least, most = map(int, column.aminmax()) if column.numel() else (0, 0)
            if least < 0 or most >= count:
                raise ValueError(
                    f"expected categories numbered 0 to {count - 1} in column {i}, "
                    f"got {least if least < 0 else most}"
                )


class Embeddings(nn.Module):
    """The first layer of a network for tables: plain numbers stay, positions and categories do not.

    Inputs are `n_plain` numbers, then `n_positions` positions in bins, then a number for each
    column of categories, whose `counts` say how many categories it has.
    """

    def __init__(
        self,
        n_plain: int,
        n_positions: int,
        counts: Sequence[int] = (),
        *,
        n_bins: int,
        width: int,
        generator: Generator | None = None,
    ) -> None:
        super().__init__()
        self.sizes = [n_plain, n_positions, len(counts)]
        self.numbers = (
            PiecewiseLinear(n_positions, n_bins, width, generator=generator)
            if n_positions
            else None
        )
        self.categories = Categories(counts, width, generator=generator) if counts else None
        self.out_features = n_plain + (n_positions + len(counts)) * width

    def forward(self, x: Tensor) -> Tensor:
        """(..., inputs) -> (..., out_features)."""
        members = x.shape[-2] if x.ndim > 1 and x.stride(-2) == 0 else 1
        if members > 1:  # all see the same: once is enough
            x = x[..., :1, :]
        plain, positions, numbers = x.split(self.sizes, -1)
        blocks = [plain]
        if self.numbers is not None:
            blocks.append(self.numbers(positions))
        if self.categories is not None:
            blocks.append(self.categories(numbers))
        embedded = torch.cat(blocks, -1)
        if members == 1:
            return embedded
        return embedded.expand(*embedded.shape[:-2], members, self.out_features)

    def fold(self, n_networks: int, n_members: int) -> "FoldedEmbeddings":
        """For inference, where all members see the same rows."""
        return FoldedEmbeddings(self, n_networks, n_members)


class FoldedEmbeddings(nn.Module):
    """Embeddings of the networks of a bank, each repeated for its members: for inference.

    Curves are looked up between the values where bins begin and end, and go on straight beyond the
    first and the last. All members of a row must see the same inputs.
    """

    curves: Tensor
    vectors: Tensor

    def __init__(self, layer: Embeddings, n_networks: int, n_members: int) -> None:
        super().__init__()
        self.sizes, self.out_features = layer.sizes, layer.out_features
        self.n_networks, self.n_members = n_networks, n_members
        self.n_bins, self.starts = 0, [0]
        curves, vectors = torch.zeros(n_networks, 0, 1, 1), torch.zeros(n_networks, 0, 1)
        if layer.numbers is not None:
            self.n_bins, weight = layer.numbers.n_bins, layer.numbers.weight.detach()
            weight = weight.expand(n_networks, *weight.shape[-3:])
            curves = nn.functional.pad(weight.cumsum(-2), (0, 0, 1, 0))
        if layer.categories is not None:
            self.starts, weight = layer.categories.starts, layer.categories.weight.detach()
            vectors = weight.expand(n_networks, *weight.shape[-2:]).clone()
        self.register_buffer("curves", curves)  # (networks, columns, bins + 1, width)
        self.register_buffer("vectors", vectors)  # (networks, categories, width)
        self.training = False

    def forward(self, x: Tensor) -> Tensor:
        """(batch, ..., members, inputs) -> (batch, ..., members, out_features)."""
        members = x.shape[-2]
        plain, positions, numbers = x[..., 0, :].split(self.sizes, -1)
        blocks = [plain.expand(self.n_networks, *plain.shape)]
        if positions.shape[-1]:
            bins = positions.long().clamp(0, self.n_bins - 1)
            share = (positions - bins).unsqueeze(-1)
            columns = torch.arange(positions.shape[-1], device=x.device)
            low, high = (self.curves[:, columns, place] for place in (bins, bins + 1))
            blocks.append(torch.lerp(low, high, share).flatten(-2))
        if numbers.shape[-1]:
            places = numbers.long() + torch.tensor(self.starts, device=x.device)
            blocks.append(self.vectors[:, places].flatten(-2))
        embedded = torch.cat(blocks, -1).movedim(0, -2)  # (batch, ..., networks, out_features)
        if self.n_networks == 1:
            return embedded.expand(*embedded.shape[:-2], members, -1)
        return embedded.repeat_interleave(self.n_members, -2)


def _by_column(encoded: Tensor, weight: Tensor) -> Tensor:
    """(..., columns, inputs) through each column's weight, (columns, inputs, width): side by side.

    In a bank both have the networks' axis in front.
    """
    n_columns, n_inputs, width = weight.shape[-3:]
    networks = weight.shape[:-3]
    rows = encoded.shape[len(networks) : -2]
    columns_first = encoded.reshape(*networks, -1, n_columns, n_inputs).transpose(-2, -3)
    products = (columns_first @ weight).transpose(-2, -3)
    return products.reshape(*networks, *rows, n_columns * width)


def _aligned(parameter: Tensor, ndim: int, own: int) -> Tensor:
    """In a bank, put the axes that the parameter lacks behind the axis of the networks."""
    if parameter.ndim == own:
        return parameter
    return parameter.view(len(parameter), *[1] * (ndim - parameter.ndim), *parameter.shape[1:])
