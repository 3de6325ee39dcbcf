"""The BatchEnsemble layer, and the same layer folded for inference."""

import copy
import math
from collections.abc import Sequence
from typing import Self

import torch
from torch import Generator, Tensor, nn

from batchensemble.nn.members import (
    check_count,
    check_features,
    check_members,
    gram_penalty,
    init_biases_,
    init_scales_,
)

# Where folding pays, as measured: at a large batch always, else while K weights fit the cache.
LARGE_BATCH = 512
CACHED_WEIGHTS = 200_000


class BatchEnsembleLinear(nn.Module):
    """One weight shared by all members, and for each member the vectors r, s and bias.

    Member k computes `(x_k * r_k) @ weight.T * s_k + bias_k`, which is a linear layer with the
    effective weight `weight * outer(s_k, r_k)`.

    `adapters` says what the members own, any subset of the letters r, s, b and w. A missing r or s
    is absent; without b, one bias is shared by all; with w every member has a weight of its own,
    and "wb" is a full layer for each. With `adapters=""` this is a plain linear layer. `init` is
    the initialisation of r and s: "random_sign", "ones", "normal" (mean 1, sd 0.5) or
    "orthogonal". The weight starts as in `torch.nn.Linear`, the bias at zero (orthogonal: unit
    rows).

    Every parameter may carry one more axis in front, for a bank of networks; the input then
    carries it too.
    """

    r: nn.Parameter | None
    s: nn.Parameter | None
    bias: nn.Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        n_members: int,
        *,
        adapters: str = "rsb",
        init: str = "random_sign",
        bias: bool = True,
        generator: Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        for name, count in (
            ("in_features", in_features),
            ("out_features", out_features),
            ("n_members", n_members),
        ):
            check_count(name, count)
        is_text = isinstance(adapters, str)
        if not is_text or set(adapters) - set("wrsb") or len(set(adapters)) < len(adapters):
            raise ValueError(
                f"expected adapters to be a subset of the letters 'wrsb', each at most once, "
                f"got {adapters!r}"
            )
        if "b" in adapters and not bias:
            raise ValueError("expected adapters without 'b' where bias=False, got 'b' in adapters")
        self.in_features = in_features
        self.out_features = out_features
        self.n_members = n_members
        self.adapters = "".join(letter for letter in "wrsb" if letter in adapters)
        self.init = init

        def parameter(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(*shape, device=device, dtype=dtype))

        owners = (n_members,) if "w" in adapters else ()
        self.weight = parameter(*owners, out_features, in_features)
        self.r = parameter(n_members, in_features) if "r" in adapters else None
        self.s = parameter(n_members, out_features) if "s" in adapters else None
        if not bias:
            self.bias = None
        elif "b" in adapters:
            self.bias = parameter(n_members, out_features)
        else:
            self.bias = parameter(out_features)
        self.reset_parameters(generator)

    def reset_parameters(self, generator: Generator | None = None) -> None:
        bound = self.in_features**-0.5
        nn.init.uniform_(self.weight, -bound, bound, generator=generator)
        for vectors in (self.r, self.s):
            if vectors is not None:
                init_scales_(vectors, self.init, generator)
        if self.bias is not None:
            init_biases_(self.bias, self.init, generator)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, ..., members, in_features) -> (batch, ..., members, out_features)."""
        if self.adapters:
            check_members(x, self.n_members)
        check_features(x, self.in_features)
        if self.r is not None:
            x = x * self._aligned(self.r, x)
        x = self._product(x)
        if self.s is not None:
            x = x * self._aligned(self.s, x)
        if self.bias is not None:
            x = x + self._aligned(self.bias, x)
        return x

    def _aligned(self, vectors: Tensor, x: Tensor) -> Tensor:
        """In a bank, put the axes of x that the vectors lack behind the axis of the networks."""
        if not self.is_bank:
            return vectors
        return vectors.view(len(vectors), *[1] * (x.ndim - vectors.ndim), *vectors.shape[1:])

    @property
    def is_bank(self) -> bool:
        """Whether the parameters carry one more axis in front."""
        return self.weight.ndim == 3 + ("w" in self.adapters)

    def _product(self, x: Tensor) -> Tensor:
        if "w" in self.adapters:
            networks = x.shape[: int(self.is_bank)]
            rows = x.reshape(*networks, -1, *x.shape[-2:]).transpose(-2, -3)
            products = (rows @ self.weight.mT).transpose(-2, -3)
            return products.reshape(*x.shape[:-1], self.out_features)
        if not self.is_bank:
            return x @ self.weight.T
        y: Tensor = (x.flatten(1, -2) @ self.weight.mT).unflatten(1, x.shape[1:-1])
        return y

    def orthogonality_penalty(self) -> Tensor:
        """Sum over r, s and bias of the mean squared cosine between members."""
        penalty = self.weight.new_zeros(self.weight.shape[: int(self.is_bank)])
        for vectors, letter in ((self.r, "r"), (self.s, "s"), (self.bias, "b")):
            if vectors is not None and letter in self.adapters:
                penalty = penalty + gram_penalty(vectors)
        return penalty

    def effective(self) -> tuple[Tensor, Tensor]:
        """Every member's own weight and bias, for the product x @ weight + bias.

        (..., members, in_features, out_features) and (..., members, 1, out_features), with one
        member where all share them.
        """
        weight = self.weight.mT if "w" in self.adapters else self.weight.mT.unsqueeze(-3)
        if self.r is not None:
            weight = weight * self.r.unsqueeze(-1)
        if self.s is not None:
            weight = weight * self.s.unsqueeze(-2)
        if self.bias is None:
            bias = weight.new_zeros(*weight.shape[:-3], 1, 1, self.out_features)
        elif "b" in self.adapters:
            bias = self.bias.unsqueeze(-2)
        else:
            bias = self.bias.unsqueeze(-2).unsqueeze(-2)
        n_members = self.n_members if self.adapters else 1
        return repeated(weight, n_members), repeated(bias, n_members)

    def fold(self) -> "FoldedLinear":
        """The same layer for inference, with r and s multiplied into the weight once."""
        return FoldedLinear(self)

    def extra_repr(self) -> str:
        return (
            f"{self.in_features}, {self.out_features}, n_members={self.n_members}, "
            f"adapters={self.adapters!r}, init={self.init!r}"
        )


class FoldedLinear(nn.Module):
    """A BatchEnsemble layer with one effective weight a member: for inference, not for training.

    The folded product is faster where the effective weights fit the cache or the batch is large
    (`benchmarks/folding.py`); elsewhere the layer computes as before, so it never gets slower. It
    holds copies: fold again after a change.

    The layer of a bank folds into one whose members are all members of all networks.
    """

    weight: Tensor
    bias: Tensor

    def __init__(self, layer: BatchEnsembleLinear) -> None:
        super().__init__()
        is_bank = layer.is_bank
        self.is_plain = not layer.adapters and (not is_bank or len(layer.weight) == 1)
        self.unfolded = None
        if "w" not in layer.adapters:
            self.unfolded = copy.deepcopy(layer).requires_grad_(False)
        with torch.no_grad():
            weight, bias = layer.effective()
            if is_bank:
                n_members = 1 if self.is_plain else layer.n_members
                weight, bias = (repeated(t, n_members).flatten(0, 1) for t in (weight, bias))
            weight, bias = (t.clone(memory_format=torch.contiguous_format) for t in (weight, bias))
        self.register_buffer("weight", weight)  # (members, in_features, out_features)
        self.register_buffer("bias", bias)  # (members, 1, out_features)
        self.training = False

    @classmethod
    def joined(cls, layers: Sequence["FoldedLinear"]) -> "FoldedLinear":
        """Layers that read the same as one, their outputs side by side."""
        whole = copy.deepcopy(layers[0])
        if len(layers) > 1:
            whole.weight = torch.cat([layer.weight for layer in layers], -1)
            whole.bias = torch.cat([layer.bias for layer in layers], -1)
            whole.unfolded = None
        return whole

    def effective(self) -> tuple[Tensor, Tensor]:
        return self.weight, self.bias

    def forward(self, x: Tensor) -> Tensor:
        """(batch, ..., members, in_features) -> (batch, ..., members, out_features)."""
        if self.is_plain:  # members are rows like others
            return x @ self.weight[0] + self.bias[0, 0]
        check_members(x, len(self.weight))
        n_rows = math.prod(x.shape[:-2])
        if self.unfolded is not None and self._is_slower(n_rows):
            return self.unfolded(x)  # type: ignore[no-any-return]
        members_first = x.reshape(n_rows, *x.shape[-2:]).transpose(0, 1)
        y = torch.baddbmm(self.bias, members_first, self.weight)
        return y.transpose(0, 1).reshape(*x.shape[:-1], self.weight.shape[-1])

    def _is_slower(self, n_rows: int) -> bool:
        """Where the form is chosen by batch size; a program for batches of any size has one."""
        is_small = self.weight.numel() <= CACHED_WEIGHTS
        is_one = self.unfolded is not None and not self.unfolded.is_bank
        exports = torch.compiler.is_exporting()
        return is_one and not is_small and not exports and n_rows < LARGE_BATCH

    def train(self, mode: bool = True) -> Self:
        if mode:
            raise RuntimeError(
                "a folded layer cannot be trained: its weights are products of parameters; "
                "train the module that was folded, then fold again"
            )
        return super().train(mode)


def repeated(tensor: Tensor, n_members: int) -> Tensor:
    """(..., members or 1, a, b) -> (..., members, a, b)."""
    return tensor.expand(*tensor.shape[:-3], n_members, *tensor.shape[-2:])
