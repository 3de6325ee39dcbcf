"""Normalisation that leaves the member axis alone: each member has its own parameters."""

import torch
from torch import Tensor, nn

from batchensemble.nn.members import check_members


class MemberLayerNorm(nn.Module):
    """LayerNorm or RMSNorm over the last axis, with scale and shift per member."""

    weight: nn.Parameter | None
    bias: nn.Parameter | None

    def __init__(self, norm: nn.LayerNorm | nn.RMSNorm, n_members: int) -> None:
        super().__init__()
        self.n_members = n_members
        self.shape = list(norm.normalized_shape)
        self.eps = norm.eps
        self.centred = isinstance(norm, nn.LayerNorm)
        for name in ("weight", "bias"):
            shared = getattr(norm, name, None)
            repeated = None if shared is None else nn.Parameter(shared.data.repeat(n_members, 1))
            self.register_parameter(name, repeated)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, ..., members, features) -> the same shape."""
        check_members(x, self.n_members)
        if self.centred:
            x = nn.functional.layer_norm(x, self.shape, eps=1e-5 if self.eps is None else self.eps)
        else:
            x = nn.functional.rms_norm(x, self.shape, eps=self.eps)
        x = x if self.weight is None else x * self.weight
        return x if self.bias is None else x + self.bias


class MemberBatchNorm(nn.Module):
    """BatchNorm1d with statistics, scale and shift per member."""

    def __init__(self, norm: nn.BatchNorm1d, n_members: int) -> None:
        super().__init__()
        self.n_members = n_members
        like = next(iter(norm.state_dict().values()), torch.empty(0))
        # One channel per member and feature is exactly one BatchNorm1d per member.
        self.channels = nn.BatchNorm1d(
            n_members * norm.num_features,
            eps=norm.eps,
            momentum=norm.momentum,
            affine=norm.affine,
            track_running_stats=norm.track_running_stats,
            device=like.device,
            dtype=like.dtype if like.is_floating_point() else None,
        )
        if norm.bias is None:  # which torch can make since 2.13 only
            self.channels.register_parameter("bias", None)
        for name, tensor in self.channels.state_dict().items():
            shared = norm.state_dict()[name]
            tensor.copy_(shared.repeat(n_members) if shared.ndim else shared)
        self.train(norm.training)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, ..., members, features) -> the same shape."""
        check_members(x, self.n_members)
        rows = x.reshape(-1, x.shape[-2] * x.shape[-1])
        return self.channels(rows).reshape(x.shape)  # type: ignore[no-any-return]
