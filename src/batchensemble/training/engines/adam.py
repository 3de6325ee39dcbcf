"""Adam for a bank: every network has its own step count and gradient norm, and may rest.

torch's optimisers keep one step count per tensor, so a network of a bank could not sit out the
steps for which it has no rows left. Otherwise the update is theirs (tested against AdamW).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

BETA1, BETA2, EPS = 0.9, 0.999, 1e-8


@dataclass
class Adam:
    """State and step of decoupled Adam (AdamW) over theta, (networks, parameters), in place."""

    theta: Tensor
    lr: float
    clip_norm: float  # inf: no clipping
    decay: Tensor | None  # (parameters,): the share that a step of lr 1 takes off
    moment1: Tensor
    moment2: Tensor
    count: Tensor  # (networks, 1)

    @classmethod
    def over(
        cls,
        theta: Tensor,
        names: Iterable[tuple[str, int]],
        *,
        lr: float,
        weight_decay: float = 0.0,
        clip_norm: float = math.inf,
    ) -> "Adam":
        """Weight decay applies to shared weights only, never to r, s or bias."""
        decay = None
        if weight_decay:
            shared = [theta.new_full((n,), float(name.endswith("weight"))) for name, n in names]
            decay = weight_decay * torch.cat(shared)
        return cls(
            theta=theta,
            lr=lr,
            clip_norm=clip_norm,
            decay=decay,
            moment1=torch.zeros_like(theta),
            moment2=torch.zeros_like(theta),
            count=theta.new_zeros(len(theta), 1),
        )

    @torch.no_grad()
    def step(self, gradient: Tensor, active: Tensor) -> None:
        """gradient (networks, parameters); active (networks, 1), 0 for a network that rests."""
        if self.clip_norm < math.inf:
            norm = torch.linalg.vector_norm(gradient, dim=1, keepdim=True)
            gradient = gradient * (self.clip_norm / norm.clamp(min=self.clip_norm))
        self.count += active
        count = self.count.clamp(min=1)
        self.moment1.lerp_(gradient, (1 - BETA1) * active)
        self.moment2.lerp_(gradient.square(), (1 - BETA2) * active)
        rate = self.lr * active / (1 - BETA1**count)
        if self.decay is not None:
            self.theta.mul_(1 - self.lr * active * self.decay)
        spread = self.moment2.div(1 - BETA2**count).sqrt_().add_(EPS)
        self.theta.sub_(rate * self.moment1 / spread)
