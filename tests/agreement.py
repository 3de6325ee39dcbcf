"""Whether the compiled loops agree with plain torch: both run the same steps and are compared."""

from dataclasses import replace

import torch
from torch import Tensor

from batchensemble.training.bank import Bank
from batchensemble.training.engines import Adam, Source, Steps
from batchensemble.training.engines.fused import FusedEngine
from batchensemble.training.engines.plain import PlainEngine


def stepped(
    engine: str, bank: Bank, loss, data: Source, *parts: Steps, lr=0.01, n_threads=1, **rates
) -> tuple[Tensor, Tensor]:
    """theta and the losses after these steps of a copy of the bank.

    By the "fused" engine, which knows float32 only, or by the "plain" one in float64, where
    rounding is nothing.
    """
    if engine == "fused":
        bank = bank[:]
    else:
        bank, data = bank.to("cpu", torch.float64), doubled(data)
        parts = tuple(replace(part, weights=part.weights.double()) for part in parts)
    adam = Adam.over(bank.theta, bank.parameter_names(), lr=lr, **rates)
    if engine == "fused":
        runner = FusedEngine(bank, loss, data, adam, n_threads=n_threads)
    else:
        runner = PlainEngine(bank, loss, data, adam)
    return bank.theta, torch.cat([runner.run(part) for part in parts])


def doubled(data: Source) -> Source:
    is_float = {k: t for k, t in vars(data).items() if torch.is_tensor(t) and t.is_floating_point()}
    return replace(data, **{k: t.double() for k, t in is_float.items()})


def apart(theta: Tensor, other: Tensor) -> float:
    """Largest relative difference of two banks' networks."""
    return (theta.double() - other).norm(dim=1).div(other.double().norm(dim=1)).max().item()


def same_steps(ours: tuple[Tensor, Tensor], truth: tuple[Tensor, Tensor], close=1e-5) -> bool:
    """Whether thetas and losses are close, relatively, network by network.

    For all networks but one: once in some hundred trainings a unit is at zero but for rounding, and
    its ReLU falls on the other side, in plain float32 as well. Then that network is 1e-3 away.
    """
    (theta, losses), (true_theta, true_losses) = ours, truth
    in_theta = (theta - true_theta).norm(dim=1) / true_theta.norm(dim=1)
    in_losses = ((losses - true_losses).abs() / (1 + true_losses.abs())).amax(0)
    *most, worst = torch.maximum(in_theta, in_losses).sort().values.tolist()
    return all(difference < close for difference in most) and worst < 1e-2
