"""The member axis: second to last, explicit, never guessed; and initialisation along it."""

from collections.abc import Callable
from numbers import Integral

import torch
from torch import Generator, Tensor

from batchensemble.words import one_of

Init = Callable[[Tensor, Generator | None], Tensor]


def expand_members(x: Tensor, n_members: int) -> Tensor:
    """Show the same rows to every member, without copying them.

    (..., features) -> (..., members, features)
    """
    check_count("n_members", n_members)
    if not isinstance(x, Tensor) or x.ndim < 1:
        raise TypeError(f"expected a tensor (..., features), got {x!r:.60}; use torch.as_tensor")
    return x.unsqueeze(-2).expand(*x.shape[:-1], n_members, x.shape[-1])


def check_count(name: str, value: int) -> None:
    is_whole = isinstance(value, Integral | torch.SymInt) and not isinstance(value, bool)
    if not is_whole or value < 1:
        raise ValueError(f"expected a whole {name} of at least 1, got {value!r}")


def check_members(x: Tensor, n_members: int) -> None:
    """Raise if the member axis is missing or of another length, even of length 1."""
    if x.ndim < 2 or x.shape[-2] != n_members:
        raise ValueError(
            f"expected (batch, ..., members={n_members}, features), got {tuple(x.shape)}; "
            "to show one batch to every member, call expand_members(x, n_members) first"
        )


def check_features(x: Tensor, n_features: int) -> None:
    """Raise if the last axis is of another length, even of length 1, which would broadcast."""
    if x.ndim < 1 or x.shape[-1] != n_features:
        raise ValueError(
            f"expected {n_features} features in the last axis, got {tuple(x.shape)}; check that "
            "the layer before, or the data, has as many"
        )


def _random_sign(vectors: Tensor, generator: Generator | None) -> Tensor:
    return vectors.random_(0, 2, generator=generator).mul_(2).sub_(1)


def _ones(vectors: Tensor, generator: Generator | None) -> Tensor:
    return vectors.fill_(1)


def _normal(vectors: Tensor, generator: Generator | None) -> Tensor:
    return vectors.normal_(1, 0.5, generator=generator)


def _orthogonal(vectors: Tensor, generator: Generator | None) -> Tensor:
    # Rows of the norm that random signs have; with more members than features the columns are
    # orthogonal instead, and the rows have that norm in the quadratic mean.
    gain = max(vectors.shape) ** 0.5
    wide = vectors.double() if vectors.itemsize < 4 else vectors  # half precision has no QR
    return vectors.copy_(torch.nn.init.orthogonal_(wide, gain, generator=generator))


INITS: dict[str, Init] = {
    "random_sign": _random_sign,
    "ones": _ones,
    "normal": _normal,
    "orthogonal": _orthogonal,
}


def init_scales_(vectors: Tensor, init: str, generator: Generator | None) -> Tensor:
    """Fill r or s, (members, features), in place."""
    fill = INITS[one_of(init, INITS, "init")]
    with torch.no_grad():
        return fill(vectors, generator)


def init_biases_(bias: Tensor, init: str, generator: Generator | None) -> Tensor:
    """Fill the members' biases in place: zero, or unit rows where the members start orthogonal."""
    one_of(init, INITS, "init")
    with torch.no_grad():
        if init != "orthogonal" or bias.ndim == 1:
            return bias.zero_()
        return _orthogonal(bias, generator).div_(bias.shape[-1] ** 0.5)


def gram_penalty(vectors: Tensor) -> Tensor:
    """Mean squared cosine between the vectors of different members: 0 if they are orthogonal.

    (..., members, features) -> (...)
    """
    n_members = vectors.shape[-2]
    if n_members == 1:
        return vectors.new_zeros(vectors.shape[:-2])
    unit = torch.nn.functional.normalize(vectors, dim=-1)
    gram = unit @ unit.mT
    off_diagonal = gram - torch.diag_embed(torch.diagonal(gram, dim1=-2, dim2=-1))
    return off_diagonal.square().sum((-2, -1)) / (n_members * (n_members - 1))
